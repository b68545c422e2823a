"""`fit_stream`: a `FermiClassifier` from files that are larger than memory."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fermi.engines import Engine, Shards, engine_of
from fermi.errors import DataError, FermiError
from fermi.fitting import advice
from fermi.fitting.checkpoint import fingerprint
from fermi.fitting.problem import Attribute
from fermi.inputs.arguments import existing_folder, generator, seed_of
from fermi.inputs.features import unchanged_on_error
from fermi.inputs.table_encoder import TableEncoder
from fermi.linear.classifier import FermiClassifier
from fermi.linear.trainer import Fit
from fermi.stream import _options as options
from fermi.stream._coding import listed_json
from fermi.stream._evaluation import sparse_rows
from fermi.stream._files import BadFileError, SourceFile, source_files
from fermi.stream._learned import Learned, Model, refuse_no_groups
from fermi.stream._profile import Profile, Reading
from fermi.stream._run import Run
from fermi.stream._saving import Saving, learned_in
from fermi.stream._schema import Schemas
from fermi.stream._shard import Shard, Sizes

_MOST_TESTED = 1 << 17  # rows


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
    refuse_amounts: bool = False  # sensitive columns that are no groups: many different numbers, or one value alone


class Stream:
    """One fit on a stream: what was asked, checked, and the files."""

    def __init__(self, estimator: FermiClassifier, source: Any, asked: Asked, engine: Engine) -> None:
        options.check_estimator(estimator, asked.passes)
        self.estimator, self.asked, self.engine = estimator, asked, engine
        self.limits = options.Limits(asked.passes, options.bytes_of(asked.memory))
        self.target, self.sensitive = options.columns_of(asked.target, asked.sensitive)
        given = asked.checkpoint if asked.checkpoint is not None else estimator.checkpoint
        self.checkpoint = existing_folder("checkpoint", given)
        self.files = source_files(source)
        self.test: Any = None  # the rows left for a test
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
                    if self.checkpoint is not None:
                        Saving(self.checkpoint, "").remove()  # what was learned counts the rows of that file

    def _fit(self, skipped: list[list[str]]) -> FermiClassifier:
        reading, families = self._reading(skipped)
        saving = self._saving(reading, {path for path, _ in skipped})
        saved = None if saving is None else saving.load()
        seed = int(generator(self.estimator.random_state).integers(2**31))
        if saved is not None:
            learned = learned_in(saved)
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
            if self.asked.refuse_amounts:
                refuse_no_groups(learned, reading)
            run = Run(self.estimator, self.limits, learned, reading, shards, saving)
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
        """The columns to read, and the kind of each; without `skip_bad_files` all files have them so."""
        asked, left = self.asked, {path for path, _ in skipped}
        files = [file for file in self.files if file.path not in left]
        schemas = Schemas.of(files, skip=asked.skip_bad_files)
        wanted = {"target": (self.target,), "sensitive": self.sensitive, "ignore": asked.ignore}
        options.check_names(schemas.kinds, wanted)
        families = schemas.families([self.target, *self.sensitive, *asked.ignore])
        out = {self.target, *asked.ignore, *(() if asked.keep_sensitive else self.sensitive)}
        features = tuple(name for name in families if name not in out)
        if not features:
            raise FermiError("No column is left as a feature beside the target and the sensitive columns.")
        reading = Reading(self.target, self.sensitive, features, 0, asked.test_size)
        if not asked.skip_bad_files:
            schemas.check(reading.columns, families)
        return reading, families

    def _saving(self, reading: Reading, left: set[str]) -> Saving | None:
        if self.checkpoint is None:
            return None
        stamped = [(file.path, *_stamp(file)) for file in self.files]
        files = [stamp for stamp in stamped if stamp[0] not in left or any(stamp[1:])]  # not those that are gone
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
        raise DataError(f"No file has rows to train on: {bad[0]}" if bad else "No row of the files has a label.")
    return profile, bad


def _test_rows(shards: Shards, rows: int, test_size: float) -> Any:
    """The rows left for a test, or so many of them that they surely fit into memory."""
    expected = rows * test_size / (1.0 - test_size)
    return pa.concat_tables(shards.each("held_out", min(1.0, _MOST_TESTED / expected)), promote_options="permissive")
