"""latentree: latent class and latent tree models of categorical data, learned fast.

>>> import latentree as lt
>>> lca = lt.LatentClass(n_classes=2, random_state=0).fit(lt.datasets.load_frame("carcinoma"))
>>> round(lca.fit_.log_likelihood, 4)
-317.2568
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "BayesianLatentClass": "estimators",
    "Budget": "runner",
    "Checkpoint": "checkpoint",
    "Counts": "_model",
    "Data": "_data",
    "DataError": "errors",
    "Evidence": "engine._plan",
    "FileFormatError": "errors",
    "Fit": "estimation",
    "LatentClass": "estimators",
    "LatentTree": "estimators",
    "LatentTreeClassifier": "estimators",
    "LatentTreeImputer": "estimators",
    "LatentreeError": "errors",
    "LatentreeWarning": "errors",
    "Model": "_model",
    "ModelError": "errors",
    "ParameterError": "errors",
    "Plan": "engine._plan",
    "Progress": "runner",
    "StopReason": "runner",
    "Table": "_table",
    "Tree": "_tree",
    "Variable": "_variables",
    "check": "formats._check",
    "compare": "estimators",
    "effective_dimension": "dimension",
    "estimate": "estimation",
    "fit_classes": "estimation",
    "fit_two_latents": "estimation",
    "identifiability": "dimension",
    "learn": "search",
    "learn_classes": "cardinality",
    "load": "formats._models",
    "power": "planning",
    "scores": "score",
    "standard_dimension": "dimension",
}
_MODULES = (
    "bayes",
    "cardinality",
    "checkpoint",
    "datasets",
    "dimension",
    "engine",
    "errors",
    "estimation",
    "formats",
    "infer",
    "method",
    "planning",
    "prediction",
    "relate",
    "report",
    "runner",
    "scale",
    "score",
    "search",
)

__all__ = [*_HOME, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    # Names are loaded when first used (PEP 562): importing the package costs next to nothing.
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'latentree' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
