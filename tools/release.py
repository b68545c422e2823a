"""Turn the tree into a release: `python tools/release.py 0.1.0 2026-11-18`.

Sets the version, gives the section "Unreleased" of the changelog its name and date, and puts both into CITATION.cff.
Then look at the diff, run `.ci/run` and `python tools/smoke.py`, commit and tag. `tests/test_release.py` holds the
three files together.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r'__version__ = "([^"]+)"')


def released(version: str, day: str, init: str, changelog: str, citation: str) -> tuple[str, str, str]:
    """The texts of the three files as a release has them."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version) or not re.fullmatch(r"\d{4}-\d\d-\d\d", day):
        raise SystemExit(f"expected a version such as 0.1.0 and a day such as 2026-11-18, got {version} and {day}")
    if "## Unreleased\n" not in changelog:
        raise SystemExit("CHANGELOG.md has no section Unreleased: there is nothing to release")
    citation = re.sub(r"^(version|date-released):.*\n", "", citation, flags=re.MULTILINE)
    return (
        VERSION.sub(f'__version__ = "{version}"', init),
        changelog.replace("## Unreleased\n", f"## {version} ({day})\n", 1),
        citation.replace("license: MIT\n", f'version: {version}\ndate-released: "{day}"\nlicense: MIT\n', 1),
    )


def main() -> None:
    """Read the arguments and write the three files."""
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    paths = [ROOT / "src/fermi/__init__.py", ROOT / "CHANGELOG.md", ROOT / "CITATION.cff"]
    texts = released(sys.argv[1], sys.argv[2], *(path.read_text(encoding="utf-8") for path in paths))
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
