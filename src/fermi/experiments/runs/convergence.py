"""Two estimates of ERMI on Adult: FERMI's, which is unbiased on a batch, and the plug-in of `mary`.

Everything else is the same: rows, first weights, order of batches, optimizer and rates. Along the way the objective of
all training rows is computed exactly, with its gradient.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fermi import FermiClassifier
from fermi.baselines.common.protocol import Rows
from fermi.baselines.mary import ChiSquared
from fermi.experiments.figure import Cell, CellRecord
from fermi.experiments.runs import penalised_loop, tabular
from fermi.formulas.ermi import ermi, optimal_dual
from fermi.inputs.groups import GroupEncoder
from fermi.torch import FermiRegularizer, models

POINTS = 50  # measured along training
BATCHES = (16, 64, 128, 512)  # sizes at which the estimates are averaged
DRAWS = 1000  # batches of each size


@dataclass(frozen=True, eq=False)
class AdultTensors:
    """Rows for training and testing, as tensors."""

    X: Tensor
    y: Tensor
    s: Tensor
    X_test: Tensor
    y_test: Tensor

    def coded(self) -> Rows:
        """The training rows as the penalties of `fermi.baselines` take them."""
        return penalised_loop.coded(self.X.numpy(), self.y.numpy(), self.s.numpy())


@functools.lru_cache(maxsize=2)
def adult(limit: int | None) -> AdultTensors:
    """Load Adult with the publisher's split; sex is the attribute, and not among the features."""
    data, s_train, _, _ = tabular.rows("adult", 0, True, limit)
    X, X_test = (torch.tensor(part.to_numpy("float32")) for part in (data.X_train, data.X_test))
    classes, y = np.unique(data.y_train, return_inverse=True)
    y_test = torch.tensor(np.searchsorted(classes, data.y_test.to_numpy()))
    return AdultTensors(X, torch.tensor(y), torch.tensor(GroupEncoder().fit_transform(s_train)), X_test, y_test)


def run(cell: Cell) -> list[CellRecord]:
    """Run a cell: what was measured along one training, and the means of both estimates where it ended."""
    data, lam = adult(cell["rows"]), cell["lam"]
    if cell["method"] == "exact":
        return [{"kind": "exact", **exact(data, lam)}]
    torch.manual_seed(cell["seed"])
    module, steps = network(cell["model"], data), cell["steps"]
    how = penalised_loop.Training(
        cell["batch_size"], steps, cell["lr"], cell["lr_w"], cell["rates"] == "falling", cell["seed"]
    )
    records = [{"kind": "path", "step": 0, **measured(module, data, lam)}]
    coded = data.coded()
    for step in penalised_loop.train(module, coded, penalised_loop.penalty(cell["method"], coded, lam), how, lam):
        if step % max(1, steps // POINTS) == 0:
            records.append({"kind": "path", "step": step, **measured(module, data, lam)})
    with torch.no_grad():
        logits = module(data.X)
    # Batches of its own for each run, so that means over runs are means over more batches.
    draws = np.random.default_rng([cell["seed"], *map(ord, cell["model"] + cell["rates"] + cell["method"])])
    return records + estimates(logits, data, draws, DRAWS)


def network(model: str, data: AdultTensors) -> nn.Module:
    """Make a linear model, or one with two small hidden layers."""
    make = models.logistic if model == "linear" else functools.partial(models.mlp, hidden=(30, 20))
    return make(data.X.shape[1], int(data.y.max()) + 1)


def measured(module: nn.Module, data: AdultTensors, lam: float) -> dict[str, float]:
    """Measure the objective of all training rows, the length of its gradient, and the accuracy on test rows."""
    loss, dependence = parts(module(data.X), data)
    gradient = torch.autograd.grad(loss + lam * dependence, list(module.parameters()))
    with torch.no_grad():
        right = module(data.X_test).argmax(1) == data.y_test
    return {
        **named(loss, dependence, lam),
        "test_accuracy": float(right.float().mean()),
        "gradient": float(torch.cat([part.flatten() for part in gradient]).norm()),
    }


def parts(logits: Tensor, data: AdultTensors) -> tuple[Tensor, Tensor]:
    """Cross-entropy and ERMI of all training rows."""
    return nn.functional.cross_entropy(logits, data.y), ermi(joint(logits, data.s))


def named(loss: Tensor, dependence: Tensor, lam: float) -> dict[str, float]:
    """The objective and its parts as numbers, by name."""
    loss, dependence = loss.detach(), dependence.detach()
    return {"objective": float(loss + lam * dependence), "loss": float(loss), "ermi": float(dependence)}


def joint(logits: Tensor, s: Tensor) -> Tensor:
    """The joint law of group and prediction."""
    F = logits.softmax(1)
    return F.new_zeros(int(s.max()) + 1, F.shape[1]).index_add(0, s, F) / len(F)


def exact(data: AdultTensors, lam: float) -> dict[str, float]:
    """The least objective of a linear model, by L-BFGS on all rows."""
    model = FermiClassifier(lam=lam, solver="lbfgs", l2=0.0, max_iter=2000)
    model.fit(data.X.numpy().astype(float), data.y.numpy(), sensitive_features=data.s.numpy())
    logits = torch.tensor(model.predict_proba(data.X.numpy().astype(float))).log()
    loss, dependence = parts(logits, data)
    right = model.predict(data.X_test.numpy().astype(float)) == data.y_test.numpy()
    return {**named(loss, dependence, lam), "test_accuracy": float(right.mean())}


@torch.no_grad()
def estimates(logits: Tensor, data: AdultTensors, rng: np.random.Generator, draws: int) -> list[CellRecord]:
    """The mean of each method's estimate of ERMI over batches of each size, for given predictions.

    FERMI's is taken at the best W for these predictions, so that its mean should be ERMI itself.
    """
    P = joint(logits.double(), data.s)
    ours = FermiRegularizer.from_labels(data.s, n_classes=P.shape[1]).double().eval()
    ours.W.copy_(optimal_dual(P)[None])
    theirs, F = ChiSquared(data.coded()), logits.double().softmax(1)
    found = []
    for size in BATCHES:
        drawn = torch.tensor(rng.integers(len(F), size=(draws, size)))
        none = torch.zeros(size, dtype=torch.int64)
        values = [(ours(F[i].log(), data.s[i]), theirs(F[i].log(), data.y[i], data.s[i], none)) for i in drawn]
        for method, column in zip(("fermi", "mary"), np.array(values, dtype=float).T, strict=True):
            entry: CellRecord = {
                "kind": "estimate",
                "estimate_of": method,
                "estimate_batch": size,
                "ermi": float(ermi(P)),
            }
            entry |= {"bias": float(column.mean() - entry["ermi"]), "standard_error": deviation(column)}
            found.append(entry | {"expected_bias": expected_bias(F, data.s, size) if method == "mary" else 0.0})
    return found


def deviation(values: Any) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def expected_bias(F: Tensor, s: Tensor, size: int) -> float:
    """The expected bias of the plug-in estimate near independence, (k − 1) / n · Σ_j Var(F_j | s) / p_j.

    For labels instead of probabilities that is the well-known (k − 1)(m − 1) / n of the χ² test.
    """
    k = int(s.max()) + 1
    shares = torch.bincount(s).double() / len(s)
    within = sum(share * F[s == group].var(0, correction=0) for group, share in enumerate(shares))
    return float((k - 1) / size * (within / F.mean(0)).sum())
