"""FairGBM (Cruz, Belém, Jesus, Bravo, Saleiro and Bizarro 2023): boosted trees under constraints on error rates.

Each round takes a step of gradient boosting on the Lagrangian, with differentiable proxies in place of the groups'
false positive and false negative rates, and a step of ascent in the multipliers. `strength` is the rate of that ascent,
on a scale of equal factors, and it closes the gap that the constraints tolerate, from 0.1 to none. At 0 the multipliers
stay where they began, at zero. Trees are shallow by default, as in `fermi_boosting`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._optional import require
from fermi._typing import Floats, Ints
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows, geometric
from fermi.boosting.options import read_params
from fermi.errors import bad_argument
from fermi.inputs.arguments import AT_LEAST_ONE, number, whole

_RATES = (0.001, 0.01)  # beyond that the multipliers swing, and the gap with them
_TOLERANCE = 0.1
_RATE_OF_CLASS = ("FPR", "FNR")


class FairGBM(Baseline):
    """Boosted trees under constraints on error rates, by the package `fairgbm`, a fork of LightGBM.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    n_estimators : int
        Rounds of boosting.
    learning_rate : float
        What part of each tree's step is taken.
    booster_params : dict, optional
        The library's other parameters; `max_depth` is 2 and `num_threads` 1 unless given.
    """

    capabilities = Capabilities(
        notions=("equalized_odds", "equal_opportunity"), nonbinary_attribute=True, beyond_logistic=True
    )

    def __init__(
        self,
        strength: float = 0.5,
        notion: Any = "equalized_odds",
        random_state: Any = None,
        *,
        n_estimators: int = 300,
        learning_rate: float = 0.1,
        booster_params: Any = None,
    ) -> None:
        super().__init__(strength, notion, random_state)
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.booster_params = booster_params

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        library = require("fairgbm", extra="baselines")
        rounds = whole("n_estimators", self.n_estimators, AT_LEAST_ONE, low=1)
        tolerance = _TOLERANCE * (1.0 - strength)
        ours = {
            "objective": "constrained_cross_entropy",
            "constraint_type": ",".join(_RATE_OF_CLASS[y] for y in np.unique(rows.y[rows.z >= 0])),
            "multiplier_learning_rate": geometric(strength, *_RATES),
            "constraint_fpr_tolerance": tolerance,
            "constraint_fnr_tolerance": tolerance,
            "learning_rate": number("learning_rate", self.learning_rate, "a positive number", low=0.0, open_low=True),
            "seed": int(rng.integers(2**31)),
            "deterministic": True,
            "verbosity": -1,
        }
        given = read_params(self.booster_params, "lightgbm")  # of which it is a fork
        if taken := sorted(set(given) & set(ours)):
            raise bad_argument("booster_params", f"holds {taken[0]!r}", "none of the parameters that the method sets")
        # Its scikit-learn wrapper wants an older scikit-learn.
        data = library.Dataset(rows.X, rows.y, constraint_group=rows.s)
        self.model_ = library.train({"max_depth": 2, "num_threads": 1, **given, **ours}, data, rounds)

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        upper = np.asarray(self.model_.predict(X))
        return np.column_stack([1.0 - upper, upper])
