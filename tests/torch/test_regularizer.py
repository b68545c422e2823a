"""The regularizer in any training loop."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from torch import nn

import fermi
import fermi.torch
from fermi.torch import FermiRegularizer
from tests.torch.samples import NOTIONS, batch


@pytest.mark.slow
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
    with pytest.raises(fermi.FermiError, match="`sensitive` is unknown in every row that the notion compares"):
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


RANK = """
import contextlib, os, sys, torch
from torch import nn
from torch.distributed.algorithms import Join
from torch.nn.parallel import DistributedDataParallel
from fermi.torch import FermiRegularizer

def train(batches):
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    uneven, inside = batches == "uneven", batches == "inside"
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
    for epoch in range(4):
        join = uneven and ranks > 1
        with Join([net, reg], divide_by_initial_world_size=False) if join else contextlib.nullcontext():
            for step in parts:
                if not step[own]:
                    break
                optimizer.zero_grad()
                if uneven:
                    torch.stack([loss(rows) for rows in step[own]]).mean().backward()
                else:
                    loss(torch.cat(step[own])).backward()
                optimizer.step()
    return [*(p.detach() for p in model.parameters()), reg.W.detach(), reg.group_prior, reg.known]

out, *cases = sys.argv[1:]
if os.environ["RANK"] == "0":  # what they are compared with: all rows in one process, a group of its own
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    torch.save({batches: train(batches) for batches in cases}, f"{out}/alone.pt")
    torch.distributed.destroy_process_group()
torch.distributed.init_process_group("gloo")
found = {batches: train(batches) for batches in cases}
found["loaded"] = sorted({"pandas", "sklearn"} & sys.modules.keys())
torch.save(found, f"{out}/rank{os.environ['RANK']}.pt")
torch.distributed.destroy_process_group()
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)  # a thread of gloo may still drop its last sum, and Python that is being finalised aborts on that
"""
BATCHES = ["even", "uneven", "inside"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What one process found, and each of two, by how the batches are dealt: starting processes takes the longest."""
    folder = tmp_path_factory.mktemp("ranks")
    script = folder / "rank.py"
    script.write_text(RANK)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*launch, str(script), str(folder), *BATCHES], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return [torch.load(folder / f"{name}.pt", weights_only=True) for name in ("alone", "rank0", "rank1")]


@pytest.mark.slow
@pytest.mark.first
@pytest.mark.parametrize("batches", BATCHES)
def test_two_processes_train_as_one(batches: str, trained: list[Any]) -> None:
    one, *others = (found[batches] for found in trained)
    for other in others:
        for a, b in zip(one, other, strict=True):
            assert b.numpy() == pytest.approx(a.numpy(), abs=1e-5)


@pytest.mark.slow
@pytest.mark.first
def test_a_rank_with_the_regularizer_alone_needs_no_scikit_learn(trained: list[Any]) -> None:
    assert [found["loaded"] for found in trained[1:]] == [[], []]


def test_what_is_public_is_found_and_nothing_else() -> None:
    assert all(getattr(fermi.torch, name) for name in fermi.torch.__all__)
    assert dir(fermi.torch) == fermi.torch.__all__
    with pytest.raises(AttributeError, match=r"module 'fermi\.torch' has no attribute 'Net'"):
        fermi.torch.Net  # noqa: B018


@pytest.mark.parametrize("prior", [{}, "x", [["a", "b"]], print])
def test_a_prior_of_no_numbers_is_one_sentence(prior: Any) -> None:
    with pytest.raises(
        fermi.FermiError, match=r"^`group_prior` is .*; expected \(2,\) or \(1, 2\) numbers, none negative\.$"
    ):
        FermiRegularizer(2, 2, group_prior=prior)
