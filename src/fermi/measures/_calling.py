"""How a measure is called: with a `Contingency`, or with the arrays that one is made from."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast, overload

from fermi.measures.contingency import Contingency
from fermi.notions import Notion

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Measure(Protocol[R_co]):
    """A measure of violation: a function of a table, or of the arrays that make one."""

    __name__: str

    @overload
    def __call__(
        self, contingency: Contingency, /, *own: Any, q: float = ..., alpha: float = ..., outcome: Any = ...
    ) -> R_co: ...
    @overload
    def __call__(
        self,
        y_pred: Any,
        sensitive_features: Any,
        *,
        y_true: Any = ...,
        notion: str | Notion = ...,
        classes: Sequence[Any] | None = ...,
        sample_weight: Any = ...,
        q: float = ...,
        alpha: float = ...,
        outcome: Any = ...,
    ) -> R_co: ...
    @overload
    def __call__(self, *, contingency: Contingency, q: float = ..., alpha: float = ..., outcome: Any = ...) -> R_co: ...


MEASURES: dict[str, Measure[float]] = {}
"""Every measure that returns one number, by name."""

_RAW = inspect.signature(Contingency.from_predictions).parameters
_PARAMETERS, _RETURNS = "Parameters\n----------\n", "\n\nReturns\n-------\n"
_EITHER = "Takes the arrays below or, in their place, the `Contingency` made from them."


def of_table_or_arrays(function: Callable[..., R]) -> Measure[R]:
    """Let a function of a Contingency take the arguments of `Contingency.from_predictions` as well.

    Its docstring gains their description, which is written once, there; it must have a section "Returns".
    """

    @functools.wraps(function)
    def measure(*args: Any, **kwargs: Any) -> R:
        if "contingency" in kwargs or (args and isinstance(args[0], Contingency)):
            return function(*args, **kwargs)
        raw = {name: kwargs.pop(name) for name in _RAW if name in kwargs}
        return function(Contingency.from_predictions(*args, **raw), **kwargs)

    own = list(inspect.signature(function).parameters.values())[1:]
    measure.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*_RAW.values(), *(p.replace(kind=p.KEYWORD_ONLY) for p in own)],
        return_annotation=inspect.signature(function).return_annotation,
    )
    measure.__doc__ = _documented(function.__doc__)
    return cast(Measure[R], measure)


def measure(function: Callable[..., float]) -> Measure[float]:
    """Register a measure under its name, and let it take arrays as well as a table."""
    wrapped = of_table_or_arrays(function)
    MEASURES[wrapped.__name__] = wrapped
    return wrapped


def _documented(text: str | None) -> str | None:
    """The docstring of a function of a Contingency, with the arguments of `from_predictions` before its own."""
    shared = Contingency.from_predictions.__doc__
    if text is None or shared is None:  # python -OO leaves docstrings out
        return text
    arguments = inspect.cleandoc(shared).partition(_PARAMETERS)[2].partition(_RETURNS)[0]
    before, has_returns, returns = inspect.cleandoc(text).partition(_RETURNS)
    assert has_returns, "the docstring of a measure has a section Returns"
    summary, _, own = before.partition(_PARAMETERS)
    sections = [arguments, own] if own else [arguments]
    return f"{summary.rstrip()}\n\n{_EITHER}\n\n{_PARAMETERS}" + "\n".join(sections) + _RETURNS + returns
