"""Every snippet and command of the README and of the pages runs as printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.blocks import ROOT, Block, as_shown, blocks, commands, pages, run
from tests.pages.worlds import PACKAGES, names_for

WITH_CODE = [page for page in pages() if any(block.language in ("python", "console", "bash") for block in blocks(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_the_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in PACKAGES.get(page.stem, ()):
        pytest.importorskip(package, reason=f"{page.stem} needs {package}")
    monkeypatch.chdir(tmp_path)
    run(page, names_for(page.stem), lambda: capsys.readouterr().out)


def test_commands_and_what_is_shown_beneath_them_are_told_apart() -> None:
    block = Block("console", "$ fermi demo   # made up\none\n...\n$ fermi data \\\n   list\n", 1)
    assert commands(block) == [(["fermi", "demo"], ["one", "..."]), (["fermi", "data", "list"], [])]
    assert as_shown(["one", "..."], ["one  ", "two", "three"])
    assert not as_shown(["one", "..."], ["two"])
    assert not as_shown(["one"], ["one", "two"])


def test_a_page_that_prints_something_else_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)  # prints 3\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"page.md:1 prints \['2'\]"):
        run(page, {}, lambda: capsys.readouterr().out)
    page.write_text("```console\n$ rm -r things\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="rm is run by no test"):
        run(page, {}, lambda: capsys.readouterr().out)


def test_the_commands_of_the_readme_are_those_of_continuous_integration() -> None:
    said = "\n".join(block.text for block in blocks(ROOT / "README.md") if block.language == "bash")
    assert "pip install . && fermi demo" in said
    assert 'pip install -e ".[dev]" && pytest' in said
