# %% [markdown]
# # Newsgroups: which words go together
#
# 16,242 postings to newsgroups and whether each of 100 words occurs in them. A latent tree finds topics, and topics
# of topics.
#
# **Data.** The 100-word version of the 20 newsgroups by S. Roweis does not come with latentree. Put it into a folder
# as `scale/news100.csv.gz` and set the environment variable `LATENTREE_DATA` to that folder. For words of your own
# documents see [documents to a topic tree](documents.ipynb).

# %%
import numpy as np

import latentree as lt
from latentree.report.figures import plot_tree

table = lt.datasets.load("news100")
table

# %% [markdown]
# One latent class model first: ten classes of postings.

# %%
lca = lt.fit_classes(table, 10, rng=np.random.default_rng(0), n_init=16)
print(f"BIC of ten classes: {lt.score.bic(lca):,.0f} with {lca.n_parameters:,} parameters")

# %% [markdown]
# Now a tree. Half a minute is a short search for 100 variables: it is stopped early, with a warning. Give it
# `time_limit=600` for a result to keep. After so little time ten classes may still be ahead, with three times the
# parameters.

# %%
words = lt.datasets.load_frame("news100")
tree = lt.LatentTree(random_state=0, time_limit=30)
tree.fit(words)
print(f"BIC of the tree: {tree.score_:,.0f} with {tree.fit_.n_parameters:,} parameters")
print(f"{len(tree.latent_names_)} latent variables")

# %%
plot_tree(tree.fit_, style="radial")
# %% [markdown]
# ## Topics
#
# Each latent variable with the words that are joined to it. States are sorted by size, so the last one
# is usually the topic itself: postings in which its words are frequent.

# %%
names = tree.tree_.names
for latent in tree.latent_names_:
    near = [names[v] for v in tree.tree_.neighbours(tree.tree_.node(latent))]
    state, share = list(enumerate(tree.query(latent).values()))[-1]
    told = sorted(((tree.query(word, {latent: state})[1], word) for word in near if word in words), reverse=True)
    if len(told) >= 3:
        print(f"{share:5.1%}  " + ", ".join(f"{word} {p:.0%}" for p, word in told))

# %% [markdown]
# ## What if
#
# A posting contains *nasa*. Which other words become likely?

# %%
before = {name: tree.query(name)[1] for name in words.columns}
after = {name: tree.query(name, {"nasa": 1})[1] for name in words.columns if name != "nasa"}
for name in sorted(after, key=lambda n: before[n] - after[n])[:8]:
    print(f"{name:12} {before[name]:.1%} -> {after[name]:.1%}")
