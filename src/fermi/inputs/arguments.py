"""Arguments that are numbers, words, seeds or paths, checked: each mistake gets one sentence that names it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fermi._files import shown
from fermi.errors import bad_argument, listed

AT_LEAST_ZERO = "a finite number of at least 0"
_LARGEST_WHOLE = 2**63 - 1
AT_LEAST_ONE = "a whole number of at least 1"


def number(
    name: str, value: Any, expected: str, *, low: float, high: float = math.inf, open_low: bool = False
) -> float:
    """Check that an argument is a finite number within limits, and return it as a float."""
    real = type(value) not in (bool, np.bool_) and isinstance(value, numbers.Real) and _fits(value)
    if not real or not low <= value <= high or (open_low and value == low):
        raise bad_argument(name, f"is {_shown(value)}", expected)
    return float(value)


def _fits(value: Any) -> bool:
    """Whether a number is finite as a float."""
    try:
        return math.isfinite(value)
    except OverflowError:  # 10**400, say
        return False


def _shown(value: Any) -> str:
    """A value for a message; Python does not write out whole numbers of thousands of digits."""
    if isinstance(value, int) and abs(value) > _LARGEST_WHOLE:
        return "a whole number of more than 19 digits"
    return repr(value)


def whole(name: str, value: Any, expected: str, *, low: int) -> int:
    """Check that an argument is a whole number of at least `low`, and return it."""
    if type(value) is bool or not isinstance(value, numbers.Integral) or not low <= int(value) <= _LARGEST_WHOLE:
        raise bad_argument(name, f"is {_shown(value)}", expected)
    return int(value)


def chosen(name: str, value: Any, options: Sequence[str]) -> str:
    """Check that an argument is one of a few words, and return it."""
    if not isinstance(value, str) or value not in options:
        raise bad_argument(name, f"is {value!r}", f"one of {listed(options)}")
    return value


def generator(random_state: Any) -> np.random.Generator:
    """Make random numbers from a seed, a generator or scikit-learn's kind of state; the global state is not touched."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, dtype=np.uint64))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise bad_argument("random_state", f"is {random_state!r}", "None, a whole number or a generator") from None


def seed_of(random_state: Any) -> str:
    """What tells a seed from another: nothing for None. A generator is known by what it was seeded with."""
    if random_state is None:
        return ""
    bits = getattr(random_state, "bit_generator", random_state)
    seeds = getattr(bits, "seed_seq", None) or bits
    if isinstance(seeds, np.random.SeedSequence):
        return f"{seeds.entropy!r} {seeds.spawn_key!r}"
    if isinstance(random_state, np.random.RandomState):
        return repr([np.asarray(part).tolist() for part in random_state.get_state(legacy=True)])
    return repr(random_state.tolist() if isinstance(random_state, np.generic | np.ndarray) else random_state)


def flag(name: str, value: Any) -> bool:
    """Check that an argument is True or False, or 1 or 0, and return it as a bool."""
    if not isinstance(value, bool | np.bool_ | int) or value not in (0, 1):
        raise bad_argument(name, f"is {value!r}", "True or False")
    return bool(value)


def existing_folder(name: str, value: Any) -> Path | None:
    """Check that a path lies in a folder that exists, so that a file can be written there."""
    if value is None:
        return None
    try:
        path = Path(value)
    except TypeError:
        raise bad_argument(name, f"is {value!r}", "a path or None") from None
    expected = "a file in an existing folder"
    try:
        path.lstat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:  # a name that is too long, or holds NUL
        reason = getattr(error, "strerror", None) or error
        raise bad_argument(name, f"is {shown(path)}, no name for a file ({reason})", expected) from None
    if path.is_dir():
        raise bad_argument(name, f"is {str(path)!r}, a folder", expected)
    if not path.parent.is_dir():
        raise bad_argument(name, f"is {str(path)!r}, whose folder does not exist", expected)
    return path
