"""The regularizer is the mathematics of the linear solvers, in any training loop."""

from __future__ import annotations

import copy
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import fermi
from fermi.notions import as_notion
from fermi.objective import FairObjective, Term
from fermi.torch import FermiRegularizer

NOTIONS = ["demographic_parity", "equalized_odds", "equal_opportunity"]


def batch(n: int = 60, m: int = 3, k: int = 4, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, m)), rng.integers(-1, k, n), rng.integers(0, m, n)


@pytest.mark.parametrize("notion", NOTIONS)
def test_value_and_gradients_are_those_of_the_linear_solvers(notion: str) -> None:
    logits, s, y = batch()
    reg = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, lam=2.5, notion=notion)
    with torch.no_grad():
        reg.W.copy_(torch.randn(reg.W.shape, generator=torch.Generator().manual_seed(0)))
    conditions = as_notion(notion).conditions(y, len(y))
    term = Term.from_codes(conditions.dense(), s, (len(conditions.values_of), 4), np.ones(len(y)))
    assert reg.group_prior.numpy() == pytest.approx(term.prior, rel=1e-6)
    assert float(reg.known) == pytest.approx((term.cells >= 0).mean())
    objective = FairObjective(y, np.full(len(y), 1.0 / len(y)), (term,), 2.5)
    W = reg.W.detach().double().numpy()
    x = torch.tensor(logits, requires_grad=True)
    loss = reg(x, torch.tensor(s), torch.tensor(y))
    loss.backward()
    value = objective.saddle_value(logits, (W,)) - objective.evaluate(logits).loss
    assert loss.item() == pytest.approx(value, rel=1e-5)
    slope = objective.saddle_gradient(logits, (W,)) - objective._loss_gradient(objective._predict(logits)[0])
    assert x.grad is not None
    assert x.grad.numpy() == pytest.approx(slope, abs=1e-6)
    laws = term.laws(objective._predict(logits)[0])
    ascent = [p * fermi.formulas.ermi.dual_gradient(w, P) for p, w, P in zip(term.p_z, W, laws, strict=True)]
    assert reg.W.grad is not None
    assert reg.W.grad.numpy() == pytest.approx(-2.5 * np.stack(ascent), abs=1e-5)  # reversed


@pytest.mark.parametrize("notion", NOTIONS)
def test_single_rows_average_to_the_whole(notion: str) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()
    x = torch.randn(40, 5, dtype=torch.float64)
    _, s, y = (torch.tensor(part) for part in batch(40))
    reg = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, notion=notion)
    with torch.no_grad():
        reg.W.normal_()
    parameters = [*net.parameters(), reg.W]
    whole = torch.autograd.grad(reg(net(x), s, y), parameters)
    rows = [torch.autograd.grad(reg(net(x[i : i + 1]), s[i : i + 1], y[i : i + 1]), parameters) for i in range(40)]
    for total, parts in zip(whole, zip(*rows, strict=True), strict=True):
        assert torch.stack(parts).mean(0).numpy() == pytest.approx(total.numpy(), abs=1e-5)


def test_one_optimizer_makes_a_model_fair() -> None:
    data = fermi.datasets.synthetic(4000, 2, 2, bias=0.9, rated=False).numeric()
    X = torch.tensor(data.X_train.to_numpy(), dtype=torch.float32)
    y = torch.tensor(data.y_train.to_numpy())
    s = torch.tensor(fermi.GroupEncoder().fit_transform(data.s_train))
    found = []
    for lam in (0.0, 10.0):
        torch.manual_seed(0)
        model = nn.Linear(X.shape[1], 2)
        reg = FermiRegularizer.from_labels(s, n_classes=2, lam=lam)
        groups: list[dict[str, Any]] = [{"params": model.parameters()}, {"params": reg.parameters(), "lr": 0.02}]
        optimizer = torch.optim.SGD(groups, lr=0.1)
        for _ in range(20):
            for rows in torch.split(torch.randperm(len(y)), 50):
                logits = model(X[rows])
                loss = nn.functional.cross_entropy(logits, y[rows]) + reg(logits, s[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        found.append(fermi.ermi(model(X).softmax(-1).detach(), s))
    assert found[1] < 0.1 * found[0]


def test_copies_pickles_and_states_keep_prior_and_reversal(tmp_path: Path) -> None:
    logits, s, y = (torch.tensor(part) for part in batch())
    reg = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, notion="equal_opportunity", advantaged={0, 2})
    with torch.no_grad():
        reg.W.normal_()
    other = FermiRegularizer(3, 4, notion="equal_opportunity", advantaged=[0, 2])
    torch.save(reg.state_dict(), tmp_path / "reg.pt")
    other.load_state_dict(torch.load(tmp_path / "reg.pt", weights_only=True))
    for twin in (other, copy.deepcopy(reg), pickle.loads(pickle.dumps(reg))):
        assert twin(logits, s, y).item() == reg(logits, s, y).item()
        twin(logits, s, y).backward()
        assert twin.W._backward_hooks


def test_projection_mixed_precision_and_compilation() -> None:
    logits, s, y = (torch.tensor(part) for part in batch())
    reg = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, notion="equalized_odds", radius=0.5)
    with torch.no_grad():
        reg.W.normal_()
    reg(logits, s, y)
    assert reg.W.detach().norm().item() == pytest.approx(0.5, rel=1e-5)
    plain = reg(logits, s, y)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert reg(logits.float(), s, y).dtype == torch.float32
    assert reg(logits.bfloat16(), s, y).item() == pytest.approx(plain.item(), rel=0.05, abs=0.02)
    explained = torch._dynamo.explain(reg)(logits, s, y)
    assert explained.graph_break_count == 0
    empty = reg(logits[:0], s[:0], y[:0])
    assert empty.item() == 0.0


@pytest.mark.parametrize(
    ("options", "call", "words"),
    [
        ({"notion": "parity"}, {}, "`notion` is 'parity'; expected one of 'demographic_parity'"),
        ({"lam": -1.0}, {}, "`lam` is -1.0; expected a number of at least 0"),
        ({"group_prior": [0.5, 0.6]}, {}, "`group_prior` does not sum to one"),
        ({"group_prior": [1.0]}, {}, "`group_prior` has the shape \\(1,\\); expected \\(2,\\) or \\(1, 2\\)"),
        ({"advantaged": [1]}, {}, "`advantaged` is given for 'demographic_parity'"),
        ({"notion": "equal_opportunity", "advantaged": [7]}, {}, "`advantaged` holds 7"),
        (
            {},
            {"sensitive": torch.tensor([0, 2])},
            "`sensitive` holds codes from 0 to 2; expected -1 \\(unknown\\) to 1",
        ),
        ({}, {"sensitive": torch.tensor([0.0, 1.0])}, "`sensitive` is torch.float32 of shape \\(2,\\)"),
        ({}, {"logits": torch.zeros(2, 5)}, "`logits` has the shape \\(2, 5\\); expected \\(2, 3\\)"),
        ({"notion": "equalized_odds"}, {}, "`target` is missing, and 'equalized_odds' conditions on it"),
        ({"notion": "equalized_odds"}, {"target": torch.tensor([0.0, 1.0])}, "`target` is torch.float32"),
        (
            {"notion": "equalized_odds"},
            {"target": torch.tensor([0, 3])},
            "`target` holds codes from 0 to 3; expected -1",
        ),
        ({"n_conditions": 0}, {}, "`n_conditions` is 0; expected a positive number"),
        ({"radius": -1.0}, {}, "`radius` is -1.0; expected a positive number"),
        ({"n_conditions": 2}, {"target": torch.tensor([0, 2])}, "`target` holds codes from 0 to 2"),
        ({"group_prior": [1.0, 0.0]}, {}, "`group_prior` is zero for a group that occurs"),
    ],
)
def test_bad_input(options: dict[str, Any], call: dict[str, Any], words: str) -> None:
    arguments = {"logits": torch.zeros(2, 3), "sensitive": torch.tensor([0, 1]), **call}
    with pytest.raises(fermi.FermiError, match=words):
        FermiRegularizer(3, 2, **options)(**arguments)


def test_an_unknown_target_counts_in_no_condition() -> None:
    reg = FermiRegularizer(3, 2, notion="equalized_odds")
    with torch.no_grad():
        reg.W.normal_(generator=torch.Generator().manual_seed(0))
    logits, s = torch.randn(2, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1])
    whole, first = (reg(logits, s, torch.tensor([1, y])).item() for y in (2, -1))
    alone = reg(logits[:1], s[:1], torch.tensor([1])).item()
    assert first == pytest.approx(alone / 2)
    assert whole != pytest.approx(first)
    with pytest.raises(fermi.FermiError, match="`sensitive` holds codes from 0 to 5"):
        FermiRegularizer.from_labels([0, 5], n_classes=2, n_groups=2)


def test_a_loader_gives_the_same_prior() -> None:
    _, s, y = (torch.tensor(part) for part in batch())
    whole = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, notion="equalized_odds")
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(60, 1), y, s), batch_size=7)
    parts = FermiRegularizer.from_loader(loader, n_classes=3, n_groups=4, notion="equalized_odds")
    assert torch.equal(whole.group_prior, parts.group_prior)
    assert torch.equal(whole.known, parts.known)


WORKER = """
import os, sys, torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from fermi.torch import FermiRegularizer
torch.distributed.init_process_group("gloo")
rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
torch.manual_seed(0)
X, y, s = torch.randn(400, 4), torch.randint(0, 3, (400,)), torch.randint(-1, 2, (400,))
s[:20:2] = -1  # a step in which one rank has no row that counts
own = slice(rank, None, ranks)
model = nn.Linear(4, 3)
net = DistributedDataParallel(model) if ranks > 1 else model
reg = FermiRegularizer.from_labels(s[own], y[own], n_classes=3, n_groups=2, notion="equalized_odds", lam=3.0)
optimizer = torch.optim.SGD([*model.parameters(), *reg.parameters()], lr=0.05)
for step in range(200):
    start = 20 * step % 400
    rows = torch.arange(start, start + 20)[own]
    logits = net(X[rows])
    loss = nn.functional.cross_entropy(logits, y[rows]) + reg(logits, s[rows], y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if rank == 0:
    torch.save([model.weight, model.bias, reg.W, reg.group_prior, reg.known], sys.argv[1])
torch.distributed.destroy_process_group()
"""


def test_two_processes_on_half_batches_train_as_one_on_the_whole(tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    results = []
    for ranks in (1, 2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        out = tmp_path / f"{ranks}.pt"
        environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
        workers = [
            subprocess.Popen(
                [sys.executable, str(script), str(out)],
                env={**environment, "RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank)},
            )
            for rank in range(ranks)
        ]
        assert [worker.wait(timeout=120) for worker in workers] == [0] * ranks
        results.append(torch.load(out, weights_only=True))
    for one, two in zip(*results, strict=True):
        assert two.detach().numpy() == pytest.approx(one.detach().numpy(), abs=1e-5)
