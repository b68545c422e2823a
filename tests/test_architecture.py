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
from fermi.compiled.jit import source_stamp
from fermi.linear.solvers._batches import run_steps

SOURCE = Path(fermi.__file__).parent
DRAWING = Path(__file__).parents[1] / "docs" / "architecture.md"


def storeys() -> list[list[str]]:
    """The rooms of every storey, from the top down, as docs/architecture.md draws them."""
    drawing = DRAWING.read_text(encoding="utf-8").partition("## Storeys")[2].split("```")[1]
    return [line.split("  ")[0].split(", ") for line in drawing.splitlines()[1:] if line and line[0] != " "]


FLOOR = {room: level for level, storey in enumerate(storeys()) for room in storey}


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or not path.name.startswith("__"))


def room(path: Path) -> str:
    """The folder at the top level that a file stands in; a file at the top level is a room of its own."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The modules of fermi that a file imports, wherever in the file it does so."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it goes"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.startswith("fermi.")}


def upward(own: str, names: set[str]) -> list[str]:
    """What a room imports that does not stand below it. Rooms of one storey do not know each other."""
    others = {name: name.split(".")[1] for name in names}
    floor = len(storeys()) - 1
    return [
        name
        for name, other in others.items()
        if other in FLOOR and other != own and not (FLOOR[other] > FLOOR[own] or FLOOR[other] == FLOOR[own] == floor)
    ]


def private(own: str, names: set[str]) -> list[str]:
    """Underscore modules, and underscore names, of other rooms; the floor's own belong to everybody."""
    return [
        name
        for name in names
        if name.split(".")[1] != own and any(part.startswith("_") for part in name.split(".")[2:])
    ]


def test_the_drawing_has_every_room_once_and_at_most_nine_storeys() -> None:
    rooms = [name for storey in storeys() for name in storey]
    assert len(rooms) == len(set(rooms))
    assert {room(path) for path in modules()} == set(rooms)
    assert len(storeys()) <= 9


def test_few_modules_lie_at_the_top_level() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= 12


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path: Path) -> None:
    assert not upward(room(path), imported(path))


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_what_is_private_stays_in_its_room(path: Path) -> None:
    assert not private(room(path), imported(path))


def test_the_drawing_would_notice_an_upward_import(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text("def f():\n    from fermi.measures import ermi\n    from fermi import cli\n")
    assert imported(file) == {"fermi.measures.ermi", "fermi.cli"}
    assert upward("tradeoff", imported(file)) == ["fermi.cli"]
    assert upward("fitting", {"fermi.measures.ermi"}) == ["fermi.measures.ermi"], "a neighbour is not below"


def test_a_private_module_of_another_room_would_be_noticed() -> None:
    names = {"fermi.torch._ranks.Joining", "fermi._typing.Floats", "fermi.torch.feed._rows"}
    assert sorted(private("baselines", names)) == ["fermi.torch._ranks.Joining", "fermi.torch.feed._rows"]
    assert private("torch", names) == []


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_fit_in_a_head(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            docstring = len((ast.get_docstring(node) or "").splitlines())
            # The options of a command are a list, which nobody keeps in the head; what is done with them is code.
            first = node.body[0].lineno if node.decorator_list and path.parent.name == "cli" else node.lineno
            assert (node.end_lineno or 0) - first - docstring <= 45, f"{path.name}: {node.name}"


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
    for name in ("compiled/jit.py", "formulas/ermi.py", "linear/solvers/_row_access.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("x = 1\n")
    before = source_stamp(tmp_path)
    (tmp_path / "linear/solvers/_row_access.py").write_text("x = 2\n")
    source_stamp.cache_clear()
    assert source_stamp(tmp_path) != before
    compiled: Any = run_steps  # numba's dispatcher, behind the type of what it wraps
    assert compiled._cache._cache_file._source_stamp == source_stamp(SOURCE)
