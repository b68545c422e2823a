"""The penalties of the rivals that train networks, each against something independent."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from scipy.stats import norm
from torch import Tensor, nn

import fermi
from fermi import baselines
from fermi.baselines.baharlouei import RenyiCorrelation
from fermi.baselines.cho_kde import DensityGap
from fermi.baselines.cho_mi import Discriminator
from fermi.baselines.common.networks import Penalty
from fermi.baselines.common.protocol import Rows
from fermi.baselines.cooper import LargestGap, make_problem
from fermi.baselines.fairret import NormPenalty
from fermi.baselines.mary import ChiSquared
from fermi.baselines.prost import _BANDWIDTH, MeanDiscrepancy, mean_kernel
from fermi.baselines.repair import bias_and_slope, repaired
from fermi.baselines.reweighing import fairest_power
from fermi.baselines.zhang import Adversary, Zhang
from fermi.formulas.dependence import mutual_information

NOTIONS = ["demographic_parity", "equalized_odds", "equal_opportunity"]


def batch(notion: str, n: int = 60, m: int = 3, k: int = 3, seed: int = 0) -> tuple[Rows, Tensor]:
    """Rows of which some have no group, and logits for them."""
    rng = np.random.default_rng(seed)
    y, s = rng.integers(m, size=n), rng.integers(-1, k, size=n)
    last = np.where(y == m - 1, 0, -1)
    z, n_conditions = {NOTIONS[0]: (np.zeros(n, int), 1), NOTIONS[1]: (y, m), NOTIONS[2]: (last, 1)}[notion]
    logits = rng.normal(size=(n, m)) + 0.8 * np.eye(m)[s % m]
    return Rows(np.zeros((n, 1)), y, s, z, m, k, n_conditions), torch.tensor(logits, requires_grad=True)


def tensors(rows: Rows) -> list[Tensor]:
    return [torch.as_tensor(column) for column in (rows.y, rows.s, rows.z)]


def value_of(penalty: nn.Module, rows: Rows, logits: Tensor) -> float:
    with torch.no_grad():
        return float(penalty(logits, *tensors(rows)))


def slope_of(penalty: nn.Module, rows: Rows, logits: Tensor) -> Tensor:
    return torch.autograd.grad(penalty(logits, *tensors(rows)), logits)[0]


def conditions(rows: Rows) -> list[tuple[float, Any]]:
    """Each condition's share of the rows that count, and its rows."""
    masks = [(rows.s >= 0) & (rows.z == value) for value in range(rows.n_conditions)]
    return [(mask.sum() / sum(other.sum() for other in masks), mask) for mask in masks]


@pytest.mark.parametrize("notion", NOTIONS)
def test_mary_is_the_ermi_of_the_batch(notion: str) -> None:
    rows, logits = batch(notion)
    groups = [None if code < 0 else code for code in rows.s.tolist()]
    expected = fermi.ermi(
        softmax(logits.detach().numpy(), axis=1), groups, y_true=rows.y, notion=notion, classes=range(3)
    )
    assert value_of(ChiSquared(rows), rows, logits) == pytest.approx(expected)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize(("m", "k"), [(2, 2), (3, 2), (2, 3)])
def test_baharlouei_is_mary_with_two_classes_or_groups(notion: str, m: int, k: int) -> None:
    rows, logits = batch(notion, m=m, k=k)
    assert value_of(RenyiCorrelation(rows), rows, logits) == pytest.approx(value_of(ChiSquared(rows), rows, logits))
    slopes = [slope_of(penalty(rows), rows, logits) for penalty in (RenyiCorrelation, ChiSquared)]
    torch.testing.assert_close(*slopes, atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("notion", NOTIONS)
def test_baharlouei_is_the_second_singular_value(notion: str) -> None:
    rows, logits = batch(notion, n=50, m=4, k=3)
    F, expected = softmax(logits.detach().numpy(), axis=1), 0.0
    for share, mask in conditions(rows):
        P = np.stack([F[mask & (rows.s == group)].sum(0) for group in range(3)]) / mask.sum()
        Q = P / np.sqrt(np.outer(P.sum(1), P.sum(0)))
        expected += share * np.linalg.svd(Q, compute_uv=False)[1] ** 2
    assert value_of(RenyiCorrelation(rows), rows, logits) == pytest.approx(expected)
    penalty = RenyiCorrelation(rows)
    assert torch.autograd.gradcheck(lambda logits: penalty(logits, *tensors(rows)), logits)


@pytest.mark.parametrize("notion", NOTIONS)
def test_prost_is_the_discrepancy_pair_by_pair(notion: str) -> None:
    rows, logits = batch(notion, n=40, m=2, k=2)

    def by_pairs(logits: Tensor) -> Tensor:
        score, total = logits.softmax(1)[:, 1], torch.zeros((), dtype=torch.float64)
        for share, mask in conditions(rows):
            first, second = (np.flatnonzero(mask & (rows.s == group)) for group in (0, 1))
            for one, other, sign in ((first, first, 1.0), (second, second, 1.0), (first, second, -2.0)):
                for i, j in product(one, other):
                    kernel = torch.exp(-((score[i] - score[j]) ** 2) / (2 * _BANDWIDTH**2))
                    total = total + share * sign * kernel / (len(one) * len(other))
        return total

    assert value_of(MeanDiscrepancy(rows), rows, logits) == pytest.approx(float(by_pairs(logits.detach())), rel=1e-5)
    (expected,) = torch.autograd.grad(by_pairs(logits), logits)
    torch.testing.assert_close(slope_of(MeanDiscrepancy(rows), rows, logits), expected, atol=1e-7, rtol=1e-5)


def test_prost_needs_no_matrix_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    score, signs = torch.tensor(np.append(rng.beta(0.5, 2.0, 500), [0.0, 0.5, 1.0])), torch.tensor(rng.normal(size=503))
    away = score[:, None] - score
    kernel = (-0.5 * (away / _BANDWIDTH) ** 2).exp()
    mass, slope = mean_kernel(score, signs)
    torch.testing.assert_close(mass, kernel @ signs, atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(slope, -(kernel * away) @ signs / _BANDWIDTH**2, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("m", [2, 3])
def test_cho_kde_counts_labels_as_the_bandwidth_vanishes(m: int) -> None:
    rows, logits = batch("demographic_parity", m=m)
    sharp = DensityGap(rows, bandwidth=1e-9)
    labels = np.eye(m)[logits.detach().numpy().argmax(1)]
    assert sharp.labelled(logits).detach().numpy() == pytest.approx(labels)
    known = rows.s >= 0
    gaps = [labels[rows.s == group].mean(0) - labels[known].mean(0) for group in range(3)]
    assert value_of(sharp, rows, logits) == pytest.approx(0.5 * np.square(gaps).sum() / m, rel=1e-6)
    tight = DensityGap(rows, bandwidth=1e-9, delta=0.01)
    huber = [0.5 * g * g if g < 0.01 else 0.01 * (g - 0.005) for g in np.abs(gaps).ravel()]
    assert value_of(tight, rows, logits) == pytest.approx(sum(huber) / m, rel=1e-6)


def test_cho_kde_takes_the_mass_of_the_density_beyond_one_half() -> None:
    rows, logits = batch("equalized_odds", m=2)
    penalty = DensityGap(rows)
    score = softmax(logits.detach().numpy(), axis=1)[:, 1]
    beyond = [norm.sf(0.5, loc=centre, scale=penalty.bandwidth) for centre in score]
    assert penalty.labelled(logits)[:, 1].detach().numpy() == pytest.approx(beyond, rel=1e-6)
    assert torch.autograd.gradcheck(lambda logits: penalty(logits, *tensors(rows)), logits, atol=1e-6)


def test_cho_mi_reaches_the_mutual_information() -> None:
    """Four predictions, three groups, two conditions: the best discriminator knows p(s | ŷ, z)."""
    rng = np.random.default_rng(0)
    shown = np.array([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.4, 0.3, 0.3]])
    law = rng.dirichlet(np.full(12, 0.7), size=2)
    z = np.repeat([0, 1], [600, 400])
    cell = np.concatenate([np.sort(rng.choice(12, size=n, p=p)) for n, p in zip((600, 400), law, strict=True)])
    s, prediction = cell % 3, cell // 3
    rows = Rows(np.zeros((1000, 1)), z, s, z, 3, 3, 2)
    logits = torch.log(torch.as_tensor(shown[prediction], dtype=torch.float32))
    expected = 0.0
    for value in (0, 1):
        counts = np.zeros((3, 4))
        np.add.at(counts, (s[z == value], prediction[z == value]), 1.0)
        expected += (z == value).mean() * mutual_information(counts / counts.sum())
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        penalty = Discriminator(rows)
    assert value_of(penalty, rows, logits) == pytest.approx(0.0, abs=1e-6)  # knows the prior alone
    optimizer = torch.optim.Adam(penalty.parameters(), 0.03)
    for _ in range(600):
        optimizer.zero_grad()
        found = penalty(logits, *tensors(rows))
        found.backward()
        optimizer.step()
        assert found.item() <= expected + 1e-5
    assert found.item() == pytest.approx(expected, rel=0.01)


def test_cho_mi_is_unbiased_over_batches() -> None:
    """Also where the number of rows that count differs from batch to batch."""
    rows, logits = batch("equal_opportunity")
    penalty = Discriminator(rows)
    nn.init.normal_(penalty.outside)
    parts = np.random.default_rng(1).permutation(60).reshape(12, 5)
    gradients = [torch.autograd.grad(penalty(logits[p], *(c[p] for c in tensors(rows))), logits)[0] for p in parts]
    torch.testing.assert_close(torch.stack(gradients).mean(0), slope_of(penalty, rows, logits))


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("alpha", [1e-12, 0.7])
def test_zhang_steps_as_the_paper_says(notion: str, alpha: float) -> None:
    """A linear model, with every gradient worked out by hand."""
    rows, _ = batch(notion)
    rng = np.random.default_rng(3)
    X, c = rng.normal(size=(60, 2)), 0.5
    slope, start = rng.normal(size=(rows.n_conditions, 3, 3)), rng.normal(size=(rows.n_conditions, 3))
    module, adversary = nn.Linear(2, 3).double(), Adversary(rows).double()
    for parameter, value in zip(adversary.parameters(), (np.array(c), slope, start), strict=True):
        parameter.data = torch.as_tensor(value)
    W, b = (parameter.detach().numpy().copy() for parameter in module.parameters())

    logits = X @ W.T + b
    to_loss = (softmax(logits, axis=1) - np.eye(3)[rows.y]) / 60
    sharp, counted = softmax((1 + c) * logits, axis=1), (rows.s >= 0) & (rows.z >= 0)
    guess = softmax(np.einsum("ij,ijk->ik", sharp, slope[rows.z]) + start[rows.z], axis=1)
    wrong = (guess - np.eye(3)[rows.s]) * counted[:, None] / counted.sum()
    back = np.einsum("ik,ijk->ij", wrong, slope[rows.z])
    to_adversary = (1 + c) * sharp * (back - (sharp * back).sum(1, keepdims=True))
    own = np.stack([wrong[rows.z == value].sum(0) for value in range(rows.n_conditions)])
    P, A = (np.concatenate([(g.T @ X).ravel(), g.sum(0)]) for g in (to_loss, to_adversary))

    output = module(torch.as_tensor(X))
    parameters = [list(part.parameters()) for part in (module, adversary)]
    loss, extra = nn.functional.cross_entropy(output, tensors(rows)[0]), adversary(output, *tensors(rows))
    Zhang()._backward(loss, extra, alpha, *parameters)
    step = torch.cat([torch.ravel(p.grad) for p in module.parameters() if p.grad is not None]).numpy()
    assert step == pytest.approx(P - (P @ A) / (A @ A) * A - alpha * A, rel=1e-6, abs=1e-9)
    assert step @ A == pytest.approx(-alpha * (A @ A), abs=1e-9)  # nothing of ∇L_P is left along ∇L_A
    assert adversary.start.grad is not None
    assert adversary.start.grad.numpy() == pytest.approx(own, abs=1e-9)


def test_zhang_without_rows_that_count_is_the_plain_step() -> None:
    rows, _ = batch("demographic_parity", n=4)
    module, adversary = nn.Linear(2, 3), Adversary(rows)
    output = module(torch.ones(4, 2))
    loss = nn.functional.cross_entropy(output, tensors(rows)[0])
    (expected,) = torch.autograd.grad(loss, [module.weight], retain_graph=True)
    extra = adversary(output, tensors(rows)[0], torch.full((4,), -1), torch.zeros(4, dtype=torch.int64))
    Zhang()._backward(loss, extra, 1.0, list(module.parameters()), list(adversary.parameters()))
    torch.testing.assert_close(module.weight.grad, expected)


TABLE = np.array([[50.0, 10.0, 0.0], [20.0, 40.0, 30.0]])


def test_repair_measures_bias_by_the_best_predictor() -> None:
    weights = np.array([[0.3, 0.9, 0.5], [0.8, 0.2, 0.6]])
    P = TABLE * weights / (TABLE * weights).sum()

    def cross_entropy(flat: Any) -> float:
        return float(-(P * log_softmax(flat.reshape(2, 3), axis=0)).sum())

    best = minimize(cross_entropy, np.zeros(6)).fun
    entropy = -(P.sum(1) * np.log(P.sum(1))).sum()
    bias, slope = bias_and_slope(TABLE, weights)
    assert bias == pytest.approx(1 - best / entropy, abs=1e-5)
    for cell in zip(*np.nonzero(TABLE), strict=True):
        moved = weights.copy()
        moved[cell] += 1e-6
        per_row = (bias_and_slope(TABLE, moved)[0] - bias) / 1e-6 / TABLE[cell]
        assert slope[cell] == pytest.approx(per_row * TABLE.sum(), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("table", [TABLE, np.array([[40.0, 15.0], [10.0, 35.0]])])
def test_repair_weighs_rows_as_the_paper_does_one_by_one(table: Any) -> None:
    """A number for every row, and automatic differentiation, as if nothing were known of cells."""
    y, s = (np.repeat(codes.ravel(), table.ravel().astype(int)) for codes in np.indices(table.shape))
    m, k = table.shape
    omega, cells, classes = torch.zeros(len(y), dtype=torch.float64), torch.as_tensor(s * m + y), torch.as_tensor(y)
    for _ in range(20):
        omega.requires_grad_(True)
        w = torch.sigmoid(omega)
        joint = torch.zeros(k * m, dtype=torch.float64).index_add(0, cells, w).reshape(k, m) / w.sum()
        given_s = torch.log((joint / joint.sum(1, keepdim=True)).reshape(-1)[cells])
        risk, entropy = -(w * given_s).sum() / w.sum(), -(w * torch.log(joint.sum(0))[classes]).sum() / w.sum()
        (slope,) = torch.autograd.grad(1 - risk / entropy, omega)
        omega = (omega - 0.5 * len(y) * slope).detach()
    assert repaired(table, steps=20)[y, s] == pytest.approx(expit(omega.numpy()), rel=1e-6)


def test_repair_ends_where_no_grid_of_weights_does_better() -> None:
    table = np.array([[40.0, 15.0], [10.0, 35.0]])
    P = table * repaired(table)
    assert P / P.sum() == pytest.approx(np.outer(P.sum(1), P.sum(0)) / P.sum() ** 2, abs=2e-3)
    grid = [bias_and_slope(table, np.reshape(w, (2, 2)))[0] for w in product(np.linspace(0.05, 0.95, 10), repeat=4)]
    assert -1e-12 < bias_and_slope(table, repaired(table))[0] <= min(grid) + 1e-5
    assert bias_and_slope(table, np.ones((2, 2)))[0] > 0.1
    assert (repaired(np.array([[3.0, 4.0], [0.0, 0.0]])) == 0.5).all()  # one label: no bias


def test_repair_trains_on_weighed_rows() -> None:
    rows, logits = batch("demographic_parity")
    counts = np.array([[((rows.y == y) & (rows.s == s)).sum() for s in range(3)] for y in range(3)], dtype=float)
    known = rows.s >= 0
    power = fairest_power(rows.take(known), repaired(counts)[rows.y[known], rows.s[known]])
    assert power != 1.0
    weights = repaired(counts) ** (0.7 * power)
    weights /= (weights * counts).sum() / counts.sum()
    weighed = [1.0 if s < 0 else weights[y, s] for y, s in zip(rows.y, rows.s, strict=True)]
    losses = -log_softmax(logits.detach().numpy(), axis=1)[np.arange(60), rows.y]
    extra = value_of(baselines.make("repair", 0.7)._penalty(rows), rows, logits)
    assert extra + losses.mean() == pytest.approx(np.mean(weighed * losses), rel=1e-6)


@pytest.mark.parametrize("notion", NOTIONS)
def test_fairret_is_the_library_on_the_whole_batch(notion: str) -> None:
    loss = pytest.importorskip("fairret.loss")
    statistic = pytest.importorskip("fairret.statistic")
    rows, logits = batch(notion, m=2)
    known = rows.s >= 0
    score = (logits[:, 1] - logits[:, 0])[known, None]
    groups, label = torch.eye(3)[rows.s[known]].double(), torch.as_tensor(rows.y[known, None]).double()
    if notion == "demographic_parity":
        expected = loss.NormLoss(statistic.PositiveRate())(score, groups)
    else:
        expected = loss.NormLoss(statistic.TruePositiveRate())(score, groups, label)
        if notion == "equalized_odds":
            expected = expected + loss.NormLoss(statistic.FalsePositiveRate())(score, groups, label)
    assert value_of(NormPenalty(rows), rows, logits) == pytest.approx(expected.item())


@pytest.mark.parametrize("notion", NOTIONS)
def test_cooper_descends_and_ascends_at_once(notion: str) -> None:
    """Two steps of the library's, against the two updates written out on every constraint by itself."""
    optim = pytest.importorskip("cooper.optim")
    rows, start = batch(notion, m=3, k=2)
    epsilon, down, up = 0.02, 0.5, 2.0
    free = start.detach().clone().requires_grad_(True)
    problem = make_problem(LargestGap(rows), epsilon)
    descent, ascent = (torch.optim.SGD([free], down), torch.optim.SGD(problem.dual_parameters(), up, maximize=True))
    for _ in range(2):
        optim.SimultaneousOptimizer(problem, descent, ascent).roll(
            {"logits": free, **dict(zip("ysz", tensors(rows), strict=True))}
        )

    ours, multipliers = start.detach().clone().requires_grad_(True), [0.0] * (2 * 2 * 3 * rows.n_conditions)
    for _ in range(2):
        F, violations = ours.softmax(1), []
        for sign, (_, mask), group, label in product((1, -1), conditions(rows), range(2), range(3)):
            gap = F[mask & (rows.s == group), label].mean() - F[mask, label].mean()
            violations.append(sign * gap - epsilon)
        lagrangian = nn.functional.cross_entropy(ours, tensors(rows)[0])
        for multiplier, violation in zip(multipliers, violations, strict=True):
            lagrangian = lagrangian + multiplier * violation
        (slope,) = torch.autograd.grad(lagrangian, ours)
        ours = (ours - down * slope).detach().requires_grad_(True)
        multipliers = [max(0.0, old + up * v.item()) for old, v in zip(multipliers, violations, strict=True)]
    assert any(multipliers)
    assert problem.close.multiplier().detach().numpy() == pytest.approx(multipliers, abs=1e-5)
    torch.testing.assert_close(free.detach(), ours.detach(), atol=1e-6, rtol=1e-5)


def test_cooper_learns_nothing_of_a_group_alone() -> None:
    rows, logits = batch("equalized_odds", m=2, k=2)
    alone = torch.where(torch.as_tensor(rows.y) == 1, 0, torch.as_tensor(rows.s))  # one group within the second label
    state = make_problem(LargestGap(rows), 0.1).compute_cmp_state(logits, tensors(rows)[0], alone, tensors(rows)[2])
    (constraint,) = state.observed_constraints.values()
    violation = constraint.violation.reshape(2, 2, 2, 2)
    assert (violation[:, 1] == 0).all()
    assert (violation[:, 0] != 0).all()


PENALTIES: list[type[Penalty]] = [ChiSquared, RenyiCorrelation, MeanDiscrepancy, DensityGap, Adversary, NormPenalty]


@pytest.mark.parametrize("penalty", [*PENALTIES, LargestGap], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("notion", NOTIONS)
def test_rows_without_a_group_are_not_penalised(penalty: type[Penalty], notion: str) -> None:
    rows, logits = batch(notion, m=2, k=2)
    known = rows.s >= 0
    made = penalty(rows)
    assert value_of(made, rows, logits) == pytest.approx(value_of(made, rows.take(known), logits[known]), rel=1e-6)
    assert math.isclose(value_of(made, rows.take(~known), logits[~known]), 0.0) or penalty is LargestGap
