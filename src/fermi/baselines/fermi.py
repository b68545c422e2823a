"""FERMI itself (Lowy et al. 2022): cross-entropy + λ · ERMI, so that loops over methods need no special case.

Without a `module` it is `FermiClassifier`: L-BFGS, or Algorithm 1 where a batch size is given. With one it is
`FermiNet`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fermi._typing import Floats, Ints
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows, geometric
from fermi.errors import bad_argument
from fermi.inputs.arguments import AT_LEAST_ONE, whole
from fermi.linear.classifier import FermiClassifier
from fermi.notions import ConditionalParity

LAM = (0.03, 1000.0)


class Fermi(Baseline):
    """FERMI with λ from 0.03 to 1,000, by equal factors.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    module : nn.Module or function, optional
        As in `FermiNet`; a linear model by default.
    batch_size, steps : int, optional
        Rows per step, and at most how many steps; by default those of `FermiClassifier` and `FermiNet`. FERMI makes
        whole passes: as many as the steps are enough for, or one over a part of the rows, drawn at random.
    options : dict, optional
        Other arguments of `FermiClassifier` or `FermiNet`.
    """

    capabilities = Capabilities(
        nonbinary_target=True,
        nonbinary_attribute=True,
        beyond_logistic=True,
        stochastic=True,
        unbiased=True,
        convergent=True,
        unknown_attribute=True,
    )

    def __init__(
        self,
        strength: float = 0.5,
        notion: Any = "demographic_parity",
        random_state: Any = None,
        *,
        module: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        options: Any = None,
    ) -> None:
        super().__init__(strength, notion, random_state)
        self.module = module
        self.batch_size = batch_size
        self.steps = steps
        self.options = options

    def _features(self, X: Any, y: Any = None, *, reset: bool) -> tuple[Any, Any]:
        if self.module is None:
            return super()._features(X, y, reset=reset)
        from fermi.torch.feed import read_rows

        return read_rows(self, X, y, reset=reset)

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        rows = self._affordable(rows, rng)
        self.model_ = self._model(rows, geometric(strength, *LAM), rng)
        self.model_.fit(rows.X, rows.y, sensitive_features=masked(rows.s))

    def _affordable(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """Take as many rows as the steps can read once; steps over a part of a pass read the same."""
        if self.steps is None or self.batch_size is None:
            return rows
        n = whole("steps", self.steps, AT_LEAST_ONE, low=1) * whole("batch_size", self.batch_size, AT_LEAST_ONE, low=1)
        if n >= len(rows.y):
            return rows
        part = rows.take(np.sort(rng.permutation(len(rows.y))[:n]))
        learns = len(np.unique(part.y)) == rows.n_classes and len(np.unique(part.cells[part.cells >= 0])) > 1
        return part if learns else rows  # a few rows of one kind teach nothing

    def _model(self, rows: Rows, lam: float, rng: np.random.Generator) -> Any:
        # The conditions are coded already, whatever the notion was.
        notion = ConditionalParity(masked(rows.z))
        given = {**self._options(), "random_state": rng}
        if self.batch_size is not None:
            given["batch_size"] = whole("batch_size", self.batch_size, AT_LEAST_ONE, low=1)
        if self.steps is not None:
            whole("steps", self.steps, AT_LEAST_ONE, low=1)
            exact = self.module is None and self.batch_size is None  # L-BFGS steps over all rows
            passes = self.steps if exact else max(1, self.steps * (self.batch_size or 64) // len(rows.y))
            given["max_iter" if self.module is None else "max_epochs"] = passes
        if self.module is None:
            return FermiClassifier(notion, lam, **given)
        from fermi.torch import FermiNet

        return FermiNet(self.module, notion, lam, **given)

    def _options(self) -> dict[str, Any]:
        """The options of the model that this class has no argument for."""
        if self.options is None:
            return {}
        if not isinstance(self.options, Mapping):
            raise bad_argument("options", f"is {self.options!r}", "a dict of arguments, or None")
        taken = {"fairness", "lam", "module", "batch_size", "max_iter", "max_epochs", "random_state", "attributes"}
        for name in self.options:
            if name in taken:
                raise bad_argument("options", f"holds {name!r}", "arguments that are not set here already")
        return dict(self.options)

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return np.asarray(self.model_.predict_proba(X))


def masked(codes: Ints) -> Any:
    """Mask the codes that are unknown, -1, as our estimators take a column: no row becomes a Python object."""
    return np.ma.masked_less(codes, 0, copy=False)
