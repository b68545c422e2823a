"""Independent tasks, such as the fits along λ or the training runs of a figure, through joblib on an engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fermi._optional import require
from fermi.engines.ray import connect
from fermi.errors import bad_argument
from fermi.inputs.arguments import chosen


@contextmanager
def task_pool(engine: str = "ray", *, workers: int | None = None, address: str | None = None) -> Iterator[None]:
    """A context in which what goes through joblib runs on an engine: ``with task_pool("ray"): tradeoff_curve(...)``.

    Parameters
    ----------
    engine : "local" or "ray"
        Processes of this machine, or tasks of a Ray cluster, whose workers have `fermi` installed.
    workers : int, optional
        How many at once, by default as many as there are cores.
    address : str, optional
        The Ray cluster, as in `RayEngine`.

    Yields
    ------
    None
    """
    from joblib import parallel_config

    name = chosen("engine", engine, ("local", "ray"))
    if name == "local":
        check_address(engine, address)
        # Tasks are what runs in parallel; threads inside of them would only wait for each other.
        with parallel_config("loky", n_jobs=workers or -1, inner_max_num_threads=1):
            yield
        return
    ray = require("ray", extra="ray")
    connect(ray, address)
    require("ray.util.joblib", extra="ray").register_ray()
    with parallel_config("ray", n_jobs=workers or -1):  # Ray gives each task the threads of its one core
        yield


def as_finished(tasks: Sequence[Any]) -> Iterator[Any]:
    """The results of joblib's tasks as they come, or a few at a time where a backend knows no other way.

    Parameters
    ----------
    tasks : sequence
        What `joblib.delayed` makes.

    Yields
    ------
    result
        In any order.
    """
    from joblib import Parallel, effective_n_jobs

    try:
        pool = Parallel(return_as="generator_unordered")
    except ValueError:
        pool = Parallel()
        at_once = 2 * effective_n_jobs()  # an interruption loses no more than these
        for first in range(0, len(tasks), at_once):
            yield from pool(tasks[first : first + at_once])
        return
    yield from pool(tasks)


def check_address(engine: str, address: object) -> None:
    """Refuse the address of a cluster where none is used."""
    if engine == "local" and address is not None:
        raise bad_argument("address", f"is {address!r}, and the engine is 'local'", "the engine 'ray', or no address")
