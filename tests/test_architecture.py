"""The shape of the inside: imports go down, `import fermi` is light, public things are documented."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fermi
from fermi._jit import source_stamp
from fermi.solvers._steps import run_steps

SOURCE = Path(fermi.__file__).parent

# From the top storey down. A module may import from its own storey and from those below it.
STOREYS = [
    ["__main__", "cli"],
    ["experiments", "tables"],
    ["baselines", "datasets", "tradeoff"],
    ["boosting", "classifier", "torch"],
    ["estimator"],
    ["partial"],
    ["advice", "auditing", "online", "scorers", "selection"],
    ["training"],
    ["overseer"],
    ["theory"],
    ["moments"],
    ["solvers", "search"],
    ["problem"],
    ["measures", "objective"],
    ["contingency", "report"],
    ["counting"],
    ["linear", "scores", "settings"],
    ["inputs", "notions", "features"],
    ["groups"],
    ["encoding"],
    ["codes", "columns"],
    ["formulas", "progress", "records", "whole", "checkpoint", "_optional", "_kernels"],
    ["errors", "_cache", "_jit", "_parallel"],
]
FLOOR = {name: level for level, storey in enumerate(STOREYS) for name in storey}


def room(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """The rooms of fermi that a file imports, wherever in the file it does so."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it goes"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        rooms |= {name.split(".")[1] for name in names if name.startswith("fermi.")}
    return rooms & set(FLOOR)


def modules() -> list[Path]:
    return [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]


def test_every_room_has_a_storey() -> None:
    assert {room(path) for path in modules()} == set(FLOOR)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path: Path) -> None:
    own = room(path)
    upward = [other for other in imported_rooms(path) if other != own and FLOOR[other] < FLOOR[own]]
    assert not upward, f"{own} imports {upward}, which stands above it"


def test_the_drawing_would_notice_an_upward_import(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text("def f():\n    from fermi.measures import ermi\n    from fermi import cli\n")
    assert imported_rooms(file) == {"measures", "cli"}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_fit_in_a_head(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            docstring = len((ast.get_docstring(node) or "").splitlines())
            assert (node.end_lineno or 0) - node.lineno - docstring <= 45, f"{path.name}: {node.name}"


def test_importing_fermi_loads_nothing_heavy() -> None:
    script = "import sys, fermi; print(sorted({'numpy', 'numba', 'pandas', 'sklearn', 'torch'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


def test_measuring_needs_neither_scikit_learn_nor_torch() -> None:
    script = (
        "import sys, fermi; fermi.ermi([0, 1, 1], [0, 1, 0]); "
        "print(sorted({'pandas', 'sklearn', 'torch', 'rich', 'typer'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


@pytest.mark.parametrize("name", fermi.__all__)
def test_what_is_public_exists_and_is_documented(name: str) -> None:
    item = getattr(fermi, name)
    assert inspect.getdoc(item)
    assert name in dir(fermi)


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="module 'fermi' has no attribute 'emri'"):
        fermi.emri  # noqa: B018


def test_compiled_code_is_known_by_the_text_of_all_that_is_compiled(tmp_path: Path) -> None:
    """numba alone would run stale machine code after an edit in a file that the compiled function only calls."""
    for folder in ("formulas", "solvers"):
        (tmp_path / folder).mkdir()
    for name in ("_jit.py", "_kernels.py", "solvers/_rows.py"):
        (tmp_path / name).write_text("x = 1\n")
    before = source_stamp(tmp_path)
    (tmp_path / "solvers/_rows.py").write_text("x = 2\n")
    source_stamp.cache_clear()
    assert source_stamp(tmp_path) != before
    compiled: Any = run_steps  # numba's dispatcher, behind the type of what it wraps
    assert compiled._cache._cache_file._source_stamp == source_stamp(SOURCE)
