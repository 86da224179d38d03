"""Published tables and figures, ours beside theirs: one study a module, run from a checkout.

``python -m studies`` lists them, ``python -m studies.NAME --help`` says what one takes, ``make study-NAME`` runs one in
the environment of the checkout. A study has ``main(arguments)``, which reads its own options (``--out``, the page to
write; ``--seed``; ``--data``, the folder of data sets that do not come with latentree) and writes or prints a page.
"""

from __future__ import annotations

__all__ = ["STUDIES"]

STUDIES = {
    "calibration": "simulated tables: the number of classes by cross-validation and by BIC, and what the choice costs",
    "cardinality": "[Karciauskas2005] tables 4.2-4.3, 6.1-6.16 and 7.1-7.4: learning the number of states",
    "density": "density benchmarks: hidden Chow-Liu trees on eight binary data sets, against published figures",
    "estimation": "[Whiley1999] figures 2.4-2.28 and tables 2.1-2.5: estimation algorithms compared",
    "identifiability": "[Whiley1999] chapter 3: theorems and conjectures checked by exact ranks",
    "merging": "[Karciauskas2005] table 5.1: merging states of over-fitted models",
    "new_rows": "[RodriguezSanchez2020]: test rows of the ten-fold study, in the order of the files and shuffled",
    "search": "[ChenZhangWang] table 1, figures 5-6, [Zhang2004] 3, 5.1, [ZhangKocka2004] 1, 3.1: searches for trees",
    "relate": "[BakkKuha2018] simulation, poLCA's and glca's examples: classes and other variables",
    "reversible_jump": "[Whiley1999] tables 5.1-5.3, figures 5.2-5.14 and 4.6: Bayesian latent class models",
    "selection": "[Whiley1999] figures 4.1-4.5, 4.8-4.11, tables 4.1-4.4, 4.6, [ZhangKocka2004] 3.1: selection",
    "ten_fold": "[RodriguezSanchez2020]: ten folds of eleven data sets, against EAST, BI and latent class models",
    "trees": "[Zhang2004] 4.6, 5.2, [Karciauskas2005] 7.3.3: trees of COIL and news100, and what learning costs",
}
"""The studies and what each reproduces."""
