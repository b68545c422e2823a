"""`fermi demo`: the price of fairness on made-up credit applicants, with nothing but the package."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from fermi import report
from fermi._files import whole_folder
from fermi.cli._console import Console
from fermi.cli._summaries import point_summary, show_points, without_splits
from fermi.cli._verdicts import said_of, show_verdict
from fermi.cli.train import REPORT
from fermi.datasets import synthetic
from fermi.tables.curves import curve
from fermi.tables.formats import write_table
from fermi.tables.task import Task, prepare

if TYPE_CHECKING:
    import pandas as pd

FILE = "applicants.csv"
_BOUND = 0.05


def run(seed: int, *, output: str, as_json: bool) -> None:
    """Run the demo: draw data, train along λ, write file and report, print the plain model and a fair one."""
    console = Console(quiet=as_json)
    folder = Path(output)
    with whole_folder(folder, (FILE, REPORT)) as partial:
        frame = applicants(seed)
        write_table(frame, partial / FILE)
        rows = prepare(frame, Task("outcome", ("group",), seed=seed))
        with console.status("training along λ") if console.is_terminal else nullcontext():
            _, record = curve(rows, "linear", source=FILE, max_violation=_BOUND, n_jobs=None, progress=False)
        report.write(record, partial / REPORT)
    plain, fair = record.points[0], record.points[record.chosen]
    if as_json:
        found = {
            "rows": len(frame),
            "max_violation": _BOUND,
            "plain": point_summary(plain),
            "fair": point_summary(fair),
        }
        where = {"data": str(folder / FILE), "report": str(folder / REPORT)}
        print(json.dumps({**found, **where}, indent=2, ensure_ascii=False))
        return
    sizes = {split: f"{audit.rows:,.0f}" for split, audit in plain.splits.items()}
    console.print(
        f"{len(record.points)} logistic regressions along λ, from no fairness at all, on made-up credit applicants: "
        f"{sizes['train']} to train, {sizes['validation']} to choose, {sizes['test']} to test. None sees the group."
    )
    show_verdict(said_of(record), console)
    show_points(without_splits(record, {"train", "validation"}, {plain.label, fair.label}), console)
    console.print(record.reason)
    asked = f"{folder / FILE} --target outcome --sensitive group --max-violation {_BOUND:g}"
    console.print(
        f"\nThe report, with the whole curve to choose from: {folder / REPORT}\n"
        f"The data: {folder / FILE}. The same by hand:\n  fermi tradeoff {asked} --seed {seed}\n"
        f"and for a model to predict with:\n  fermi train {asked}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def applicants(seed: int) -> pd.DataFrame:
    """One table of all rows of the made-up applicants, as a user would have it."""
    import pandas as pd

    data = synthetic(seed=seed, rated=False)
    parts = [
        pd.concat([X, s, y], axis=1)
        for X, s, y in ((data.X_train, data.s_train, data.y_train), (data.X_test, data.s_test, data.y_test))
    ]
    return pd.concat(parts, ignore_index=True)
