"""Data sets, one file each: the folder is the registry.

To add one, add a file with a one-paragraph docstring, the `FILES` its publisher ships (empty if it needs none) and a
function ``load(*, data_home=None, ...) -> Dataset``.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

from fermi._registry import Registry
from fermi.datasets.common.comments import Vocabulary
from fermi.datasets.common.dataset import Dataset
from fermi.datasets.synthetic import synthetic

__all__ = ["Dataset", "Vocabulary", "find", "load", "names", "synthetic"]

_DATASETS = Registry(__name__, __path__)


def names() -> list[str]:
    """The names of the data sets that `load` knows.

    Returns
    -------
    list of str
        In alphabetical order.

    Examples
    --------
    >>> "synthetic" in names()
    True
    """
    return _DATASETS.names()


def find(name: str) -> ModuleType:
    """The module of a data set: its docstring is the note on the data, `FILES` what it needs, `load` reads it.

    Parameters
    ----------
    name : str
        One of `names()`.

    Returns
    -------
    module
        Such as `fermi.datasets.adult`.
    """
    return _DATASETS.find(name)


def load(name: str, *, data_home: str | Path | None = None, **options: Any) -> Dataset:
    """Load a data set with its split into training and test rows.

    Parameters
    ----------
    name : str
        One of `names()`.
    data_home : path, optional
        The folder of the raw files, by default ``$FERMI_DATA``, else a folder in the user's cache. A file that is not
        there is downloaded from its publisher and its checksum verified.
    **options
        What the data set's own `load` takes.

    Returns
    -------
    Dataset
        Training and test rows.

    Examples
    --------
    >>> load("synthetic").X_train.shape
    (10000, 7)
    """
    data: Dataset = find(name).load(data_home=data_home, **options)
    return data
