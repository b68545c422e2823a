"""A folder of modules as a registry, as methods, data sets and figures are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from fermi._registry import Registry
from fermi.errors import FermiError


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A package with three entries, beside what is none: a helper and a folder."""
    package = tmp_path / "drawings"
    (package / "common").mkdir(parents=True)
    (package / "common" / "__init__.py").touch()
    for name in ("__init__", "_helper", "fig10", "fig9", "table_of_all"):
        (package / f"{name}.py").write_text(f"NAME = {name!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    return Registry("drawings", [str(package)], others=", or 'all'")


def test_entries_are_the_modules_in_order_of_their_numbers(registry: Registry) -> None:
    assert registry.names() == ["fig9", "fig10", "table_of_all"]


def test_an_entry_is_found_by_its_name(registry: Registry) -> None:
    assert registry.find("fig10").NAME == "fig10"


@pytest.mark.parametrize("name", ["fig8", "_helper", "common"])
def test_an_unknown_name_is_refused_with_those_that_are_known(registry: Registry, name: str) -> None:
    with pytest.raises(FermiError) as error:
        registry.find(name)
    assert str(error.value) == f"`name` is {name!r}; expected one of 'fig9', 'fig10', 'table_of_all', or 'all'."
