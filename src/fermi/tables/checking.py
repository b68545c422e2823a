"""What is likely wrong with a table, before anything is trained on it, each with the option that mends it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from fermi.auditing import SMALL
from fermi.errors import listed
from fermi.inputs.coded_groups import CodedGroups
from fermi.tables.mending import DAY, SIGNED, day_format
from fermi.tables.task import Task

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from fermi._typing import Ints

_MOST_ROWS = 50_000  # that are looked at for what one column tells of another
_FEW = 50  # distinct values, of which each may stand for something
_MANY = 10  # distinct numbers of a sensitive column, which are rather an amount
_NEARLY = 0.995
_ALL = 0.9995  # which is written as 100.0%
_LEFT = 0.05  # of the errors of one answer for all, that a column with hardly any error leaves
_MOSTLY = 0.9
_LABELS_LOST = 0.05
_POSTAL = re.compile(r"\b(zip|postal|postcode|plz)\b", re.IGNORECASE)


class Finding(NamedTuple):
    """One thing that is likely wrong: of which kind, in which column, in words that name what mends it."""

    kind: str
    column: str
    words: str


def check_table(frame: pd.DataFrame, task: Task) -> list[Finding]:
    """Look for leaks, proxies, identifiers, columns that are read wrongly, and groups too small to say anything.

    Parameters
    ----------
    frame : DataFrame
        The table, with its columns as the user says they are.
    task : Task
        The target, the sensitive columns and what is ignored.

    Returns
    -------
    list of Finding
        Those that spoil a model first.
    """
    known = frame[frame[task.target].notna()]
    rows = known if len(known) <= _MOST_ROWS else known.sample(_MOST_ROWS, random_state=0).sort_index()
    target, classes = _codes(rows[task.target])
    groups = CodedGroups.read(rows[list(task.sensitive)])
    out = {task.target, *task.ignore, *task.sensitive}
    features = [name for name in frame.columns if name not in out]
    told = {name: _told(rows[name], target, len(classes)) for name in features}
    found = [
        Finding(
            "leak", name, _LEAK.format(name, task.target, "every row" if share > _ALL else f"{share:.1%} of the rows")
        )
        for name, share in told.items()
        if share
    ]
    leaks = {finding.column for finding in found}
    rest = [name for name in features if name not in leaks]
    found += _proxies(rows, rest, groups)
    for look in (_identifier, _days, _signs, _postal):
        found += [finding for name in rest for finding in look(rows[name])]
    for name in (*rest, *task.sensitive, task.target):
        found += _spellings(rows[name])
    amounts = list(_amounts(rows, task))
    return [*found, *amounts, *([] if amounts else _small(groups)), *_lost(frame, task)]


_LEAK = (
    "The column {0!r} tells {1!r} in {2}, as a copy of the answer would, or what was written down after it: if so, "
    "`ignore` {0!r}."
)


def _codes(column: pd.Series[Any]) -> tuple[Ints, Any]:
    import pandas as pd

    codes, values = pd.factorize(column.astype(object), sort=False)
    return codes.astype(np.int64), values


def _told(column: pd.Series[Any], target: Ints, n_classes: int) -> float:
    """The share of rows whose target a column tells, value by value or by one threshold; 0 where it leaves errors."""
    import pandas as pd

    n = len(target)
    sizes = np.bincount(target, minlength=n_classes)
    codes, values = _codes(column)
    if 1 < len(values) <= min(_FEW, n / _MANY):
        table = np.zeros((len(values) + 1, n_classes))
        np.add.at(table, (codes, target), 1.0)
        return _enough(float(table.max(axis=1).sum()), n, sizes)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    there = np.isfinite(numbers)
    if n_classes != 2 or there.mean() < _MOSTLY or n < _FEW:
        return 0.0
    known, one = numbers[there], target[there] == 1
    if one.all() or not one.any():
        return 0.0
    order = np.argsort(known, kind="stable")
    below = np.r_[0, np.cumsum(np.where(one[order], 1, -1))]  # ones less zeros below each threshold
    cuts = np.r_[0, 1 + np.flatnonzero(np.diff(known[order])), len(known)]  # between values that differ
    right = np.r_[(~one).sum() + below[cuts], one.sum() - below[cuts]].max()
    zeros = int((~one).sum())
    area = (float(rankdata(known)[one].sum()) - one.sum() * (one.sum() + 1) / 2) / (one.sum() * zeros)
    if min(zeros, len(known) - zeros) >= _MANY and max(area, 1.0 - area) >= _NEARLY:
        return float(right) / len(known)
    return _enough(float(right), len(known), np.bincount(target[there], minlength=n_classes))


def _enough(right: float, n: int, sizes: Ints) -> float:
    """The share of rows that are right, or 0 where more errors are left than hardly any."""
    errors = n - int(sizes.max())
    return right / n if errors >= _MANY and n - right <= _LEFT * errors else 0.0


def _proxies(rows: pd.DataFrame, names: list[str], groups: CodedGroups) -> list[Finding]:
    """Columns that give the group away: by their values, as 0/1 columns of one group each, or as those of the rest."""
    known, told = groups.codes >= 0, []
    n_groups = len(groups.labels)
    pure: dict[int, list[tuple[str, NDArray[np.bool_]]]] = {}  # by group: two-valued columns with rows of it alone
    for name in names:
        codes, values = _codes(rows[name])
        if not 1 < len(values) <= _FEW:
            continue
        table = np.zeros((len(values) + 1, n_groups))
        np.add.at(table, (codes[known], groups.codes[known]), 1.0)
        whole = table.max(axis=1).sum() >= _NEARLY * known.sum() > table.sum(axis=0).max()
        if whole or (len(values) == 2 and _stands_for_a_group(table[:2])):
            told.append(name)
        elif len(values) == 2 and (found := _rows_of_one_group(table[:2])) is not None:
            line, group = found
            pure.setdefault(group, []).append((name, codes[known] == line))
    for group, columns in pure.items():
        told += _siblings(columns, groups.codes[known] == group)
    if not told:
        return []
    words = (
        f"The columns {listed(told, limit=6)} give the group away, so that leaving out the sensitive column changes "
        f"little: if that is not meant, {' '.join(f'`ignore` {name!r}' for name in told[:6])}."
    )
    return [Finding("proxy", told[0], words)]


def _stands_for_a_group(table: Any) -> bool:
    """Whether one of two values holds all rows of one group and hardly any other."""
    sizes = table.sum(axis=0)
    for line in table:
        group = int(line.argmax())
        if line[group] >= SMALL / 3 and line[group] >= _NEARLY * line.sum() and line[group] >= _NEARLY * sizes[group]:
            return True
    return False


def _rows_of_one_group(table: Any) -> tuple[int, int] | None:
    """Which of two values holds rows of one group and hardly any other, and of which; None if none does."""
    for line, sizes in enumerate(table):
        if sizes.sum() >= _MANY and sizes.max() >= _NEARLY * sizes.sum():
            return line, int(sizes.argmax())
    return None


def _siblings(columns: list[tuple[str, NDArray[np.bool_]]], group: NDArray[np.bool_]) -> list[str]:
    """The columns of a group that together stand for it, as the rest of one-hot columns do: no two overlap."""
    taken: list[str] = []
    covered = np.zeros(len(group), dtype=bool)
    for name, rows in sorted(columns, key=lambda pair: -int(pair[1].sum())):
        if (rows & covered).sum() <= (1.0 - _NEARLY) * rows.sum():
            covered |= rows
            taken.append(name)
    return taken if (covered & group).sum() >= _NEARLY * group.sum() else []


def _words(column: pd.Series[Any]) -> list[str]:
    return [value for value in column.dropna().unique().tolist() if isinstance(value, str)]


def _share(words: list[str], fits: Callable[[str], Any]) -> float:
    return sum(bool(fits(word)) for word in words) / len(words) if words else 0.0


def _identifier(column: pd.Series[Any]) -> Iterator[Finding]:
    import pandas as pd

    if not column.is_unique:  # quickly seen, where reading words as numbers is not
        return
    numbers = pd.to_numeric(column, errors="coerce")
    if len(column) > _FEW and numbers.notna().all() and numbers.nunique() == len(column) and (numbers % 1 == 0).all():
        yield Finding(
            "identifier",
            str(column.name),
            f"The column {column.name!r} has a different whole number in every row, as identifiers do: if it is one, "
            f"`ignore` {column.name!r}.",
        )


def _days(column: pd.Series[Any]) -> Iterator[Finding]:
    words = _words(column)
    if _share(words, DAY.fullmatch) < _MOSTLY:
        return
    name = str(column.name)
    told = day_format(column)
    mend = f"`date` {name!r}" if told is not None else f"`date` {name + '=%d/%m/%Y'!r}, or whatever its format is"
    yield Finding("date", name, f"The column {name!r} holds dates such as {words[0]!r}, taken for categories: {mend}.")


def _signs(column: pd.Series[Any]) -> Iterator[Finding]:
    words = _words(column)
    if _share(words, SIGNED.fullmatch) >= _MOSTLY:
        name = str(column.name)
        words_ = f"The column {name!r} holds numbers with signs about them, such as {words[0]!r}: `as_number` {name!r}."
        yield Finding("number", name, words_)


def _postal(column: pd.Series[Any]) -> Iterator[Finding]:
    words, name = _words(column), str(column.name)
    if str(column.dtype) == "category":  # as somebody has said
        return
    digits = bool(words) and all(word.isdigit() for word in words)
    same = digits and len({len(word) for word in words}) == 1
    if (same and any(word[0] == "0" and len(word) > 1 for word in words)) or (_POSTAL.search(name) and digits):
        yield Finding(
            "code",
            name,
            f"The column {name!r} holds codes, such as {words[0]!r}, taken for amounts: `as_category` {name!r}.",
        )


def _spellings(column: pd.Series[Any]) -> Iterator[Finding]:
    """Values that differ in capitals alone."""
    by_word: dict[str, list[str]] = {}
    words = _words(column)
    if len(words) > _FEW:
        return
    for word in words:
        by_word.setdefault(word.casefold(), []).append(word)
    twice = [sorted(each, key=lambda word: (word.islower(), word)) for each in by_word.values() if len(each) > 1]
    if twice:
        pairs = ",".join(f"{other}:{first}" for first, *others in twice for other in others)
        yield Finding(
            "spelling",
            str(column.name),
            f"The column {column.name!r} spells values in several ways, {listed(twice[0], limit=3)}: `labels` "
            f"{f'{column.name}={pairs}'!r}.",
        )


def _amounts(rows: pd.DataFrame, task: Task) -> Iterator[Finding]:
    """Sensitive columns of many numbers."""
    import pandas as pd

    for name in task.sensitive:
        numbers = pd.to_numeric(rows[name], errors="coerce")
        if numbers.notna().sum() >= _MOSTLY * rows[name].notna().sum() and numbers.nunique() > _MANY:
            edges = sorted({round(float(edge)) for edge in numbers.quantile([1 / 3, 2 / 3])})
            mend = f"{name}={','.join(map(str, edges))}"
            words = (
                f"The sensitive column {name!r} holds {numbers.nunique():,} different numbers, each a group of its "
                f"own: put them into ranges, say `bins` {mend!r}."
            )
            yield Finding("amount", name, words)


def _small(groups: CodedGroups) -> Iterator[Finding]:
    sizes = np.bincount(groups.codes[groups.codes >= 0], minlength=len(groups.labels))
    few = [f"{label} ({size})" for label, size in zip(groups.labels, sizes.tolist(), strict=True) if size < 4 * SMALL]
    if few:
        shown = ", ".join(few[:6]) + (f" and {len(few) - 6} more" if len(few) > 6 else "")
        words = (
            f"Groups of so few rows that the quarter kept for the test can hardly judge them: {shown}. `labels` puts "
            "values together; `slack` 1 makes allowance for their sampling error."
        )
        yield Finding("small", ", ".join(str(name) for name in groups.columns), words)


def _lost(frame: pd.DataFrame, task: Task) -> Iterator[Finding]:
    share = float(frame[task.target].isna().mean())
    if share >= _LABELS_LOST:
        words = (
            f"{share:.0%} of the rows have no {task.target!r} and are left out: if they differ from the others, no "
            "figure here is about them. Where a missing entry means an answer, write that answer into the file."
        )
        yield Finding("lost", task.target, words)
