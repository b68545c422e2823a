"""The constants of the paper's convergence theorem for a linear model, as the solvers see its problem.

`docs/theory.md` states the theorem and derives the corrections; the formulas are in `formulas/theory.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.compiled.parallel import chunks
from fermi.errors import FermiError, bad_argument
from fermi.fitting.contract import unheard
from fermi.fitting.objective import FairObjective
from fermi.formulas import theory as formula
from fermi.formulas.theory import Constants
from fermi.inputs.arguments import number, whole
from fermi.linear.design import Design
from fermi.linear.solvers.contract import Start, Task
from fermi.linear.solvers.lbfgs import LBFGS

_ALWAYS = (
    "Batches are drawn at random with replacement, as sgda does for these steps; with others it shuffles the rows.",
    "Step sizes stay constant and the θ returned is drawn from all iterates.",
    "W is kept in the ball of radius D around 0 by projection.",
    "The start is θ = 0, so that Φ(θ⁰) − inf Φ is at most log m.",
    "Published: Θ and 𝒪 hide constants, which are taken to be one, and the rows enter by the largest norm.",
    "Corrected: all constants are derived, and the rows enter by the mean square norm of the worst group.",
)
_AT_PROBABILITIES = (
    "No class becomes rarer on the way than it is in {source}: measured there, not proven for every iterate."
)
_IN_BALL = "θ stays in the ball of radius {radius:g} in standardised units, which Algorithm 1 does not enforce."
_ACCURACY = 0.1  # of ‖∇Φ‖, that the step sizes of training are for
_CONDITIONS = "The paper states the theorem for one W; here W is that of all {blocks} conditions and terms together."


@dataclass(frozen=True)
class Theory:
    """What the convergence theorem promises for a problem.

    Attributes
    ----------
    published : Constants
        The theorem as printed. Some of it does not hold: docs/theory.md says what.
    corrected : Constants
        With constants that hold.
    assumptions : tuple of str
        What has to be true for the corrected constants to mean anything.
    n_rows, batch, epsilon : int, int, float
        The rows of the data, the batch size that `floor` is about and the accuracy asked for.
    """

    published: Constants
    corrected: Constants
    assumptions: tuple[str, ...]
    n_rows: int
    batch: int
    epsilon: float

    def passes(self) -> tuple[float, float]:
        """Passes over the data that the theorem asks for, as published and as corrected.

        A batch that would be larger than the data is the data, each row once: there is no noise then.

        Returns
        -------
        published, corrected : float
            Iterations times batch size, in units of the data.
        """
        published, corrected = (c.iterations * min(c.batch_size / self.n_rows, 1.0) for c in self._columns)
        return published, corrected

    @property
    def _columns(self) -> tuple[Constants, Constants]:
        return self.published, self.corrected

    def __str__(self) -> str:
        lines = [f"{'':12}{'published':>12}{'corrected':>12}"]
        rows = [(field.name, [getattr(c, field.name) for c in self._columns]) for field in fields(Constants)]
        for name, (left, right) in [*rows, ("passes", [*self.passes()])]:
            lines.append(f"{name:12}{left:>12.3g}{right:>12.3g}")
        asked = f"for E‖∇Φ‖ ≤ {self.epsilon:g} on {self.n_rows} rows; floor: with batches of {self.batch}"
        return "\n".join([*lines, asked, *(f"- {sentence}" for sentence in self.assumptions)])


def of_problem(
    design: Design,
    objective: FairObjective,
    *,
    batch: int,
    epsilon: float,
    l2: float,
    theta_radius: float | None = None,
    probabilities: Floats | None = None,
) -> Theory:
    """The constants of the theorem for a problem as the solvers see it: `corrected` has their η_θ, η_w and radius."""
    _check(design, objective, batch, epsilon, theta_radius, probabilities)
    square = np.concatenate(list(_square_norms(design)))
    m = design.n_classes
    if theta_radius is not None:
        least = np.array([formula.least_probability(norm, theta_radius, m) for norm in np.sqrt(square)])
        points, source = [np.repeat(least[:, None], m, axis=1)], _IN_BALL.format(radius=theta_radius)
    elif probabilities is not None:
        points, source = [probabilities], _AT_PROBABILITIES.format(source="the probabilities given")
    else:
        points = [_fitted(design, objective, lam, l2) for lam in (0.0, objective.lam)]
        source = _AT_PROBABILITIES.format(source="the plain (λ = 0) and the fair logistic model")
    setting = _setting(objective, points, m)
    curvature = l2 / float(design.scale.min(initial=np.inf)) ** 2
    largest, mean = (
        formula.linear_model(r, design.n_logits, curvature) for r in (float(square.max()), _mean(square, objective))
    )
    try:
        published = formula.published(setting, largest, epsilon=epsilon, batch=batch)
        corrected = formula.corrected(setting, mean, epsilon=epsilon, batch=batch)
    except (OverflowError, ZeroDivisionError):
        raise FermiError(
            f"The least probability of a class is {setting.p_y_min:.3g}, too little for any step size: choose a "
            "smaller `theta_radius`, or leave it out to measure it at a model."
        ) from None
    conditions = (_CONDITIONS.format(blocks=setting.n_blocks),) if setting.n_blocks > 1 else ()
    return Theory(published, corrected, (source, *_ALWAYS, *conditions), len(square), batch, epsilon)


def in_numbers(eta_theta: Any, eta_w: Any, radius: Any, task: Task, batch: int) -> tuple[Any, Any, float]:
    """The step sizes and radius, with "theory" replaced by the theorem's corrected constants."""
    given = {"eta_theta": eta_theta, "eta_w": eta_w, "radius": np.inf if radius is None else radius}
    asked = [name for name, value in given.items() if isinstance(value, str) and value == "theory"]
    if asked:
        if not task.objective.terms or task.objective.lam == 0.0:
            raise bad_argument(asked[0], "is 'theory' without a fairness term", "another choice, or groups and λ > 0")
        found = of_problem(task.design, task.objective, batch=batch, epsilon=_ACCURACY, l2=task.l2).corrected
        given |= {name: getattr(found, name) for name in asked}
    return given["eta_theta"], given["eta_w"], given["radius"]


def _check(
    design: Design,
    objective: FairObjective,
    batch: int,
    epsilon: float,
    theta_radius: float | None,
    probabilities: Floats | None,
) -> None:
    for name, value in (("lam", objective.lam), ("epsilon", epsilon)):
        number(name, value, "a number greater than zero", low=0.0, open_low=True)
    whole("batch_size", batch, "a whole number greater than zero", low=1)
    if theta_radius is not None:
        number("theta_radius", theta_radius, "a number of at least zero", low=0.0)
    if probabilities is None:
        return
    if theta_radius is not None:
        raise bad_argument("theta_radius", "is given along with `probabilities`", "one of the two")
    shape = (len(objective.target), design.n_classes)
    if probabilities.shape != shape or not np.allclose(probabilities.sum(axis=1), 1.0, atol=1e-3):
        raise bad_argument("probabilities", f"has the shape {probabilities.shape}", f"{shape}, each row summing to one")


def _square_norms(design: Design) -> Iterator[Floats]:
    """The squared norms ‖x‖² of the standardised rows, the one of the intercept included."""
    if hasattr(design.X, "tocsr"):
        yield np.asarray(design.X.multiply(design.X) @ design.scale**-2.0) + design.intercept
        return
    for rows in chunks(slice(0, len(design.X))):
        yield (((design.X[rows] - design.centre) / design.scale) ** 2).sum(axis=1) + design.intercept


def _mean(square: Floats, objective: FairObjective) -> float:
    """The mean of ‖x‖² over all rows, or over those of a group under a condition where that is more."""
    means = [float(objective.weight @ square)]
    for term in objective.terms:
        weight, total = term.rows.totals(), term.rows.weighed(term.share * square).totals()
        means.append(float((total[weight > 0] / weight[weight > 0]).max()))
    return max(means)


def _fitted(design: Design, objective: FairObjective, lam: float, l2: float) -> Floats:
    """The probabilities that the logistic model gives at some λ."""
    theta = np.zeros(design.shape)
    problem = replace(objective, lam=lam)
    task = Task(design, problem, l2, tol=1e-4)
    found = LBFGS(max_iter=500).solve(task, Start(theta), np.random.default_rng(0), unheard)
    return objective.predictions(design.logits(found.theta))


def _setting(objective: FairObjective, points: Sequence[Floats], m: int) -> formula.Setting:
    """Probabilities of classes, groups and conditions, the least over all points (probabilities, or bounds of them)."""
    p_y, p_zy, p_s, groups, blocks, sampling = [], [], [], [], 0, float(objective.weight.max())
    for term in objective.terms:
        seen = term.p_z > 0
        per_class = np.min([term.laws(F).sum(axis=1)[seen] for F in points], axis=0)
        p_y.append(per_class.min())
        p_zy.append((term.p_z[seen, None] * per_class).min())
        p_s.append(term.prior[term.prior > 0].min())
        groups.append(int((term.prior > 0).any(axis=0).sum()))
        blocks += int(seen.sum())
        sampling = max(sampling, float(term.share.max()))
    return formula.Setting(
        lam=objective.lam,
        n_groups=max(groups),
        n_classes=m,
        n_terms=len(objective.terms),
        n_blocks=blocks,
        sum_groups=sum(groups),
        p_y_min=float(min(p_y)),
        p_zy_min=float(min(p_zy)),
        p_s_min=float(min(p_s)),
        sampling=len(objective.target) * sampling,
        gap=float(np.log(m)),
    )
