# %% [markdown]
# # Intensive care: classes, their certainty, and an outcome
#
# 200 patients of an intensive care unit (Hosmer and Lemeshow), 14 binary signs on admission, and whether they lived.
# The aim is not prediction: which kinds of patients are there, how certain is that, and what becomes of
# them?

# %%
import numpy as np

import latentree as lt
from latentree.report.figures import plot_profiles, plot_residuals, plot_uncertainty

icu = lt.datasets.load_frame("icu")
signs = icu[list(lt.datasets.describe("icu").use)]
signs.head(3)

# %%
lt.compare(signs, range(1, 6), scores=["bic", "cs", "aic"], random_state=0)

# %% [markdown]
# Two classes by BIC and by Cheeseman-Stutz. Their profiles, with intervals; a prior a little above 1 keeps
# probabilities away from 0 and 1, so that all have a standard error.

# %%
lca = lt.LatentClass(2, prior=1.1, random_state=0).fit(signs)
plot_profiles(lca.fit_, errors=lca.standard_errors())
# %% [markdown]
# The classes are surgical and medical patients; the latter are emergencies with worse blood values. How certain is
# the assignment?

# %%
plot_uncertainty(lca.fit_)
sure = lca.average_posteriors()
print("mean posterior of the own class", sure.average.diagonal().round(3), "expected error", round(sure.error, 3))

# %% [markdown]
# ## Is one latent variable enough?

# %%
plot_residuals(lca.bivariate_residuals())
# %% [markdown]
# The blood values are more strongly related than two classes explain. A tree gives them a latent variable of their own:

# %%
tree = lt.LatentTree(random_state=0, time_limit=60).fit(signs)
print(tree.summary())

# %% [markdown]
# ## Who dies
#
# The outcome was not in the model. Here is the share of deaths for each latent variable, weighted by the posteriors:

# %%
died = (icu["sta"] == "Died").to_numpy(float)
states = tree.transform(signs)
for name, column in zip(tree.get_feature_names_out(), states.T, strict=True):
    print(f"{name:14} {column.sum():6.1f} patients, {died @ column / column.sum():.0%} died")

# %% [markdown]
# ## All numbers of classes at once
#
# How many classes are there, if we do not choose? Draws from the posterior over the number of classes and all their
# parameters:

# %%
bayes = lt.BayesianLatentClass(max_classes=6, n_draws=500, random_state=0).fit(signs)
for k, p in enumerate(np.round(bayes.n_classes_posterior_, 2), start=1):
    print(k, "classes:", p)
