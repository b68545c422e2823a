"""The options of an estimator, checked: each mistake gets one sentence that names the argument."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from fermi.errors import bad_argument, listed
from fermi.notions import Notion, as_notion

AT_LEAST_ZERO = "a finite number of at least 0"
AT_LEAST_ONE = "a whole number of at least 1"
SOLVERS = ("auto", "lbfgs", "sgda", "sreda")
_STEPWISE = {"eta_theta": "auto", "eta_w": "auto", "radius": None, "output": "last"}


def number(
    name: str, value: Any, expected: str, *, low: float, high: float = math.inf, open_low: bool = False
) -> float:
    """A finite number within limits."""
    real = type(value) not in (bool, np.bool_) and isinstance(value, numbers.Real) and math.isfinite(value)
    if not real or not low <= value <= high or (open_low and value == low):
        raise bad_argument(name, f"is {value!r}", expected)
    return float(value)


def whole(name: str, value: Any, expected: str, *, low: int) -> int:
    """A whole number of at least `low`."""
    if type(value) is bool or not isinstance(value, numbers.Integral) or value < low:
        raise bad_argument(name, f"is {value!r}", expected)
    return int(value)


def chosen(name: str, value: Any, options: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in options:
        raise bad_argument(name, f"is {value!r}", f"one of {listed(options)}")
    return value


def generator(random_state: Any) -> np.random.Generator:
    """Random numbers from a seed, a generator or scikit-learn's kind of state; the global state is never touched."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, dtype=np.uint64))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise bad_argument("random_state", f"is {random_state!r}", "None, a whole number or a generator") from None


@dataclass(frozen=True)
class Common:
    """The options that every estimator has, checked."""

    fairness: Notion
    lam: float
    attributes: str
    max_violation: float | None
    verbose: int

    @staticmethod
    def of(estimator: Any) -> dict[str, Any]:
        """Their values, by name."""
        bound = estimator.max_violation
        if bound is not None:
            bound = number("max_violation", bound, "a number from 0 to 1, or None", low=0.0, high=1.0)
        return {
            "fairness": as_notion(estimator.fairness, "fairness"),
            "lam": number("lam", estimator.lam, AT_LEAST_ZERO, low=0.0),
            "attributes": chosen("attributes", estimator.attributes, ("intersection", "each")),
            "max_violation": bound,
            "verbose": whole("verbose", _whole_of_flag(estimator.verbose), "0 or 1", low=0),
        }


@dataclass(frozen=True)
class Settings(Common):
    """The options of `FermiClassifier`, checked."""

    solver: str
    batch_size: int | None
    max_iter: int | None
    tol: float
    eta_theta: Any
    eta_w: Any
    radius: float | str | None
    output: Literal["last", "random", "average"]
    l2: float
    fit_intercept: bool
    warm_start: bool
    checkpoint: Path | None

    @classmethod
    def read(cls, estimator: Any, *, stream: bool = False) -> Settings:
        """Check every option that does not depend on the data. A `stream` is trained by sgda."""
        solver = chosen("solver", estimator.solver, SOLVERS)
        batch, cycles = estimator.batch_size, estimator.max_iter
        if solver == "auto":
            solver = "sgda" if stream or batch is not None else "lbfgs"
        settings = cls(
            **Common.of(estimator),
            solver=solver,
            batch_size=None if batch is None else whole("batch_size", batch, AT_LEAST_ONE, low=1),
            max_iter=None if cycles is None else whole("max_iter", cycles, AT_LEAST_ONE, low=1),
            tol=number("tol", estimator.tol, AT_LEAST_ZERO, low=0.0),
            eta_theta=_step("eta_theta", estimator.eta_theta),
            eta_w=_step("eta_w", estimator.eta_w),
            radius=_radius(estimator.radius),
            output=cast(Any, chosen("output", estimator.output, ("last", "random", "average"))),
            l2=number("l2", estimator.l2, AT_LEAST_ZERO, low=0.0),
            fit_intercept=_flag("fit_intercept", estimator.fit_intercept),
            warm_start=_flag("warm_start", estimator.warm_start),
            checkpoint=existing_folder("checkpoint", estimator.checkpoint),
        )
        settings._refuse_what_the_solver_ignores()
        return settings

    def _refuse_what_the_solver_ignores(self) -> None:
        """An option that would do nothing is a mistake."""
        ignored = {"lbfgs": [*_STEPWISE, "batch_size"], "sgda": [], "sreda": ["output"]}[self.solver]
        for name in ignored:
            value = getattr(self, name)
            if value != _STEPWISE.get(name):
                raise bad_argument(
                    name, f"is {value!r}, which solver={self.solver!r} does not use", "its default, or solver='sgda'"
                )
        if self.checkpoint is not None and self.output != "last":
            raise bad_argument("checkpoint", f"is given with output={self.output!r}", "output='last', or None")
        for name in ("eta_theta", "eta_w"):
            if self.solver == "sreda" and callable(getattr(self, name)):
                raise bad_argument(name, "is a function, which solver='sreda' does not take", "a number")

    def batch(self, n: int, default: int) -> int:
        """The batch size for n rows."""
        if self.batch_size is None:
            return min(default, n)
        if self.batch_size > n:
            raise bad_argument("batch_size", f"is {self.batch_size}", f"at most the number of rows, {n}")
        return self.batch_size


def _whole_of_flag(value: Any) -> Any:
    return int(value) if isinstance(value, bool | np.bool_) else value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_ | int) or value not in (0, 1):
        raise bad_argument(name, f"is {value!r}", "True or False")
    return bool(value)


def _step(name: str, value: Any) -> Any:
    """A step size: a positive number, a function of the step, "auto" or "theory"."""
    if callable(value) or (isinstance(value, str) and value in ("auto", "theory")):
        return value
    return number(name, value, "a positive number, a function of the step, 'auto' or 'theory'", low=0.0, open_low=True)


def _radius(value: Any) -> float | str | None:
    if value is None or (isinstance(value, str) and value == "theory"):
        return value
    return number("radius", value, "a positive number, 'theory' or None", low=0.0, open_low=True)


def existing_folder(name: str, value: Any) -> Path | None:
    """The path of a file to be written, whose folder is there."""
    if value is None:
        return None
    try:
        path = Path(value)
    except TypeError:
        raise bad_argument(name, f"is {value!r}", "a path or None") from None
    if path.is_dir():
        raise bad_argument(name, f"is {str(path)!r}, a folder", "a file in an existing folder")
    if not path.parent.is_dir():
        raise bad_argument(name, f"is {str(path)!r}, whose folder does not exist", "a file in an existing folder")
    return path
