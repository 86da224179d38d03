"""Learning the tree: operators, restricted likelihood, and the searches built on them."""
