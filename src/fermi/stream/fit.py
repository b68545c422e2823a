"""`fit_stream`: a `FermiClassifier` from files that are larger than memory."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fermi._typing import Floats
from fermi.engines import Engine, Shards, engine_of
from fermi.errors import DataError, FermiError
from fermi.fitting import advice
from fermi.fitting.checkpoint import Checkpoint, DamagedError, LastTwo, Saved, fingerprint
from fermi.fitting.contract import Record
from fermi.fitting.problem import Attribute
from fermi.fitting.progress import Progress as Bar
from fermi.inputs.arguments import existing_folder, generator, seed_of
from fermi.inputs.features import unchanged_on_error
from fermi.inputs.table_encoder import TableEncoder
from fermi.linear.by_passes import Descent, descend, sample_start
from fermi.linear.classifier import FermiClassifier
from fermi.linear.options import Settings
from fermi.linear.trainer import Fit
from fermi.stream import _epochs as epochs
from fermi.stream import _options as options
from fermi.stream._coding import Coder, Rows, listed_json
from fermi.stream._columns import family_of
from fermi.stream._evaluation import Evaluation, sparse_rows
from fermi.stream._files import BadFileError, SourceFile, source_files
from fermi.stream._learned import Learned, Model, in_order, model_of
from fermi.stream._profile import Profile, Reading
from fermi.stream._shard import Shard, Sizes

_NAMES = ("loss", "ermi", "objective", "dual_gap", "grad_norm")
_SAMPLE_ENTRIES = 8_000_000  # of the rows on which a fit begins
_MOST_TESTED = 1 << 17  # rows
_RARELY = 20.0  # times what a checkpoint takes lies at least between two
_LARGEST_BATCH, _LARGEST_BLOCK, _LEAST_ROWS = 1 << 15, 1 << 18, 1 << 10


def fit_stream(
    estimator: FermiClassifier,
    source: Any,
    *,
    target: str,
    sensitive: str | Sequence[str] | None,
    passes: int | None = None,
    engine: str | Engine = "local",
    checkpoint: Any = None,
    memory: str | int = "1GB",
    ignore: Sequence[str] = (),
    keep_sensitive: bool = False,
    skip_bad_files: bool = False,
) -> FermiClassifier:
    """Train a `FermiClassifier` from files that need not fit into memory.

    A first pass learns what each column is, the classes, the groups and their shares. Then either L-BFGS makes an exact
    evaluation per pass, or epochs of `sgda` go through shuffled blocks. The objective, and what columns become, are
    those of `fermi train` on the same rows in memory.

    Parameters
    ----------
    estimator : FermiClassifier
        The model. `solver` may be "lbfgs", "sgda" or "auto": exact passes up to 1,000 parameters and 100 million rows,
        unless a batch size is given. `max_violation`, `warm_start` and step sizes of the theory need rows in memory.
    source : str, Path or pyarrow.dataset.Dataset
        A folder, a glob or a file: Parquet, Feather, CSV or TSV; or a dataset of pyarrow.
    target : str
        The column to predict. Rows without a label are left out.
    sensitive : str or sequence of str
        The columns whose values, together or with ``attributes="each"`` one by one, are the groups. None trains a plain
        model, with a warning.
    passes : int, optional
        The most passes of L-BFGS, or the epochs of sgda; by default `max_iter` of the estimator, or what it takes.
        1 is the paper's one-pass setting: each row is in one gradient, and the model is that of a step drawn uniformly.
    engine : "local", "ray" or Engine
        Where the sums are made: in this process, or by the workers of a Ray cluster that see the same files. Ray
        connects as `fermi.engines.RayEngine` says; one with other options can be given instead.
    checkpoint : path, optional
        Save the state here, and go on from there when the same fit is called again: the model is that of an
        uninterrupted fit. The one before is kept beside it. Both go when the fit is done.
    memory : str or int
        About what reading, shuffling and sums may take, beside the interpreter and its libraries.
    ignore : sequence of str
        Columns that are no features.
    keep_sensitive : bool
        Whether the sensitive columns are among the features.
    skip_bad_files : bool
        Whether a file that cannot be used is left out, with a warning, instead of being an error that names it.

    Returns
    -------
    FermiClassifier
        The estimator itself, fitted. `encoder_` turns a pandas DataFrame of the files' columns into its features:
        ``estimator.predict(estimator.encoder_.transform(frame)[0])``. `history_` is measured over all rows by L-BFGS;
        by sgda on a sample of them, with one more record over all rows unless `passes` is 1. `skipped_files_` are the
        files left out.
    """
    asked = Asked(target, sensitive, passes, checkpoint, memory, tuple(ignore), keep_sensitive, skip_bad_files)
    return Stream(estimator, source, asked, engine_of(engine)).fit()


@dataclass(frozen=True)
class Asked:
    """The arguments of `fit_stream` about the rows and the run."""

    target: str
    sensitive: Any
    passes: int | None = None
    checkpoint: Any = None
    memory: Any = "1GB"
    ignore: tuple[str, ...] = ()
    keep_sensitive: bool = False
    skip_bad_files: bool = False
    test_size: float = 0.0


class Stream:
    """One fit on a stream: what was asked, checked, and the files."""

    def __init__(self, estimator: FermiClassifier, source: Any, asked: Asked, engine: Engine) -> None:
        options.check_estimator(estimator, asked.passes)
        self.estimator, self.asked, self.engine = estimator, asked, engine
        self.memory = options.bytes_of(asked.memory)
        self.target, self.sensitive = options.columns_of(asked.target, asked.sensitive)
        given = asked.checkpoint if asked.checkpoint is not None else estimator.checkpoint
        self.checkpoint = existing_folder("checkpoint", given)
        self.files = source_files(source)
        self.test: Any = None  # the rows left for a test, as they stand in the files
        self.rows = self.unlabelled = 0  # that train, and that have no label

    def fit(self) -> FermiClassifier:
        """Read, train and keep the model. A file that has changed since the first pass makes it begin again."""
        skipped: list[list[str]] = []
        with unchanged_on_error(self.estimator):
            while True:
                try:
                    return self._fit(skipped)
                except BadFileError as error:
                    if not self.asked.skip_bad_files:
                        raise
                    skipped.append([error.path, error.reason])

    def _fit(self, skipped: list[list[str]]) -> FermiClassifier:
        reading, families = self._reading(skipped)
        saving = self._saving(reading)
        saved = None if saving is None else saving.load()
        seed = int(generator(self.estimator.random_state).integers(2**31))
        if saved is not None:
            learned = _learned(saved)
            seed = learned.seed
        reading = reading._replace(seed=seed)
        left = {path for path, _ in skipped}
        parts = _parts([file for file in self.files if file.path not in left], self.engine.workers)
        shards = self.engine.open(
            Shard, [(part, reading, families, Sizes(), self.asked.skip_bad_files) for part in parts]
        )
        try:
            profile = None
            if saved is None or saving is None or not saving.has_sample():
                profile, bad = _profiled(shards)
                if bad:  # told, so that a shard that has to be made again leaves them out as well
                    shards.each("leave_out", [error.path for error in bad])
                learned = Learned.of(profile, seed, [*skipped, *([e.path, e.reason] for e in bad)])
            else:
                shards.each("leave_out", [path for path, _ in learned.skipped])
            run = Run(self, learned, reading, shards, saving)
            fit = run.train(saved, profile)
            if self.asked.test_size:
                self.test = _test_rows(shards, run.model.tables.rows, self.asked.test_size)
        finally:
            shards.close()
        self._keep(run, fit)
        if saving is not None:
            saving.remove()
        return self.estimator

    def _reading(self, skipped: list[list[str]]) -> tuple[Reading, dict[str, str]]:
        """The columns to read, and the kind of each by the first file that can be read."""
        asked, left = self.asked, {path for path, _ in skipped}
        own = None
        for file in self.files:
            if file.path in left:
                continue
            try:
                own = file.columns()
                break
            except BadFileError:
                if not asked.skip_bad_files:
                    raise
        if own is None:
            raise DataError(f"None of the {len(self.files):,} files can be read.")
        wanted = {"target": (self.target,), "sensitive": self.sensitive, "ignore": asked.ignore}
        options.check_names(own, wanted)
        out = {self.target, *asked.ignore, *(() if asked.keep_sensitive else self.sensitive)}
        features = tuple(name for name in own if name not in out)
        if not features:
            raise FermiError("No column is left as a feature beside the target and the sensitive columns.")
        families = {name: family_of(kind) for name, kind in own.items()}
        return Reading(self.target, self.sensitive, features, 0, asked.test_size), families

    def _saving(self, reading: Reading) -> Saving | None:
        if self.checkpoint is None:
            return None
        files = [(file.path, *_stamp(file)) for file in self.files]
        apart = ("verbose", "checkpoint", "random_state")
        own = {
            name: getattr(value, "__qualname__", value)
            for name, value in self.estimator.get_params(deep=False).items()
            if name not in apart
        }
        asked = {name: value for name, value in vars(self.asked).items() if name not in ("checkpoint",)}
        seed = seed_of(self.estimator.random_state)
        return Saving(self.checkpoint, fingerprint("stream", files, reading, own, asked, seed))

    def _keep(self, run: Run, fit: Fit) -> None:
        """Set what the estimator has learned, and say what a user must know."""
        estimator, model, settings = self.estimator, run.model, run.settings
        self.rows, self.unlabelled = model.tables.rows, run.learned.unlabelled
        estimator.encoder_ = TableEncoder.from_json(listed_json(run.columns))
        estimator.n_features_in_ = model.coding.width
        estimator.skipped_files_ = tuple(path for path, _ in run.learned.skipped)
        estimator.lam_, estimator.lam_path_ = settings.lam, []
        estimator._keep(fit, model.problem, model.classes)
        estimator._decide_by(None)
        estimator._stream = None
        if estimator.skipped_files_:
            path, reason = run.learned.skipped[0]
            count = len(run.learned.skipped)
            warnings.warn(f"{count} files were left out, the first because {path!r} {reason}.", stacklevel=4)
        _warn_of_small_groups(model)
        advice.convergence(fit, settings.solver.name, settings.tol)
        X = sparse_rows(run.sample, model.coding.width)[:, model.coding.places_of_features()]
        advice.constant_predictions(fit.predict, replace(model.problem, X=X), settings.lam, model.classes.tolist())


def _warn_of_small_groups(model: Model) -> None:
    attributes = []
    for attribute, joint in zip(model.problem.attributes, model.counts, strict=True):
        few = np.minimum(joint.sum(axis=0), 2).astype(np.int64)
        attributes.append(Attribute(attribute.labels, np.repeat(np.arange(len(few)), few)))
    advice.small_groups(replace(model.problem, attributes=tuple(attributes)))


class Saving:
    """Writes checkpoints, each with what the first pass has learned; not so often that it would be felt."""

    def __init__(self, path: Path, mark: str) -> None:
        self.file, self.sample = LastTwo(path, mark), Checkpoint(path.with_name(f"{path.name}.sample"), mark)
        self._due = 0.0

    def has_sample(self) -> bool:
        """Whether the sample of the first pass is there, as it was written."""
        try:
            return self.sample.load() is not None
        except DamagedError:
            return False

    def save_sample(self, rows: Rows) -> None:
        """Keep the sample of the first pass, which records of sgda are measured on."""
        parts = {name: np.asarray(part, dtype=np.float64) for name, part in rows._asdict().items()}
        self.sample.save({**parts, "rows": len(rows.target)})

    def load_sample(self, model: Model) -> Rows:
        """The sample of the first pass."""
        saved = self.sample.load()
        assert saved is not None, "asked before"
        empty = Rows.empty(saved.whole("rows", 1, 2**31), model.coding)
        shapes: dict[str, Any] = empty._asdict()
        return Rows(**{name: saved.array(name, part.shape).astype(part.dtype) for name, part in shapes.items()})

    def remove(self) -> None:
        """Remove all files when the fit is done."""
        self.file.remove()
        self.sample.remove()

    def load(self) -> Saved | None:
        """The last state that is whole."""
        return self.file.load()

    def save(self, learned: Learned, history: list[Record], state: dict[str, Any], *, always: bool = False) -> None:
        """Write the state, if it is time."""
        began = time.perf_counter()
        if always or began >= self._due:
            self.file.save({**state, "learned": asdict(learned), "history": history})
            ended = time.perf_counter()
            self._due = ended + _RARELY * (ended - began)


class Run:
    """The training of one stream whose first pass is made."""

    def __init__(
        self, stream: Stream, learned: Learned, reading: Reading, shards: Shards, saving: Saving | None
    ) -> None:
        estimator, asked = stream.estimator, stream.asked
        self.learned, self.shards, self.saving, self.passes = learned, shards, saving, asked.passes
        self.estimator, self.columns = estimator, learned.columns
        plain = options.settings_of(estimator, "sgda" if estimator.solver != "lbfgs" else "lbfgs")
        self.model = model_of(
            learned, reading, plain.fairness, plain.attributes, estimator.class_weight,
            intercept=plain.fit_intercept, l2=plain.l2,
        )  # fmt: skip
        parameters = (self.model.coding.width + plain.fit_intercept) * self.model.design.n_logits
        solver = options.chosen_solver(estimator, asked.passes, self.model.tables.rows, parameters)
        self.settings: Settings = options.settings_of(estimator, solver)
        lam = self.settings.lam if self.model.compares else 0.0
        self.evaluation = Evaluation(self.model, lam, self.settings.l2, stream.memory // 32)
        shards.each("learn", self.model.coding, _sizes(self.model, stream.memory))
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


def _learned(saved: Saved) -> Learned:
    try:
        return Learned(**saved.document("learned"))
    except (TypeError, KeyError, ValueError) as error:
        raise saved.damaged() from error


def _stamp(file: SourceFile) -> tuple[int, int]:
    """Size and time of a file, where it is one of this machine."""
    try:
        found = Path(file.path).stat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def _parts(files: list[SourceFile], workers: int) -> list[list[SourceFile]]:
    """The files, dealt out to so many shards."""
    if not files:
        raise DataError("No file is left to train on.")
    count = max(1, min(workers, len(files)))
    return [files[k::count] for k in range(count)]


def _profiled(shards: Shards) -> tuple[Profile, list[BadFileError]]:
    answers = shards.each("profile")
    profile, bad = answers[0]
    for other, more in answers[1:]:
        profile.merge(other)
        bad = [*bad, *more]
    if not profile.rows:
        reason = f": {bad[0]}" if bad else ", or all lack a label"
        raise DataError(f"No file has rows to train on{reason}")
    return profile, bad


def _test_rows(shards: Shards, rows: int, test_size: float) -> Any:
    """The rows left for a test, or so many of them that they surely fit into memory."""
    expected = rows * test_size / (1.0 - test_size)
    return pa.concat_tables(shards.each("held_out", min(1.0, _MOST_TESTED / expected)), promote_options="permissive")


def _sizes(model: Model, memory: int) -> Sizes:
    """How many rows are read at a time, and shuffled: within an eighth and a quarter of the memory."""
    per_row = 3 * model.coding.bytes_per_row  # as Arrow has them, and twice coded
    batch = int(np.clip(memory // 8 // per_row, _LEAST_ROWS, _LARGEST_BATCH))
    block = int(np.clip(memory // 4 // per_row, _LEAST_ROWS, _LARGEST_BLOCK))
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
