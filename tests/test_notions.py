"""Notions map labels to condition codes."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import numpy as np
import pytest

import fermi
from fermi import ConditionalParity, DemographicParity, EqualizedOdds, EqualOpportunity, FermiError
from fermi.notions import NAMES, OF_LABELS, as_notion

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


def test_a_notion_says_what_it_is_called_and_what_it_asks() -> None:
    odds = "equalized odds: among rows of the same true class, the prediction should not depend on the group"
    assert EqualizedOdds().explain(["no", "yes"]) == odds
    chance = "equal opportunity: among rows of an advantaged true class, the prediction should not depend on the group"
    assert EqualOpportunity("no").explain(["no"]) == f"{chance} (equal_opportunity of 'no')"
    within = ConditionalParity(["x", "y"], within=["x"]).explain(["x"])
    assert within.startswith("conditional parity: among rows of the same condition, ")
    assert within.endswith(" (conditional_parity within 'x')")
    for notion in map(as_notion, NAMES):
        assert notion.explain(notion.labels_of([0, 1])).startswith(f"{notion.words}: {notion.meaning}")
        assert notion.words == notion.name.replace("_", " ")
        assert notion.short
        assert notion.aim


def test_a_notion_of_the_user_s_own_is_called_by_its_name() -> None:
    class Mine(DemographicParity):
        name = "odd_days"
        meaning = ""

    assert (Mine().words, Mine().explain(["all"])) == ("odd days", "odd_days")
    assert (Mine().rate, Mine().label(["no", "yes"])) == ("selection", "yes")


def test_a_notion_says_which_rate_of_which_label_shows_it() -> None:
    classes = ["no", "perhaps", "yes"]
    assert (DemographicParity().rate, DemographicParity().label(classes)) == ("selection", "yes")
    assert (EqualizedOdds().rate, EqualizedOdds().label(classes)) == ("true_positive", "yes")
    assert (EqualOpportunity().rate, EqualOpportunity().label(classes[::-1])) == ("true_positive", "yes")
    assert EqualOpportunity("no").label(classes) == "no"
    assert EqualOpportunity({"no", "yes"}).label(classes) is None
    assert EqualOpportunity({"yes", "no"}).labels_of(classes) == ["no", "yes"]
    assert EqualizedOdds().labels_of(classes) == []


def test_only_some_notions_are_about_chosen_labels() -> None:
    assert OF_LABELS == ("equal_opportunity",)
    assert as_notion("equal_opportunity").of_labels({"no"}) == EqualOpportunity("no")
    with pytest.raises(
        FermiError, match=r"`advantaged` is given for 'equalized_odds'; expected a notion that is about"
    ):
        EqualizedOdds().of_labels({"no"})


SOURCE = Path(fermi.__file__).parent
ELSEWHERE = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE / "notions")
OF_TEXT = {
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "partition",
    "rpartition",
    "split",
    "find",
    "replace",
}
KINDS = {"DemographicParity", "EqualizedOdds", "EqualOpportunity"}


def named(node: ast.AST) -> bool:
    """Whether this is the name of a notion, or text that could only be looked for in one, such as "equal"."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(named(item) for item in node.elts)
    if isinstance(node, ast.Name):
        return node.id in KINDS
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and len(text) > 3 and any(text in f"{name} of " for name in NAMES)


def asks_which_notion(node: ast.AST) -> bool:
    """Whether this looks at a notion to see which one it is, or says something for each of them."""
    match node:
        case ast.Compare():
            return any(map(named, (node.left, *node.comparators)))
        case ast.Dict():
            return any(key is not None and named(key) for key in node.keys)
        case ast.Subscript():
            return named(node.slice)
        case ast.MatchValue():
            return named(node.value)
        case ast.MatchClass():
            return named(node.cls)
        case ast.Call(func=ast.Attribute(attr=method)) if method in OF_TEXT:
            return any(map(named, node.args))
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
            return named(node.args[1])
        case ast.Call(func=ast.Name(id="hasattr" | "getattr")):
            return isinstance(node.args[1], ast.Constant) and node.args[1].value == "advantaged"
    return False


def in_words(tree: ast.AST) -> list[str]:
    """Texts that call a notion by its words; documentation may."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, documented)}
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [t for t in texts if t not in docs and any(as_notion(name).words in t.lower() for name in NAMES)]


@pytest.mark.parametrize("path", ELSEWHERE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_other_file_knows_one_notion_from_another(path: Path) -> None:
    """A name may be chosen elsewhere, as a default, in a list or for a call; nothing may hang on which one it is."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [node.lineno for node in ast.walk(tree) if asks_which_notion(node)] == []  # type: ignore[attr-defined]
    if path.parent.name != "figures":  # whose titles say what the paper's show
        assert in_words(tree) == []


@pytest.mark.parametrize("path", sorted((SOURCE / "report").glob("*.[jh]*")), ids=lambda path: path.name)
def test_the_page_knows_no_notion(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not [name for name in NAMES if name in text or as_notion(name).words in text.lower()]
    assert "notion." not in text


@pytest.mark.parametrize(
    "line",
    [
        'notion == "equalized_odds"',
        '"equal_opportunity" in found',
        'found in ("demographic_parity", "equalized_odds")',
        'WORDS = {"equalized_odds": "equal chances"}',
        'words["equalized_odds"]',
        'notion.startswith("equal")',
        'notion.partition(" of ")',
        "isinstance(notion, EqualOpportunity)",
        'hasattr(notion, "advantaged")',
        'match notion:\n  case "equalized_odds":\n    pass',
        "match notion:\n  case EqualizedOdds():\n    pass",
    ],
)
def test_a_file_that_knew_would_be_noticed(line: str) -> None:
    assert any(asks_which_notion(node) for node in ast.walk(ast.parse(line)))


def test_a_file_that_chooses_a_notion_is_not_blamed() -> None:
    chosen = 'def f(notion="equalized_odds"): return g(EqualOpportunity(1), notions=("equalized_odds",))'
    assert not any(asks_which_notion(node) for node in ast.walk(ast.parse(chosen)))
    assert in_words(ast.parse('"""Equalized odds."""\ntitle = "Equalized odds: the same"')) == [
        "Equalized odds: the same"
    ]


def test_a_column_of_another_length_is_refused() -> None:
    with pytest.raises(FermiError, match="`notion` has 2 rows; expected 4, as many as `y_pred`"):
        fermi.ermi([0, 1, 1, 0], [0, 1, 0, 1], notion=ConditionalParity([1, 2]))
    with pytest.raises(FermiError, match=r"`within` holds 9, which does not occur; expected among 1, 2"):
        ConditionalParity([1, 2], within=[9])
