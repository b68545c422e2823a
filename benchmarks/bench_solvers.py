"""`FermiClassifier.fit` against scikit-learn's linear models, and what many groups and large data cost.

Adult is read from the folder that FERMI_DATA names; without it made-up applicants take its place, as the case says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, SGDClassifier

import fermi
from fermi import FermiClassifier
from fermi.fitting.objective import FairObjective, Term
from fermi.inputs.cells import Cells
from fermi.linear.design import Design
from fermi.linear.solvers._loop import Loop

# Both sides are stopped after a few iterations where the data is large.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

PASSES, MANY = 30, 262_144
LARGE = (1_000_000, 100)
ON_ADULT = (Path(os.environ.get("FERMI_DATA", "")) / "adult" / "adult.data").exists()
DATA = "Adult" if ON_ADULT else "synthetic applicants (FERMI_DATA has no Adult)"
SINGLE = f"{DATA}: sgda, λ = 5, single rows, {PASSES} passes"
EXACT = f"{DATA}: lbfgs, λ = 5"
GROUPS = f"{DATA}: a pass of sgda over single rows, {MANY:,} groups"
LARGE_SGDA = "1 M × 100 float32: sgda, λ = 5, batches of 64, one pass"
LARGE_EXACT = "1 M × 100 float32: lbfgs, λ = 5, at most 10 iterations"


class Rows(NamedTuple):
    """Features, labels and groups, ready to train on."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    s: NDArray[np.int64]


@pytest.fixture(scope="module")
def rows() -> Rows:
    data: Any = fermi.datasets.load("adult") if ON_ADULT else fermi.datasets.synthetic(30_000, 2, 2, bias=0.5, seed=0)
    y = np.unique(data.y_train.to_numpy(), return_inverse=True)[1].astype(np.int64)
    X = np.ascontiguousarray(data.numeric().X_train.to_numpy(), dtype=np.float64)
    return Rows(X, y, fermi.GroupEncoder().fit_transform(data.s_train))


def large(n: int = LARGE[0]) -> Rows:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, LARGE[1]), dtype=np.float32)
    return Rows(X, (X[:, 0] + X[:, 1] > 0.5).astype(np.int64), (X[:, 1] > 0).astype(np.int64))


def problem(rows: Rows, groups: int = 2) -> tuple[Design, FairObjective]:
    n = len(rows.y)
    weight = np.full(n, 1.0 / n)
    term = Term.of(Cells.of(np.zeros(n, dtype=np.int64), rows.s, (1, groups), weight))
    design = Design.of(rows.X, weight, intercept=True, n_classes=2)
    return design, FairObjective(rows.y, weight, (term,), 5.0)


def by_sgda(rows: Rows, batch: int, epochs: int) -> FermiClassifier:
    model = FermiClassifier(lam=5.0, batch_size=batch, max_iter=epochs, tol=0.0, random_state=0)
    return model.fit(rows.X, rows.y, sensitive_features=rows.s)


def by_lbfgs(rows: Rows, max_iter: int) -> FermiClassifier:
    model = FermiClassifier(lam=5.0, l2=1.0 / len(rows.y), max_iter=max_iter, tol=1e-4)
    return model.fit(rows.X, rows.y, sensitive_features=rows.s)


def single_pass(rows: Rows, groups: int) -> Callable[[], None]:
    s = rows.s if groups == 2 else np.random.default_rng(0).integers(0, groups, len(rows.y))
    design, objective = problem(rows._replace(s=s), groups)
    loop = Loop(design, objective, l2=1e-4, batch=1, radius=np.inf, averaged=False)
    state = loop.start(np.zeros(design.shape), None)
    order, small = np.random.default_rng(0).permutation(len(rows.y)), np.full(len(rows.y), 1e-4)
    return lambda: loop.advance(state, order, small, small)


def time_it(benchmark: Any, case: str, work: Callable[[], object], peer: str = "", rounds: int = 8) -> None:
    benchmark.group = case
    if peer:
        benchmark.extra_info["peer"] = peer
    benchmark.pedantic(work, rounds=rounds, warmup_rounds=1)


def test_single_peer(benchmark: Any, rows: Rows) -> None:
    peer = SGDClassifier(loss="log_loss", max_iter=PASSES, tol=None)
    time_it(benchmark, SINGLE, lambda: peer.fit(rows.X, rows.y), "SGDClassifier, as many passes")


def test_single_fermi(benchmark: Any, rows: Rows) -> None:
    time_it(benchmark, SINGLE, lambda: by_sgda(rows, 1, PASSES))


def test_exact_peer(benchmark: Any, rows: Rows) -> None:
    peer = LogisticRegression(max_iter=500)
    time_it(benchmark, EXACT, lambda: peer.fit(rows.X, rows.y), "LogisticRegression(max_iter=500)")


def test_exact_fermi(benchmark: Any, rows: Rows) -> None:
    time_it(benchmark, EXACT, lambda: by_lbfgs(rows, 500))


def test_groups_peer(benchmark: Any, rows: Rows) -> None:
    time_it(benchmark, GROUPS, single_pass(rows, 2), "the same with 2 groups", rounds=30)


def test_groups_fermi(benchmark: Any, rows: Rows) -> None:
    time_it(benchmark, GROUPS, single_pass(rows, MANY), rounds=30)


def train_large(kind: str, rows: Rows) -> None:
    if kind == "lbfgs":
        by_lbfgs(rows, 10)
    else:
        by_sgda(rows, 64, 1)


def peak_kb() -> int:
    """The most memory this program has held. Not ru_maxrss: a child process inherits that of its parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def peak_over_input(kind: str) -> float:
    """MB above the input that training takes at most, in a process of its own."""
    out = subprocess.check_output([sys.executable, __file__, kind], text=True)
    return float(json.loads(out)["peak_extra_mb"])


@pytest.mark.parametrize(("case", "kind"), [(LARGE_SGDA, "sgda"), (LARGE_EXACT, "lbfgs")])
def test_large_fermi(benchmark: Any, case: str, kind: str) -> None:
    rows = large()
    time_it(benchmark, case, lambda: train_large(kind, rows), rounds=2)
    benchmark.extra_info["peak_extra_mb"] = peak_over_input(kind)


@pytest.mark.parametrize("case", [LARGE_SGDA, LARGE_EXACT])
def test_large_peer(benchmark: Any, case: str) -> None:
    rows = large()
    if case == LARGE_SGDA:
        model, name = SGDClassifier(loss="log_loss", max_iter=1, tol=None), "SGDClassifier, one pass"
    else:
        model, name = LogisticRegression(max_iter=10), "LogisticRegression(max_iter=10)"
    time_it(benchmark, case, lambda: model.fit(rows.X, rows.y), name, rounds=2)


if __name__ == "__main__":
    # Compile on few rows first; the peak of the process so far is then the input alone.
    train_large(sys.argv[1], large(1000))
    everything = large()
    before = peak_kb()
    train_large(sys.argv[1], everything)
    after = peak_kb()
    print(json.dumps({"peak_extra_mb": (after - before) * 1024 / 1e6}))
