"""Version, changelog and citation say the same, before a release and after it."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

import fermi
from tests.pages.blocks import ROOT, tool

INIT, CHANGES, CITATION = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("src/fermi/__init__.py", "CHANGELOG.md", "CITATION.cff")
)


def agree(version: str, changes: str, citation: str) -> None:
    first = re.findall(r"^## (.*)$", changes, flags=re.MULTILINE)[0]
    named = re.findall(r"^version: (.*)$", citation, flags=re.MULTILINE)
    if ".dev" in version:
        assert first == "Unreleased"
    else:
        assert re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", first)
        assert named == [version]


def test_the_tree_is_of_one_version() -> None:
    agree(fermi.__version__, CHANGES, CITATION)


@pytest.mark.skipif("## Unreleased\n" not in CHANGES, reason="a release has nothing unreleased")
def test_releasing_changes_all_three_files() -> None:
    release: Any = tool("release")
    init, changes, citation = release.released("7.8.9", "2026-12-01", INIT, CHANGES, CITATION)
    agree(release.VERSION.search(init)[1], changes, citation)
    with pytest.raises(SystemExit, match="nothing to release"):
        release.released("7.8.9", "2026-12-01", init, changes, citation)
    with pytest.raises(SystemExit, match="expected a version"):
        release.released("7.8", "2026-12-01", INIT, CHANGES, CITATION)


def test_a_forgotten_file_is_noticed() -> None:
    with pytest.raises(AssertionError):
        agree("7.8.9", CHANGES, CITATION)


def test_classifiers_are_true() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = project["classifiers"]
    assert not any(line.startswith("License ::") for line in said)  # `license` says it
    least = project["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {least}" in said
    assert ("Typing :: Typed" in said) == (ROOT / "src/fermi/py.typed").exists()
