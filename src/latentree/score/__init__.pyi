"""The public names, for type checkers; at run time they are loaded when first used."""

from ._absolute import (
    FitStatistics as FitStatistics,
    fit_statistics as fit_statistics,
    power_divergence as power_divergence,
)
from ._aliasing import aliasing as aliasing
from ._assignment import Assignment as Assignment, average_posteriors as average_posteriors
from ._bootstrap import (
    BootstrapFit as BootstrapFit,
    BootstrapLrt as BootstrapLrt,
    bootstrap_fit as bootstrap_fit,
    bootstrap_lrt as bootstrap_lrt,
)
from ._cheeseman_stutz import cs as cs, cs_ml as cs_ml, cse as cse, mled as mled
from ._classification import (
    awe as awe,
    classification_likelihood as classification_likelihood,
    icl as icl,
    icl_bic as icl_bic,
)
from ._criteria import (
    aic as aic,
    aic3 as aic3,
    bic as bic,
    bice as bice,
    caic as caic,
    draper as draper,
    sabic as sabic,
)
from ._cross_validation import CrossValidation as CrossValidation, cross_validated as cross_validated, cv as cv
from ._holdout import empirical_kl as empirical_kl, holdout as holdout, split as split
from ._items import ItemTest as ItemTest, item_tests as item_tests
from ._laplace import information as information, laplace as laplace
from ._marginal import marginal_likelihood as marginal_likelihood
from ._mcar import McarTest as McarTest, mcar_test as mcar_test
from ._mode import likelihood_mode as likelihood_mode, posterior_mode as posterior_mode
from ._registry import SCORES as SCORES, Penalty as Penalty, Score as Score
from ._residuals import BivariateResiduals as BivariateResiduals, bivariate_residuals as bivariate_residuals
from ._scores import ScoreValue as ScoreValue, scores as scores
from ._separation import entropy as entropy, relative_entropy as relative_entropy
from ._uncertainty import StandardErrors as StandardErrors, standard_errors as standard_errors
from ._variational import variational as variational, variational_trace as variational_trace
from ._vuong import VuongTest as VuongTest, vuong_lrt as vuong_lrt
