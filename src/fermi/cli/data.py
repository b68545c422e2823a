"""`fermi data`: the data sets and their files."""

from __future__ import annotations

import json

from rich import box
from rich.table import Table

from fermi import datasets
from fermi.cli._console import Console
from fermi.datasets.common.downloads import home


def list_all(*, as_json: bool) -> None:
    """Print every data set, what it is, and how many of its files are here."""
    rows = []
    for name in datasets.names():
        module = datasets.find(name)
        summary = (module.__doc__ or "").splitlines()[0]
        here = sum(file.is_present() for file in module.FILES)
        rows.append({"name": name, "summary": summary, "files": len(module.FILES), "files_here": here})
    if as_json:
        print(json.dumps({"data_home": str(home()), "datasets": rows}, indent=2))
        return
    table = Table("name", "what it is", "files", box=box.SIMPLE)
    for row in rows:
        files = f"{row['files_here']} of {row['files']} here" if row["files"] else "none needed"
        table.add_row(str(row["name"]), str(row["summary"]), files)
    Console().print(table, f"Files are looked for in {home()} (set FERMI_DATA for another folder).", sep="\n")


def fetch(name: str, *, as_json: bool) -> None:
    """Download and verify the files of a data set that are not here yet."""
    paths = [str(file.locate()) for file in datasets.find(name).FILES]
    print(json.dumps({"name": name, "files": paths}, indent=2) if as_json else "\n".join(paths))
