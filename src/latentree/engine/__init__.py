"""The one primitive: (model, table) -> log-likelihood and expected counts."""
