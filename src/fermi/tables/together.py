"""Which files a folder or a pattern stands for, and whether they are small enough to be one table in memory."""

from __future__ import annotations

import glob
from pathlib import Path

MOST_BYTES = 100_000_000  # on disk, of files that are read as one table


def is_folder(source: str) -> bool:
    """Whether a name is that of a folder, or a pattern that stands for files."""
    return Path(source).is_dir() or (glob.has_magic(source) and not Path(source).is_file())


def files_of(source: str | Path) -> list[Path]:
    """All files below a folder or of a pattern, in the order of their names.

    Files whose names, or those of their folders, begin with a dot or an underscore are left out, as the programs that
    write such folders mean it.
    """
    named = glob.iglob(str(source), recursive=True)  # noqa: PTH207, a pattern may begin anywhere
    found = Path(source).rglob("*") if Path(source).is_dir() else map(Path, named)
    root = Path(source) if Path(source).is_dir() else None
    return sorted(path for path in found if path.is_file() and not _hidden(path, root))


def _hidden(path: Path, root: Path | None) -> bool:
    parts = [path.name] if root is None else path.relative_to(root).parts
    return any(part[0] in "._" and "=" not in part for part in parts)


def is_large(source: str | Path) -> bool:
    """Whether the files are too large to be read as one table."""
    return sum(path.stat().st_size for path in files_of(source)) > MOST_BYTES


def keys_in(path: Path, source: str | Path) -> dict[str, str]:
    """The columns that the names of a file's folders tell, as in ``day=2026-11-01/part.csv``."""
    inner = path.relative_to(source) if Path(source).is_dir() else path
    pairs = (part.partition("=") for part in inner.parts[:-1])
    return {name: value for name, between, value in pairs if name and between}
