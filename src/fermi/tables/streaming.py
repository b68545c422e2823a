"""A fair model of a folder of files that need not fit into memory, with its audit on rows left for the test."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import fermi
from fermi.auditing import audited_groups, audits_by_column
from fermi.engines import engine_of
from fermi.errors import FermiError, listed
from fermi.inputs.coded_groups import CodedGroups
from fermi.inputs.natural import label_of, natural
from fermi.linear.classifier import FermiClassifier
from fermi.notions import as_notion
from fermi.records import AuditRecord, PointRecord, ReportRecord
from fermi.stream.fit import Asked, Stream
from fermi.tables.asked import NOTHING
from fermi.tables.formats import understood
from fermi.tables.model_folder import SavedModel
from fermi.tables.reporting import today, with_verdict
from fermi.tables.task import Task
from fermi.tables.training import gathered
from fermi.tables.weighting import weighted


class Streaming(NamedTuple):
    """How a stream is read and trained, as `fit_stream` takes it."""

    solver: str = "auto"
    passes: int | None = None
    engine: str = "local"
    checkpoint: str | None = None
    memory: str = "1GB"
    skip_bad_files: bool = False
    address: str | None = None


@dataclass(frozen=True, eq=False)
class StreamTrained:
    """A model trained on a stream, ready to save, what a page says of it, and the rows that trained and tested it."""

    saved: SavedModel
    record: ReportRecord
    rows: dict[str, int]
    skipped: tuple[str, ...]


def train_stream(source: str, task: Task, lam: float, how: Streaming) -> StreamTrained:
    """Train a linear model on the files of a folder or glob, and audit it on rows left for the test.

    The report compares with no plain model, which would take as many passes again.
    """
    # The classes are not known yet: labels are read as those of the target will be.
    labels = [label_of(word) for word in task.advantaged]
    fairness = as_notion(task.notion)
    if labels and fairness.takes_labels:
        fairness = fairness.of_labels(set(labels))
    if task.weights:  # the classes are not known yet; the stream refuses labels that are none
        named = [label_of(entry.rpartition("=")[0]) for entry in task.weights if "=" in entry]
        fairness = weighted(fairness, task.weights, named)
    options: dict[str, Any] = {"attributes": task.attributes, "solver": how.solver, "random_state": task.seed}
    estimator = FermiClassifier(fairness, lam, **options)
    asked = Asked(
        task.target, task.sensitive, how.passes, how.checkpoint, how.memory, task.ignore, task.keep_sensitive,
        how.skip_bad_files, task.test_size, refuse_amounts=True,
    )  # fmt: skip
    notes: list[str] = []
    began = time.perf_counter()
    with gathered(notes):
        stream = Stream(estimator, source, asked, engine_of(how.engine, address=how.address))
        model: Any = stream.fit()
    if stream.unlabelled:
        notes.append(f"{stream.unlabelled:,} rows have no {task.target!r} and were left out.")
    seconds = time.perf_counter() - began
    splits, tested = _audits(model, task, stream.test)
    point = PointRecord(f"λ = {lam:.4g}", float(lam), splits, model.history_, seconds, False)
    rows = {"train": stream.rows, "test": tested}
    facts = _facts(source, task, model, rows)
    record = ReportRecord(
        title="", facts=facts, points=(point,), chosen=0,
        reason=f"λ = {lam:g} was asked for.", lam_path=[], notes=tuple(notes), rule=(),
    )  # fmt: skip
    record = with_verdict(record, task.target, NOTHING, None, kept=True, needless=False)
    classes = model.classes_.tolist()
    saved = SavedModel("linear", model, model.encoder_, classes, task, float(lam), facts)
    return StreamTrained(saved, record, rows, model.skipped_files_)


def _audits(model: Any, task: Task, table: Any) -> tuple[dict[str, AuditRecord], int]:
    """The audits of the rows left for the test, and how many these are."""
    frame = understood(table.to_pandas())
    frame = frame[frame[task.target].notna()].reset_index(drop=True)
    if frame.empty:
        raise FermiError(f"No row is left for the test; expected a larger `test_size` than {task.test_size:g}.")
    X, _ = model.encoder_.transform(frame)
    several = task.attributes == "each" and len(task.sensitive) > 1
    sensitive = frame[list(task.sensitive)]
    groups = audited_groups(sensitive, task.attributes) if several else {"": CodedGroups.read(sensitive)}
    labels, probabilities = natural(frame[task.target], f"The target {task.target!r}"), model.predict_proba(X)
    notion, classes = task.fairness(model.classes_.tolist()), model.classes_.tolist()
    audits = audits_by_column(
        "test", labels, probabilities, groups, notion=notion, classes=classes, labels=None, judge=True
    )
    return audits, len(X)


def _facts(source: str, task: Task, model: Any, rows: dict[str, int]) -> dict[str, str]:
    used = [column for column in model.encoder_.columns if column.kind != "ignored"]
    notion = task.fairness(model.classes_.tolist())
    return {
        "Data": source,
        "Rows": ", ".join(f"{n:,} {split}" for split, n in rows.items()) + f", drawn with seed {task.seed}",
        "Target": f"{task.target}: {listed(model.classes_.tolist())}",
        "Groups": ", ".join(task.sensitive),
        "Fairness": f"{notion.words}: {notion.aim}",
        "Model": "logistic regression, trained from files pass by pass",
        "Features": f"{len(model.encoder_.features):,} from {len(used):,} columns",
        "Sensitive columns as features": "yes: prediction needs them" if task.keep_sensitive else "no",
        "Columns used": ", ".join(column.name for column in used),
        "Settings": f"notion={task.notion} attributes={task.attributes} seed={task.seed} test_size={task.test_size:g}",
        "Software": f"fermi {fermi.__version__}",
        "Date": today(),
    }


def with_kept(task: Task, keep: bool) -> Task:
    """A task whose sensitive columns are features, or not."""
    return replace(task, keep_sensitive=keep)
