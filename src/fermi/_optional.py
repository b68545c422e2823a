"""Packages that only some features need, asked for at first use."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from fermi.errors import MissingExtraError


def require(package: str, *, extra: str) -> ModuleType:
    """Import an optional package, or say which extra brings it.

    Examples
    --------
    >>> require("no_such_package", extra="torch")
    Traceback (most recent call last):
    fermi.errors.MissingExtraError: This needs `no_such_package`: pip install "fermi-fair[torch]".
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        # A package that is there but lacks a dependency of its own is another problem: let it be seen.
        if error.name != package.partition(".")[0]:
            raise
        raise MissingExtraError(f'This needs `{package}`: pip install "fermi-fair[{extra}]".') from None
