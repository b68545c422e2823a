"""The paper's statements: each check can say either word, and the page of them is one that the index can read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fermi import experiments
from fermi.experiments.figures import theory
from fermi.experiments.judging.index import claims_of
from fermi.experiments.statements import laws
from fermi.experiments.statements.listed import PARTS, STATEMENTS
from fermi.experiments.statements.statement import compared, equal, every, half_width, judge, several, untested

QUICK = ("remark-2", "chi-square", "lemma-3", "lemma-8", "lemma-9", "lemma-6")
WORDS = {"held", "refuted", "not shown", "could not be tested here"}


def test_names_are_of_one_statement_each() -> None:
    assert len(STATEMENTS) == sum(map(len, PARTS.values()))
    for one in STATEMENTS.values():
        assert one.text
        assert one.place
        words = one.text + one.place + one.control_text
        assert "|" not in words.replace("\\|", "")  # a cell of the table would end there


@pytest.mark.parametrize("name", QUICK)
def test_a_check_says_one_word_of_the_statement_and_another_of_its_control(name: str) -> None:
    figure = experiments.find("theory")
    own, control = (
        judge(figure.run({"statement": name, "variant": variant, "quick": True})["measured"])[0]  # type: ignore[call-overload]
        for variant in ("printed", "control")
    )
    assert own in ("held", "refuted")
    assert control in ("held", "refuted")
    assert own != control


def test_one_counterexample_refutes() -> None:
    assert judge(every([(1.0, 2.0), (2.0, 2.0)], of="pairs"))[0] == "held"
    word, figures = judge(every([(1.0, 2.0), (2.1, 2.0)], of="pairs", examples=["first", "second"]))
    assert word == "refuted"
    assert "1 of 2 pairs" in figures
    assert "second" in figures
    assert judge(every([(float("nan"), 2.0)], of="pairs"))[0] == "refuted"
    assert judge(equal([(1.0, 1.0 + 1e-12)], of="pairs"))[0] == "held"
    assert judge(equal([(1.0, 1.001)], of="pairs"))[0] == "refuted"


@pytest.mark.parametrize(
    ("estimate", "sense", "word"),
    [
        (0.5, "at most", "held"),
        (0.95, "at most", "not shown"),
        (1.05, "at most", "not shown"),
        (1.5, "at most", "refuted"),
        (1.5, "at least", "held"),
        (0.5, "at least", "refuted"),
        (math.nan, "at least", "not shown"),
    ],
)
def test_an_interval_that_holds_the_bound_shows_nothing(estimate: float, sense: Any, word: str) -> None:
    assert judge(compared(estimate, 0.1, sense, 1.0, what="x"))[0] == word


def test_all_parts_must_hold() -> None:
    held, open_, refuted = (compared(e, 0.1, "at most", 1.0, what="x") for e in (0.5, 1.0, 1.5))
    out = untested("no data")
    assert judge(several({"a": held, "b": out}))[0] == "held"
    assert judge(several({"a": held, "b": open_}))[0] == "not shown"
    assert judge(several({"a": refuted, "b": open_}))[0] == "refuted"
    assert judge(several({"a": out}))[0] == "could not be tested here"


def test_the_half_width_is_that_of_the_widest_interval() -> None:
    narrow, wide = (compared(1.0, width, "at most", 2.0, what="x") for width in (0.1, 0.3))
    searched = every([(1.0, 2.0)], of="pairs")
    assert half_width(several({"a": narrow, "b": wide, "c": searched})) == 0.3
    assert math.isnan(half_width(searched))


def test_the_index_reads_the_page() -> None:
    records = pd.DataFrame(
        [
            {"statement": "theorem-1", "variant": "printed", "cell_seconds": 1.0,
             "measured": compared(-0.4, 0.05, "at most", -0.2, what="slope")},
            {"statement": "theorem-1", "variant": "control", "cell_seconds": 1.0,
             "measured": compared(-0.4, 0.05, "at most", -0.9, what="slope")},
            {"statement": "lemma-9", "variant": "printed", "cell_seconds": 1.0,
             "measured": equal([(1.0, 1.0)], of="laws")},
        ]
    )  # fmt: skip
    first, second = claims_of(theory.summarise(records))
    assert (first.word, first.width) == ("held", "± 0.05")
    assert first.figures.endswith(": refuted")
    assert (second.word, second.width) == ("held", "")
    assert "p(s\\|y)" in second.text
    assert second.figures


def test_a_law_of_independent_columns_has_a_root() -> None:
    law = np.outer([0.1, 0.2, 0.7], [0.3, 0.7])
    cases = [[(1.0, law / law.sum())], [(0.3, law), (0.7, law)], laws.cases(400)[0]]
    assert all(laws.root_of_ermi(case) >= 0.0 for case in cases)
    assert min(laws.ermi(laws.independent(case)) for case in laws.cases(400)) < 0.0  # by rounding


def test_formulas_are_no_emphasis() -> None:
    assert theory.literal("W* and Σ_j W_{j,l} of `a_b`, D_R") == "W\\* and Σ\\_j W\\_{j,l} of `a_b`, D\\_R"
