"""Every command and example in the README runs as printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
PACKAGES = {"fermi.torch": "torch", "fermi.boosting": "lightgbm"}  # what an example needs beyond the core
TEXT = README.read_text(encoding="utf-8") if README.exists() else ""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_two_commands_are_there() -> None:
    commands = "\n".join(blocks("bash"))
    assert "pip install . && fermi demo" in commands
    assert 'pip install -e ".[dev]" && pytest' in commands


EXAMPLES = [pytest.param(example, id=f"example{place}") for place, example in enumerate(blocks("python"))]


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_python_examples_print_what_they_say(example: str) -> None:
    for module, package in PACKAGES.items():
        if module in example:
            pytest.importorskip(package, reason=f"the extra with {package} is not installed")
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=600, check=False)
    assert done.stderr == ""
    promised = re.findall(r"# prints (.*)", example)
    assert promised
    assert done.stdout.split("\n")[:-1] == promised


def test_the_first_example_is_short() -> None:
    lines = [line for line in blocks("python")[0].splitlines() if line.strip()]
    assert len(lines) <= 8
