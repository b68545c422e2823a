"""The constants of a data set: made-up rows and Adult."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import fermi
from fermi import FermiClassifier, theory
from fermi.datasets import Dataset
from fermi.fitting.objective import FairObjective
from fermi.formulas import theory as formula
from fermi.linear.design import Design
from fermi.linear.solvers.step_sizes import untuned


def data(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], 400, p=[0.5, 0.4, 0.1])
    X = rng.standard_normal((400, 3)) * [1.0, 50.0, 0.1] + (y == "c")[:, None]
    return {"X": X, "y": y, "sensitive_features": rng.choice(["u", "v"], 400, p=[0.8, 0.2])}


def test_the_table_of_a_data_set() -> None:
    d = data()
    t = theory.constants(**d, lam=2.0, epsilon=0.2, batch_size=16)
    frequency = np.mean(d["y"] == "c")  # which the optimum of the plain model has
    assert 0.5 * frequency < t.corrected.p_y_min == t.published.p_y_min <= frequency * 1.01
    assert t.corrected.p_s_min == pytest.approx(np.mean(d["sensitive_features"] == "v"))
    assert t.corrected.mu == pytest.approx(4 * t.corrected.p_y_min)
    assert t.corrected.radius == pytest.approx(math.sqrt(2 / t.corrected.p_y_min))
    for c in (t.published, t.corrected):
        assert 0 < c.eta_theta < c.eta_w < math.inf
        assert c.kappa == pytest.approx(c.beta / c.mu)
        assert c.eta_w == pytest.approx(1 / c.beta)
    assert t.corrected.eta_theta == pytest.approx(1 / (16 * (t.corrected.kappa + 1) ** 2 * t.corrected.beta))
    assert t.passes()[1] == t.corrected.iterations  # the batch would be larger than the data
    text = str(t)
    assert [line.split()[0] for line in text.splitlines()[1:14]][-2:] == ["floor", "passes"]
    assert all(sentence in text for sentence in t.assumptions)
    assert "fair logistic model" in t.assumptions[0]


def test_where_the_least_probability_comes_from() -> None:
    d = data()
    given_F = np.tile([0.6, 0.37, 0.03], (400, 1))
    measured = theory.constants(**d, probabilities=given_F)
    assert measured.corrected.p_y_min == pytest.approx(0.03)
    assert "probabilities given" in measured.assumptions[0]
    centre = theory.constants(**d, theta_radius=0.0)
    assert centre.corrected.p_y_min == pytest.approx(1 / 3)
    bounded = [theory.constants(**d, theta_radius=r).corrected.p_y_min for r in (0.1, 0.5, 1.0)]
    assert bounded == sorted(bounded, reverse=True)
    design = Design.of(d["X"], np.full(400, 1 / 400), intercept=True, n_classes=3)
    rng = np.random.default_rng(0)
    for _ in range(200):
        theta = rng.standard_normal(design.shape)
        e = np.exp(design.logits(0.5 * theta / np.linalg.norm(theta)))
        assert (e / e.sum(axis=1, keepdims=True)).mean(axis=0).min() >= bounded[1]


def test_sparse_rows_weights_and_conditions() -> None:
    d = data()
    X = np.where(np.abs(d["X"]) > 0.5, d["X"], 0.0)
    F = np.tile([0.5, 0.3, 0.2], (400, 1))
    sparse = theory.constants(**{**d, "X": csr_matrix(X)}, probabilities=F)
    design = Design.of(csr_matrix(X), np.full(400, 1 / 400), intercept=True, n_classes=3)
    square = ((X / design.scale) ** 2).sum(axis=1) + 1
    groups = d["sensitive_features"]
    largest = max(square.mean(), *(square[groups == g].mean() for g in "uv"))
    s = formula.Setting(1.0, 2, 3, 1, 1, 2, 0.2, 0.2, float(np.mean(groups == "v")), 1.0, math.log(3))
    model = formula.linear_model(largest, 3, 1e-4 / float(design.scale.min()) ** 2)
    assert sparse.corrected.beta == pytest.approx(formula.corrected_beta(s, model, sparse.corrected.radius))
    weight = np.where(groups == "v", 4.0, 1.0)
    weighted = theory.constants(**d, probabilities=F, sample_weight=weight)
    rare = weight[groups == "v"].sum() / weight.sum()
    assert weighted.corrected.p_s_min == pytest.approx(min(rare, 1 - rare))
    odds = theory.constants(**d, fairness="equalized_odds", probabilities=F)
    assert odds.corrected.radius == pytest.approx(math.sqrt(3 * 2 / 0.2))
    assert odds.corrected.mu == pytest.approx(2 * np.mean(d["y"] == "c") * 0.2)
    assert "3 conditions" in odds.assumptions[-1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lam": 0.0}, "`lam` is 0.0"),
        ({"epsilon": -1.0}, "`epsilon`"),
        ({"batch_size": 0}, "`batch_size`"),
        ({"theta_radius": -1.0}, "`theta_radius` is -1.0"),
        ({"theta_radius": 1e4}, "choose a smaller `theta_radius`"),
        ({"theta_radius": 1.0, "probabilities": np.full((400, 3), 1 / 3)}, "one of the two"),
        ({"probabilities": np.full((400, 2), 1 / 2)}, "`probabilities` has the shape"),
        ({"y": np.zeros(400)}, "`y` holds one class only"),
        ({"X": np.full((400, 2), np.nan)}, "`X` holds NaN or inf"),
        ({"X": np.zeros((3, 2))}, "`y` has 400 rows; expected 3, as many as `X`"),
        ({"X": csr_matrix((3, 2))}, "`y` has 400 rows; expected 3, as many as `X`"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(fermi.FermiError, match=words.replace("(", r"\(")):
        theory.constants(**{**data(), **change})


IN_DOCS = {
    "p_ŷ^min": "p_y_min",
    "p_S^min": "p_s_min",
    "D": "radius",
    "β": "beta",
    "μ": "mu",
    "κ": "kappa",
    "σ²": "sigma2",
    "η_θ": "eta_theta",
    "η_w": "eta_w",
    "batch": "batch_size",
    "steps": "iterations",
}


@pytest.mark.slow
def test_adult(adult_numbers: Dataset) -> None:
    """The numbers of docs/theory.md."""
    d = adult_numbers
    t = theory.constants(d.X_train, d.y_train, sensitive_features=d.s_train, lam=1.0)
    assert t.corrected.p_y_min == pytest.approx(0.2358, abs=1e-3)  # of the fair model; the plain one has 0.2409
    assert (t.published.radius, t.corrected.radius) == pytest.approx((14.7, 2.91), rel=0.01)
    assert (t.published.beta, t.corrected.beta) == pytest.approx((1.18e5, 165), rel=0.01)
    assert t.passes() == pytest.approx((7.53e19, 1.44e11), rel=0.02)
    ten = theory.constants(d.X_train, d.y_train, sensitive_features=d.s_train, lam=10.0)
    odds = theory.constants(d.X_train, d.y_train, sensitive_features=d.s_train, lam=1.0, fairness="equalized_odds")
    printed = (Path(__file__).parents[2] / "docs" / "theory.md").read_text(encoding="utf-8").split("## Adult")[1]
    for name, field in IN_DOCS.items():
        (line,) = [line for line in printed.splitlines() if line.startswith(f"| {name} |")]
        computed = [getattr(c, field) for c in (t.published, t.corrected, ten.corrected, odds.corrected)]
        assert [float(cell) for cell in line.strip("|").split("|")[1:]] == pytest.approx(computed, rel=0.04), name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:sgda has not settled")  # with constant steps W keeps its noise
def test_what_the_theory_means_for_adult(adult_numbers: Dataset) -> None:
    """The numbers that docs/theory.md has outside its table."""
    d = adult_numbers
    rows: dict[str, Any] = {"X": d.X_train, "y": d.y_train, "sensitive_features": d.s_train}
    t = theory.constants(**rows, lam=1.0).corrected
    assert t.floor == pytest.approx(2200, rel=0.01)

    def reached(**steps: Any) -> float:
        model = FermiClassifier(lam=1.0, solver="sgda", batch_size=1, max_iter=10, random_state=0, **steps)
        return float(model.fit(**rows).history_[-1]["objective"])

    exact = FermiClassifier(lam=1.0, tol=1e-6, max_iter=5000).fit(**rows)
    least = exact.history_[-1]["objective"]
    assert least == pytest.approx(0.3420, abs=5e-5)
    assert reached() < least + 3e-4
    assert reached(eta_theta=t.eta_theta) == pytest.approx(0.6928, abs=5e-5)
    assert reached(eta_w=t.eta_w, radius=t.radius) == pytest.approx(0.3423, abs=1e-4)
    n = len(d.y_train)
    design = Design.of(d.X_train.to_numpy(dtype=float), np.full(n, 1 / n), intercept=True, n_classes=2)
    norm = float(np.linalg.norm(design.parameters(exact.coef_, exact.intercept_)))
    assert norm == pytest.approx(3.8, abs=0.05)
    bounds = [theory.constants(**rows, theta_radius=r).corrected.p_y_min for r in (norm, 1.0)]
    assert bounds == pytest.approx([6e-9, 0.0024], rel=0.1)
    step = untuned(design, FairObjective(np.zeros(1, dtype=np.int64), np.ones(1), (), 1.0), 1)[0]
    assert (step, step / t.eta_theta) == pytest.approx((0.017, 5.5e6), rel=0.02)
    plain = FermiClassifier(lam=0.0).fit(**rows).predict_proba(d.X_train)
    assert plain.mean(axis=0).min() == pytest.approx(0.241, abs=5e-4)
