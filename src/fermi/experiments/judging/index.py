"""One page over all figures that have been run: what the paper claims, and whether it held."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fermi.experiments.judging.claims import HEADER

_INTRODUCTION = """# What the paper claims, and whether it held

Every claim of the paper, of its experiments and of its theory, is tested by a program that anyone can run,
`fermi reproduce NAME`, and a page holds all figures behind its verdicts. What the convergence theorem promises, with
constants that hold, has [a page of its own](../theory.md).

A verdict is one of four words. **Held** and **refuted**: the 95% interval lies on one side. **Not shown**: it holds
both. **Could not be tested here**: the page says why. The half-width is that of the widest interval behind the word. A
claim about several settings is judged in each; one that refutes it is enough, and all that can be tested must hold."""
_THEORY = "theory"
_FORMER = """## Pages of the former protocol

These pages were not run again since the protocol changed: one quarter of the training rows chose the knob, there were
two words, and "did not hold" may stand for refuted or for not shown. No records lie beside them."""
_FORMER_HEADER = "| claim | where | verdict | figures |"
_BAR = re.compile(r"(?<!\\)\|")  # of a table, not of a formula
_LONGEST = 320  # characters of figures in the index; the page has all of them


class ClaimLine(NamedTuple):
    """A line of a page's table of claims."""

    text: str
    place: str
    word: str
    width: str
    figures: str


def index(output: Path, names: Sequence[str]) -> str:
    """The page over all figures in a folder, in Markdown: the claims of each, and links."""
    pages = [(name, (output / name / "summary.md").read_text(encoding="utf-8")) for name in names if _has(output, name)]
    heading = ["| | claim | where | verdict | half-width | figures |", "|---|---|---|---|---|---|"]
    proved, shown = list(heading), list(heading)
    former = ["| | claim | where | verdict |", "|---|---|---|---|"]
    for name, page in pages:
        link = f"[{name}]({name}/summary.md)"
        for claim in claims_of(page):
            if _FORMER_HEADER in page:
                former.append(f"| {link} | {claim.text} | {claim.place} | {claim.word} |")
            else:
                lines = proved if name == _THEORY else shown
                lines.append(f"| {link} | " + " | ".join([*claim[:4], _short(claim.figures)]) + " |")
    parts = [_INTRODUCTION, "## Experiments", "\n".join(shown)]
    parts += ["## Theory", "\n".join(proved)] if len(proved) > 2 else []
    parts += [_FORMER, "\n".join(former)] if len(former) > 2 else []
    bare = [f"- [{name}]({name}/summary.md): {_title(page)}" for name, page in pages]
    return "\n\n".join([*parts, "## The pages", "\n".join(bare)]) + "\n"


def _short(figures: str) -> str:
    return figures if len(figures) <= _LONGEST else figures[:_LONGEST].rpartition(" ")[0] + " …"


def _has(output: Path, name: str) -> bool:
    return (output / name / "summary.md").exists()


def _title(page: str) -> str:
    return page.splitlines()[0].removeprefix("# ").partition(": ")[2]


def claims_of(page: str) -> list[ClaimLine]:
    """The rows of a page's table of claims; a page of the former protocol has no half-widths."""
    lines = page.splitlines()
    start = next((i for i, line in enumerate(lines) if line in (HEADER, _FORMER_HEADER)), len(lines))
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        claim, place, verdict, *rest = (part.strip() for part in _BAR.split(line)[1:-1])
        width, figures = (rest[0], rest[1]) if lines[start] == HEADER else ("", rest[0])
        found.append(ClaimLine(claim, place, verdict, width, figures))
    return found
