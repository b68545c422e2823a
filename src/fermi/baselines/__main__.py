"""`python -m fermi.baselines PAGE`: write the table of methods into a page, or print it where no page is given."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from fermi import baselines
from fermi.errors import bad_argument
from fermi.notions import NAMES, as_notion

_BEGIN, _END = "<!-- table of methods -->\n", "<!-- end of the table -->\n"
_CAPABILITIES = {
    "nonbinary_target": "classes",
    "nonbinary_attribute": "groups",
    "beyond_logistic": "models",
    "stochastic": "batches",
    "unbiased": "unbiased",
    "convergent": "converges",
    "needs_attribute": "needs s",
    "unknown_attribute": "unknown s",
    "has_knob": "knob",
    "draws": "drawn",
    "adjusts_labels": "labels alone",
}


def table() -> str:
    """A Markdown table of all methods: what each is and says of itself."""
    lines = [["name", "method", "notions", "what holds of it"], ["---"] * 4]
    lines += [[f"`{name}`", _source(name), *_facts(name)] for name in baselines.available()]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _source(name: str) -> str:
    """The first words of a method's file, up to the year of its source, or else to the colon."""
    note = " ".join((inspect.getdoc(inspect.getmodule(baselines.find(name))) or "").split("\n\n")[0].split())
    source = re.match(r".*?\([^()]*\d{4}\)", note) or re.match(r"[^:]*", note)
    assert source
    return source[0]


def _facts(name: str) -> list[str]:
    method = baselines.find(name)
    can = method.capabilities
    words = [word for field, word in _CAPABILITIES.items() if getattr(can, field)]
    notions = ", ".join(as_notion(name).short for name in NAMES if name in can.notions)
    return [notions, ", ".join(words)]


def updated(page: str) -> str:
    """The page with its table written anew."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise bad_argument("page", "has no place for the table", f"the lines {_BEGIN.strip()} and {_END.strip()}")
    return f"{before}{_BEGIN}\n{table()}\n{_END}{after}"


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(table(), end="")
    for path in map(Path, sys.argv[1:]):
        path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")
