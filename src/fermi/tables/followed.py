"""Decisions of many days in one file or a folder of files, followed over the days."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fermi.auditing import RunningAudit, follow
from fermi.errors import FermiError, bad_argument
from fermi.inputs.groups import word_of
from fermi.tables.favourable import wanted_last
from fermi.tables.formats import read_table
from fermi.tables.mending import DAY, day_format
from fermi.tables.question import Question
from fermi.tables.read_rows import read_rows
from fermi.tables.task import require_columns
from fermi.tables.together import files_of, is_folder

if TYPE_CHECKING:
    import pandas as pd

    from fermi.auditing import PeriodRecord

_PERIOD = "\0period"  # a name that no column of a file has
_MOST = 1_000
_ISO = r"\d{4}-\d\d-\d\d"
EVERY = {"day": "%Y-%m-%d", "week": "%G, week %V", "month": "%Y-%m"}


def follow_files(
    source: str, question: Question, by: str | None, every: str = "day", reference: str | None = None
) -> tuple[tuple[PeriodRecord, ...], list[str]]:
    """Follow the gap between groups over periods.

    Parameters
    ----------
    source : str
        A file, or a folder of files.
    question : Question
        Which columns hold what.
    by : str, optional
        The column that tells the period; without it each file of a folder is one.
    every : str
        How much a period is of that: a day, a week or a month.
    reference : str, optional
        A file of the rows that every period is compared with; by default the periods before it.

    Returns
    -------
    tuple of PeriodRecord
        One per period, in the order of their names.
    list of str
        What was left out or assumed.
    """
    import pandas as pd

    question.check()
    frame, known = _with_periods(source, by, every)
    if reference is not None:
        frame = pd.concat([frame, read_table(reference).assign(**{_PERIOD: ""})], ignore_index=True)
    read = read_rows(frame, None, question)
    notes = [*read.notes]
    if known:
        notes.append(f"{known:,} rows have no {by!r} and were left out.")
    declared = wanted_last(read.every, question.wanted(read.every))
    notion = question.fairness(read.every)
    predicted = read.predicted
    if read.classes is not None:
        predicted = predicted[:, [read.classes.index(label) for label in declared]]
    period = read.frame[_PERIOD]
    names = sorted(set(period.tolist()) - {""})
    if not names or len(names) > _MOST:
        raise FermiError(f"There are {len(names):,} periods to follow; expected 1 to {_MOST:,}.")

    def rows_of(name: str) -> RunningAudit:
        own = (period == name).to_numpy()
        return RunningAudit(notion, classes=declared).add(
            None if read.y_true is None else read.y_true[own],
            predicted[own],
            sensitive_features=read.frame.loc[own, list(question.sensitive)],
            sample_weight=None if read.weight is None else read.weight[own],
            labels=None if read.labels is None else read.labels[own],
        )

    found = follow(
        {name: rows_of(name) for name in names},
        reference=None if reference is None else rows_of(""),
        favourable=question.wanted(read.every),
        confidence=question.confidence,
        random_state=question.seed,
    )
    return found, notes


def _with_periods(source: str, by: str | None, every: str) -> tuple[pd.DataFrame, int]:
    """The rows with their periods, and how many have none."""
    import pandas as pd

    if by is None:
        if not is_folder(source):
            raise FermiError("`by` is missing: expected the column that tells the day, or a folder of a file for each.")
        frames = [read_table(path).assign(**{_PERIOD: path.name.split(".")[0]}) for path in files_of(source)]
        if not frames:
            raise FermiError(f"There are no files in {source!r}.")
        return pd.concat(frames, ignore_index=True), 0
    frame = read_table(source)
    require_columns(frame, {"by": [by]})
    there = frame[by].notna()
    kept = frame[there].reset_index(drop=True)
    return kept.assign(**{_PERIOD: _names(kept[by], every)}), int((~there).sum())


def _names(column: pd.Series[Any], every: str) -> pd.Series[Any]:
    """What periods are called: days as year, month and day, so that they sort as they follow each other."""
    import pandas as pd

    words = column.map(word_of)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        days = column
    elif words.str.match(_ISO).all():
        days = pd.to_datetime(words.str[:10], format="%Y-%m-%d")
    elif words.map(lambda word: DAY.fullmatch(word) is not None).all() and (told := day_format(words)) is not None:
        days = pd.to_datetime(words, format=told)
    elif every == "day":
        return words
    else:
        raise bad_argument("every", f"is {every!r}", f"a `by` of dates, and {column.name!r} has {words.iloc[0]!r}")
    found: pd.Series[Any] = days.dt.strftime(EVERY[every])
    return found
