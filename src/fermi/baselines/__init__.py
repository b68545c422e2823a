"""Every method that FERMI is compared with, behind one interface; one file each: the folder is the registry.

To add one, add a file with a paragraph on the method and its source, and one class that is a `Baseline`.
"""

from __future__ import annotations

from typing import Any

from fermi._registry import Registry
from fermi.baselines.common.protocol import Baseline, Capabilities
from fermi.errors import MissingExtraError, bad_argument

__all__ = ["Baseline", "Capabilities", "available", "find", "make"]

_METHODS = Registry(__name__, __path__)


def available() -> list[str]:
    """The names of the methods that `make` knows.

    Returns
    -------
    list of str
        In alphabetical order.

    Examples
    --------
    >>> "fermi" in available()
    True
    """
    return _METHODS.names()


def find(name: str) -> type[Baseline]:
    """The class of a method: its docstring says what it does, `capabilities` what it can do.

    Parameters
    ----------
    name : str
        One of `available()`.

    Returns
    -------
    class
        A subclass of `Baseline`.
    """
    try:
        module = _METHODS.find(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtraError(f'{name} needs `torch`: pip install "fermi-fair[baselines]".') from None
    (method,) = (
        entry
        for entry in vars(module).values()
        if isinstance(entry, type) and issubclass(entry, Baseline) and entry.__module__ == module.__name__
    )
    return method


def make(
    name: str, strength: float = 0.5, notion: Any = "demographic_parity", random_state: Any = None, **options: Any
) -> Baseline:
    """Make a method by its name, ready to be fitted.

    Parameters
    ----------
    name : str
        One of `available()`.
    strength : float
        From 0, no mitigation, to 1, as fair as the method can be.
    notion : str or Notion
        What must be independent of the group.
    random_state : int, Generator or RandomState, optional
        Seed.
    **options
        What the method takes besides, such as `module` and `batch_size` of those that train a network.

    Returns
    -------
    Baseline
        Not fitted yet.

    Examples
    --------
    >>> from fermi.datasets import synthetic
    >>> data = synthetic(n=1000, rated=False).numeric()
    >>> method = make("reweighing", strength=1.0).fit(data.X_train, data.y_train, sensitive_features=data.s_train)
    >>> method.predict(data.X_test).shape
    (500,)
    """
    method = find(name)
    unknown = sorted(set(options) - set(method._get_param_names()))
    if unknown:
        raise bad_argument("options", f"holds {unknown[0]!r}", f"an argument of {method.__name__}")
    return method(strength=strength, notion=notion, random_state=random_state, **options)
