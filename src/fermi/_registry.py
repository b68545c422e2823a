"""A folder as a registry: each module in it is an entry, and to add one is to add a file."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from fermi.errors import bad_argument, listed


@dataclass(frozen=True)
class Registry:
    """The modules of a package, without its folders and those that begin with an underscore.

    Attributes
    ----------
    package : str
        Its name.
    path : iterable of str
        Where it lies: its `__path__`.
    others : str
        What a caller may say instead of a name, for the message about an unknown one.
    """

    package: str
    path: Iterable[str]
    others: str = ""

    def names(self) -> list[str]:
        """The entries in order, with numbers as numbers: fig10 comes after fig9."""
        found = pkgutil.iter_modules(self.path)
        names = (module.name for module in found if not (module.ispkg or module.name.startswith("_")))
        return sorted(names, key=lambda name: [int(part) if part.isdigit() else part for part in _parts(name)])

    def check(self, name: str) -> None:
        """Refuse a name that has no module."""
        known = self.names()
        if name not in known:
            raise bad_argument("name", f"is {name!r}", f"one of {listed(known, limit=len(known))}{self.others}")

    def find(self, name: str) -> ModuleType:
        """The module of that name."""
        self.check(name)
        return import_module(f"{self.package}.{name}")


def _parts(name: str) -> list[str]:
    """A name cut into words and numbers, in turns."""
    return re.split(r"(\d+)", name)
