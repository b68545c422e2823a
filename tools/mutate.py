"""Change single operators, numbers and conditions of a module, and see which changes its tests do not notice.

``python tools/mutate.py src/fermi/formulas/gaps.py -- tests/formulas tests/measures -k gap`` takes the tests after two
dashes, which should end in seconds. Each change is tried in a copy of the package, so that nothing here is touched.
What lives is printed with its line, as it was and as it is changed; the last line counts. Text and annotations stay.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.MatMult: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Lt: ast.LtE,
    ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def places(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those of annotations, imports and text."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST) and not _is_silent(node):
                yield node
                yield from places(node)


def _is_silent(node: ast.AST) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    raised = isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Raise)
    checked = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return text or raised or checked


def changes(node: ast.AST) -> int:
    """In how many ways a node can be changed."""
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        return int(type(node.op) in SWAPPED)
    if isinstance(node, ast.Compare):
        return sum(type(op) in SWAPPED for op in node.ops)
    if isinstance(node, ast.UnaryOp):
        return int(isinstance(node.op, ast.Not | ast.USub | ast.Invert))
    if isinstance(node, ast.Constant):
        return int(isinstance(node.value, bool | int | float))
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        return 1
    return int(isinstance(node, ast.Return) and node.value is not None)


def change(node: ast.AST, way: int) -> None:
    """Change a node where it stands."""
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        node.op = SWAPPED[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Compare):
        node.ops[way] = SWAPPED[type(node.ops[way])]()  # type: ignore[call-overload]
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd() if not isinstance(node.op, ast.Not) else ast.Not()
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.Constant):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1  # type: ignore[operator]
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Return):
        node.value = ast.Constant(None)


def mutants(source: str) -> list[tuple[int, int]]:
    """Every change: the place of a node, and the way to change it."""
    nodes = enumerate(places(ast.parse(source)))
    return [(index, way) for index, node in nodes for way in range(changes(node))]


def mutated(source: str, index: int, way: int) -> tuple[int, str, str]:
    """The line, what stands there as it was and as it is changed, and the whole text of the changed module."""
    tree = ast.parse(source)
    node = list(places(tree))[index]
    before = ast.unparse(node)
    change(node, way)
    text = ast.unparse(ast.fix_missing_locations(tree))
    return getattr(node, "lineno", 0), f"{before}  ->  {ast.unparse(node)}"[:160], text


def passes(folder: Path, tests: list[str], limit: float | None) -> bool:
    """Whether the tests pass with the package in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as run:
        try:
            return run.wait(limit) == 0
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            return False


def main() -> int:
    """Try the changes; the code is 1 if any lives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", type=Path, help="src/fermi/...py")
    parser.add_argument("tests", nargs="+", help="what pytest is to run, after two dashes")
    parser.add_argument("--most", type=int, default=0, help="try so many, drawn at random; 0 tries all")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that the tests may take")
    given = parser.parse_args()
    module = given.module.resolve().relative_to(ROOT / "src")
    source = (ROOT / "src" / module).read_text(encoding="utf-8")
    found = mutants(source)
    if 0 < given.most < len(found):
        found = sorted(random.Random(0).sample(found, given.most))
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        shutil.copytree(ROOT / "src" / "fermi", folder / "fermi", ignore=shutil.ignore_patterns("__pycache__"))
        if not passes(folder, given.tests, given.limit):
            raise SystemExit("the tests fail, or take too long, without any change")
        living = 0
        for index, way in found:
            line, what, text = mutated(source, index, way)
            (folder / module).write_text(text, encoding="utf-8")
            if passes(folder, given.tests, given.limit):
                living += 1
                print(f"{module}:{line}: {what}", flush=True)
    print(f"{module}: {len(found)} changes, {len(found) - living} noticed, {living} not", flush=True)
    return 1 if living else 0


if __name__ == "__main__":
    sys.exit(main())
