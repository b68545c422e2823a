"""The result of a GROUP BY to rows that can be counted: one row stands for all that the query found alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw

from fermi.errors import bad_argument, listed
from fermi.inputs.columns import Column, as_frame, read_column
from fermi.inputs.encode import encode
from fermi.measures._counting import Called, Rows
from fermi.notions import ConditionalParity, Notion, as_notion

CALLED = Called(y_pred="prediction", columns="group", sample_weight="weight")
_TABLE = "a table of pandas, polars or pyarrow, a dict of columns, or what Arrow can read as a stream"


def read_counts(
    frame: Any, prediction: str, group: str | Sequence[str], weight: str, condition: str | None, notion: Any
) -> tuple[Rows, Notion]:
    """Find the columns of a table of counts, and the notion that its condition stands for."""
    given = _columns(frame)
    try:
        groups: list[Any] = [group] if isinstance(group, str) else list(group)
    except TypeError:  # no sequence, whatever it is
        groups = [group]
    if not groups:
        raise bad_argument("group", "names no column", "one or several")
    wanted = [("prediction", prediction), *(("group", name) for name in groups), ("weight", weight)]
    wanted += [] if condition is None else [("condition", condition)]
    columns_of = [_column(given, name, argument) for argument, name in wanted]
    found = dict(zip((name for _, name in wanted), columns_of, strict=True))
    if len(found) < len(wanted):
        raise bad_argument("frame", f"would give a column two roles ({listed(name for _, name in wanted)})", "one each")
    if not len(found[prediction]):
        raise bad_argument("frame", "has no rows", "at least one")
    z = None if condition is None else found[condition]
    chosen = _notion(notion, z)
    columns: dict[str | None, Column] = {name: found[name] for name in groups}
    return Rows(found[prediction], columns, z if chosen.needs_target else None, found[weight]), chosen


def _columns(frame: Any) -> Mapping[str, Any]:
    """The columns of a table by name, none of them touched."""
    if isinstance(frame, Mapping):
        return {str(name): column for name, column in frame.items()}
    table = as_frame(frame, "frame")
    if not isinstance(table, nw.DataFrame) and hasattr(frame, "__arrow_c_stream__"):
        import pyarrow as pa

        try:
            table = as_frame(pa.table(frame), "frame")
        except (pa.ArrowException, TypeError, ValueError):  # one column, or what Arrow has no type for
            raise bad_argument("frame", f"is a {type(frame).__name__}", _TABLE) from None
    if not isinstance(table, nw.DataFrame):
        raise bad_argument("frame", f"is a {type(frame).__name__}", _TABLE)
    return {str(column.name): column for column in table.iter_columns()}  # a name may be a number


def _column(given: Mapping[str, Any], name: str, argument: str) -> Column:
    if not isinstance(name, str) or name not in given:
        raise bad_argument(argument, f"is {name!r}", f"a column of the table: {listed(given)}")
    return read_column(given[name], f"frame[{name!r}]")


def _notion(notion: Any, condition: Column | None) -> Notion:
    """The notion asked for, or the one that follows from there being a condition or none."""
    if notion is None:
        return as_notion("demographic_parity") if condition is None else ConditionalParity(condition)
    chosen = as_notion(notion)
    if chosen.column is not None:
        raise bad_argument("notion", "holds a column of its own", "None: `condition` names the column that is Z")
    if chosen.needs_target != (condition is not None):
        expected = "the column of true labels" if chosen.needs_target else "None, as this notion has no condition"
        raise bad_argument("condition", f"is {'a column' if condition is not None else None}", expected)
    if condition is not None and (missing := encode(condition, "condition").n_unknown):
        raise bad_argument("condition", f"has {missing} missing entries", "a true label in every row")
    return chosen
