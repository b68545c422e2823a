"""`fermi compare`: whether another model's predictions for the same people are better, fairer, or neither."""

from __future__ import annotations

import json
import math

from fermi.auditing import Comparison, DifferenceRecord
from fermi.cli._console import Console
from fermi.cli._flags import in_options
from fermi.cli._summaries import numbers, plain, simple_table
from fermi.cli.audit import check_outputs
from fermi.tables.compared import compare_files
from fermi.tables.formats import write_table
from fermi.tables.question import Question

_SHOWN = 60  # lines


def run(first: str, second: str, question: Question, *, key: str | None, csv: str | None, as_json: bool) -> None:
    """Compare two files of predictions, print how they differ, and write all figures as a table."""
    written = check_outputs({"--csv": csv}, [first, second])
    found, notes = compare_files(first, second, question, key)
    notes = [in_options(note) for note in notes]
    for path in written:
        write_table(found.frame, path)
    if as_json:
        figures = [_figure(each) for each in found.figures]
        document = {"rows": found.rows, "confidence": found.confidence, "figures": figures, "notes": notes}
        print(json.dumps(document, ensure_ascii=False, indent=2))
        return
    _show(found, Console())
    for note in (*notes, *(f"Written: {path}" for path in written)):
        Console().print(note, markup=False, highlight=False)


def _show(found: Comparison, console: Console) -> None:
    console.print(
        f"{found.rows:,} rows that both files have a prediction for. The second less the first, with intervals at "
        f"{found.confidence:.0%}; * where that is more than chance explains.",
        highlight=False,
    )
    labels = {each.figure.removeprefix("rate_") for each in found.figures if each.figure.startswith("rate_")}
    (label,) = labels if len(labels) == 1 else (None,)
    for sentence in _first(found):
        console.print(sentence, markup=False, highlight=False)
    if label is not None:
        console.print(f"Rates (rate, tpr, fpr), precision and auc are of “{label}”.", markup=False, highlight=False)
    table = simple_table("group", "figure", "first", "second", "difference", "")
    table.columns[1].justify = "left"
    lines = [each for each in found.figures if not math.isnan(each.change.value)]
    for each in lines[:_SHOWN]:
        change = f"{each.change.value:+.3f} [{each.change.low:+.3f}, {each.change.high:+.3f}]"
        shown = (plain(each.group), plain(_called(each.figure, label)), f"{each.first:.3f}", f"{each.second:.3f}")
        table.add_row(*shown, plain(change), "*" if each.beyond_noise else "")
    console.print(table)
    if len(lines) > _SHOWN:
        console.print(f"... and {len(lines) - _SHOWN:,} more: --csv writes all of them.")


def _called(figure: str, label: str | None) -> str:
    """A figure's name, without the label where all are of that."""
    return "gap" if figure == "parity_difference" else figure.removesuffix(f"_{label}")


def _first(found: Comparison) -> list[str]:
    """What is said before all figures: of the gap, and of the error."""
    told = []
    for figure, name in (("parity_difference", "The gap between groups"), ("error", "The error")):
        each = next((one for one in found.figures if one.figure == figure), None)
        if each is None or math.isnan(each.change.value):
            continue
        if not each.beyond_noise:
            told.append(f"{name} is not told apart: {each.first:.3f} and {each.second:.3f}.")
        else:
            way = "falls" if each.change.value < 0 else "rises"
            told.append(f"{name} {way} from {each.first:.3f} to {each.second:.3f}.")
    return told


def _figure(each: DifferenceRecord) -> dict[str, object]:
    ends = {name: value if math.isfinite(value) else None for name, value in
            (("first", each.first), ("second", each.second))}  # fmt: skip
    about = {"group": each.group, "rows": each.rows, "figure": each.figure}
    return {**about, **ends, "difference": numbers(each.change), "beyond_noise": each.beyond_noise}
