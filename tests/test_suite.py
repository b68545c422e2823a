"""The shape of the suite: folders named after rooms, helpers apart from tests, markers that mean what they say."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

import fermi

TESTS = Path(__file__).parent
ROOMS = {path.stem for path in Path(fermi.__file__).parent.iterdir() if not path.name.startswith("_")}
ACROSS = {"parity", "contract", "convergence", "faults", "fuzz", "pages"}  # what concerns several rooms


def files() -> list[Path]:
    return sorted(TESTS.rglob("*.py"))


def test_every_folder_is_named_after_a_room_or_goes_across_them() -> None:
    folders = {path.parent.name for path in files()} - {TESTS.name}
    assert folders - ROOMS == ACROSS


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(TESTS)))
def test_files_can_be_read_and_take_their_helpers_from_no_test(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 450
    imported = [node.module or "" for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in imported if name.startswith("tests.") and ".test_" in name]


@pytest.mark.parametrize("path", sorted((TESTS / "convergence").glob("test_*.py")), ids=lambda path: path.stem)
def test_what_runs_until_it_converges_is_slow(path: Path) -> None:
    assert "pytest.mark.slow" in path.read_text(encoding="utf-8").partition("\n\n\n")[0]


def test_whoever_asks_for_real_data_is_marked(request: pytest.FixtureRequest, home_of: Callable[[str], Path]) -> None:
    assert request.node.get_closest_marker("needs_data") is not None
