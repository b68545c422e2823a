"""One step on a batch, of Algorithm 1 and of descent on the batch's own ERMI, against exact gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fermi
from fermi.linear.solvers._loop import Loop
from tests.convergence.samples import BENCH, three_groups

BATCH = 4


@pytest.fixture(scope="module")
def rows() -> Any:
    return three_groups()


def halfway(rows: Any, notion: str, lam: float) -> Any:
    """A judge, and θ that is best for half of its λ: no stationary point."""
    judge = BENCH.Judge(rows, notion, lam)
    model = fermi.FermiClassifier(notion, lam / 2).fit(rows.X, rows.y, sensitive_features=rows.s)
    return judge, judge.design.parameters(model.coef_, model.intercept_)


def probabilities(judge: Any, theta: Any, chosen: Any = slice(None)) -> Any:
    p = 1.0 / (1.0 + np.exp(-(judge.standard[chosen] @ theta)))
    return np.hstack([1.0 - p, p])


def test_the_batch_s_own_ermi_is_not_ermi_on_average(rows: Any) -> None:
    judge, theta = halfway(rows, "demographic_parity", 5.0)
    F, rng = probabilities(judge, theta), np.random.default_rng(0)
    exact = fermi.ermi(F, rows.s)
    assert exact == pytest.approx(judge.score(theta)[1])
    batches = rng.permutation(len(rows.y)).reshape(-1, BATCH)
    own = np.array([fermi.ermi(F[batch], rows.s[batch]) for batch in batches])
    error = own.std() / len(own) ** 0.5
    assert own.mean() - 10 * error > 3 * exact
    # Of a single row it is zero, whatever the model.
    assert fermi.ermi(F[:1], rows.s[:1]) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("notion", BENCH.NOTIONS)
def test_the_mean_of_algorithm_1_s_steps_is_the_exact_step(rows: Any, notion: str) -> None:
    judge, theta = halfway(rows, notion, 5.0)
    logits = judge.design.logits(theta)
    (best,) = judge.objective.optimal_duals(logits)
    exact = judge.design.pull_back(judge.objective.value_and_gradient(logits)[1])
    loop = Loop(judge.design, judge.objective, l2=0.0, batch=BATCH, radius=np.inf, averaged=False)
    eta = np.array([1e-3])
    moved, risen = [], []
    for batch in np.random.default_rng(0).permutation(len(rows.y)).reshape(-1, BATCH):
        state = loop.start(theta, (best,))
        loop.advance(state, batch, eta, eta)
        moved.append((theta - loop.theta(state)) / eta)
        risen.append((loop.duals(state)[0] - best) / eta)
    assert np.mean(moved, axis=0) == pytest.approx(exact, abs=1e-9)
    assert np.abs(exact).max() > 1e-3  # there is something to agree on
    assert np.mean(risen, axis=0) == pytest.approx(np.zeros_like(best), abs=1e-8)  # W is already the best
    assert np.abs(risen).max() > 1e-1


def plain(judge: Any, theta: Any, batch: Any, notion: str) -> float:
    """loss_B + λ ERMI_B + penalty, by the public measures."""
    F, y, s = probabilities(judge, theta, batch), judge.rows.y[batch], judge.rows.s[batch]
    loss = -np.log(F[np.arange(len(y)), y]).mean()
    counted = y == 1 if notion == "equal_opportunity" else y == y
    violation = 0.0
    if counted.any():
        violation = fermi.ermi(F[counted], s[counted], y_true=y[counted], notion=notion)
    return float(loss + judge.lam * violation + judge.design.penalty(theta, BENCH.L2)[0])


@pytest.mark.slow
@pytest.mark.parametrize("notion", BENCH.NOTIONS)
@pytest.mark.parametrize("size", [1, 4, 7])
def test_mary_s_step_is_the_gradient_of_its_batch_s_own_objective(rows: Any, notion: str, size: int) -> None:
    judge, theta = halfway(rows, notion, 5.0)
    rng = np.random.default_rng(size)
    for _ in range(10):
        batch, direction = rng.choice(len(rows.y), size, replace=False), rng.standard_normal(theta.shape)
        moved = theta.copy()
        judge.mary_steps(moved, batch, size, np.ones(1))
        slope = (
            plain(judge, theta + 1e-6 * direction, batch, notion)
            - plain(judge, theta - 1e-6 * direction, batch, notion)
        ) / 2e-6
        assert ((theta - moved) * direction).sum() == pytest.approx(slope, rel=1e-5, abs=1e-7)
