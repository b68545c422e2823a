"""A notion found again by what a table of it says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fermi.notions._column import ConditionalParity
from fermi.notions._named import as_notion
from fermi.notions._notion import Notion


def notion_of(title: str, conditions: Sequence[Any]) -> Notion:
    """The notion of a table, from its title (`Notion.describe`) and its conditions.

    Parameters
    ----------
    title : str
        The notion's name, with 𝒵 where that is a choice.
    conditions : sequence
        The values of 𝒵.

    Returns
    -------
    Notion
        One that describes itself by this title. Of a notion of some column it is about one row per condition.

    Examples
    --------
    >>> notion_of("equal_opportunity of 1", [1])
    EqualOpportunity(advantaged={1})
    """
    name, _, choice = title.partition(" ")
    if name == ConditionalParity.name:
        return ConditionalParity(list(conditions), within=list(conditions) if choice else None)
    notion = as_notion(name)
    return notion.of_labels(set(conditions)) if notion.takes_labels else notion
