"""Epochs of Algorithm 1 over blocks that shards shuffle, step and hand back."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.engines import Shards
from fermi.errors import DivergedError
from fermi.fitting.checkpoint import Saved
from fermi.fitting.contract import Record
from fermi.linear.solvers.sgda import SGDA
from fermi.linear.table_loop import Pace, Progress
from fermi.stream._coding import Rows
from fermi.stream._evaluation import Evaluation

_BATCH = 64
_RESTARTS = 3
_EXPLODED = 10.0  # times the loss of a model that knows nothing
_ENOUGH_ROWS, _FEWEST, _MOST = 6_000_000, 2, 30  # of all passes together, and the passes
_PARTS = Progress._fields


def untuned_epochs(rows: int) -> int:
    """The number of epochs that do untuned."""
    return min(max(-(-_ENOUGH_ROWS // rows), _FEWEST), _MOST)


@dataclass(eq=False)
class Epochs:
    """A run of Algorithm 1 over epochs.

    Attributes
    ----------
    at : Progress
        θ, b and W.
    epochs : int
        The epochs to make.
    drawn : int
        The step whose θ is returned, 0 for the last.
    chosen : Progress or None
        θ and W after that step, once it is made.
    epoch, block, taken, restarts : int
        Where the run stands.
    """

    at: Progress
    epochs: int
    drawn: int
    chosen: Progress | None = None
    epoch: int = 0
    block: int = 0
    taken: int = 0
    restarts: int = 0

    def kept(self) -> dict[str, Any]:
        """All that the steps to come depend on."""
        arrays = dict(zip(_PARTS, self.at, strict=True))
        if self.chosen is not None:
            arrays |= {f"chosen_{name}": part for name, part in zip(_PARTS, self.chosen, strict=True)}
        names = ("epochs", "drawn", "epoch", "block", "taken", "restarts")
        return arrays | {name: getattr(self, name) for name in names}

    def restore(self, saved: Saved) -> None:
        """Go to where a checkpoint was written."""
        self.at = Progress(*(saved.array(name, part.shape) for name, part in zip(_PARTS, self.at, strict=True)))
        if "chosen_theta" in saved:
            shapes = zip(_PARTS, self.at, strict=True)
            self.chosen = Progress(*(saved.array(f"chosen_{name}", part.shape) for name, part in shapes))
        self.drawn = saved.whole("drawn", 0, 2**62)
        for name in ("epoch", "block", "taken", "restarts"):
            setattr(self, name, saved.whole(name, 0, 2**62))


def begin(evaluation: Evaluation, options: SGDA, passes: int | None, rng: np.random.Generator) -> tuple[Epochs, Pace]:
    """A run at its start, θ and W at zero, and the options as shards know them."""
    model = evaluation.model
    rows, m = model.tables.rows, model.problem.n_classes
    batch = min(options.batch_size or _BATCH, rows)
    epochs = passes or options.max_iter or untuned_epochs(rows)
    total = epochs * -(-rows // batch)
    output = "random" if passes == 1 else options.output
    logits, width = evaluation.shape[1], model.coding.width + 1
    zeros = np.zeros((logits, width)), np.zeros(logits), np.zeros((evaluation.n_cells, m))
    at = Progress(*zeros, np.zeros((logits, width)), np.zeros(logits))
    radius = np.inf if options.radius is None else float(options.radius)
    pace = Pace(
        model.design, options.eta_theta, options.eta_w, evaluation.lam, evaluation.l2, batch, radius,
        total, output == "average",
    )  # fmt: skip
    return Epochs(at, epochs, int(rng.integers(1, total + 1)) if output == "random" else 0), pace


def run(
    run: Epochs,
    pace: Pace,
    evaluation: Evaluation,
    shards: Shards,
    sample: Rows,
    seed: int,
    *,
    report: Callable[[Record], None],
    save: Callable[[Epochs], None],
) -> tuple[Floats, tuple[Floats, ...]]:
    """Make the epochs that are left; return θ and W.

    A record after each epoch is measured on the sample. Automatic steps that diverge are tried again at a tenth; in a
    single pass that would use rows twice, so that it is an error.
    """
    began, start = time.perf_counter(), Progress(*(np.zeros_like(part) for part in run.at))
    automatic = isinstance(pace.eta_theta, str) and isinstance(pace.eta_w, str) and run.epochs > 1
    limit = _EXPLODED * float(np.log(evaluation.model.problem.n_classes))
    while run.epoch < run.epochs:
        over = not _block(run, pace._replace(factor=0.1**run.restarts), evaluation, shards, seed)
        fine = run.at.finite
        if over and fine:
            found = point(run.at, pace, evaluation, run.taken)
            entry = evaluation.of_rows(sample, *found).record
            fine = entry["objective"] - evaluation.lam * entry["ermi"] <= limit
            if fine:
                report({"step": run.taken, "seconds": time.perf_counter() - began, **entry})
        if not fine:
            if not automatic or run.restarts == _RESTARTS:
                raise DivergedError(
                    "The steps diverged: choose a smaller `eta_theta` or `eta_w`, or leave them automatic."
                )
            run.at, run.chosen, run.epoch, run.block, run.taken = start, None, 0, 0, 0
            run.restarts += 1
        save(run)
    return point(run.chosen or run.at, pace, evaluation, run.taken)


def _block(run: Epochs, pace: Pace, evaluation: Evaluation, shards: Shards, seed: int) -> bool:
    """Step through one block of every shard; false if the epoch was over."""
    tables = evaluation.model.tables
    answers = shards.each("advance", pace, tables, run.at, seed, run.epoch, run.block, run.taken, run.drawn)
    moved = [(after, count, chosen) for after, count, chosen in answers if after is not None]
    if not moved:
        run.epoch, run.block = run.epoch + 1, 0
        return False
    run.at = _mean([after for after, _, _ in moved], [count for _, count, _ in moved])
    chosen = [(state, count) for _, count, state in moved if state is not None]
    if chosen:
        run.chosen = _mean([state for state, _ in chosen], [count for _, count in chosen])
    run.block, run.taken = run.block + 1, run.taken + sum(count for _, count, _ in moved)
    return True


def _mean(states: list[Progress], steps: list[int]) -> Progress:
    """Where shards that stepped apart from one point meet: the mean, by the steps of each."""
    if len(states) == 1:
        return states[0]
    total = sum(steps)
    return Progress(
        *(sum(part * (count / total) for part, count in zip(p, steps, strict=True)) for p in zip(*states, strict=True))
    )


def point(at: Progress, pace: Pace, evaluation: Evaluation, taken: int) -> tuple[Floats, tuple[Floats, ...]]:
    """θ as the evaluation has it, and the W of each term."""
    theta, b = (at.theta_sum / taken, at.b_sum / taken) if pace.averaged and taken else (at.theta, at.b)
    rows = theta[:, :-1].T * evaluation.model.design.scale[:-1, None]
    found = np.vstack([rows, b]) if evaluation.model.design.intercept else rows.copy()
    duals, first = [], 0
    for term in evaluation.model.terms:
        duals.append(at.W[first : first + term.rows.size].reshape(*term.rows.shape, -1))
        first += term.rows.size
    return found, tuple(duals)
