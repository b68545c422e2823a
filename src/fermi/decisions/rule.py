"""The rule that gives labels: scores of the classes, less what each class is charged for the groups it is likely of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fermi._typing import Floats, Ints
from fermi.formulas.ermi import nonzero


def class_scores(F: Floats, costs: Floats | None) -> Floats:
    """The scores of the classes: the probabilities, or minus the expected costs, m × m by true and predicted class."""
    return F if costs is None else -(F @ costs)


@dataclass(frozen=True, eq=False)
class Rule:
    """The rule: argmax_j S_j(x) − Σ_c q_c(x) / q̄_c · Ψ_cj − ω_j.

    Attributes
    ----------
    psi : (C, m) array
        Ψ, what a class is charged in each cell, over all attributes one after the other.
    mean : (C,) array
        q̄, the mean of the group model's q over the rows that the rule was chosen on.
    offset : (m,) array
        ω, what a class is charged in every row.
    costs : (m, m) array, optional
        What it costs to predict a class (column) for a row of another (line).
    """

    psi: Floats
    mean: Floats
    offset: Floats
    costs: Floats | None = None

    @property
    def changes_nothing(self) -> bool:
        """Whether the labels are the model's own."""
        return self.costs is None and not self.psi.any() and not self.offset.any()

    def scores(self, F: Floats, q: Floats) -> Floats:
        """The adjusted scores of rows with probabilities F, n × m, and cells q, n × C."""
        adjusted: Floats = class_scores(F, self.costs) - (q / nonzero(self.mean)) @ self.psi - self.offset
        return adjusted

    def labels(self, F: Floats, q: Floats) -> Ints:
        """The code of each row's class."""
        codes: Ints = self.scores(F, q).argmax(axis=1)
        return codes

    def arrays(self) -> dict[str, Floats]:
        """The rule as arrays, for a file."""
        found = {"psi": self.psi, "mean": self.mean, "offset": self.offset}
        return found if self.costs is None else found | {"costs": self.costs}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Floats]) -> Rule:
        """The rule that `arrays` gave."""
        psi, mean, offset = (np.asarray(arrays[name], dtype=np.float64) for name in ("psi", "mean", "offset"))
        return cls(psi, mean, offset, arrays.get("costs"))
