"""Docstrings stand alone: no first line leans on a neighbour, and what is public says what it takes and returns."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import fermi
from fermi import baselines, datasets

SOURCE = Path(fermi.__file__).parent
MODULES = [
    "fermi", "fermi.auditing", "fermi.baselines", "fermi.boosting", "fermi.datasets", "fermi.measures", "fermi.notions",
    "fermi.scorers", "fermi.theory", "fermi.torch", "fermi.torch.models", "fermi.tradeoff",
]  # fmt: skip
# Words with which a sentence begins that cannot be understood without the one before it.
LEANING = re.compile(
    r"(The same|The others?|The rest|The opposite|The former|The latter|Same|Some of them|One of them|All of them|Both|"
    r"That|Those|These|This|Of|And|Or|But|Also|As|So|Such|Itself|Likewise|Ditto|It|Its|Their|They|Them|With|By default|"
    r"In words|In the same|For some)\b"
)


def named(module: ModuleType) -> list[str]:
    """The names that a module offers: those in `__all__`, else what is made in its room and has no underscore."""
    own = module.__name__
    offered = getattr(module, "__all__", None) or [
        name
        for name, item in vars(module).items()
        if not name.startswith("_") and f"{getattr(item, '__module__', '')}.".startswith(f"{own}.")
    ]
    return list(offered)


def public_items() -> Iterator[tuple[str, Any]]:
    """Every public function and class by its dotted name, entrants and loaders of data sets included."""
    modules = [*map(import_module, MODULES), *map(datasets.find, datasets.names())]
    for module in modules:
        for name in named(module):
            item = getattr(module, name)
            if inspect.isclass(item) or inspect.isfunction(item):
                yield f"{item.__module__}.{item.__qualname__}", item
    for name in baselines.available():
        method = baselines.find(name)
        yield f"{method.__module__}.{method.__qualname__}", method


def members(owner: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class of ours has, its own or those of another class of ours."""
    for base in owner.__mro__:
        for name, item in vars(base).items():
            kinds = (property, functools.cached_property, classmethod, staticmethod)
            ours = base.__module__.startswith("fermi.") and (inspect.isfunction(item) or isinstance(item, kinds))
            if ours and (not name.startswith("_") or name == "__call__"):
                yield f"{base.__module__}.{base.__qualname__}.{name}", item


CLASSES = {name: item for name, item in public_items() if inspect.isclass(item)}
PROTOCOLS = {name for name, item in CLASSES.items() if getattr(item, "_is_protocol", False)}
METHODS = {name: item for title in CLASSES.keys() - PROTOCOLS for name, item in members(CLASSES[title])}
FUNCTIONS = {name: item for name, item in public_items() if inspect.isfunction(item)}
CALLABLE = FUNCTIONS | {
    name: item for name, item in METHODS.items() if not isinstance(item, property | functools.cached_property)
}


def sections(text: str) -> dict[str, list[str]]:
    """The lines of every section of a docstring in numpy's style, by its title; the text before them under ""."""
    found: dict[str, list[str]] = {"": []}
    title, lines = "", inspect.cleandoc(text).splitlines()
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and line and lines[i + 1] == "-" * len(line):
            title = line
            found[title] = []
        elif not (i and set(line) == {"-"}):
            found[title].append(line)
    return found


def described(lines: list[str]) -> list[str]:
    """The names that a section describes, such as those of the line ``X, y : arrays`` or ``**options``."""
    heads = [line.partition(" : ")[0] for line in lines if line and not line.startswith(" ")]
    return [name.lstrip("*") for head in heads for name in head.split(", ")]


def parameters(function: Any) -> list[str]:
    """The names of what a function takes, without the object or class that it belongs to."""
    plain = function.__func__ if isinstance(function, classmethod | staticmethod) else function
    names = list(inspect.signature(plain).parameters)
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def returns_something(function: Any) -> bool:
    plain = function.__func__ if isinstance(function, classmethod | staticmethod) else function
    return inspect.signature(plain).return_annotation not in (None, "None")


def first_lines() -> Iterator[tuple[str, str]]:
    """The first line of every docstring in the source, with its place."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text is not None:
                    place = f"{path.relative_to(SOURCE)}: {getattr(node, 'name', 'the module')}"
                    yield place, text.splitlines()[0]


def test_much_is_public() -> None:
    assert {"fermi.measures.functions.ermi", "fermi.datasets.adult.load", "fermi.torch.models.mlp"} <= set(FUNCTIONS)
    assert {"fermi.linear.classifier.FermiClassifier", "fermi.baselines.mary.Mary"} <= set(CLASSES)
    assert {"fermi.fitting.estimator.FairEstimator.predict", "fermi.tradeoff._curve.TradeoffCurve.pick"} <= set(METHODS)


@pytest.mark.parametrize("name", sorted({*CLASSES, *METHODS, *FUNCTIONS}))
def test_what_is_public_has_a_docstring(name: str) -> None:
    item = {**CLASSES, **METHODS, **FUNCTIONS}[name]
    assert (item.__doc__ or "").strip()


@pytest.mark.parametrize("name", sorted(CALLABLE))
def test_a_function_describes_exactly_its_parameters(name: str) -> None:
    found = sections(CALLABLE[name].__doc__)
    assert sorted(described(found.get("Parameters", []))) == sorted(parameters(CALLABLE[name]))


@pytest.mark.parametrize("name", sorted(CALLABLE))
def test_a_function_says_what_it_returns(name: str) -> None:
    found = sections(CALLABLE[name].__doc__)
    assert bool({"Returns", "Yields"} & set(found)) == returns_something(CALLABLE[name])


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_class_describes_how_it_is_made(name: str) -> None:
    """By its parameters, which are the attributes of a record, or by the function that makes it."""
    owner = CLASSES[name]
    ours = [base for base in owner.__mro__ if base.__module__.startswith("fermi.")]
    makes_itself = issubclass(owner, tuple) or any("__init__" in vars(base) for base in ours)
    text = vars(owner).get("__doc__") or ""  # not one that is inherited
    if not makes_itself or name in PROTOCOLS or "Made by `" in text:
        return
    found = sections(text)
    section = "Parameters" if "Parameters" in found else "Attributes"
    assert sorted(described(found.get(section, []))) == sorted(inspect.signature(owner).parameters)


def test_first_lines_end_with_a_period() -> None:
    assert [place for place, line in first_lines() if not line.endswith(".")] == []


def test_no_first_line_leans_on_a_neighbour() -> None:
    assert [f"{place}: {line}" for place, line in first_lines() if LEANING.match(line)] == []


def test_a_leaning_line_would_be_noticed() -> None:
    leaning = ["The same, without a copy.", "Of a batch.", "As in the paper.", "It may fail.", "Itself.", "That, too."]
    assert all(LEANING.match(line) for line in leaning)
    assert not any(LEANING.match(line) for line in ["Itemise the rows.", "The rows of a batch.", "Without a bound."])


def test_a_parameter_left_out_would_be_noticed() -> None:
    def shift(x: float, *, by: float = 1.0, **more: float) -> float:
        """Shift a number.

        Parameters
        ----------
        x, by : float
            The number, and how far.
        **more
            Further shifts.

        Returns
        -------
        float
            Their sum.
        """
        return x + by + sum(more.values())

    found = sections(shift.__doc__ or "")
    assert described(found["Parameters"]) == parameters(shift) == ["x", "by", "more"]
    assert returns_something(shift)
    assert list(found) == ["", "Parameters", "Returns"]


def test_measures_share_the_description_of_their_arrays() -> None:
    shared = sections(fermi.Contingency.from_predictions.__doc__ or "")["Parameters"]
    for name in ("ermi", "lq_violation", "bounds"):
        text = getattr(fermi, name).__doc__
        assert "\n".join(shared).strip() in text
    assert described(sections(fermi.lq_violation.__doc__ or "")["Parameters"])[-1] == "q"
