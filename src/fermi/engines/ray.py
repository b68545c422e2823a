"""The engine of a Ray cluster: each shard lives in an actor, and one that dies is made again."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from fermi._optional import require
from fermi.engines.contract import Arrays, added
from fermi.errors import FermiError, bad_argument
from fermi.inputs.arguments import AT_LEAST_ONE, whole

_MOST_DEATHS = 5  # of one shard during one call


class _Host:
    """What runs in an actor: it holds one shard. Values travel pickled, so that arrays arrive as writable copies."""

    def __init__(self, made: bytes) -> None:
        self._made, self._shard = made, None

    def call(self, method: str, arguments: bytes) -> bytes:
        """Call a method of the shard, which is made at the first call: what fails then is told as any other error."""
        if self._shard is None:
            make, part = pickle.loads(self._made)
            self._shard = make(*part)
        return pickle.dumps(getattr(self._shard, method)(*pickle.loads(arguments)), protocol=5)


class RayShards:
    """Shards that live in actors of a Ray cluster.

    A method that answers None on every shard has told the shards something; those calls are kept, and told again to a
    shard that has to be made anew because its process or its machine died.
    """

    def __init__(self, ray: Any, make: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> None:
        self._ray = ray
        self._parts = [ray.cloudpickle.dumps((make, part)) for part in parts]
        self._told: list[tuple[str, Any]] = []
        self._actors = [self._start(k) for k in range(len(parts))]
        self.deaths = 0

    def __len__(self) -> int:
        return len(self._actors)

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every shard, all at the same time; the answers are in the order of the shards."""
        sent = self._ray.put(pickle.dumps(arguments, protocol=5))
        coming = [actor.call.remote(method, sent) for actor in self._actors]
        answers = [self._answer(k, method, sent, answer) for k, answer in enumerate(coming)]
        if all(answer is None for answer in answers):
            self._told.append((method, sent))
        return answers

    def sum(self, method: str, *arguments: Any) -> Arrays:
        """Add up what a method answers, in the order of the shards."""
        return added(self.each(method, *arguments))

    def close(self) -> None:
        """Let go of the shards and their processes."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors.clear()

    def _start(self, k: int) -> Any:
        host = self._ray.remote(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")(_Host)
        return host.remote(self._parts[k])

    def _answer(self, k: int, method: str, sent: Any, coming: Any) -> Any:
        """The answer of one shard; if it has died, that of a new one that was told the same."""
        errors = self._ray.exceptions
        for _ in range(_MOST_DEATHS):
            try:
                return pickle.loads(self._ray.get(coming))
            except errors.RayTaskError as error:
                raise error.cause from error  # what the shard itself raised
            except errors.RayActorError as error:
                reason = error
            self.deaths += 1
            self._ray.kill(self._actors[k])
            self._actors[k] = self._start(k)
            for before, what in self._told:
                self._actors[k].call.remote(before, what)  # an actor does one thing after the other
            coming = self._actors[k].call.remote(method, sent)
        raise FermiError(f"A worker died {_MOST_DEATHS} times at the same work: {_first_line(reason)}") from reason


class RayEngine:
    """The engine of a Ray cluster.

    A session of Ray that is open already is used. Else Ray connects as `ray.init` does: to the address, to that in
    `RAY_ADDRESS`, or to a cluster of this machine alone, which it starts. Where the cluster asks for a token
    (`RAY_AUTH_MODE=token`), Ray takes it from `RAY_AUTH_TOKEN`, the file `RAY_AUTH_TOKEN_PATH` or `~/.ray/auth_token`.

    Parameters
    ----------
    address : str, optional
        The cluster, such as ``"ray://head:10001"`` or ``"10.0.0.1:6379"``.
    workers : int, optional
        The number of shards, each on one core; by default as many as the cluster has cores.
    """

    name: ClassVar[str] = "ray"

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._ray = require("ray", extra="ray")
        self._asked = None if workers is None else whole("workers", workers, AT_LEAST_ONE, low=1)
        if address is not None and not isinstance(address, str):
            raise bad_argument("address", f"is {address!r}", "the address of a Ray cluster, or None")
        connect(self._ray, address)

    @property
    def workers(self) -> int:
        """The number of shards that can work at the same time."""
        return self._asked or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def open(self, make: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> RayShards:
        """Make each shard in an actor of its own."""
        return RayShards(self._ray, make, parts)


def connect(ray: Any, address: str | None) -> None:
    """Connect to a cluster, unless this process is connected; say in one sentence why that is not possible."""
    if ray.is_initialized():
        return
    try:
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        where = f" at {address!r}" if address else ""
        reason = _first_line(error).rstrip(".")
        raise FermiError(
            f"There is no connection to a Ray cluster{where}: {reason}. If the cluster asks for a token, "
            "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH must be set."
        ) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
