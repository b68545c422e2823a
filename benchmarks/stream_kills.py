"""A fit on a stream that is killed again and again and goes on from its checkpoint; for `fermi bench kills` and tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

CHILD = """
import json, sys
import numpy as np
from fermi import FermiClassifier
from fermi.stream import fit_stream, fit
from fermi.stream import _shard
folder, checkpoint, out, solver, block = sys.argv[1:6]
fit._LARGEST_BLOCK = int(block)
fit._RARELY = 0.0
model = FermiClassifier(lam=2.0, solver=solver, random_state=3, tol=1e-9)
fit_stream(model, folder, target="y", sensitive=["sex", "race"], checkpoint=checkpoint or None)
np.savez(out, coef=model.coef_, intercept=model.intercept_, dual=model.dual_)
"""


def run(folder: Path, checkpoint: Path | None, out: Path, solver: str, block: int) -> subprocess.Popen[bytes]:
    """Start a fit in a process of its own, which writes its model to `out`."""
    given = [str(folder), "" if checkpoint is None else str(checkpoint), str(out), solver, str(block)]
    return subprocess.Popen([sys.executable, "-c", CHILD, *given])


def killed_again(
    folder: Path, work: Path, solver: str, *, kills: int, seed: int = 0, block: int = 4096
) -> dict[str, Any]:
    """Kill a fit so many times, every second time while it writes a checkpoint; compare with an uninterrupted one."""
    work.mkdir(parents=True, exist_ok=True)
    rng, whole, out = np.random.default_rng(seed), work / f"whole-{solver}.npz", work / f"killed-{solver}.npz"
    began = time.perf_counter()
    if run(folder, None, whole, solver, block).wait():
        raise RuntimeError("the uninterrupted fit failed")
    lasted = time.perf_counter() - began
    checkpoint = work / f"state-{solver}.npz"
    made, while_writing = 0, 0
    while made < kills:
        child = run(folder, checkpoint, out, solver, block)
        writing = _watch(child, checkpoint, float(rng.uniform(0.3, 1.0)) * lasted, wait_for_write=bool(made % 2))
        if child.poll() is None:
            os.kill(child.pid, signal.SIGKILL)
            made, while_writing = made + 1, while_writing + writing
        elif child.returncode:
            raise RuntimeError("a fit failed that was not killed")
        child.wait()
    if run(folder, checkpoint, out, solver, block).wait():
        raise RuntimeError("the last fit failed")
    with np.load(whole) as one, np.load(out) as other:
        equal = all(np.array_equal(one[name], other[name]) for name in one.files)
    left = [path.name for path in (checkpoint, *checkpoint.parent.glob(f"{checkpoint.name}.*")) if path.exists()]
    return {"solver": solver, "kills": made, "while_writing": while_writing, "equal": equal, "left": left}


def _watch(child: subprocess.Popen[bytes], checkpoint: Path, seconds: float, *, wait_for_write: bool) -> bool:
    """Wait for a moment, or for a checkpoint being written after it; whether it is."""
    until, prefix = time.perf_counter() + seconds, f".{checkpoint.stem[:20]}-"
    before = set(os.listdir(checkpoint.parent))  # what earlier kills have left
    while child.poll() is None:
        writing = any(name.startswith(prefix) and name not in before for name in os.listdir(checkpoint.parent))
        if time.perf_counter() > until + 20.0 or (time.perf_counter() > until and writing >= wait_for_write):
            return writing
        if not writing:
            time.sleep(0.0005)
    return False


if __name__ == "__main__":
    print(json.dumps(killed_again(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], kills=int(sys.argv[4]))))
