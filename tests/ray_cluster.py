"""A Ray of the tests' own, on this machine alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# Ray sets options of its own that it has deprecated.
DEPRECATED = r"ignore:`\w+` is deprecated:DeprecationWarning:ray\.data\.context"


@contextmanager
def running(num_cpus: int = 2) -> Iterator[None]:
    """Start it, and end it afterwards; its sockets need a short path."""
    import ray

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="ray") as folder:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")  # it would leave a token in the home folder
        patch.setenv("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.2")  # every report waits for such a check
        patch.setenv("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "600")  # a busy machine may need more than a minute
        patch.setenv("RAY_TRAIN_ENABLE_PREEMPTION_WATCHER", "0")  # a process more; nobody takes this machine away
        patch.setenv("RAY_prestart_worker_first_driver", "0")  # nor are workers started that nobody asked for
        try:
            options: Any = {"include_dashboard": False, "log_to_driver": False, "_temp_dir": folder}
            ray.init("local", num_cpus=num_cpus, _node_ip_address="127.0.0.1", **options)
            yield
        finally:
            ray.shutdown()
