"""The options of a fit on a stream, checked before anything is read."""

from __future__ import annotations

import copy
import re
from typing import Any, NamedTuple

from fermi.errors import bad_argument, listed
from fermi.fitting.advice import plain_model
from fermi.inputs.arguments import AT_LEAST_ONE, whole
from fermi.linear.classifier import FermiClassifier
from fermi.linear.options import Settings

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_LEAST = 50_000_000
_MOST_ROWS = 100_000_000  # from here on a few passes of sgda are less than the passes of L-BFGS
MOST_EXACT = 1000  # parameters that `auto` minimises exactly, with a factorised Hessian


class Limits(NamedTuple):
    """What a fit may take: passes over the rows, and bytes."""

    passes: int | None
    memory: int


def bytes_of(memory: Any) -> int:
    """Read an amount of memory: a number of bytes, or text such as "1GB" or "500 MiB"."""
    expected = "an amount of at least 50MB, such as '1GB'"
    if isinstance(memory, int) and not isinstance(memory, bool):
        found = memory
    else:
        matched = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", str(memory).upper())
        if matched is None:
            raise bad_argument("memory", f"is {memory!r}", expected)
        found = int(float(matched[1]) * _UNITS[matched[2] or ""])
    if found < _LEAST:
        raise bad_argument("memory", f"is {memory!r}", expected)
    return found


def columns_of(target: Any, sensitive: Any) -> tuple[str, tuple[str, ...]]:
    """Read the names of the target and of the sensitive columns."""
    if not isinstance(target, str):
        raise bad_argument("target", f"is {target!r}", "the name of a column")
    names = () if sensitive is None else (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise bad_argument("sensitive", f"is {sensitive!r}", "the name of a column, or several different ones")
    if target in names:
        raise bad_argument("sensitive", f"holds the target, {target!r}", "other columns")
    if not names:
        plain_model()
    return target, names


def check_estimator(estimator: Any, passes: Any) -> None:
    """Refuse what cannot be trained on a stream."""
    if not isinstance(estimator, FermiClassifier):
        raise bad_argument("estimator", f"is a {type(estimator).__name__}", "a FermiClassifier")
    if estimator.solver not in ("auto", "lbfgs", "sgda"):
        raise bad_argument("solver", f"is {estimator.solver!r}", "'auto', 'lbfgs' or 'sgda' for a stream")
    if passes == 1 and estimator.solver == "lbfgs":
        raise bad_argument("passes", "is 1 with solver='lbfgs', which needs several", "solver='sgda', or more passes")
    if passes is not None:
        whole("passes", passes, AT_LEAST_ONE, low=1)
    unusual = {"max_violation": None, "warm_start": False}
    for name, usual in unusual.items():
        if getattr(estimator, name) != usual:
            reason = "a stream has no rows held out" if name == "max_violation" else "a stream starts from nothing"
            raise bad_argument(name, f"is {getattr(estimator, name)!r}", f"{usual!r}: {reason}")
    for name in ("eta_theta", "eta_w", "radius"):
        if isinstance(getattr(estimator, name), str) and getattr(estimator, name) == "theory":
            raise bad_argument(name, "is 'theory', which needs all rows in memory", "another choice, or fit")
    notion = settings_of(estimator, "sgda" if estimator.solver == "auto" else estimator.solver).fairness
    if notion.column is not None:
        raise bad_argument("fairness", f"is {notion.name!r}, whose column is in memory", "a notion of the labels alone")


def settings_of(estimator: FermiClassifier, solver: str) -> Settings:
    """The options of the estimator with this solver; the checkpoint is the stream's own."""
    own = copy.copy(estimator)
    own.solver, own.checkpoint = solver, None
    return Settings.read(own)


def chosen_solver(estimator: FermiClassifier, passes: int | None, rows: int, parameters: int) -> str:
    """The solver asked for, or what the size says: exact passes where few of them do."""
    if estimator.solver != "auto":
        return str(estimator.solver)
    steps = estimator.batch_size is not None or passes == 1 or estimator.output != "last"
    return "sgda" if steps or rows > _MOST_ROWS or parameters > MOST_EXACT else "lbfgs"


def check_names(own: dict[str, Any], wanted: dict[str, tuple[str, ...]]) -> None:
    """Refuse names that the files do not have."""
    for argument, names in wanted.items():
        for name in names:
            if name not in own:
                raise bad_argument(
                    argument, f"is {name!r}, which is no column of the files", f"one of {listed(own, limit=20)}"
                )
