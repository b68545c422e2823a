"""The options of `FermiClassifier`, checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from fermi.errors import bad_argument
from fermi.fitting.options import Common
from fermi.inputs.arguments import AT_LEAST_ONE, AT_LEAST_ZERO, chosen, existing_folder, flag, number, whole

SOLVERS = ("auto", "lbfgs", "sgda", "sreda")
_STEPWISE = {"eta_theta": "auto", "eta_w": "auto", "radius": None, "output": "last"}


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
            fit_intercept=flag("fit_intercept", estimator.fit_intercept),
            warm_start=flag("warm_start", estimator.warm_start),
            checkpoint=existing_folder("checkpoint", estimator.checkpoint),
        )
        settings._refuse_what_the_solver_ignores()
        return settings

    def _refuse_what_the_solver_ignores(self) -> None:
        """Refuse options that the solver would ignore: one that does nothing is a mistake."""
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


def _step(name: str, value: Any) -> Any:
    """Read a step size: a positive number, a function of the step, "auto" or "theory"."""
    if callable(value) or (isinstance(value, str) and value in ("auto", "theory")):
        return value
    return number(name, value, "a positive number, a function of the step, 'auto' or 'theory'", low=0.0, open_low=True)


def _radius(value: Any) -> float | str | None:
    if value is None or (isinstance(value, str) and value == "theory"):
        return value
    return number("radius", value, "a positive number, 'theory' or None", low=0.0, open_low=True)
