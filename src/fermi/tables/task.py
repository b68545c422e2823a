"""What is to be learned from a table: its target, its groups, its features, and which rows are kept for the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fermi.auditing import audited_groups
from fermi.datasets.common.loading import split
from fermi.errors import FermiError, listed
from fermi.inputs.coded_groups import CodedGroups
from fermi.inputs.natural import MOST_LABELS, natural, refuse_amounts
from fermi.inputs.table_encoder import ColumnRule, TableEncoder
from fermi.notions import Notion, as_notion
from fermi.tables.favourable import favourable_label, given_labels, wanted_last
from fermi.tables.mending import AS_THEY_ARE, Mending
from fermi.tables.weighting import weighted

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from fermi._typing import Floats, Ints


@dataclass(frozen=True)
class Task:
    """What a user asks of a table.

    Attributes
    ----------
    target : str
        The column to predict.
    sensitive : tuple of str
        The columns whose combinations are the groups.
    notion, advantaged, attributes
        As in `FermiClassifier`; `advantaged` are the labels of equal opportunity, or the one that people want.
    keep_sensitive : bool
        Whether the sensitive columns are among the features.
    ignore : tuple of str
        Columns that are no features, such as identifiers.
    test_size : float
        The part of the rows kept for the test.
    seed : int
        Of the split and of training.
    weights : tuple of str
        What the conditions of the notion count in training, as words: "balanced", or "LABEL=NUMBER" each.
    bins, labels, as_category, as_number, date : tuple of str
        What columns are said to be, as in `Mending`.
    """

    target: str
    sensitive: tuple[str, ...]
    notion: str = "demographic_parity"
    advantaged: tuple[str, ...] = ()
    attributes: str = "intersection"
    keep_sensitive: bool = False
    ignore: tuple[str, ...] = ()
    test_size: float = 0.25
    seed: int = 0
    weights: tuple[str, ...] = ()
    bins: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    as_category: tuple[str, ...] = ()
    as_number: tuple[str, ...] = ()
    date: tuple[str, ...] = ()

    @property
    def mending(self) -> Mending:
        """What the columns are said to be."""
        return Mending(self.bins, self.labels, self.as_category, self.as_number, self.date)

    @classmethod
    def asked(
        cls,
        target: str,
        sensitive: Sequence[str],
        notion: str,
        advantaged: Sequence[str] | None,
        attributes: str,
        ignore: Sequence[str] | None,
        test_size: float,
        seed: int,
        weights: Sequence[str] | None = None,
        columns: Mending = AS_THEY_ARE,
    ) -> Task:
        """A task as a command line gives it; whether sensitive columns are features is asked later."""
        several = tuple(sensitive), tuple(advantaged or ()), tuple(ignore or ())
        said = (columns.bins, columns.labels, columns.as_category, columns.as_number, columns.date)
        whole = (target, several[0], notion, several[1], attributes, False, several[2], test_size, seed)
        return cls(*whole, tuple(weights or ()), *said)

    def fairness(self, classes: Sequence[Any]) -> Notion:
        """The notion, its labels in the target's own type."""
        found = as_notion(self.notion)
        if found.takes_labels:
            labels = given_labels(self.advantaged, classes)
            found = found.of_labels(set(labels or [self.wanted(classes, f"`notion` {self.notion}")]))
        return weighted(found, self.weights, classes) if self.weights else found

    def wanted(self, classes: Sequence[Any], needed_by: str = "") -> Any:
        """The label that people want, as named or known; `needed_by` refuses to go on without it."""
        return favourable_label(self.advantaged, classes, needed_by, self.target)


class Part(NamedTuple):
    """Some rows: features as a matrix, labels, sensitive columns, and the groups that audits are about."""

    X: Floats
    y: NDArray[Any]
    s: pd.DataFrame
    groups: dict[str, CodedGroups]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table made ready: an encoder learned from the training rows, and both parts in its features.

    `favourable` is the label that people want, None where that is neither given nor known; `places` are the rows of the
    file that training and test rows stand in, and `table` and `groups` have all of them.
    """

    task: Task
    encoder: TableEncoder
    classes: list[Any]
    fairness: Notion
    train: Part
    test: Part
    places: dict[str, Ints]
    table: pd.DataFrame
    groups: dict[str, CodedGroups]
    favourable: Any = None
    notes: list[str] = field(default_factory=list)

    def whole(self) -> Prepared:
        """Prepare all rows of the table to train on, in features learned from all of them."""
        encoder = TableEncoder.learn(self.table[_features(self.table, self.task)])
        return replace(self, encoder=encoder, train=_part(self.table, self.groups, encoder, self.task))

    def ordered(self) -> list[Any]:
        """The classes with the one that people want last, which is what bounds on ratios and rates are about."""
        return wanted_last(self.classes, self.favourable)

    def taken(self) -> list[str]:
        """Say which label was taken for the one that people want, where nobody named it."""
        if self.favourable is None or self.task.advantaged:
            return []
        return [f"Taken as the label that people want: {self.favourable!r}. If it is not, `advantaged` names another."]


def prepare(frame: pd.DataFrame, task: Task, test: pd.DataFrame | None = None) -> Prepared:
    """Check, split unless the test rows are given, and turn both parts into numbers."""
    check_columns(frame, task)
    frame, test = task.mending(frame), None if test is None else task.mending(test)
    given = len(frame) if test is not None else None
    if test is not None:
        frame = _joined(frame, test, task)
    frame, notes = _with_target(frame, task.target)
    places = frame.index.to_numpy()
    labels = natural(frame[task.target], f"The target {task.target!r}")
    classes = sorted(set(labels.tolist()))
    if len(classes) < 2:
        raise FermiError(f"The target {task.target!r} holds one class only, {classes[0]!r}: there is nothing to learn.")
    joint, unknown = read_groups(frame, task)
    notes += unknown
    frame = frame.assign(**{task.target: labels}).reset_index(drop=True)
    if len(frame) < 2 * len(classes):
        raise FermiError(f"The file has {len(frame)} rows with a target, too few to train and to test on.")
    if given is None:
        train, tested = split(frame, [task.target, *task.sensitive], task.test_size, task.seed)
    else:
        train, tested = frame[places < given], frame[places >= given]
    if train[task.target].nunique() < len(classes):
        raise FermiError("Some class has so few rows that none is left to train on.")
    encoder = TableEncoder.learn(train[_features(frame, task)])
    notes += _proxies(train, joint.take(train.index.to_numpy()), encoder, task)
    fairness = task.fairness(classes)
    several = task.attributes == "each" and len(task.sensitive) > 1
    groups = audited_groups(frame[list(task.sensitive)], task.attributes) if several else {"": joint}
    first, second = (_part(rows, groups, encoder, task) for rows in (train, tested))
    own = {"train": places[train.index], "test": places[tested.index] - (given or 0)}
    return Prepared(task, encoder, classes, fairness, first, second, own, frame, groups, task.wanted(classes), notes)


def _features(frame: pd.DataFrame, task: Task) -> list[str]:
    """The columns that may serve as features."""
    out = {task.target, *task.ignore, *(() if task.keep_sensitive else task.sensitive)}
    features = [name for name in frame.columns if name not in out]
    if not features:
        raise FermiError("No column is left as a feature beside the target and the sensitive columns.")
    return features


def _joined(frame: pd.DataFrame, test: pd.DataFrame, task: Task) -> pd.DataFrame:
    """The rows of both files, those of the test after the others."""
    import pandas as pd

    check_columns(test, task)
    lacking = [name for name in frame.columns if name not in test.columns]
    if lacking:
        raise FermiError(f"The file of `test` lacks the columns {listed(lacking, limit=4)}.")
    if test[task.target].isna().all():
        raise FermiError(f"The target {task.target!r} is missing in every row of `test`.")
    return pd.concat([frame, test[frame.columns]], ignore_index=True)


def check_columns(frame: pd.DataFrame, task: Task) -> None:
    """Refuse names that the table does not have."""
    named = {"target": [task.target], "sensitive": task.sensitive, "ignore": task.ignore}
    require_columns(frame, {**named, **task.mending.columns()})
    if task.target in task.sensitive:
        raise FermiError(f"{task.target!r} is both the target and a sensitive column.")
    for name in (task.target, *task.sensitive):
        if name in task.ignore:
            raise FermiError(f"The column {name!r} is to be ignored, and to be used as the target or a group.")


def require_columns(frame: pd.DataFrame, wanted: dict[str, Sequence[str]]) -> None:
    """Refuse names that the table does not have, by the argument that gave them."""
    for argument, names in wanted.items():
        for name in names:
            if name not in frame.columns:
                near = [c for c in frame.columns if c.strip().lower() == name.strip().lower()]
                known = f"did you mean {near[0]!r}?" if near else f"the columns are {listed(frame.columns, limit=20)}."
                raise FermiError(f"`{argument}` is {name!r}, but the file has no such column; {known}")
        if len(set(names)) < len(names):
            raise FermiError(f"`{argument}` names the same column twice.")


def _with_target(frame: pd.DataFrame, target: str) -> tuple[pd.DataFrame, list[str]]:
    known = frame[target].notna()
    missing = int((~known).sum())
    if missing == len(frame):
        raise FermiError(f"The target {target!r} is missing in every row.")
    return (frame[known], [f"{missing:,} rows have no {target!r} and were left out."]) if missing else (frame, [])


def read_groups(frame: pd.DataFrame, task: Task) -> tuple[CodedGroups, list[str]]:
    """The groups of all sensitive columns together, and how many rows have none; refuses what are no groups."""
    for name in task.sensitive:
        refuse_amounts(frame[name])
    found = CodedGroups.read(frame[list(task.sensitive)])
    names = listed(task.sensitive)
    if not len(found.labels):
        raise FermiError(f"The sensitive column {names} is missing in every row.")
    if len(found.labels) == 1:
        raise FermiError(f"The sensitive column {names} holds one group only: there is nothing to compare.")
    unknown = int((found.codes < 0).sum())
    note = f"{unknown:,} rows have an unknown group: they train the model and are not compared."
    return found, [note] if unknown else []


def _proxies(train: pd.DataFrame, coded: CodedGroups, encoder: TableEncoder, task: Task) -> list[str]:
    """Features that give the group away entirely."""
    import pandas as pd

    groups = coded.codes
    found = []
    for column in encoder.columns:
        if column.kind == "ignored" or column.name in task.sensitive:
            continue
        values, distinct = pd.factorize(train[column.name])
        known = (groups >= 0) & (values >= 0)
        pairs = np.unique(values[known] * (groups.max() + 1) + groups[known])
        # As many pairs as values: none of them occurs with two groups.
        if 1 < len(distinct) <= MOST_LABELS and len(pairs) == len(distinct) and len(np.unique(groups[known])) > 1:
            found.append(column.name)
    if not found:
        return []
    return [
        f"The column {listed(found, limit=4)} tells the group in every training row: as a feature it takes the "
        "place of the sensitive column."
    ]


def _part(rows: pd.DataFrame, groups: dict[str, CodedGroups], encoder: TableEncoder, task: Task) -> Part:
    X, _ = encoder.transform(rows)
    places = rows.index.to_numpy()
    own = {which: coded.take(places) for which, coded in groups.items()}
    return Part(X, rows[task.target].to_numpy(), rows[list(task.sensitive)].reset_index(drop=True), own)


def describe(column: ColumnRule) -> str:
    """What became of a column, in words."""
    words = {"number": "number", "date": "date", "category": f"{len(column.categories)} categories"}
    if column.kind == "ignored":
        return f"left out: {column.why}"
    rare = f", {len(column.rare)} rare ones together" if column.rare else ""
    return f"{words[column.kind]}{rare}" + (f", {column.missing:,} missing" if column.missing else "")
