"""Where sums over shards are made. An engine knows nothing of fairness: it holds shards and adds up their answers.

`contract.py` says what an engine is; each other file is one. `engine_of` finds it by its name.
"""

from collections.abc import Callable

from fermi.engines.contract import Engine, Shards, added
from fermi.engines.local import LocalEngine
from fermi.inputs.arguments import chosen

ENGINES: dict[str, Callable[..., Engine]] = {"local": LocalEngine}
"""The engines by the name that a caller chooses."""


def engine_of(name: str, **options: object) -> Engine:
    """Make the engine of a name.

    Parameters
    ----------
    name : str
        One of `ENGINES`.
    **options
        What the engine itself takes.

    Returns
    -------
    Engine
        The engine, ready to open shards.
    """
    return ENGINES[chosen("engine", name, tuple(ENGINES))](**options)


__all__ = ["ENGINES", "Engine", "LocalEngine", "Shards", "added", "engine_of"]
