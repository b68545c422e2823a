"""The pages of the paper's figures: each is what its records say, and every verdict can come out otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from fermi import experiments
from fermi.experiments.figures import theory
from fermi.experiments.judging.index import claims_of, index
from fermi.experiments.recorded import RECORDS, kept
from fermi.experiments.runner import table_of
from fermi.experiments.statements.listed import STATEMENTS
from fermi.experiments.statements.statement import judge

RESULTS = Path(__file__).parents[2] / "docs" / "results"
RECORDED = sorted(path.parent.name for path in RESULTS.glob(f"*/{RECORDS}"))
LONG = {"fig11", "fig12"}  # judged as figure 10 is, in half a minute each


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.long] * (n in LONG)) for n in RECORDED])
def test_a_page_is_what_its_records_say(name: str) -> None:
    figure, found = experiments.find(name), kept(RESULTS / name)
    keys = [figure.key(cell) for cell in figure.cells(False)]
    assert set(keys) == set(found)
    page = (RESULTS / name / "summary.md").read_text(encoding="utf-8")
    assert page.endswith(figure.summarise(table_of({key: found[key] for key in keys})) + "\n")


def test_the_index_is_what_the_pages_say() -> None:
    assert (RESULTS / "index.md").read_text(encoding="utf-8") == index(RESULTS, experiments.names())


def test_every_statement_is_judged_and_its_control_otherwise() -> None:
    records = table_of(kept(RESULTS / "theory"))
    for statement in STATEMENTS.values():
        own, control = (theory.measured(records, statement.name, variant) for variant in ("printed", "control"))
        assert own is not None
        assert control is not None
        assert judge(own)[0] != judge(control)[0], statement.name


@pytest.mark.parametrize("name", RECORDED)
def test_every_claim_has_one_of_four_words(name: str) -> None:
    claims = claims_of((RESULTS / name / "summary.md").read_text(encoding="utf-8"))
    assert claims
    assert {claim.word for claim in claims} <= {"held", "refuted", "not shown", "could not be tested here"}
    assert all(claim.figures for claim in claims)
