"""What an engine is: it keeps one object per shard, wherever that is, and adds up the arrays they answer with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol

from numpy.typing import NDArray

Arrays = tuple[NDArray[Any], ...]


class Shards(Protocol):
    """Objects, one per shard of the data, whose methods are called by name.

    Arguments and answers are plain values and arrays, since they may travel between machines. A method that tells a
    shard something answers None. Other methods may depend on that and on their arguments alone: a shard whose machine
    dies is made again, told the same, and asked again.
    """

    def __len__(self) -> int:
        """The number of shards."""

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every shard with the same arguments; the answers are in the order of the shards.

        Parameters
        ----------
        method : str
            The name of the method.
        *arguments
            Its arguments.

        Returns
        -------
        list
            One answer per shard.
        """

    def sum(self, method: str, *arguments: Any) -> Arrays:
        """Call a method that answers with a tuple of arrays, and add these up over the shards.

        This is the one reducer: a table, a gradient and the moments of the features are all such sums. The order of
        the additions depends on the number of shards alone, so that a run can be repeated to the last digit.

        Parameters
        ----------
        method : str
            The name of the method.
        *arguments
            Its arguments.

        Returns
        -------
        tuple of arrays
            The sum of the answers, array by array.
        """

    def close(self) -> None:
        """Let go of the shards."""


class Engine(Protocol):
    """A place where shards live: this process, or many."""

    name: ClassVar[str]

    @property
    def workers(self) -> int:
        """The number of shards that can work at the same time: into so many parts the data is cut."""

    def open(self, make: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> Shards:
        """Make one shard per part, where it will live.

        Parameters
        ----------
        make : callable
            A class or function of a module, which another process finds by its name.
        parts : sequence of tuples
            What `make` is called with for each shard; all of it can be pickled.

        Returns
        -------
        Shards
            The shards.
        """


def added(answers: Iterable[Arrays]) -> Arrays:
    """Add up tuples of arrays, one after the other.

    Parameters
    ----------
    answers : iterable of tuples of arrays
        At least one; all of the same shapes.

    Returns
    -------
    tuple of arrays
        The sums; the answers themselves do not change.
    """
    total: Arrays | None = None
    for answer in answers:
        total = answer if total is None else tuple(a + b for a, b in zip(total, answer, strict=True))
    if total is None:
        raise ValueError("there are no shards to add up")
    return total
