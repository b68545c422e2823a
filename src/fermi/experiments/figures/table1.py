"""Table 1: what each method can do, looked up in the methods' own metadata; a list of properties is no test of them."""

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


# The paper's columns on code for more than two classes and groups, and on convergence.
PAPER_CODE = ("fermi", "cho_kde", "baharlouei", "mary")
PAPER_CONVERGENCE = {
    "fermi": "yes (on batches: yes)",
    "baharlouei": "yes (on batches: no)",
    "agarwal": "yes (on batches: no)",
}
_TESTS = """\
- unbiased: `tests/fitting/test_objective.py` (FERMI's estimate on single rows),
  `tests/baselines/test_network_penalties.py` (`cho_mi`), and
  [figure 7](../fig7/summary.md) for FERMI and `mary` at four batch sizes;
- more than two classes or groups: `tests/contract/test_baselines.py` fits every method that says so, and sees every
  other one refuse;
- batches: `tests/baselines/test_network_training.py`;
- convergence is a theorem: runs can only fail to contradict it."""


def only_fermi(records: pd.DataFrame) -> Verdict:
    """Say who trains on batches and provably converges, by what is known of the methods; no run can show a proof."""
    both = records[records["stochastic"].astype(bool) & records["convergent"].astype(bool)]["method"]
    names = ", ".join(sorted(set(both) - {"none"})) or "none"
    reason = "a look-up of what authors prove, and no test; of the methods here, on batches and with a proof"
    return Verdict("could not be tested here", f"{reason}: {names}")


CLAIMS = [Claim("Only FERMI trains on batches and is guaranteed to converge", "table 1, caption", only_fermi)]


def summarise(records: pd.DataFrame) -> str:
    """The table of what each method can do, and where it differs from the paper's."""
    headings = [*COLUMNS.values(), "the paper: code for these", "the paper: convergence", "code here"]
    lines = ["| method | " + " | ".join(headings) + " |", "|---" * (len(headings) + 1) + "|"]
    different = []
    for row in records.to_dict("records"):
        entries = ["yes" if row[name] else "" for name in COLUMNS]
        entries += [_of_the_paper(row["method"], "yes" if row["method"] in PAPER_CODE else "no")]
        entries += [_of_the_paper(row["method"], PAPER_CONVERGENCE.get(row["method"], "no")), "yes"]
        lines.append(f"| {row['method']} | " + " | ".join(entries) + " |")
        for name, said in zip(COLUMNS, PAPER.get(row["method"], ""), strict=False):
            if row[name] != (said == "1"):
                different.append(f"- {row['method']}, {COLUMNS[name]}: the paper says {'yes' if said == '1' else 'no'}")
    differences = "Where the implementation here differs from the paper's table:\n\n" + "\n".join(different)
    last = differences if different else "It agrees with the paper's table."
    about = "This table is a look-up of what the code says of each method. What can be tested is tested elsewhere:"
    return "\n\n".join([verdicts(CLAIMS, records), about, _TESTS, "\n".join(lines), last])


def _of_the_paper(method: str, entry: str) -> str:
    """The entry of a method that the paper's table has, and nothing for the others."""
    return entry if method in PAPER else ""


FIGURE = Figure("Table 1: what each method can do", cells, run, summarise, way="table1")
