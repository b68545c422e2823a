"""One case of one family: what may come of it, and what is a finding."""

from __future__ import annotations

import os
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fermi.errors import FermiError

LIMIT = 60  # seconds of a case


class Defect(AssertionError):
    """What no input may bring about: the message says what it was."""


class TooLongError(BaseException):
    """A case that does not end."""


Family = Callable[[np.random.Generator], Any]


@contextmanager
def _limited() -> Iterator[None]:
    def ring(number: int, frame: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def attempt(name: str, family: Family, seed: int) -> str | None:
    """Try a case in an empty folder, and say what is wrong, if anything is."""
    rng = np.random.default_rng([sum(name.encode()), seed])
    with tempfile.TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in (RuntimeWarning, DeprecationWarning, FutureWarning):
            warnings.simplefilter("error", kind)
        try:
            with _limited():
                family(rng)
        except FermiError as error:
            return _wording(str(error))
        except Defect as defect:
            return str(defect)
        except TooLongError:
            return f"more than {LIMIT} seconds"
        except Exception as error:
            return _where(error)
        finally:
            _give_back(Path(folder))
    return None


def _wording(message: str) -> str | None:
    """A message is one line, of some length, and ends as a sentence does."""
    if "\n" in message or not message.endswith(".") or not 10 < len(message) < 1500:
        return f"the message is no sentence: {message[:300]!r}"
    return None


def _where(error: Exception) -> str | None:
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, TypeError | ValueError) and _said_by_theirs(frames):
        return None
    own = [frame for frame in frames if f"{os.sep}fermi{os.sep}" in frame.filename]
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "nowhere in the package"
    return f"{type(error).__name__} at {place}: {' '.join(str(error).split())[:200]}"


def _said_by_theirs(frames: traceback.StackSummary) -> bool:
    """Whether a classifier that the user gave to `FairLabels` says so itself, as it would without it."""
    return any(Path(f.filename).name == "wrapped.py" and f.name in ("fit", "probabilities", "said_of") for f in frames)


def _give_back(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_dir():
            path.chmod(0o700)
