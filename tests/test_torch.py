"""The regularizer is the mathematics of the linear solvers, in any training loop."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

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
    reg.double().group_prior.copy_(torch.tensor(term.prior))
    objective = FairObjective(y, np.full(len(y), 1.0 / len(y)), (term,), 2.5)
    W = reg.W.detach().double().numpy()
    x = torch.tensor(logits, requires_grad=True)
    loss = reg(x, torch.tensor(s), torch.tensor(y))
    loss.backward()
    value = objective.saddle_value(logits, (W,)) - objective.evaluate(logits).loss
    assert loss.item() == pytest.approx(value, rel=1e-6)
    slope = objective.saddle_gradient(logits, (W,)) - objective._loss_gradient(objective._predict(logits)[0])
    assert x.grad is not None
    assert x.grad.numpy() == pytest.approx(slope, abs=1e-6)
    laws = term.laws(objective._predict(logits)[0])
    ascent = [p * fermi.formulas.ermi.dual_gradient(w, P) for p, w, P in zip(term.p_z, W, laws, strict=True)]
    assert reg.W.grad is not None
    assert reg.W.grad.numpy() == pytest.approx(-2.5 * np.stack(ascent), abs=1e-6)  # reversed


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
    logits.requires_grad_()
    slopes = torch.autograd.grad(reg(logits, s, y), [logits, reg.W])
    for twin in (other, copy.deepcopy(reg), pickle.loads(pickle.dumps(reg))):
        assert twin(logits, s, y).item() == reg(logits, s, y).item()
        for slope, own in zip(slopes, torch.autograd.grad(twin(logits, s, y), [logits, twin.W]), strict=True):
            assert torch.equal(slope, own)
        twin(logits, s, y).backward()
        assert len(twin.W._post_accumulate_grad_hooks) == 1  # the mean over ranks


def test_projection_and_mixed_precision() -> None:
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
    assert copy.deepcopy(reg).double()(logits, s, y).dtype == torch.float64
    assert copy.deepcopy(reg).bfloat16()(logits, s, y).dtype == torch.float32
    assert reg(logits[:0], s[:0], y[:0]).item() == 0.0


@pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated:DeprecationWarning")
def test_compilation_breaks_no_graph_and_changes_no_gradient() -> None:
    logits, s, y = (torch.tensor(part) for part in batch())
    reg = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, notion="equalized_odds", lam=2.0)
    with torch.no_grad():
        reg.W.normal_()
    logits = logits.float().requires_grad_()
    compiled = torch.compile(reg, fullgraph=True, backend="aot_eager")
    value, value_compiled = reg(logits, s, y), compiled(logits, s, y)
    assert value_compiled.item() == pytest.approx(value.item(), rel=1e-6)
    slopes = torch.autograd.grad(value, [logits, reg.W])
    for slope, slope_compiled in zip(slopes, torch.autograd.grad(value_compiled, [logits, reg.W]), strict=True):
        assert slope_compiled.numpy() == pytest.approx(slope.numpy(), abs=1e-6)


@pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated:DeprecationWarning")
def test_compilation_breaks_no_graph_where_w_is_projected() -> None:
    logits, s, y = (torch.tensor(part) for part in batch())
    plain = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, notion="equalized_odds", radius=0.5)
    with torch.no_grad():
        plain.W.normal_()
    twin = copy.deepcopy(plain)
    logits = logits.float().requires_grad_()
    compiled = torch.compile(twin, fullgraph=True, backend="aot_eager")
    value, value_compiled = plain(logits, s, y), compiled(logits, s, y)
    assert twin.W.detach().norm().item() == pytest.approx(0.5, rel=1e-5)
    assert value_compiled.item() == pytest.approx(value.item(), rel=1e-6)
    slopes = zip(
        torch.autograd.grad(value, [logits, plain.W]),
        torch.autograd.grad(value_compiled, [logits, twin.W]),
        strict=True,
    )
    for slope, slope_compiled in slopes:
        assert slope_compiled.numpy() == pytest.approx(slope.numpy(), abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("notion", NOTIONS)
def test_a_step_waits_for_no_device(notion: str, *, weighted: bool) -> None:
    """A tensor on "meta" has no values: to read one back, for which a GPU would have to wait, is an error."""
    reg = FermiRegularizer(3, 4, notion=notion, radius=0.5).to("meta")
    logits = torch.zeros(60, 3, device="meta", requires_grad=True)
    s, y = torch.zeros(2, 60, dtype=torch.int64, device="meta")
    weight = torch.ones(60, device="meta") if weighted else None
    reg(logits, s, y, weight).backward()
    assert reg.W.grad is not None
    assert reg.W.grad.shape == reg.W.shape
    reg.debug = True
    with pytest.raises(RuntimeError, match="meta"):  # it does look now
        reg(logits, s, y, weight)


@pytest.mark.parametrize(
    ("options", "call", "words"),
    [
        ({"notion": "parity"}, {}, "`notion` is 'parity'; expected one of 'demographic_parity'"),
        ({"lam": -1.0}, {}, "`lam` is -1.0; expected a number of at least 0"),
        ({"n_classes": 1}, {}, "`n_classes` is 1; expected a whole number of at least 2"),
        ({"n_groups": 2.5}, {}, "`n_groups` is 2.5; expected a whole number of at least 1"),
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
        ({}, {"sensitive": [0, 1]}, "`sensitive` is a list; expected a tensor with one whole code per row"),
        (
            {"notion": "equalized_odds"},
            {"target": torch.tensor([0])},
            "`target` has 1 rows; expected 2, as many as `sensitive`",
        ),
        (
            {},
            {"logits": torch.zeros(2, 5)},
            "`logits` is a Tensor of shape \\(2, 5\\); expected a tensor of \\(2, 3\\)",
        ),
        ({"notion": "equalized_odds"}, {}, "`target` is missing, and 'equalized_odds' conditions on it"),
        ({"notion": "equalized_odds"}, {"target": torch.tensor([0.0, 1.0])}, "`target` is torch.float32"),
        (
            {"notion": "equalized_odds"},
            {"target": torch.tensor([0, 3])},
            "`target` holds codes from 0 to 3; expected -1",
        ),
        ({"n_conditions": 0}, {}, "`n_conditions` is 0; expected a whole number"),
        ({"radius": -1.0}, {}, "`radius` is -1.0; expected a positive number"),
        ({"n_conditions": 2, "notion": "equalized_odds"}, {}, "`n_conditions` is given with notion='equalized_odds'"),
        ({"notion": fermi.ConditionalParity([0, 1])}, {}, "`notion` is 'conditional_parity' with a column of its own"),
        ({}, {"weight": torch.ones(2, 1)}, "`weight` is a Tensor of shape \\(2, 1\\); expected a tensor of \\(2,\\)"),
        ({}, {"weight": torch.tensor([1.0, -1.0])}, "`weight` holds negative or infinite numbers"),
        ({"n_conditions": 2}, {"target": torch.tensor([0, 2])}, "`target` holds codes from 0 to 2"),
        ({"group_prior": [1.0, 0.0]}, {}, "`group_prior` is zero for a group that occurs"),
    ],
)
def test_bad_input(options: dict[str, Any], call: dict[str, Any], words: str) -> None:
    arguments = {"logits": torch.zeros(2, 3), "sensitive": torch.tensor([0, 1]), **call}
    with pytest.raises(fermi.FermiError, match=words):
        FermiRegularizer(**{"n_classes": 3, "n_groups": 2, **options})(**arguments)


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
    with pytest.raises(fermi.FermiError, match="`sensitive` holds no numbers; expected whole codes"):
        FermiRegularizer.from_labels(["F", "M"], n_classes=2)
    with pytest.raises(fermi.FermiError, match="`sensitive` is unknown wherever the notion looks"):
        FermiRegularizer.from_labels([-1, -1], n_classes=2)


def test_weights_are_repeated_rows() -> None:
    logits, s, y = (torch.tensor(part) for part in batch())
    times = torch.arange(60) % 3
    repeated = [part.repeat_interleave(times, 0) for part in (logits, s, y)]
    options: dict[str, Any] = {"n_classes": 3, "n_groups": 4, "notion": "equalized_odds"}
    weighted = FermiRegularizer.from_labels(s, y, weight=times, **options)
    whole = FermiRegularizer.from_labels(*repeated[1:], **options)
    assert weighted.group_prior.numpy() == pytest.approx(whole.group_prior.numpy())
    with torch.no_grad():
        whole.W.normal_()
        weighted.W.copy_(whole.W)
    share = times / times.double().mean()
    assert weighted(logits, s, y, share).item() == pytest.approx(whole(*repeated).item(), rel=1e-5)


def test_copies_of_a_frozen_w_and_two_uses_before_a_step() -> None:
    reg = FermiRegularizer(3, 2, radius=1.0)
    logits, s = torch.randn(4, 3, requires_grad=True), torch.tensor([0, 1, 1, 0])
    torch.autograd.grad(reg(logits, s) + reg(logits, s), [logits, reg.W])  # the second does not change W again
    reg.W.requires_grad_(False)
    assert copy.deepcopy(reg)(logits, s).item() == reg(logits, s).item()


@pytest.mark.parametrize("notion", NOTIONS)
def test_second_derivatives_are_those_of_the_formula(notion: str) -> None:
    logits, s, y = (torch.tensor(part) for part in batch())
    reg = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, notion=notion).double()
    with torch.no_grad():
        reg.W.normal_()
    logits.requires_grad_()
    z = torch.tensor(as_notion(notion).conditions(y.numpy(), len(y)).dense())
    counted = (s >= 0) & (z >= 0)
    prior, F = reg.group_prior[z, s][:, None], logits.softmax(-1)
    psi = (F * (2 * reg.W[z, s] / prior**0.5 - (reg.W**2).sum(1)[z])).sum(1) - 1
    plain = psi[counted].sum() / (len(y) * reg.known)
    direction = torch.randn(logits.shape, dtype=torch.float64)
    for one, two in zip(
        *(_second(value, logits, reg.W, direction) for value in (plain, reg(logits, s, y))), strict=True
    ):
        assert two.numpy() == pytest.approx(one.numpy(), abs=1e-7)


def _second(value: torch.Tensor, logits: torch.Tensor, W: torch.Tensor, direction: torch.Tensor) -> Any:
    slope = torch.autograd.grad(value, logits, create_graph=True)[0]
    return torch.autograd.grad((slope * direction).sum(), [logits, W])


@pytest.mark.parametrize("kind", [torch.uint8, torch.int16, torch.int32])
def test_codes_of_small_types_do_not_overflow(kind: torch.dtype) -> None:
    s, y = torch.arange(200) % 50, torch.arange(200) % 20
    wide, narrow = (
        FermiRegularizer.from_labels(s.to(t), y.to(t), n_classes=20, n_groups=50, notion="equalized_odds")
        for t in (torch.int64, kind)
    )
    with torch.no_grad():
        wide.W.normal_()
        narrow.W.copy_(wide.W)
    logits = torch.randn(200, 20)
    assert torch.equal(wide.group_prior, narrow.group_prior)
    assert wide(logits, s, y).item() == narrow(logits, s.to(kind), y.to(kind)).item()


def test_a_loader_gives_the_same_prior() -> None:
    _, s, y = (torch.tensor(part) for part in batch())
    whole = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, notion="equalized_odds")
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(60, 1), y, s), batch_size=7)
    parts = FermiRegularizer.from_loader(loader, n_classes=3, n_groups=4, notion="equalized_odds")
    assert torch.equal(whole.group_prior, parts.group_prior)
    assert torch.equal(whole.known, parts.known)


WORKER = """
import contextlib, sys, torch
from torch import nn
from torch.distributed.algorithms import Join
from torch.nn.parallel import DistributedDataParallel
from fermi.torch import FermiRegularizer
torch.distributed.init_process_group("gloo")
rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
uneven, inside, out = sys.argv[1] == "uneven", sys.argv[1] == "inside", sys.argv[2]
torch.manual_seed(0)
X, y, s = torch.randn(400, 4), torch.randint(0, 3, (400,)), torch.randint(-1, 2, (400,))
s[:20:2] = -1  # a step in which the first of two ranks has no row that counts
parts = [[rows[::2], rows[1::2]] for rows in torch.arange(400).split(20)]
if uneven:  # the last two batches of the second rank are short, and missing
    parts[-2][1], parts[-1] = parts[-2][1][:3], parts[-1][:1]
own = slice(rank, None, 2) if ranks == 2 else slice(None)
model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, affine=False))  # its buffers are broadcast as well
reg = FermiRegularizer.from_labels(s[own], y[own], n_classes=3, n_groups=2, notion="equalized_odds", lam=3.0)
reg.load_state_dict({name: value.clone() for name, value in reg.state_dict().items()}, assign=True)  # another W
model.eval()
class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.model, self.reg = model, reg
    def forward(self, x, s, y):
        logits = model(x)
        return nn.functional.cross_entropy(logits, y) + reg(logits, s, y)
net = Loss() if inside else model
if ranks > 1:
    net = DistributedDataParallel(net, gradient_as_bucket_view=inside)
optimizer = torch.optim.SGD([*model.parameters(), *reg.parameters()], lr=0.05)
def loss(rows):
    if inside:
        return net(X[rows], s[rows], y[rows])
    logits = net(X[rows])
    return nn.functional.cross_entropy(logits, y[rows]) + reg(logits, s[rows], y[rows])
for epoch in range(10):
    joint = Join([net, reg], divide_by_initial_world_size=False) if uneven and ranks > 1 else contextlib.nullcontext()
    with joint:
        for step in parts:
            if not step[own]:
                break
            optimizer.zero_grad()
            if uneven:
                torch.stack([loss(rows) for rows in step[own]]).mean().backward()
            else:
                loss(torch.cat(step[own])).backward()
            optimizer.step()
found = [*(p.detach() for p in model.parameters()), reg.W.detach(), reg.group_prior, reg.known]
torch.save(found, f"{out}{rank}.pt")
torch.distributed.destroy_process_group()
"""


@pytest.mark.parametrize("batches", ["even", "uneven", "inside"])
def test_two_processes_train_as_one(batches: str, tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    results = []
    for ranks in (1, 2):
        out = tmp_path / f"of{ranks}rank"
        launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
        done = subprocess.run(
            [*launch, str(script), batches, str(out)], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        results += [torch.load(f"{out}{rank}.pt", weights_only=True) for rank in range(ranks)]
    one, *others = results
    for other in others:
        for a, b in zip(one, other, strict=True):
            assert b.numpy() == pytest.approx(a.numpy(), abs=1e-5)
