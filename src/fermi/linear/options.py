"""The options of `FermiClassifier`, checked."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fermi.errors import bad_argument
from fermi.fitting.options import Common
from fermi.inputs.arguments import AT_LEAST_ONE, AT_LEAST_ZERO, chosen, existing_folder, flag, number, seed_of, whole
from fermi.linear.solvers.contract import Solver
from fermi.linear.solvers.lbfgs import LBFGS
from fermi.linear.solvers.newton import Newton
from fermi.linear.solvers.sgda import SGDA
from fermi.linear.solvers.sreda import SREDA

SOLVERS: dict[str, type[Any]] = {solver.name: solver for solver in (LBFGS, Newton, SGDA, SREDA)}
_DEFAULTS = {"eta_theta": "auto", "eta_w": "auto", "radius": None, "output": "last", "batch_size": None}


@dataclass(frozen=True)
class Settings(Common):
    """The options of `FermiClassifier`, checked; those of the solver are with the solver."""

    solver: Solver
    tol: float
    l2: float
    fit_intercept: bool
    warm_start: bool
    checkpoint: Path | None
    seed: str  # as far as it can be told from another

    @property
    def sgda(self) -> SGDA:
        """The options of Algorithm 1, which is what trains a stream."""
        assert isinstance(self.solver, SGDA), "a stream with another solver is refused when it is read"
        return self.solver

    @classmethod
    def read(cls, estimator: Any, *, stream: bool = False) -> Settings:
        """Check every option that does not depend on the data. A `stream` is trained by sgda."""
        common = Common.of(estimator)
        name = chosen("solver", estimator.solver, ("auto", *SOLVERS))
        if name == "auto":
            name = SGDA.name if stream or estimator.batch_size is not None else LBFGS.name
        checkpoint = existing_folder("checkpoint", estimator.checkpoint)
        if checkpoint is not None and estimator.output != "last":
            raise bad_argument("checkpoint", f"is given with output={estimator.output!r}", "output='last', or None")
        return cls(
            **common,
            solver=_solver(name, estimator),
            tol=number("tol", estimator.tol, AT_LEAST_ZERO, low=0.0),
            l2=number("l2", estimator.l2, AT_LEAST_ZERO, low=0.0),
            fit_intercept=flag("fit_intercept", estimator.fit_intercept),
            warm_start=flag("warm_start", estimator.warm_start),
            checkpoint=checkpoint,
            seed=seed_of(estimator.random_state),
        )


def _solver(name: str, estimator: Any) -> Solver:
    """The solver with the options it takes. An option that would do nothing is a mistake."""
    batch, cycles = estimator.batch_size, estimator.max_iter
    given = {
        "batch_size": None if batch is None else whole("batch_size", batch, AT_LEAST_ONE, low=1),
        "max_iter": None if cycles is None else whole("max_iter", cycles, AT_LEAST_ONE, low=1),
        "eta_theta": _step("eta_theta", estimator.eta_theta),
        "eta_w": _step("eta_w", estimator.eta_w),
        "radius": _radius(estimator.radius),
        "output": chosen("output", estimator.output, ("last", "random", "average")),
    }
    taken = {field.name for field in fields(SOLVERS[name])}
    for option, usual in _DEFAULTS.items():
        if option not in taken and given[option] != usual:
            raise bad_argument(
                option, f"is {given[option]!r}, which solver={name!r} does not use", "its default, or solver='sgda'"
            )
    solver: Solver = SOLVERS[name](**{option: value for option, value in given.items() if option in taken})
    return solver


def _step(name: str, value: Any) -> Any:
    """Read a step size: a positive number, a function of the step, "auto" or "theory"."""
    if callable(value) or (isinstance(value, str) and value in ("auto", "theory")):
        return value
    return number(name, value, "a positive number, a function of the step, 'auto' or 'theory'", low=0.0, open_low=True)


def _radius(value: Any) -> float | str | None:
    if value is None or (isinstance(value, str) and value == "theory"):
        return value
    return number("radius", value, "a positive number, 'theory' or None", low=0.0, open_low=True)
