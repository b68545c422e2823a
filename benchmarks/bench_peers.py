"""Time to a solution: a fair linear model beside the fastest that train an unfair one.

Every entrant trains on the same rows with the same penalty, ½ · 1e-4 ‖w‖² beside the mean loss, until its objective is
within 1e-4 of the least of its own problem: ours at λ = 0 and at λ = 5, the others at λ = 0 but for the loop of FERMI's
authors. What each is asked for, a tolerance or a number of passes, is the cheapest on its ladder that gets there; then
rounds of all entrants take turns. The least is found by Newton's method to a gradient of 1e-9.

Entrants whose package is not installed are listed as such, and so are those whose ladder ends before they get there:
`pip install scikit-learn-intelex cyanure vowpalwabbit` brings all. Vowpal Wabbit runs its own L-BFGS over its own cache
file, made before; its penalty counts the intercept as well.
"""

from __future__ import annotations

import importlib
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from fermi import FermiClassifier

L2, NEAR, LAM = 1e-4, 1e-4, 5.0
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
PASSES = (2, 5, 10, 20, 50, 100)
SIZES = (1_000, 10_000, 100_000, 1_000_000)
MOST_IN_PYTHON = 10_000  # rows, beyond which a loop over rows in Python, or a text file of them, is not waited for
WEIGHTS = 20


class Rows(NamedTuple):
    """Features, labels and groups."""

    X: Any
    y: NDArray[np.int64]
    s: NDArray[np.int64]


class Model(NamedTuple):
    """Weights and intercept."""

    w: NDArray[np.float64]
    b: float


Entrant = Callable[[Any], Model]


def dense(n: int) -> Rows:
    """Twenty standard normal features, one of which tells the group in part."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, WEIGHTS))
    s = (X[:, 1] + rng.standard_normal(n) > 0.0).astype(np.int64)
    margin = X @ rng.standard_normal(WEIGHTS) / 2.0 + s
    return Rows(X, (margin + rng.logistic(size=n) > 0.5).astype(np.int64), s)


def one_hot(n: int) -> Rows:
    """Ten columns of ten categories each as 0/1 columns, and five numbers."""
    rng = np.random.default_rng(0)
    codes = np.minimum(rng.geometric(0.3, (n, 10)) - 1, 9)
    place = (codes + 10 * np.arange(10)).ravel()
    words = csr_matrix((np.ones(10 * n), place, np.arange(0, 10 * n + 1, 10)), shape=(n, 100))
    X: Any = csr_matrix(hstack([words, csr_matrix(rng.standard_normal((n, 5)))]))
    s = (codes[:, 0] > 1).astype(np.int64)
    margin = X @ rng.standard_normal(105) / 2.0 + s
    return Rows(X, (margin + rng.logistic(size=n) > np.median(margin)).astype(np.int64), s)


def objective(rows: Rows, lam: float, model: Model) -> float:
    """Mean loss + λ ERMI + ½ l2 ‖w‖²."""
    margin = rows.X @ model.w + model.b
    loss = np.logaddexp(0.0, np.where(rows.y == 1, -margin, margin)).mean()
    F = 0.5 * (1.0 + np.tanh(0.5 * margin))
    p = np.bincount(rows.s, minlength=2) / len(rows.s)
    P = np.bincount(rows.s, weights=F, minlength=2) / len(rows.s)
    joint = np.column_stack([p - P, P])
    ermi = (joint**2 / (p[:, None] * joint.sum(axis=0))).sum() - 1.0
    return float(loss + lam * ermi + 0.5 * L2 * (model.w**2).sum())


def fermi_by(rows: Rows, lam: float, **options: Any) -> Model:
    model = FermiClassifier(lam=lam, l2=L2, **options).fit(rows.X, rows.y, sensitive_features=rows.s)
    return Model(model.coef_[0], float(model.intercept_[0]))


def sklearn_by(estimator: Any, rows: Rows, **options: Any) -> Model:
    model = estimator(C=1.0 / (L2 * len(rows.y)), max_iter=10_000, **options).fit(rows.X, rows.y)
    return Model(np.asarray(model.coef_)[0], float(np.asarray(model.intercept_)[0]))


def cyanure_by(rows: Rows, threads: int, tol: float) -> Model:
    estimators = importlib.import_module("cyanure.estimators")
    model = estimators.Classifier(
        loss="logistic", penalty="l2", lambda_1=L2, tol=tol, n_threads=threads, verbose=False, max_iter=1000
    )
    model.fit(rows.X, rows.y)
    return Model(np.asarray(model.coef_).ravel(), float(np.ravel(model.intercept_)[0]))


class Vowpal:
    """Vowpal Wabbit, by its L-BFGS, over a file that it has read before."""

    def __init__(self, rows: Rows, folder: Path) -> None:
        self._workspace: Any = importlib.import_module("vowpalwabbit").Workspace
        self._d, self._l2, self._cache = rows.X.shape[1], L2 * len(rows.y), folder / "rows.cache"
        text, X = folder / "rows.txt", csr_matrix(rows.X)
        with text.open("w") as file:
            for i, label in enumerate(2 * rows.y - 1):
                part = slice(X.indptr[i], X.indptr[i + 1])
                pairs = zip(X.indices[part], X.data[part], strict=True)
                file.write(f"{label} | " + " ".join(f"{j}:{x:.9g}" for j, x in pairs) + "\n")
        self._run(f"-d {text}", 2).finish()

    def _run(self, source: str, passes: int) -> Any:
        options = f"{source} --cache_file {self._cache} --passes {passes} --loss_function logistic --l2 {self._l2}"
        return self._workspace(f"{options} --bfgs --termination 0 --holdout_off -b 18 --quiet")

    def __call__(self, passes: int) -> Model:
        """Train, and read the weights: features are numbers, which are their own places."""
        run = self._run("", passes)
        w = np.array([run.get_weight(j) for j in range(self._d)])
        b = run.get_weight(11650396 & (2**18 - 1))  # the place that it hashes its constant to
        run.finish()
        return Model(w, float(b))


def fermi_odds(rows: Rows, passes: int) -> Model:
    """Algorithm 1 a row at a time in plain numpy, as the authors' code for equalized odds goes through its rows."""
    rng, X = np.random.default_rng(0), rows.X if isinstance(rows.X, np.ndarray) else rows.X.toarray()
    n, d = X.shape
    root = np.sqrt(np.bincount(rows.s, minlength=2) / n)
    w, b, W = np.zeros(d), 0.0, np.zeros((2, 2))
    eta = 0.3 / (0.25 * (X**2).sum() / n + 1.0)
    for step, i in enumerate(np.concatenate([rng.permutation(n) for _ in range(passes)])):
        left, x, r = 1.0 - step / (passes * n), X[i], rows.s[i]
        f = 1.0 / (1.0 + np.exp(-(x @ w + b)))
        C = 2.0 * W[r] / root[r] - (W**2).sum(axis=0)
        g = f - rows.y[i] + LAM * f * (1.0 - f) * (C[1] - C[0])
        F = np.array([1.0 - f, f])
        slope = -2.0 * W * F
        slope[r] += 2.0 * F / root[r]
        w -= eta * left * (g * x + L2 * w)
        b -= eta * left * g
        W += 0.005 * left * slope
    return Model(w, float(b))


def entrants(rows: Rows, threads: int, folder: Path) -> dict[str, tuple[float, Entrant | str, Sequence[Any]]]:
    """Every entrant by name: the λ of its problem, what trains it (or why nothing does), and its ladder."""
    found: dict[str, tuple[float, Entrant | str, Sequence[Any]]] = {}
    entrant: Entrant
    for lam in (0.0, LAM):
        for solver in ("lbfgs", "newton"):
            entrant = lambda tol, lam=lam, solver=solver: fermi_by(rows, lam, solver=solver, tol=tol)  # noqa: E731
            found[f"fermi {solver}, λ = {lam:g}"] = lam, entrant, TOLERANCES
    for solver in ("lbfgs", "newton-cholesky"):
        entrant = lambda tol, solver=solver: sklearn_by(LogisticRegression, rows, solver=solver, tol=tol)  # noqa: E731
        found[f"scikit-learn {solver}"] = 0.0, entrant, TOLERANCES
    for name, package, made in (
        ("scikit-learn-intelex lbfgs", "sklearnex.linear_model", lambda: _intelex(rows)),
        ("cyanure", "cyanure.estimators", lambda: lambda tol: cyanure_by(rows, threads, tol)),
    ):
        found[name] = 0.0, _if_installed(package, made), TOLERANCES
    few = len(rows.y) <= MOST_IN_PYTHON
    late: Any = f"not waited for beyond {MOST_IN_PYTHON:,} rows"
    found["Vowpal Wabbit"] = 0.0, _if_installed("vowpalwabbit", lambda: Vowpal(rows, folder)) if few else late, PASSES
    found["a loop over rows as in FERMI-ODDS, λ = 5"] = (
        LAM,
        (lambda p: fermi_odds(rows, p)) if few else late,
        PASSES[:3],
    )
    return found


def _if_installed(package: str, made: Callable[[], Entrant]) -> Entrant | str:
    try:
        importlib.import_module(package)
    except Exception as error:  # a package that is there may still lack a library of its own
        return f"cannot be loaded here ({type(error).__name__}: {error})"
    return made()


def _intelex(rows: Rows) -> Entrant:
    estimator = importlib.import_module("sklearnex.linear_model").LogisticRegression
    return lambda tol: sklearn_by(estimator, rows, solver="lbfgs", tol=tol)


def case(name: str, rows: Rows, threads: int, rounds: int) -> dict[str, Any]:
    """The seconds of every entrant on some rows, medians of rounds in turns."""
    least = {lam: objective(rows, lam, fermi_by(rows, lam, solver="newton", tol=1e-9)) for lam in (0.0, LAM)}
    ready: dict[str, tuple[Entrant, Any]] = {}
    notes: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for entrant, (lam, work, ladder) in entrants(rows, threads, Path(folder)).items():
            if isinstance(work, str):
                notes[entrant] = work
                continue
            for level in ladder:
                beyond = objective(rows, lam, work(level)) - least[lam]
                if beyond <= NEAR:
                    ready[entrant] = work, level
                    break
            else:
                notes[entrant] = f"not within {NEAR:g} at {level:g}, the last of its ladder: {beyond:.1e} beyond"
        taken: dict[str, list[float]] = {entrant: [] for entrant in ready}
        for _ in range(rounds):
            for entrant, (work, level) in ready.items():
                began = time.perf_counter()
                work(level)
                taken[entrant].append(time.perf_counter() - began)
    seconds = {entrant: float(np.median(values)) for entrant, values in taken.items()}
    levels = {entrant: level for entrant, (_, level) in ready.items()}
    return {"case": name, "threads": threads, "seconds": seconds, "levels": levels, "notes": notes}


def measure(*, quick: bool = False) -> list[dict[str, Any]]:
    """All sizes, dense and one-hot, one thread and two; quick: the two smallest sizes in one thread."""
    cases = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for threads in (1,) if quick else (1, 2):
            with threadpool_limits(threads):
                for n in SIZES[:2] if quick else SIZES:
                    rounds = 5 if n <= 10_000 else 3
                    cases.append(case(f"{n:,} × {WEIGHTS} dense", dense(n), threads, rounds))
                    if n < SIZES[-1]:
                        cases.append(case(f"{n:,} × 105 one-hot, CSR", one_hot(n), threads, rounds))
    return cases


def show(cases: list[dict[str, Any]]) -> None:
    """A block per case, fastest first, each as a ratio to the fastest of the others."""
    for found in cases:
        seconds = found["seconds"]
        peers = [value for name, value in seconds.items() if not name.startswith("fermi")]
        print(f"{found['case']}, threads: {found['threads']}")
        for name in sorted(seconds, key=lambda entrant: seconds[entrant]):
            print(
                f"    {name:<42} {1e3 * seconds[name]:9.1f} ms  {seconds[name] / min(peers):6.2f} of the fastest peer"
            )
        for name, note in found["notes"].items():
            print(f"    {name:<42} {note}")
