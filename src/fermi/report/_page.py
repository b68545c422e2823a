"""The page: a record, the template, its style, its scripts and the charting library, put into one file."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from importlib.resources import files
from pathlib import Path
from string import Template

from fermi._files import whole_file
from fermi.errors import bad_argument
from fermi.records import ReportRecord
from fermi.report._bundle import charting_script
from fermi.report._card import model_card
from fermi.report._json import fitted_json

_LIMIT = 2_000_000
_SCRIPTS = (
    "words.js",
    "tables.js",
    "charts.js",
    "views.js",
    "models.js",
    "compare.js",
    "first.js",
    "picture.js",
    "groups.js",
    "keeping.js",
    "page.js",
)


def render(record: ReportRecord) -> str:
    """A report as the text of one HTML file of less than 2 MB, which loads nothing from anywhere.

    Parameters
    ----------
    record : ReportRecord
        One model gives the page of an audit, several that of a trade-off.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from fermi.records import AuditRecord, Estimate, GroupRecord, PointRecord
    >>> groups = (GroupRecord("sex=F", 40, {"yes": Estimate(0.5, 0.35, 0.65)}),)
    >>> found = AuditRecord("demographic_parity", 0.95, 40, 0, ("no", "yes"), ("sex",), groups, ())
    >>> page = render(ReportRecord("An audit", {"rows": "40"}, (PointRecord("model", 0.0, {"test": found}),)))
    >>> page.startswith("<!doctype html>"), len(page) < 2_000_000
    (True, True)
    """
    if not record.points:
        raise bad_argument("record", "has no model", "at least one")
    if not 0 <= record.chosen < len(record.points):
        raise bad_argument("record", f"chooses model {record.chosen}", f"one from 0 to {len(record.points) - 1}")
    if not set.intersection(*(set(point.splits) for point in record.points)):
        raise bad_argument("record", "has no split that all its models share", "at least one")
    library = inert(charting_script())
    script = inert("\n".join(_asset(name) for name in _SCRIPTS))
    parts = {"style": _asset("page.css"), "library": library, "script": script}
    parts["policy"] = _policy(library, script)
    template = _asset("page.html")
    room = _LIMIT - sum(len(part.encode()) for part in (template, *parts.values()))
    return Template(template).substitute(parts, data=fitted_json(record, room))


def write(record: ReportRecord, path: str | os.PathLike[str]) -> Path:
    """Write a report's page to a file, which appears whole or not at all.

    Parameters
    ----------
    record : ReportRecord
        What the page shows.
    path : str or path
        The file, which is replaced if it exists.

    Returns
    -------
    Path
        The file.
    """
    page, target = render(record), Path(path)
    with whole_file(target) as partial:
        partial.write_text(page, encoding="utf-8", newline="\n")
    return target


def write_card(record: ReportRecord, path: str | os.PathLike[str]) -> Path:
    """Write a report's model card to a file, which appears whole or not at all.

    Parameters
    ----------
    record : ReportRecord
        What the card is about.
    path : str or path
        The file, which is replaced if it exists.

    Returns
    -------
    Path
        The file.
    """
    card, target = model_card(record), Path(path)
    with whole_file(target) as partial:
        partial.write_text(card, encoding="utf-8", newline="\n")
    return target


def inert(script: str) -> str:
    r"""Make a script that cannot end the element it stands in, nor open a comment there.

    Examples
    --------
    >>> inert("const a = '</script>';")
    "const a = '\\x3c/script>';"
    """
    return re.sub(r"<(?=/?script|!--)", r"\\x3c", script, flags=re.IGNORECASE)


def _policy(*scripts: str) -> str:
    """The page's security policy: the browser may run these very scripts, and load nothing."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{found}'" for found in hashes)
    return f"default-src 'none'; img-src data:; script-src {allowed}; style-src 'unsafe-inline'"


def _asset(name: str) -> str:
    return files("fermi.report").joinpath(name).read_text(encoding="utf-8")
