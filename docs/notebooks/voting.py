# %% [markdown]
# # Votes: from two parties to a tree of topics
#
# In 1984 the 435 members of the US House of Representatives voted on 16 bills. 5.6 % of the votes were not cast; they
# stay missing. Which groups are there, and is one latent variable enough to describe them?

# %%
import latentree as lt
from latentree.report.figures import plot_profiles, plot_scores, plot_tree

members = lt.datasets.load_frame("voting")
votes = members.drop(columns="party")  # which is not a vote; it comes back at the end
votes.iloc[:3, :6]

# %% [markdown]
# ## Latent classes
#
# Models of one to six classes. Scores are −2 log-likelihood + penalty: lower is better.

# %%
comparison = lt.compare(votes, range(1, 7), random_state=0)
comparison

# %%
plot_scores(comparison)
# %% [markdown]
# BIC picks five classes. Two of them are the core of the parties; look at how the others vote.

# %%
lca = comparison.best_estimator()
plot_profiles(lca.fit_)
# %% [markdown]
# The classes are meant to explain all dependence. What is left unexplained?

# %%
for pair in lca.bivariate_residuals().largest(5):
    print(f"{pair.residual:5.1f}  {pair.names[0]} and {pair.names[1]}")

# %% [markdown]
# ## A tree
#
# Several latent variables, each with its own bills, fit better with fewer parameters.

# %%
tree = lt.LatentTree(random_state=0, time_limit=60).fit(votes)
print(f"BIC of {len(lca.class_sizes_)} classes {lt.score.bic(lca.fit_):.1f}, of the tree {tree.score_:.1f}")
print(f"parameters: {lca.fit_.n_parameters} and {tree.fit_.n_parameters}")

# %%
plot_tree(tree.fit_)
# %%
print(tree.summary())

# %% [markdown]
# ## What if
#
# How does someone vote on the MX missile who was for aid to Nicaragua and against the budget resolution?

# %%
tree.query("mx-missile", {"aid-to-nicaraguan-contras": "yes", "adoption-of-the-budget-resolution": "no"})

# %% [markdown]
# The explorer page answers such questions by clicking: under *What if*, choose values of any bills, and everything else
# updates. It is one file that works offline; `tree.explore("votes.html")` writes it.

# %%
tree.explore()
