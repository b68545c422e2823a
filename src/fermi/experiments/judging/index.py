"""One page over all figures that have been run: what the paper claims, and whether it held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fermi.experiments.judging.claims import HEADER

_INTRODUCTION = """# What the paper claims, and whether it held

Every claim below was tested by a program that anyone can run: `fermi reproduce NAME`. A page holds all figures behind
its verdicts. "Did not hold" is a result as well."""


def index(output: Path, names: Sequence[str]) -> str:
    """The page over all figures in a folder, in Markdown: the claims of each, and links."""
    pages = [(name, (output / name / "summary.md").read_text(encoding="utf-8")) for name in names if _has(output, name)]
    lines = ["| | claim | where | verdict |", "|---|---|---|---|"]
    for name, page in pages:
        lines += [f"| [{name}]({name}/summary.md) | {claim} |" for claim in _claims(page)]
    bare = [f"- [{name}]({name}/summary.md): {_title(page)}" for name, page in pages]
    return "\n\n".join([_INTRODUCTION, "\n".join(lines), "## The pages", "\n".join(bare)]) + "\n"


def _has(output: Path, name: str) -> bool:
    return (output / name / "summary.md").exists()


def _title(page: str) -> str:
    return page.splitlines()[0].removeprefix("# ").partition(": ")[2]


def _claims(page: str) -> Iterator[str]:
    """The rows of a page's table of claims, without the figures."""
    lines = iter(page.splitlines())
    for line in lines:
        if line == HEADER:
            next(lines)
            break
    for line in lines:
        if not line.startswith("|"):
            return
        claim, place, verdict, *_ = (part.strip() for part in line.strip("|").split("|"))
        yield f"{claim} | {place} | {verdict}"
