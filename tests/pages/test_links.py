"""No link of README, pages and other documents leads nowhere, and every script they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages.blocks import FENCE, ROOT

DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
NAMED = re.compile(r"`(?:python )?((?:examples|tools|tests|benchmarks|src|docs)/(?![\w/]*NAME)[\w./-]+\.\w+)`")


def anchors(page: Path) -> set[str]:
    """What a link may point at inside a page: its headings, as Sphinx and code hosts write them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    heads = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def dead(page: Path) -> list[str]:
    """The links of a page, and the names of files in it, that lead nowhere."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    missing = [name for name in NAMED.findall(text) if not (ROOT / name).exists()]
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            missing.append(link)
    return missing


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_is_dead(page: Path) -> None:
    assert dead(page) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One head\n[a](#one-head) [b](#other) [c](gone.md) `tools/gone.py` [d](https://arxiv.org)\n")
    assert dead(page) == ["tools/gone.py", "#other", "gone.md"]


def test_every_page_is_reached_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^([a-z]+)$", index, flags=re.MULTILINE))
    assert listed == {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
