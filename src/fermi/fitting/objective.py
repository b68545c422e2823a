"""The fair objective, written once: Φ(θ) = loss + λ Σ ERMI, as a function of the logits, with its exact gradient.

Everything that trains minimises this: the solvers step along its gradients or their unbiased estimates, and the
diagnostics evaluate it. A term is one ERMI of the notion: one for the joint groups of all sensitive columns, or one
per column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermi._typing import Floats, Ints
from fermi.compiled import kernels
from fermi.errors import bad_argument
from fermi.formulas import ermi as formula
from fermi.inputs.cells import Cells


@dataclass(frozen=True, eq=False)
class Term:
    """Which rows one ERMI counts, in which cell, with which weight.

    Attributes
    ----------
    rows : Cells
        The cell of each row; a row without one trains the loss alone. The weight there is the row's share of the weight
        of all rows that count, 0 for a row that does not, so that Ψ = Σ share_i ψ_i.
    p_z : (Z,) float64
        What each condition counts: its share of the weight, unless the notion has weights of its own.
    prior : (Z, k) float64
        p(s|z). Fixed: it does not depend on the predictions, so a batch's gradient stays unbiased.
    """

    rows: Cells
    p_z: Floats
    prior: Floats

    @classmethod
    def of(cls, cells: Cells, factors: Floats | None = None) -> Term:
        """The term of all rows that count, with the prior of their groups; `factors` weigh the rows by condition.

        A factor of all rows of a condition changes p(z) and nothing within the condition.
        """
        counted = cells.counted
        total = float(cells.weight[counted].sum())
        if total == 0.0:
            raise bad_argument(
                "sensitive_features", "is unknown in every row that the notion compares", "some known groups"
            )
        rows = cells.weighed(np.where(counted, cells.weight / total, 0.0))
        if factors is not None:
            rows = rows.weighed_by_condition(factors)
        joint = rows.totals()
        p_z = joint.sum(axis=1)
        return cls(rows, p_z, joint / formula.nonzero(p_z)[:, None])

    @property
    def cells(self) -> Ints:
        """The cell of each row, or -1."""
        return self.rows.index

    @property
    def share(self) -> Floats:
        """The share of each row."""
        return self.rows.weight

    @property
    def compared(self) -> NDArray[np.bool_]:
        """The conditions in which two groups occur, (Z,): in any other ERMI is zero whatever is predicted."""
        several: NDArray[np.bool_] = (self.prior > 0.0).sum(axis=1) > 1
        return several

    def laws(self, F: Floats) -> Floats:
        """The law of (S, Ŷ) given each z, for predictions F: Z × k × m."""
        return self.conditional(self.rows.soft(F))

    def conditional(self, table: Floats) -> Floats:
        """The law of (S, Ŷ) given each z, from the table Σ share_i F_i of every cell, Z × k × m."""
        laws: Floats = table / formula.nonzero(self.p_z)[:, None, None]
        return laws

    def ermi(self, laws: Floats) -> float:
        """The ERMI of laws by condition: E_z of D_R."""
        return float(sum(p * formula.ermi(P) for p, P in zip(self.p_z, laws, strict=True)))

    def penalised_ermi(self, laws: Floats, l2: float) -> float:
        """The largest Ψ(θ, W) − l2 ‖W‖² over all W together."""
        shares = zip(self.p_z, self._penalty(l2), laws, strict=True)
        return float(sum(p * formula.penalised_ermi(P, own) for p, own, P in shares if p > 0.0))

    def optimal_dual(self, laws: Floats, l2: float = 0.0) -> Floats:
        """The optimal adversary W*(θ), Z × k × m, under the penalty l2 ‖W‖² if there is one."""
        return np.stack([formula.optimal_dual(P, own) for P, own in zip(laws, self._penalty(l2), strict=True)])

    def dual_value(self, W: Floats, laws: Floats, l2: float = 0.0) -> float:
        """The variational form Ψ(θ, W), E_z over conditions, at most `ermi`; less l2 ‖W‖² if there is a penalty."""
        shares = zip(self.p_z, W, laws, self._penalty(l2), strict=True)
        return float(sum(p * formula.dual_value(w, P, own) for p, w, P, own in shares))

    def _penalty(self, l2: float) -> Floats:
        """The penalty on W within each condition: Ψ counts a condition by p(z), the penalty counts all W alike."""
        return np.asarray(l2 / formula.nonzero(self.p_z))

    def costs(self, W: Floats) -> Floats:
        """What the adversary charges in every cell: C, (Z·k) × m."""
        return np.concatenate([formula.class_costs(w, p) for w, p in zip(W, self.prior, strict=True)])

    def add_gradient(self, F: Floats, W: Floats, lam: float, gradient: Floats) -> None:
        """Add λ ∇Ψ(θ, W) in the logits: λ · share_i · tilt(F_i, C[cell_i]) to row i."""
        kernels.add_tilt(F, self.cells, self.costs(W), self.share, lam, gradient)


class Value(NamedTuple):
    """The value of the objective and its parts, without the penalty on the weights."""

    loss: float
    ermi: float
    objective: float


@dataclass(frozen=True, eq=False)
class FairObjective:
    """The fair objective as a function of logits: mean cross-entropy + λ Σ_t ERMI_t.

    Attributes
    ----------
    target : (n,) int64
        The class of each row.
    weight : (n,) float64
        The row's weight in the loss, summing to one.
    terms : tuple of Term
        The ERMI terms, all with the same λ.
    lam : float
        λ.
    dual_l2 : float
        Remark 1's penalty on the adversary: the terms are max_W Ψ − dual_l2 ‖W‖² instead of ERMI. `Value.ermi` is ERMI.
    """

    target: Ints
    weight: Floats
    terms: tuple[Term, ...]
    lam: float
    dual_l2: float = 0.0

    def at(self, lam: float) -> FairObjective:
        """The objective of the same rows at another λ; without groups to compare λ is 0, lest it slow anything."""
        compares = any(bool(term.compared.any()) for term in self.terms)
        return replace(self, lam=lam if compares else 0.0)

    def evaluate(self, logits: Floats) -> Value:
        """The objective Φ and its parts at some logits."""
        F, loss = self._predict(logits)
        violation = penalised = 0.0
        for term in self.terms:
            laws = term.laws(F)
            own = term.ermi(laws)
            violation += own
            penalised += own if self.dual_l2 == 0.0 else term.penalised_ermi(laws, self.dual_l2)
        return Value(loss, violation, loss + self.lam * penalised)

    def value_and_gradient(self, logits: Floats) -> tuple[Value, Floats]:
        """The objective Φ and ∇Φ in the logits: by Danskin the gradient at the optimal W, held fixed."""
        value, gradient, _ = self.with_dual_gap(logits, ())
        return value, gradient

    def with_dual_gap(self, logits: Floats, duals: tuple[Floats, ...]) -> tuple[Value, Floats, float]:
        """The objective Φ, ∇Φ in the logits, and Φ − F(θ, W) for given W of each term, or of none."""
        F, loss = self._predict(logits)
        violation = penalised = attained = 0.0
        gradient = self._loss_gradient(F)
        for t, term in enumerate(self.terms):
            laws = term.laws(F)
            own = term.ermi(laws)
            violation += own
            penalised += own if self.dual_l2 == 0.0 else term.penalised_ermi(laws, self.dual_l2)
            attained += term.dual_value(duals[t], laws, self.dual_l2) if duals else 0.0
            if self.lam > 0.0:
                term.add_gradient(F, term.optimal_dual(laws, self.dual_l2), self.lam, gradient)
        return Value(loss, violation, loss + self.lam * penalised), gradient, self.lam * (penalised - attained)

    def saddle_gradient(self, logits: Floats, duals: tuple[Floats, ...]) -> Floats:
        """The gradient of F(θ, W) in the logits, for given W of each term; row i is what row i alone contributes."""
        F, _ = self._predict(logits)
        gradient = self._loss_gradient(F)
        for term, W in zip(self.terms, duals, strict=True):
            term.add_gradient(F, W, self.lam, gradient)
        return gradient

    def optimal_duals(self, logits: Floats) -> tuple[Floats, ...]:
        """The optimal adversary W*(θ) of each term."""
        F, _ = self._predict(logits)
        return tuple(term.optimal_dual(term.laws(F), self.dual_l2) for term in self.terms)

    def predictions(self, logits: Floats) -> Floats:
        """The probabilities F = softmax of logits."""
        return self._predict(logits)[0]

    def _predict(self, logits: Floats) -> tuple[Floats, float]:
        """The probabilities F = softmax of logits, and the mean cross-entropy."""
        F = np.array(logits, dtype=np.float64, order="C")
        return F, float(kernels.softmax_rows(F, self.target, self.weight))

    def _loss_gradient(self, F: Floats) -> Floats:
        gradient = np.empty_like(F)
        kernels.loss_gradient(F, self.target, self.weight, gradient)
        return gradient
