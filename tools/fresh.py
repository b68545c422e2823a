"""Run the tests in a fresh virtual environment, with the oldest or the newest versions that pyproject.toml allows.

`python tools/fresh.py oldest core` takes no extra but what the tests themselves need. Another command than all tests
stands behind two dashes: `python tools/fresh.py oldest all -- pytest -k boosting`. With `--into FOLDER` the environment
stays there, and nothing is run.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = {"core": ["test"], "all": ["dev", "docs"]}
TESTS = ["tools/check", "tests"]
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]+\])?((?P<sign>==|>=)(?P<version>[\w.]+))?")


def requirements(extras: Iterable[str]) -> list[str]:
    """What the project asks for, by itself and in some extras with those that they include."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked, waiting = list(project["dependencies"]), list(extras)
    while waiting:
        for line in project["optional-dependencies"][waiting.pop()]:
            own = re.fullmatch(rf"{project['name']}\[(.*)\]", line)
            if own:
                waiting += own[1].split(",")
            else:
                asked.append(line)
    return asked


def versions_by_sign(lines: Iterable[str]) -> dict[str, dict[str, str]]:
    """The packages with a lower bound and those with an exact version, and these versions."""
    found: dict[str, dict[str, str]] = {">=": {}, "==": {}}
    for line in lines:
        parts = REQUIREMENT.fullmatch(line)
        if parts is None:  # what would the oldest version of another form be?
            raise SystemExit(f"pyproject.toml asks for {line!r}; expected NAME, NAME>=VERSION or NAME==VERSION")
        if parts["sign"]:
            found[parts["sign"]][parts["name"]] = parts["version"]
    return found


def make(folder: Path, age: str, extras: list[str]) -> None:
    """An environment with the project in it, to be edited in place."""
    found = versions_by_sign(requirements(extras))
    exact = [f"{name}=={version}" for name, version in found["=="].items()]
    lowest = [f"{name}=={version}" for name, version in found[">="].items() if name not in found["=="]]
    venv.create(folder, with_pip=True)
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(exact + (lowest if age == "oldest" else [])))
    pip: list[str | Path] = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
    # What is pinned comes first: asked for together with what depends on it, pip may weigh other builds of it.
    if exact:
        subprocess.run([*pip, *exact], check=True)
    subprocess.run([*pip, "--constraint", constraints, "--editable", f".[{','.join(extras)}]"], cwd=ROOT, check=True)


def run(folder: Path, command: list[str]) -> int:
    """Run a command as if the environment were activated."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(command, cwd=ROOT, env=os.environ | {"PATH": path}, check=False).returncode


def main() -> int:
    """Read the arguments, make the environment, run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("age", choices=["oldest", "newest"], help="of the versions")
    parser.add_argument("extras", choices=list(EXTRAS), help="core: only what the tests themselves need")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="leave the environment there and run nothing")
    parser.add_argument("command", nargs="*", default=TESTS, help=f"what to run instead of `{' '.join(TESTS)}`")
    asked = parser.parse_args()
    if asked.into:
        make(asked.into.resolve(), asked.age, EXTRAS[asked.extras])
        return 0
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), asked.age, EXTRAS[asked.extras])
        return run(Path(folder), asked.command)


if __name__ == "__main__":
    sys.exit(main())
