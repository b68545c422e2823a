"""Notions map labels to condition codes."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import fermi
from fermi import ConditionalParity, DemographicParity, EqualizedOdds, EqualOpportunity, FermiError
from fermi.notions import as_notion

Y = ["b", "a", "c", "a"]


def codes(notion: fermi.Notion, y: object = Y) -> list[int]:
    found: list[int] = notion.conditions(y, 4).dense().tolist()
    return found


def test_conditions() -> None:
    assert codes(DemographicParity(), None) == [0, 0, 0, 0]
    assert codes(EqualizedOdds()) == [1, 0, 2, 0]
    assert codes(EqualOpportunity()) == [-1, -1, 0, -1]
    assert codes(EqualOpportunity("a")) == [-1, 0, -1, 0]
    assert codes(EqualOpportunity({"c", "a"})) == [-1, 0, 1, 0]
    assert codes(ConditionalParity([7, 7, None, 3]), None) == [1, 1, -1, 0]


def test_names_give_the_notions() -> None:
    assert as_notion("demographic_parity") == DemographicParity()
    assert as_notion("equalized_odds") == EqualizedOdds()
    assert as_notion("equal_opportunity") == EqualOpportunity()
    assert as_notion(EqualOpportunity([1])) == EqualOpportunity(1) == EqualOpportunity({1})


def test_equal_opportunity_over_all_labels_is_equalized_odds() -> None:
    assert codes(EqualOpportunity(list("abc"))) == codes(EqualizedOdds())


def test_notions_are_immutable_and_hashable() -> None:
    for notion in (DemographicParity(), EqualizedOdds(), EqualOpportunity(1)):
        assert hash(notion) == hash(type(notion)(**dataclasses.asdict(notion)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        EqualOpportunity(1).advantaged = 2  # type: ignore[misc]


def test_declared_classes_set_the_default_advantaged_label() -> None:
    shard = [0, 1, 0]
    conditions = EqualOpportunity().conditions(shard, 3, labels=(0, 1, 2))
    assert conditions.values_of == [2]
    assert conditions.dense().tolist() == [-1, -1, -1]


def test_labels_of_numbers_sort_by_size() -> None:
    assert EqualOpportunity().conditions(np.array([2, 10, 9]), 3).dense().tolist() == [-1, 0, -1]


def test_no_other_file_compares_notions() -> None:
    source = Path(fermi.__file__).parent
    names = "demographic_parity|equalized_odds|equal_opportunity|EqualizedOdds|EqualOpportunity|DemographicParity"
    pattern = re.compile(rf"(==|!=|\bin\b|isinstance\([^)]*)\s*[\(\[]?[\"']?({names})")
    guilty = [
        f"{path.name}:{number}"
        for path in source.rglob("*.py")
        if path.parent.name != "notions"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert guilty == []
    assert pattern.search('if notion == "equalized_odds":')


def test_a_column_of_another_length_is_refused() -> None:
    with pytest.raises(FermiError, match="`notion` has 2 rows; expected 4, as many as `y_pred`"):
        fermi.ermi([0, 1, 1, 0], [0, 1, 0, 1], notion=ConditionalParity([1, 2]))
    with pytest.raises(FermiError, match=r"`within` holds 9, which does not occur; expected among 1, 2"):
        ConditionalParity([1, 2], within=[9])
