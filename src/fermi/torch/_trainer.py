"""One problem, one λ, one network: Algorithm 1 with the user's optimizer for θ and plain ascent for W."""

from __future__ import annotations

import copy
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fermi._typing import Floats
from fermi.compiled.permutation import shuffled
from fermi.errors import DivergedError
from fermi.fitting.checkpoint import fingerprint, parts_of
from fermi.fitting.contract import Record
from fermi.fitting.history import parts
from fermi.fitting.pace import theta_share, w_rate, w_weight, waiting_rate
from fermi.fitting.problem import Attribute, Problem
from fermi.torch._options import NetSettings
from fermi.torch._saved import SavedRun
from fermi.torch.feed import Feed, first_logits, predict_logits
from fermi.torch.regularizer import FermiRegularizer

_EXPLODED = 10.0  # times the loss at the start, or of a model that knows nothing
_WAITING = 0.1  # of all steps, that θ waits for W at most
_SMALLEST = 1e-30  # of what the rate of W is divided by: a rate must fit into single precision


@dataclass(frozen=True, eq=False)
class NetFit:
    """A trained module, W of each term, and how they came about."""

    module: nn.Module
    duals: tuple[Floats, ...]
    history: list[Record]
    n_iter: int
    device: torch.device

    def scores(self, X: Any) -> Any:
        """The logits of rows, (n, m)."""
        return predict_logits(self.module, X, self.device)

    def predict(self, X: Any) -> Any:
        """The code of each row's most probable class."""
        return self.scores(X).argmax(axis=1)


class NetTrainer:
    """A trainer of networks, which fits one problem at any λ."""

    def __init__(self, problem: Problem, settings: NetSettings) -> None:
        self.problem, self.settings = problem, settings

    def fit(
        self,
        lam: float,
        rng: np.random.Generator,
        start: NetFit | None = None,
        report: Callable[[Record], None] = lambda entry: None,
        *,
        held_out: Problem | None = None,
        saving: bool = False,
    ) -> NetFit:
        """Minimise loss + λ Σ ERMI; `start` is not used, since a network is not convex and would remember it.

        With rows held out, the epoch that is best on them counts, and training ends when none has been for a while.
        """
        own = self.settings
        # Dropout and first weights, without touching the global state; and gradients even if the caller needs none.
        with torch.random.fork_rng([own.device] if own.device.type == "cuda" else []), torch.enable_grad():
            _seed(own.device, int(rng.integers(2**62)))
            run = _Run(self.problem, own, lam, rng, held_out)
            file = SavedRun(own.checkpoint, self._mark(run, held_out)) if saving and own.checkpoint else None
            if file is not None:
                file.load_into(run)
            while run.epoch < own.max_epochs and run.waited < own.patience:
                run.advance()
                report(run.history[-1])
                if file is not None:
                    file.save(run)
        if file is not None:
            file.remove()
        return run.result()

    def _mark(self, run: _Run, held_out: Problem | None) -> str:
        """A mark that tells this fit from others."""
        own = self.settings
        options = (own.lr, own.lr_w, own.schedule, own.batch_size, own.max_epochs, own.radius, own.patience, own.seed)
        parts = run.module.state_dict().items()
        shapes = [(name, tuple(value.shape)) for name, value in parts]
        # A module that was given begins with the same weights each time; one that is made does so with a seed alone.
        given = (value.cpu().float().numpy() for _, value in parts if isinstance(own.module, nn.Module))
        rows = [parts_of(problem) for problem in (self.problem, held_out) if problem]
        return fingerprint(run.lam, _name(own.module), _name(own.optimizer), *options, shapes, given, *rows)


def _seed(device: torch.device, seed: int) -> None:
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)


def _name(option: Any) -> str:
    """The name by which a function is known: its address differs from process to process."""
    if isinstance(option, functools.partial):
        return f"{_name(option.func)}, {option.args}, {option.keywords}"
    return getattr(option, "__qualname__", None) or str(option)


class _Alone(FermiRegularizer):
    """A regularizer of a network that this process trains alone, whatever other processes do."""

    over_ranks = False

    @classmethod
    def of(cls, problem: Problem, attribute: Attribute, lam: float, radius: float | None) -> _Alone:
        """The regularizer of one attribute, its prior counted, the conditions weighed as the problem says."""
        sizes = {
            "n_classes": problem.n_classes,
            "n_groups": len(attribute.labels),
            "n_conditions": problem.n_conditions,
        }
        made = cls.from_labels(
            attribute.codes, problem.conditions, weight=problem.weight, lam=lam, radius=radius, **sizes
        )
        (cells,) = replace(problem, attributes=(attribute,)).cells()
        factors = problem.factors(cells.totals())
        made.factors = None if factors is None else torch.as_tensor(factors, dtype=torch.float32)
        return made


class _Run:
    """A network in training: everything that changes from step to step."""

    def __init__(
        self, problem: Problem, own: NetSettings, lam: float, rng: np.random.Generator, held_out: Problem | None
    ) -> None:
        self.problem, self.own, self.lam, self.rng, self.held_out = problem, own, lam, rng, held_out
        n = len(problem.target)
        self.per_epoch = -(-n // own.batch_size)
        self.total = self.per_epoch * own.max_epochs
        self.module = self._fresh_module().to(own.device)
        self.feed = Feed(self.module, own.device)
        self.regularizers = [regularizer.to(own.device) for regularizer in self._regularizers()]
        self.optimizer = own.make_optimizer(self.module)
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        W = [regularizer.W for regularizer in self.regularizers]
        self.ascent = torch.optim.SGD(W, lr=0.0) if W else None
        self.objective = problem.objective(lam)
        first = first_logits(self.module, problem.X, problem.n_classes, own.device)
        self.limit = _EXPLODED * max(self.objective.evaluate(first).loss, np.log(problem.n_classes))
        self.rate = max(w_rate(lam, own.batch_size), waiting_rate(_WAITING * self.total))
        shape = (problem.n_conditions, problem.n_classes)
        self.shares = torch.zeros(shape, dtype=torch.float32, device=own.device)
        self.epoch = self.step = self.waited = 0
        self.best = np.inf
        self.best_states: list[dict[str, Any]] | None = None
        self.history: list[Record] = []
        self.began = time.perf_counter()
        self.rows = [torch.as_tensor(problem.target), torch.as_tensor(problem.loss_weight * n)]
        self.rows += [torch.as_tensor(problem.conditions), torch.as_tensor(problem.weight * n / problem.weight.sum())]
        attributes = zip(self.regularizers, problem.attributes, strict=True)
        self.groups = [self._compared(regularizer, attribute.codes) for regularizer, attribute in attributes]
        self.compares = any(bool((codes >= 0).any()) for codes in self.groups)

    def _compared(self, regularizer: FermiRegularizer, codes: Any) -> Tensor:
        """The group of each row, -1 in a condition of one group, where ERMI is zero and W at its optimum already."""
        several = np.append((regularizer.group_prior.cpu().numpy() > 0.0).sum(axis=1) > 1, False)
        return torch.as_tensor(np.where(several[self.problem.conditions], codes, -1))

    def advance(self) -> None:
        """Make one pass over the rows, and record it."""
        self.module.train()
        n = len(self.problem.target)
        # Parts of nearly one size, so that the last is not a tiny one.
        for rows in np.array_split(shuffled(n, self.rng), self.per_epoch):
            self.step += 1
            self._set_step_sizes()
            self._take_step(rows)
        self.epoch += 1
        self.history.append(self._record())
        last = self.history[-1]
        if not np.isfinite(last["objective"]) or last["loss"] > self.limit:
            raise DivergedError("Training diverged: choose a smaller `lr` or `lr_w`.")
        self._judge()

    def _take_step(self, rows: Any) -> None:
        """Descend in θ and ascend in W on one batch."""
        device = self.own.device
        target, loss_weight, condition, weight = (column[rows].to(device) for column in self.rows)
        logits = self.module(self.feed(self.problem.X[rows]))
        losses = nn.functional.cross_entropy(logits.float(), target, reduction="none")
        total = (losses * loss_weight).mean()
        for regularizer, codes in zip(self.regularizers, self.groups, strict=True):
            total = total + regularizer(logits, codes[rows].to(device), condition, weight)
        self.optimizer.zero_grad()
        if self.ascent is not None:
            self.ascent.zero_grad()
        total.backward()
        self.optimizer.step()
        if self.ascent is not None:
            if self.own.lr_w is None:
                self._even_out(logits, condition, weight)
            self.ascent.step()
            for regularizer in self.regularizers:
                regularizer.project()

    @torch.no_grad()
    def _even_out(self, logits: Tensor, condition: Tensor, weight: Tensor) -> None:
        """Divide W's gradient by its curvature, so that columns of rare classes and conditions keep up with the rest.

        The curvature of a column of W is the share p(z, ŷ) of its condition and class, here its running mean, times the
        factor of the condition.
        """
        F = logits.float().softmax(-1) * torch.where(condition >= 0, weight, 0.0)[:, None].float()
        shares = torch.zeros_like(self.shares).index_add(0, condition.clamp_min(0), F) / len(F)
        self.shares.lerp_(shares, float(w_weight(self.step, self.rate)))
        for regularizer in self.regularizers:
            assert regularizer.W.grad is not None
            factors = regularizer.factors
            found = self.shares if factors is None else self.shares * factors[:, None]
            even = 0.5 / found.clamp_min(2.0 * self.rate)  # less, and a batch could throw a column too far
            regularizer.W.grad.mul_(even[:, None])

    def _set_step_sizes(self) -> None:
        own, left = self.own, 1.0
        if own.schedule == "linear":
            left = 1.0 - (self.step - 1) / self.total
        waits = own.lr_w is None and self.compares and self.lam > 0.0
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * left * float(theta_share(self.step, self.rate) if waits else 1.0)
        if self.ascent is not None:
            # It does not fall: with a large λ, a W that lags behind θ makes both swing.
            untuned = float(w_weight(self.step, self.rate)) / max(2.0 * (self.lam or 1.0), _SMALLEST)
            self.ascent.param_groups[0]["lr"] = untuned if own.lr_w is None else own.lr_w

    def states(self) -> list[dict[str, Any]]:
        """The states of the module and the regularizers."""
        return [part.state_dict() for part in (self.module, *self.regularizers)]

    def load(self, states: list[dict[str, Any]]) -> None:
        """Put states into the module and the regularizers."""
        for part, state in zip((self.module, *self.regularizers), states, strict=True):
            part.load_state_dict(state)

    def duals(self) -> tuple[Floats, ...]:
        """The W of each term."""
        return tuple(r.W.detach().double().cpu().numpy() for r in self.regularizers)

    def _record(self) -> Record:
        logits = predict_logits(self.module, self.problem.X, self.own.device)
        value, _, gap = self.objective.with_dual_gap(logits, self.duals())
        passed = time.perf_counter() - self.began
        return {"epoch": self.epoch, "step": self.step, "seconds": passed, **parts(value, dual_gap=gap)}

    def _judge(self) -> None:
        """Judge the module on the rows held out, and remember the best."""
        if self.held_out is None:
            return
        logits = predict_logits(self.module, self.held_out.X, self.own.device)
        value = self.held_out.objective(self.lam).evaluate(logits).objective
        self.history[-1]["held_out_objective"] = value
        self.waited = 0 if value < self.best else self.waited + 1
        if self.waited == 0:
            self.best = value
            self.best_states = copy.deepcopy(self.states())

    def result(self) -> NetFit:
        """The last state of the module, or the best one on the rows held out."""
        if self.best_states is not None:
            self.load(self.best_states)
        self.module.eval()
        return NetFit(self.module, self.duals(), self.history, self.epoch, self.own.device)

    def _fresh_module(self) -> nn.Module:
        """A copy of the user's module, or one made by the user's function."""
        if isinstance(self.own.module, nn.Module):
            return copy.deepcopy(self.own.module)
        n_features = int(np.prod(self.problem.X.shape[1:]))
        return copy.deepcopy(self.own.make_module(n_features, self.problem.n_classes))  # his function may share one

    def _regularizers(self) -> list[FermiRegularizer]:
        return [_Alone.of(self.problem, a, self.lam, self.own.radius) for a in self.problem.attributes]
