"""The public names, for type checkers; at run time they are loaded when first used."""

from . import (
    bayes as bayes,
    cardinality as cardinality,
    checkpoint as checkpoint,
    datasets as datasets,
    dimension as dimension,
    engine as engine,
    errors as errors,
    estimation as estimation,
    formats as formats,
    infer as infer,
    method as method,
    planning as planning,
    prediction as prediction,
    relate as relate,
    report as report,
    runner as runner,
    scale as scale,
    score as score,
    search as search,
)
from ._data import Data as Data
from ._model import Counts as Counts, Model as Model
from ._table import Table as Table
from ._tree import Tree as Tree
from ._variables import Variable as Variable
from .checkpoint import Checkpoint as Checkpoint
from .dimension import (
    effective_dimension as effective_dimension,
    identifiability as identifiability,
    standard_dimension as standard_dimension,
)
from .engine._plan import Evidence as Evidence, Plan as Plan
from .errors import (
    DataError as DataError,
    FileFormatError as FileFormatError,
    LatentreeError as LatentreeError,
    LatentreeWarning as LatentreeWarning,
    ModelError as ModelError,
    ParameterError as ParameterError,
)
from .estimation import Fit as Fit, estimate as estimate, fit_classes as fit_classes
from .estimators import (
    BayesianLatentClass as BayesianLatentClass,
    LatentClass as LatentClass,
    LatentTree as LatentTree,
    LatentTreeClassifier as LatentTreeClassifier,
    LatentTreeImputer as LatentTreeImputer,
    compare as compare,
)
from .formats._check import check as check
from .formats._models import load as load
from .planning import power as power
from .runner import Budget as Budget, Progress as Progress, StopReason as StopReason
from .score import scores as scores
from .search import learn as learn

__version__: str
