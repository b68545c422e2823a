"""The code blocks of a page, and what runs them: all of one page in order, in one namespace and one folder."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fermi.cli import main
from fermi.cli.demo import FILE, applicants

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```([a-z]+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
ELSEWHERE = ("pip", "pytest", "uvicorn")  # programs whose commands other tests run, or that serve until they are ended
LONG = ("bench", "reproduce")  # minutes to hours; the names are checked instead
NOT_HERE = ("spark.", "bigquery.", 'engine="ray"')  # what needs a service; tests/engines has a cluster of its own


@dataclass(frozen=True)
class Block:
    """One block of code, with the line of the page that it begins at."""

    language: str
    text: str
    line: int


def pages() -> list[Path]:
    """Every page with code that a reader may copy."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(found[1], found[2], text.count("\n", 0, found.start()) + 1) for found in FENCE.finditer(text)]


def commands(block: Block) -> list[tuple[list[str], list[str]]]:
    """Each command of a console block as words, with the lines that the page shows beneath it."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.text.replace("\\\n", " ").splitlines():
        asked = line.removeprefix("$ ") if line.startswith("$ ") or block.language == "bash" else None
        if asked is None:
            found[-1][1].append(line.rstrip())
        else:
            found += [(shlex.split(part, comments=True), []) for part in asked.split(" && ")]
    return [(words, shown) for words, shown in found if words]


def as_shown(shown: list[str], printed: list[str]) -> bool:
    """Whether lines were printed as a page shows them; a line of three dots stands for any number of lines."""
    while shown and not shown[-1]:
        shown = shown[:-1]
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + r" *\n" for line in shown)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def run(page: Path, names: dict[str, Any], printed: Callable[[], str]) -> None:
    """Run all blocks of a page in the present folder; `printed` returns what was printed since it was last called."""
    printed()
    for block in blocks(page):
        place = f"{page.name}:{block.line}"
        if block.language == "python" and not any(word in block.text for word in NOT_HERE):
            exec(compile(block.text, place, "exec"), names)
            promised, said = re.findall(r"# prints (.*)", block.text), printed().splitlines()
            assert not promised or said == promised, f"{place} prints {said}"
        elif block.language in ("console", "bash"):
            for words, shown in commands(block):
                _command(words, shown, place, printed)


def _command(words: list[str], shown: list[str], place: str, printed: Callable[[], str]) -> None:
    if words[0] in ELSEWHERE:
        return
    if words[0] == "python":
        assert (ROOT / words[1]).exists(), f"{place}: there is no {words[1]}"
        return
    assert words[0] == "fermi", f"{place}: {words[0]} is run by no test"
    if "ray" in words:
        return
    if words[1] in LONG:
        stems = (ROOT / "benchmarks").glob("bench_*.py") if words[1] == "bench" else (ROOT / "docs/results").iterdir()
        assert words[2] in {"all", *(path.stem.removeprefix("bench_") for path in stems)}, f"{place}: {words}"
        return
    if words[1] == "demo":  # which tests/cli and continuous integration run in full; its file is enough here
        folder = Path(words[-1] if "--output" in words else "fermi-demo")
        folder.mkdir()
        applicants(0).iloc[:4000].to_csv(folder / FILE, index=False)
        return
    code = main(words[1:])
    said = printed()
    assert code == 0, f"{place}: {shlex.join(words)} ended with {code}: {said}"
    assert not shown or as_shown(shown, said.splitlines()), f"{place}: {shlex.join(words)} prints\n{said}"


def tool(name: str) -> Any:
    """A script of `tools`, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
