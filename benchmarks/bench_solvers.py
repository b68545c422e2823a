"""`FermiClassifier.fit` against scikit-learn's linear models, and what many groups and large data cost.

Exact fits are compared with the faster of scikit-learn's `lbfgs` and `newton-cholesky`, which train the unfair model:
the same rows, the same penalty, one thread, until no entry of the gradient in the units of the matrix exceeds 1e-5. The
tolerance of each is the largest that reaches this. Rounds of all entrants take turns, so that a busy machine slows all.

Adult is read from the folder that FERMI_DATA names; without it made-up applicants take its place, as the case says.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression, SGDClassifier

import fermi
from fermi import FermiClassifier
from fermi.compiled.threads import one_thread
from fermi.fitting.objective import FairObjective, Term
from fermi.inputs.cells import Cells
from fermi.linear.design import Design
from fermi.linear.solvers._loop import Loop

PASSES, MANY = 30, 262_144
BATCHES = (4, 16, 64)
LARGE = (1_000_000, 100)
L2, GRADIENT = 1e-4, 1e-5
LAMS = (0.0, 5.0, 100.0)
PEERS = ("lbfgs", "newton-cholesky")
ON_ADULT = (Path(os.environ.get("FERMI_DATA", "")) / "adult" / "adult.data").exists()
DATA = "Adult" if ON_ADULT else "synthetic applicants (FERMI_DATA has no Adult)"


class Rows(NamedTuple):
    """Features, labels and groups, ready to train on."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    s: NDArray[np.int64]


def small() -> Rows:
    data: Any = fermi.datasets.load("adult") if ON_ADULT else fermi.datasets.synthetic(30_000, 2, 2, bias=0.5, seed=0)
    y = np.unique(data.y_train.to_numpy(), return_inverse=True)[1].astype(np.int64)
    X = np.ascontiguousarray(data.numeric().X_train.to_numpy(), dtype=np.float64)
    return Rows(X, y, fermi.GroupEncoder().fit_transform(data.s_train))


def standardised(rows: Rows) -> Rows:
    spread = rows.X.std(axis=0)
    return rows._replace(X=(rows.X - rows.X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0))


def large(n: int = LARGE[0]) -> Rows:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, LARGE[1]), dtype=np.float32)
    return Rows(X, (X[:, 0] + X[:, 1] > 0.5).astype(np.int64), (X[:, 1] > 0).astype(np.int64))


def problem(rows: Rows, lam: float = 5.0, groups: int = 2) -> tuple[Design, FairObjective]:
    n = len(rows.y)
    weight = np.full(n, 1.0 / n)
    term = Term.of(Cells.of(np.zeros(n, dtype=np.int64), rows.s, (1, groups), weight))
    design = Design.of(rows.X, weight, intercept=True, n_classes=2)
    return design, FairObjective(rows.y, weight, (term,), lam)


def gradient_norm(rows: Rows, lam: float, model: Any) -> float:
    """The largest entry of the gradient of loss + λ ERMI + ½ l2 ‖weights‖², in the units of the matrix."""
    margin = rows.X @ model.coef_[0] + model.intercept_[0]
    _, by_row = problem(rows, lam)[1].value_and_gradient(np.column_stack([np.zeros(len(margin)), margin]))
    slopes = rows.X.T @ by_row[:, 1] + L2 * model.coef_[0]
    return float(max(np.abs(slopes).max(), abs(by_row[:, 1].sum())))


def reaching(rows: Rows, lam: float, made: Callable[[float], Any]) -> tuple[Callable[[], Any], float]:
    """A fit with the largest tolerance that reaches the gradient, and the gradient it reaches."""
    for tol in GRADIENT * np.array([1.0, 0.5, 0.2, 0.1, 0.01, 0.001]):
        reached = gradient_norm(rows, lam, made(float(tol)).fit(rows.X, rows.y, **_groups(made(1.0), rows)))
        if reached <= GRADIENT:
            break
    return lambda: made(float(tol)).fit(rows.X, rows.y, **_groups(made(1.0), rows)), reached


def _groups(model: Any, rows: Rows) -> dict[str, Any]:
    return {"sensitive_features": rows.s} if isinstance(model, FermiClassifier) else {}


def in_turns(entrants: dict[str, Callable[[], Any]], rounds: int) -> dict[str, NDArray[np.float64]]:
    """The seconds of each entrant in every round; the first round of all, which compiles, is not counted."""
    taken: dict[str, list[float]] = {name: [] for name in entrants}
    for _ in range(rounds + 1):
        for name, work in entrants.items():
            began = time.perf_counter()
            work()
            taken[name].append(time.perf_counter() - began)
    return {name: np.array(seconds[1:]) for name, seconds in taken.items()}


def exact_cases(name: str, rows: Rows, rounds: int) -> list[dict[str, Any]]:
    """Both exact solvers at every λ beside both solvers of the unfair model."""

    def peer(solver: str) -> Callable[[float], Any]:
        return lambda tol: LogisticRegression(C=1.0 / (L2 * len(rows.y)), solver=solver, tol=tol, max_iter=10_000)

    def ours(solver: str, lam: float) -> Callable[[float], Any]:
        return lambda tol: FermiClassifier(lam=lam, solver=solver, l2=L2, tol=tol)

    made = {solver: reaching(rows, 0.0, peer(solver)) for solver in PEERS}
    made |= {f"{s} {lam:g}": reaching(rows, lam, ours(s, lam)) for s in ("lbfgs", "newton") for lam in LAMS}
    taken = in_turns({key: work for key, (work, _) in made.items()}, rounds)
    fastest = min(PEERS, key=lambda solver: float(np.median(taken[solver])))
    cases = []
    for key in (key for key in made if key not in PEERS):
        solver, lam = key.split()
        case = _case(f"{DATA}, {name}: {solver}, λ = {lam}", taken[key], taken[fastest])
        case["peer"] = f"LogisticRegression(solver={fastest!r}), the faster of {' and '.join(PEERS)}"
        case["peer_medians"] = {solver: float(np.median(taken[solver])) for solver in PEERS}
        case["gradients"] = {"fermi": made[key][1], "peer": made[fastest][1]}
        cases.append(case)
    return cases


def _case(name: str, ours: NDArray[np.float64], peer: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "case": name,
        "fermi_seconds": float(ours.min()),
        "fermi_median_seconds": float(np.median(ours)),
        "peer_seconds": float(peer.min()),
        "peer_median_seconds": float(np.median(peer)),
        "ratio": float(ours.min() / peer.min()),
        "median_ratio": float(np.median(ours) / np.median(peer)),
    }


def pair(name: str, ours: Callable[[], Any], peer: Callable[[], Any], peer_name: str, rounds: int) -> dict[str, Any]:
    taken = in_turns({"fermi": ours, "peer": peer}, rounds)
    return {**_case(name, taken["fermi"], taken["peer"]), "peer": peer_name}


def by_sgda(rows: Rows, batch: int, epochs: int) -> FermiClassifier:
    model = FermiClassifier(lam=5.0, batch_size=batch, max_iter=epochs, tol=0.0, random_state=0)
    return model.fit(rows.X, rows.y, sensitive_features=rows.s)


def by_lbfgs(rows: Rows, max_iter: int) -> FermiClassifier:
    model = FermiClassifier(lam=5.0, l2=1.0 / len(rows.y), max_iter=max_iter, tol=1e-4)
    return model.fit(rows.X, rows.y, sensitive_features=rows.s)


def one_pass(rows: Rows, batch: int, groups: int = 2) -> Callable[[], None]:
    s = rows.s if groups == 2 else np.random.default_rng(0).integers(0, groups, len(rows.y))
    design, objective = problem(rows._replace(s=s), groups=groups)
    loop = Loop(design, objective, l2=1e-4, batch=batch, radius=np.inf, averaged=False)
    state = loop.start(np.zeros(design.shape), None)
    order, short = np.random.default_rng(0).permutation(len(rows.y)), np.full(-(-len(rows.y) // batch), 1e-4)
    return lambda: loop.advance(state, order, short, short)


def numpy_pass(rows: Rows, batch: int) -> Callable[[], None]:
    """Descent on the loss alone, with the products that numpy has for a batch."""
    design, _ = problem(rows)
    theta, order = np.zeros(rows.X.shape[1]), np.random.default_rng(0).permutation(len(rows.y))
    shrink = 1.0 - 1e-4 * 1e-4 / design.scale**2

    def steps() -> None:
        nonlocal theta
        for first in range(0, len(order), batch):
            part = order[first : first + batch]
            X = (rows.X[part] - design.centre) / design.scale
            F = 1.0 / (1.0 + np.exp(-(X @ theta)))
            theta = shrink * theta - 1e-4 / len(part) * (X.T @ (F - rows.y[part]))

    return steps


def train_large(kind: str, rows: Rows) -> None:
    if kind == "lbfgs":
        by_lbfgs(rows, 10)
    else:
        by_sgda(rows, 64, 1)


def large_cases() -> list[dict[str, Any]]:
    """A million rows, and the memory above the input that training takes at most, in a process of its own."""
    rows, shape = large(), "1 M × 100 float32"
    one_pass: Any = SGDClassifier(loss="log_loss", max_iter=1, tol=None)
    ten: Any = LogisticRegression(max_iter=10)
    kinds = (
        ("sgda", f"{shape}: sgda, λ = 5, batches of 64, one pass", one_pass, "SGDClassifier, one pass"),
        ("lbfgs", f"{shape}: lbfgs, λ = 5, at most 10 iterations", ten, "LogisticRegression(max_iter=10)"),
    )
    cases = []
    for kind, name, model, peer in kinds:
        work = functools.partial(train_large, kind, rows)
        case = pair(name, work, functools.partial(model.fit, rows.X, rows.y), peer, 2)
        out = subprocess.check_output([sys.executable, __file__, kind], text=True)
        cases.append({**case, **json.loads(out)})
    return cases


def measure(*, quick: bool = False) -> list[dict[str, Any]]:
    """All cases; quick ones in two rounds, without the million rows."""
    rows, rounds = small(), 2 if quick else 10
    peer: Any = SGDClassifier(loss="log_loss", max_iter=PASSES, tol=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both sides are stopped after a few iterations where the data is large
        with one_thread():
            cases = exact_cases("standardised", standardised(rows), rounds)
            cases += exact_cases("one-hot", rows, rounds)
        kinds: dict[str, Any] = {"dense": rows.X, "float32": rows.X.astype(np.float32), "CSR": csr_matrix(rows.X)}
        for kind, X in kinds.items():
            name = f"{DATA}, {kind}: sgda, λ = 5, single rows, {PASSES} passes"
            ours = functools.partial(by_sgda, rows._replace(X=X), 1, PASSES)
            cases.append(
                pair(name, ours, functools.partial(peer.fit, X, rows.y), "SGDClassifier, as many passes", rounds)
            )
        for batch in BATCHES:
            name = f"{DATA}: a pass of sgda, λ = 5, batches of {batch}"
            cases.append(pair(name, one_pass(rows, batch), numpy_pass(rows, batch), "unfair steps in numpy", rounds))
        many = f"{DATA}: a pass of sgda over single rows, {MANY:,} groups"
        cases.append(pair(many, one_pass(rows, 1, MANY), one_pass(rows, 1), "the same with 2 groups", 3 * rounds))
        return cases if quick else cases + large_cases()


def show(cases: list[dict[str, Any]]) -> None:
    """Two lines per case."""
    for case in cases:
        extra = f", {case['peak_extra_mb']:.1f} MB of extra memory" if "peak_extra_mb" in case else ""
        print(
            f"{case['case']}: {case['median_ratio']:.2f} of {case['peer']}\n"
            f"    {1e3 * case['fermi_median_seconds']:.1f} ms against {1e3 * case['peer_median_seconds']:.1f} ms, the "
            f"medians; ratio of the best rounds {case['ratio']:.2f}{extra}"
        )


def peak_kb() -> int:
    """The most memory this program has held. Not ru_maxrss: a child process inherits that of its parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


if __name__ == "__main__":
    # Compile on few rows first; the peak of the process so far is then the input alone.
    train_large(sys.argv[1], large(1000))
    everything = large()
    before = peak_kb()
    train_large(sys.argv[1], everything)
    after = peak_kb()
    print(json.dumps({"peak_extra_mb": (after - before) * 1024 / 1e6}))
