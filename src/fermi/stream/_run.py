"""The training of a stream whose first pass is made: by exact passes, or by epochs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa

from fermi._typing import Floats
from fermi.engines import Shards
from fermi.fitting.checkpoint import Saved
from fermi.fitting.contract import Record
from fermi.fitting.progress import Progress as Bar
from fermi.linear.by_passes import Descent, descend, sample_start
from fermi.linear.classifier import FermiClassifier
from fermi.linear.options import Settings
from fermi.linear.trainer import Fit
from fermi.stream import _epochs as epochs
from fermi.stream import _options as options
from fermi.stream._coding import Coder, Rows
from fermi.stream._evaluation import Evaluation
from fermi.stream._learned import Learned, Model, in_order, model_of
from fermi.stream._profile import Profile, Reading
from fermi.stream._saving import Saving
from fermi.stream._shard import Sizes

_NAMES = ("loss", "ermi", "objective", "dual_gap", "grad_norm")
_SAMPLE_ENTRIES = 8_000_000  # of the rows on which a fit begins
LARGEST_BATCH, LARGEST_BLOCK, LEAST_ROWS = 1 << 15, 1 << 18, 1 << 10


class Run:
    """The training of one stream whose first pass is made."""

    def __init__(
        self,
        estimator: FermiClassifier,
        limits: options.Limits,
        learned: Learned,
        reading: Reading,
        shards: Shards,
        saving: Saving | None,
    ) -> None:
        self.learned, self.shards, self.saving, self.passes = learned, shards, saving, limits.passes
        self.estimator, self.columns = estimator, learned.columns
        plain = options.settings_of(estimator, "sgda" if estimator.solver != "lbfgs" else "lbfgs")
        self.model = model_of(
            learned, reading, plain.fairness, plain.attributes, estimator.class_weight,
            intercept=plain.fit_intercept, l2=plain.l2,
        )  # fmt: skip
        parameters = (self.model.coding.width + plain.fit_intercept) * self.model.design.n_logits
        solver = options.chosen_solver(estimator, limits.passes, self.model.tables.rows, parameters)
        self.settings: Settings = options.settings_of(estimator, solver)
        lam = self.settings.lam if self.model.compares else 0.0
        self.evaluation = Evaluation(self.model, lam, self.settings.l2, limits.memory // 32)
        shards.each("learn", self.model.coding, _sizes(self.model, limits.memory))
        self.history: list[Record] = []

    def train(self, saved: Saved | None, profile: Profile | None) -> Fit:
        """Minimise, from the start or from where a checkpoint was written."""
        rng = np.random.default_rng([self.learned.seed, 7])
        if profile is None:
            assert self.saving is not None, "where nothing was read, all was saved"
            self.sample = self.saving.load_sample(self.model)
        else:
            self.sample = _sampled(profile, self.model)
            if self.saving is not None:
                self.saving.save_sample(self.sample)
        if saved is not None:
            self.history = saved.history("history")
        with Bar(self.settings.verbose > 0) as bar:
            self._bar = bar
            train = self._epochs if self.settings.solver.name == "sgda" else self._exact
            theta, duals, converged, n_iter = train(saved, rng)
        weights, shift = self.evaluation.coefficients(theta)
        return Fit(in_order(self.model.coding, weights), shift, duals, self.history, converged, n_iter)

    def _report(self, entry: Record) -> None:
        self.history.append(entry)
        self._bar.record(entry)

    def _exact(self, saved: Saved | None, rng: np.random.Generator) -> tuple[Floats, Any, bool, int]:
        shape = self.evaluation.shape
        size = shape[0] * shape[1]
        if saved is None:
            task = self.evaluation.task(self.sample, self.settings.l2, self.settings.tol)
            begin: Any
            begin, factor = sample_start(task, rng)
        else:
            begin = Descent.restored(saved, shape, _NAMES)
            factor = saved.array("factor", (size, size)) if "factor" in saved else None
        tried: tuple[Floats, ...] = ()
        duals: tuple[Floats, ...] = ()  # at the last point that was accepted
        if saved is not None:
            shapes = [(*term.prior.shape, self.model.problem.n_classes) for term in self.model.terms]
            duals = tuple(saved.array(f"dual{t}", shape) for t, shape in enumerate(shapes))

        def evaluate(theta: Floats) -> tuple[Record, Floats]:
            nonlocal tried
            found = self.evaluation.of_shards(self.shards, theta)
            tried = found.duals
            return found.record, found.gradient

        def save(at: Descent) -> None:
            nonlocal duals
            duals = tried
            if self.saving is not None:
                kept = at.kept() if factor is None else {**at.kept(), "factor": np.ascontiguousarray(factor)}
                flat = {f"dual{t}": W for t, W in enumerate(duals)}
                self.saving.save(self.learned, self.history, {**kept, **flat}, always=True)

        max_iter = getattr(self.settings.solver, "max_iter", None)
        at, converged = descend(
            evaluate, begin, factor, tol=self.settings.tol, passes=self.passes or max_iter, report=self._report,
            save=save,
        )  # fmt: skip
        return at.theta, duals, converged, at.passes

    def _epochs(self, saved: Saved | None, rng: np.random.Generator) -> tuple[Floats, Any, bool, int]:
        run, pace = epochs.begin(self.evaluation, self.settings.sgda, self.passes, rng)
        if saved is not None:
            run.restore(saved)

        def save(run: epochs.Epochs) -> None:
            if self.saving is not None:
                self.saving.save(self.learned, self.history, run.kept())

        theta, duals = epochs.run(
            run, pace, self.evaluation, self.shards, self.sample, self.learned.seed, report=self._report, save=save
        )
        if self.passes != 1:
            before = self.history[-1] if self.history else {"step": run.taken, "seconds": 0.0}
            began = time.perf_counter()
            record = self.evaluation.of_shards(self.shards, theta, duals).record
            seconds = before["seconds"] + time.perf_counter() - began
            self._report({"step": run.taken, "seconds": seconds, **record})
        converged = self.history[-1]["grad_norm"] <= self.settings.tol if self.history else False
        return theta, duals, converged, run.epochs


def _sizes(model: Model, memory: int) -> Sizes:
    """How many rows are read at a time, and shuffled: within an eighth and a quarter of the memory."""
    per_row = 3 * model.coding.bytes_per_row  # as Arrow has them, and twice coded
    batch = int(np.clip(memory // 8 // per_row, LEAST_ROWS, LARGEST_BATCH))
    block = int(np.clip(memory // 4 // per_row, LEAST_ROWS, LARGEST_BLOCK))
    return Sizes(batch, block)


def _sampled(profile: Profile, model: Model) -> Rows:
    """The sample of the first pass, coded."""
    coder = Coder(model.coding)
    width = max(len(model.coding.numbers) + len(model.coding.coded), 1)
    table = profile.sample[0] if len(profile.sample) == 1 else _joined(profile)
    batches = table.slice(0, _SAMPLE_ENTRIES // width).combine_chunks().to_batches()
    batch, target = coder.rows_of("the sample", batches[0])
    rows = Rows.empty(len(target), model.coding)
    coder.fill("the sample", batch, target, rows, np.arange(len(target)))
    return rows


def _joined(profile: Profile) -> Any:
    return pa.concat_tables(profile.sample, promote_options="permissive")
