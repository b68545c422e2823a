"""Table 1: what each method can do, from the methods' own metadata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pandas as pd

from fermi import baselines
from fermi.experiments.figure import Cell, CellRecord, Figure
from fermi.experiments.judging.claims import Claim, Verdict, verdicts

COLUMNS = {
    "nonbinary_target": "more than two classes",
    "nonbinary_attribute": "more than two groups",
    "beyond_logistic": "beyond logistic regression",
    "stochastic": "batches",
    "unbiased": "unbiased",
    "convergent": "converges on batches",
    "needs_attribute": "needs the attribute to predict",
}
# What the paper's table says of the methods it lists, in the order of the first six columns.
PAPER = {
    "fermi": "111111",
    "cho_kde": "111100",
    "cho_mi": "111110",
    "baharlouei": "111000",
    "rezaei": "000000",
    "jiang": "010000",
    "mary": "111100",
    "prost": "001100",
    "donini": "011000",
    "zhang": "111100",
    "agarwal": "011000",
}


def cells(quick: bool) -> Iterator[Cell]:
    """The cells of table 1, one for each method."""
    for name in baselines.available():
        can: dict[str, Any] = asdict(baselines.find(name).capabilities)
        yield {"method": name, **{column: can[column] for column in COLUMNS}}


def run(cell: Cell) -> CellRecord:
    """Run nothing: what a method says of itself is in the cell, so that a change makes another cell."""
    return {}


def only_fermi(records: pd.DataFrame) -> Verdict:
    """Whether no rival trains on batches and provably converges."""
    both = records[records["stochastic"].astype(bool) & records["convergent"].astype(bool)]["method"]
    others = sorted(set(both) - {"fermi", "none"})
    return ("did not hold", ", ".join(others)) if others else ("held", "of the methods here, none but FERMI")


CLAIMS = [Claim("Only FERMI trains on batches and is guaranteed to converge", "table 1, caption", only_fermi)]


def summarise(records: pd.DataFrame) -> str:
    """The table of what each method can do, and where it differs from the paper's."""
    lines = ["| method | " + " | ".join(COLUMNS.values()) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    different = []
    for row in records.to_dict("records"):
        lines.append(f"| {row['method']} | " + " | ".join("yes" if row[name] else "" for name in COLUMNS) + " |")
        for name, said in zip(COLUMNS, PAPER.get(row["method"], ""), strict=False):
            if row[name] != (said == "1"):
                different.append(f"- {row['method']}, {COLUMNS[name]}: the paper says {'yes' if said == '1' else 'no'}")
    differences = "Where the implementation here differs from the paper's table:\n\n" + "\n".join(different)
    last = differences if different else "It agrees with the paper's table."
    return "\n\n".join([verdicts(CLAIMS, records), "\n".join(lines), last])


FIGURE = Figure("Table 1: what each method can do", cells, run, summarise, way="table1")
