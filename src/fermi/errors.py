"""The errors of the package, and the one wording they share."""

from __future__ import annotations

from collections.abc import Iterable


class FermiError(ValueError):
    """Something the caller can mend: a bad argument, a missing file, a missing package."""


class DataError(FermiError):
    """A data set's file is missing, damaged or cannot be fetched."""


class MissingExtraError(FermiError, ImportError):
    """An optional package is needed and not installed."""


class UnreadableError(FermiError, TypeError):
    """Features or labels are of a type that nothing can be read from. It is a `TypeError` too, as in scikit-learn."""


class DivergedError(FermiError):
    """Training ran away: the objective exploded or is no number any more. The message says what to make smaller."""


class UnfairTrainingWarning(UserWarning):
    """A model is trained without its fairness term."""


class ConstantPredictionWarning(UserWarning):
    """A model gives every row the same label."""


class FragileLabelsWarning(UserWarning):
    """Labels keep a bound on held-out rows, and a slightly different model may label a group otherwise."""


class SmallGroupWarning(UserWarning):
    """Some groups are too small for their rates to mean anything."""


def bad_argument(name: str, found: str, expected: str) -> FermiError:
    """The error for an argument: its name, what was found, what is expected.

    Examples
    --------
    >>> str(bad_argument("q", "is 0.5", "a number of at least 1"))
    '`q` is 0.5; expected a number of at least 1.'
    """
    return FermiError(f"`{name}` {found}; expected {expected}.")


def listed(items: Iterable[object], limit: int = 8) -> str:
    """The items of a sequence for a message, cut short after a few.

    Examples
    --------
    >>> listed(["a", "b"]), listed(range(20), limit=3)
    ("'a', 'b'", '0, 1, 2, ... (20 in all)')
    """
    values = list(items)
    words = ", ".join(repr(value) for value in values[:limit])
    return words if len(values) <= limit else f"{words}, ... ({len(values)} in all)"
