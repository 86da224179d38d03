# %% [markdown]
# # From documents to a topic tree
#
# Start with a list of texts, end with a tree of topics. Words become binary columns, present or not, as in
# [Karciauskas2005](../bibliography.md#karciauskas2005) appendix
# A: lower case, runs of letters, no function words, no word of a single document; then the most informative words are
# kept.
#
# The texts here are the descriptions of functions and classes in Python's own standard library, since everybody has
# them. Put your own list in their place.

# %%
import importlib
import inspect

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import mutual_info_classif

import latentree as lt
from latentree.report.figures import plot_tree

PARTS = {
    "mail": ["email.message", "email.header", "email.policy", "mailbox", "smtplib", "imaplib", "poplib"],
    "web": ["http.client", "http.server", "http.cookiejar", "urllib.request", "urllib.parse", "html.parser"],
    "numbers": ["decimal", "fractions", "statistics", "random", "numbers"],
    "files": ["pathlib", "shutil", "tempfile", "zipfile", "tarfile", "glob"],
    "tasks": ["threading", "asyncio", "concurrent.futures", "multiprocessing.pool", "queue", "subprocess"],
    "tests": ["unittest.case", "unittest.mock", "unittest.suite", "doctest"],
    "time": ["datetime", "calendar", "zoneinfo"],
}


def described(module):
    """Descriptions of what a module defines, classes with their methods."""
    for name, thing in inspect.getmembers(importlib.import_module(module)):
        if not name.startswith("_") and (inspect.isclass(thing) or inspect.isroutine(thing)):
            if str(getattr(thing, "__module__", "")).split(".")[0].lstrip("_") == module.split(".")[0]:
                yield inspect.getdoc(thing)
                if inspect.isclass(thing):
                    yield from (inspect.getdoc(m) for n, m in vars(thing).items() if not n.startswith("_"))


rows = [(text, part) for part, modules in PARTS.items() for m in modules for text in described(m)]
documents = pd.DataFrame(rows, columns=["text", "part"]).dropna().drop_duplicates("text")
documents = documents[documents["text"].str.split().str.len() >= 8]
documents["part"].value_counts()

# %% [markdown]
# ## Words as binary columns

# %%
count = CountVectorizer(binary=True, lowercase=True, token_pattern=r"[a-z]{3,}", stop_words="english", min_df=2)
present = count.fit_transform(documents["text"])
words = count.get_feature_names_out()
present.shape

# %% [markdown]
# Thousands of words are too many, and most are rare. Two ways to choose:
#
# - **By information gain** about a label, if there is one: the mutual information of *word is present* and *label*.
# - **By frequency**, if there is none.
#
# The source takes the former. The label itself is not part of the model: we can check later whether the tree found it.

# %%
gain = pd.Series(mutual_info_classif(present, documents["part"], discrete_features=True), index=words)
frequency = pd.Series(np.asarray(present.mean(axis=0)).ravel(), index=words)
print("by information gain:", *gain.nlargest(12).index)
print("by frequency:       ", *frequency.nlargest(12).index)

# %%
chosen = gain.nlargest(30).index
X = pd.DataFrame(present.toarray(), columns=words)[chosen].replace({0: "no", 1: "yes"})
lt.Table.from_frame(X)

# %% [markdown]
# ## The tree

# %%
tree = lt.LatentTree(random_state=0, time_limit=30).fit(X)
plot_tree(tree.fit_)
# %%
print(tree.summary())

# %% [markdown]
# ## Did it find the parts?
#
# The states of the latent variables are features of a document. Which of them go with which part of the library?

# %%
states = pd.DataFrame(tree.transform(X), columns=tree.get_feature_names_out())
rare = [name for name in states.columns if not name.endswith("=0")]
states[rare].groupby(documents["part"].to_numpy()).mean().round(2).T

# %% [markdown]
# ## A new document
#
# Words that were not selected are ignored; otherwise it is a row like any other.

# %%
text = "Send a message to the server and wait for the response; raise an exception if the connection is closed."
new = pd.DataFrame(count.transform([text]).toarray(), columns=words)[chosen].replace({0: "no", 1: "yes"})
p = pd.Series(tree.transform(new)[0], index=tree.get_feature_names_out())
p[rare].sort_values(ascending=False).head(4).round(3)
