"""Does training converge at any batch size? Algorithm 1, untuned, beside descent on the batch's own ERMI, tuned.

For each notion, λ and batch size: how far the exact objective (mean loss + λ ERMI + penalty, over all rows) of the
model found lies above that of L-BFGS, relative to it, and the ERMI of that model.

"mary" is what mini-batch losses with a plug-in measure do (Mary et al., 2019, and others): gradient descent on
loss_B + λ ERMI_B, where ERMI_B is that of the batch's own table of soft predictions, priors and margins included. Its
mean over batches is not ERMI; for single rows it is 0, and so trains the unfair model. It gets the best of several step
sizes in each case, judged by the exact objective itself.

Adult is read from the folder that FERMI_DATA names; without it made-up applicants take its place, as the cases say.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

import fermi
from fermi.errors import ConstantPredictionWarning
from fermi.fitting.objective import FairObjective, Term
from fermi.inputs.cells import Cells
from fermi.linear.design import Design
from fermi.notions import as_notion

LAMBDAS, SEEDS = (0.1, 1.0, 5.0, 20.0), (0, 1, 2)
NOTIONS = ("demographic_parity", "equalized_odds", "equal_opportunity")
BATCHES, PASSES, FULL_STEPS = (1, 4, 64, None), 30, 2000  # None: all rows
# mary's first step, in units of one over the curvature of the loss that a batch sees; falling linearly to zero.
SIZES, FULL_SIZES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03), (3.0, 1.0, 0.3)
L2, TOL = 1e-4, 1e-5

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
F = TypeVar("F", bound=Callable[..., Any])


class Rows(NamedTuple):
    """Features, labels 0 and 1, and groups."""

    name: str
    X: Floats
    y: Ints
    s: Ints


def load() -> Rows:
    """Adult and sex, or synthetic applicants without their rating."""
    if (Path(os.environ.get("FERMI_DATA", "")) / "adult" / "adult.data").exists():
        return as_rows("Adult", fermi.datasets.load("adult"))
    return as_rows("synthetic applicants (FERMI_DATA has no Adult)", fermi.datasets.synthetic(rated=False))


def as_rows(name: str, data: Any) -> Rows:
    y = np.unique(data.y_train.to_numpy(), return_inverse=True)[1].astype(np.int64)
    X = np.ascontiguousarray(data.numeric().X_train.to_numpy(), dtype=np.float64)
    return Rows(name, X, y, fermi.GroupEncoder().fit_transform(data.s_train))


class Judge:
    """The exact objective of one notion and λ, which scores every model alike."""

    def __init__(self, rows: Rows, notion: str, lam: float, unfair: dict[Any, Floats] | None = None) -> None:
        n = len(rows.y)
        weight, conditions = np.full(n, 1.0 / n), as_notion(notion).conditions(rows.y, n)
        term = Term.of(
            Cells.of(conditions.dense(), rows.s, (len(conditions.values_of), int(rows.s.max()) + 1), np.ones(n))
        )
        self.rows, self.notion, self.lam = rows, notion, lam
        self.design = Design.of(rows.X, weight, intercept=True, n_classes=2)
        self.objective = FairObjective(rows.y, weight, (term,), lam)
        self.standard = np.column_stack([(rows.X - self.design.centre) / self.design.scale, np.ones(n)])
        self.unfair = {} if unfair is None else unfair  # mary's θ with single rows, whatever the notion and λ

    def score(self, theta: Floats) -> tuple[float, float]:
        """The objective and ERMI; infinite after overflow."""
        if not np.isfinite(theta).all():
            return np.inf, np.inf
        value = self.objective.evaluate(self.design.logits(theta))
        return value.objective + self.design.penalty(theta, L2)[0], value.ermi

    def fermi(self, **options: Any) -> tuple[float, float]:
        """What FermiClassifier reaches."""
        model = fermi.FermiClassifier(self.notion, self.lam, l2=L2, tol=TOL, **options)
        with warnings.catch_warnings():
            for category in (ConvergenceWarning, ConstantPredictionWarning):  # the table tells
                warnings.simplefilter("ignore", category)
            model.fit(self.rows.X, self.rows.y, sensitive_features=self.rows.s)
        return self.score(self.design.parameters(model.coef_, model.intercept_))

    def mary(self, batch: int, passes: int, seed: int, size: float) -> tuple[float, float]:
        """What descent on the batch's own ERMI reaches."""
        if batch > 1:
            return self.score(self.mary_fit(batch, passes, seed, size))
        if (passes, seed, size) not in self.unfair:
            self.unfair[passes, seed, size] = self.mary_fit(batch, passes, seed, size)
        return self.score(self.unfair[passes, seed, size])

    def mary_fit(self, batch: int, passes: int, seed: int, size: float) -> Floats:
        """Its θ, with steps that fall linearly to zero."""
        rng, n = np.random.default_rng(seed), len(self.rows.y)
        eta = first_step(self.design, batch, size) * np.linspace(1.0, 0.0, passes * -(-n // batch), endpoint=False)
        theta = np.zeros(self.design.shape)
        for steps in np.split(eta, passes):
            self.mary_steps(theta, np.arange(n) if batch == n else rng.permutation(n), batch, steps)
        return theta

    def mary_steps(self, theta: Floats, order: Ints, batch: int, eta: Floats) -> None:
        """Move θ along the batches of `order`."""
        (term,) = self.objective.terms
        penalty = np.append(L2 / self.design.scale**2, 0.0)
        descend(
            self.standard,
            self.rows.y,
            term.cells,
            term.prior.shape,
            order,
            batch,
            eta,
            self.lam,
            penalty,
            theta.reshape(-1),
        )


def first_step(design: Design, batch: int, size: float) -> float:
    """`size` over the curvature that a batch sees: a quarter of E‖x‖² over the batch size, plus one."""
    return size / (0.25 * float((design.mean_square / design.scale**2).sum()) / batch + 1.0)


def compiled(function: F) -> F:
    # Not fermi's decorator, whose cache on disk knows the package's files alone.
    return cast(F, numba.njit(nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})(function))


@compiled
def find_slopes(table: Floats, k: int, slopes: Floats) -> None:
    """∂ ERMI / ∂ the probability of class 1, per unit of weight, in each cell (condition · k + group) of a table."""
    for start in range(0, len(slopes), k):
        slopes[start : start + k] = 0.0
        for j in range(2):
            total, p_y, squares = 0.0, 0.0, 0.0
            for c in range(start, start + k):
                p_y += table[c, j]
                total += table[c, 0] + table[c, 1]
            for c in range(start, start + k):
                p_s = table[c, 0] + table[c, 1]
                if p_s > 0.0 and p_y > 0.0:
                    ratio = table[c, j] * total / (p_s * p_y)
                    slopes[c] += 2.0 * (2 * j - 1) * ratio
                    squares += ratio * ratio * p_s / total
            for c in range(start, start + k):
                slopes[c] -= (2 * j - 1) * squares


@compiled
def descend(
    X: Floats,
    y: Ints,
    cells: Ints,
    shape: tuple[int, int],
    order: Ints,
    batch: int,
    eta: Floats,
    lam: float,
    penalty: Floats,
    theta: Floats,
) -> None:
    """θ ← θ − η ∇ (loss_B + λ ERMI_B + penalty), a batch at a time. `shape`: how many conditions and groups."""
    d, k = len(theta), shape[1]
    gradient, p = np.empty(d), np.empty(batch)
    table, slopes = np.empty((shape[0] * k, 2)), np.empty(shape[0] * k)
    for step in range(len(eta)):
        start, stop = step * batch, min((step + 1) * batch, len(order))
        table[:] = 0.0
        counted = 0
        for u in range(start, stop):
            i, margin = order[u], 0.0
            for j in range(d):
                margin += X[i, j] * theta[j]
            p[u - start] = 1.0 / (1.0 + np.exp(-margin))
            if cells[i] >= 0:
                counted += 1
                table[cells[i], 1] += p[u - start]
                table[cells[i], 0] += 1.0 - p[u - start]
        find_slopes(table, k, slopes)
        for j in range(d):
            gradient[j] = penalty[j] * theta[j]
        for u in range(start, stop):
            i, q = order[u], p[u - start]
            pull = (q - y[i]) / (stop - start)
            if cells[i] >= 0:
                pull += lam / counted * q * (1.0 - q) * slopes[cells[i]]
            for j in range(d):
                gradient[j] += pull * X[i, j]
        for j in range(d):
            theta[j] -= eta[step] * gradient[j]


def measure(*, quick: bool = False, rows: Rows | None = None) -> list[dict[str, Any]]:
    """All cases, or λ = 5 and demographic parity with one seed."""
    rows = load() if rows is None else rows
    cases, unfair = [], dict[Any, Floats]()
    for notion, lam in product(NOTIONS[:1] if quick else NOTIONS, (5.0,) if quick else LAMBDAS):
        judge = Judge(rows, notion, lam, unfair)
        exact = judge.fermi(solver="lbfgs", max_iter=5000)
        for entry in entries(judge, SEEDS[:1] if quick else SEEDS):
            cases.append(case(judge, exact, **entry))
            if not quick:
                print(line(cases[-1]), file=sys.stderr, flush=True)  # minutes pass before the table
    return cases


def entries(judge: Judge, seeds: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """What each method reaches with each batch size: one (objective, ERMI) per seed."""
    n = len(judge.rows.y)
    for rows_in_batch in BATCHES:
        full = rows_in_batch is None  # nothing is drawn: one seed is enough
        batch, passes, used = (n, FULL_STEPS, seeds[:1]) if full else (rows_in_batch or 0, PASSES, seeds)
        options = {"solver": "sgda", "batch_size": batch, "max_iter": passes}
        reached = [judge.fermi(random_state=seed, **options) for seed in used]
        yield {"method": "sgda", "batch": rows_in_batch, "reached": reached}
        sizes = FULL_SIZES if full else SIZES
        tried = {size: [judge.mary(batch, passes, seed, size) for seed in used] for size in sizes}
        means = {size: float(np.mean([objective for objective, _ in tried[size]])) for size in sizes}
        best = min(sizes, key=means.__getitem__)
        steps = {str(size): mean if np.isfinite(mean) else None for size, mean in means.items()}
        yield {
            "method": "mary",
            "batch": rows_in_batch,
            "reached": tried[best],
            "size": best,
            "objective_by_size": steps,
        }


def case(judge: Judge, exact: tuple[float, float], reached: list[Any], **entry: Any) -> dict[str, Any]:
    objectives, violations = (list(column) for column in zip(*reached, strict=True))
    excess = [objective / exact[0] - 1.0 for objective in objectives]
    return {
        "data": judge.rows.name,
        "notion": judge.notion,
        "lam": judge.lam,
        **entry,
        "excess": float(np.mean(excess)),
        "worst_excess": max(excess),
        "ermi": float(np.mean(violations)),
        "exact_objective": exact[0],
        "exact_ermi": exact[1],
        "objectives": objectives,
        "ermis": violations,
    }


def line(case: dict[str, Any]) -> str:
    batch = "all" if case["batch"] is None else case["batch"]
    return (
        f"{case['notion']:<18} {case['lam']:>5g} {batch:>5} {case['method']:>6} {100 * case['excess']:>9.3f}"
        f" {100 * case['worst_excess']:>9.3f} {case['ermi']:>10.2e} {case['exact_ermi']:>10.2e}"
        f" {case.get('size', 'auto'):>6}"
    )


def show(cases: list[dict[str, Any]]) -> None:
    """A line per case, and what each method's worst case is."""
    print(f"{cases[0]['data']}: excess of the exact objective over L-BFGS's in %, mean and worst of the seeds")
    widths = (-18, 5, 5, 6, 9, 9, 10, 10, 6)
    titles = ("notion", "λ", "batch", "method", "excess", "worst", "ERMI", "L-BFGS", "step")
    print(*(f"{title:{'>' if w > 0 else '<'}{abs(w)}}" for title, w in zip(titles, widths, strict=True)))
    for one in cases:
        print(line(one))
    for method, batch in product(("sgda", "mary"), BATCHES):
        worst = max(c["worst_excess"] for c in cases if (c["method"], c["batch"]) == (method, batch))
        print(f"{method}, {'all rows' if batch is None else f'batch {batch}'}: at most {100 * worst:.3f} % above")
