"""Where sums over shards are made. An engine knows nothing of fairness: it holds shards and adds up their answers.

`contract.py` says what an engine is; `local.py` and `ray.py` are one each, and `engine_of` finds them by their names.
`tasks.py` is for work that needs no sums: tasks that know nothing of each other.
"""

from collections.abc import Callable

from fermi.engines.contract import Engine, Shards, added
from fermi.engines.local import LocalEngine
from fermi.engines.ray import RayEngine
from fermi.engines.tasks import as_finished, check_address, task_pool
from fermi.inputs.arguments import chosen

ENGINES: dict[str, Callable[..., Engine]] = {"local": LocalEngine, "ray": RayEngine}
"""The engines by the name that a caller chooses."""


def engine_of(name: str | Engine, **options: object) -> Engine:
    """Make the engine of a name.

    Parameters
    ----------
    name : str or Engine
        One of `ENGINES`; an engine stays what it is.
    **options
        What the engine itself takes; None leaves one out.

    Returns
    -------
    Engine
        The engine, ready to open shards.
    """
    if not isinstance(name, str) and hasattr(name, "open"):
        return name
    given = {option: value for option, value in options.items() if value is not None}
    check_address(chosen("engine", name, tuple(ENGINES)), given.get("address"))
    return ENGINES[str(name)](**given)


__all__ = [
    "ENGINES",
    "Engine",
    "LocalEngine",
    "RayEngine",
    "Shards",
    "added",
    "as_finished",
    "check_address",
    "engine_of",
    "task_pool",
]
