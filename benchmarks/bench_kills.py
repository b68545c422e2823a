"""A fit on a stream that is killed again and again with SIGKILL, and goes on from its checkpoint.

25 kills: at random moments of epochs and of exact passes, every second one while a checkpoint is being written. The
model must equal that of an uninterrupted fit in every bit.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import fermi

CHILD = """
import sys
import numpy as np
from fermi import FermiClassifier
from fermi.stream import _run, _saving, fit_stream
folder, checkpoint, out, solver, block = sys.argv[1:6]
_run.LARGEST_BLOCK = int(block)
_saving.RARELY = 0.0
model = FermiClassifier(lam=2.0, solver=solver, random_state=3, tol=1e-9)
fit_stream(model, folder, target="y", sensitive="sex", checkpoint=checkpoint or None)
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
    before = _names(checkpoint.parent)  # what earlier kills have left
    while child.poll() is None:
        writing = any(name.startswith(prefix) and name not in before for name in _names(checkpoint.parent))
        if time.perf_counter() > until + 20.0 or (time.perf_counter() > until and writing >= wait_for_write):
            return writing
        if not writing:
            time.sleep(0.0005)
    return False


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """Both solvers, killed 13 and 12 times."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "rows"
        folder.mkdir()
        for k in range(4):
            data = fermi.datasets.synthetic(n=2_000 if quick else 20_000, seed=k)
            frame = data.X_train.assign(y=data.y_train, **{"sex": data.s_train.iloc[:, 0]})
            frame.to_parquet(folder / f"part-{k}.parquet", row_group_size=2_000)
        kills = {"sgda": 2 if quick else 13, "lbfgs": 1 if quick else 12}
        work = Path(temporary) / "work"
        return [{"case": solver, **killed_again(folder, work, solver, kills=n)} for solver, n in kills.items()]


def show(cases: list[dict[str, Any]]) -> None:
    """Print the cases."""
    for case in cases:
        words = "equal in every bit" if case["equal"] else "NOT EQUAL"
        print(f"{case['solver']}: killed {case['kills']} times, {case['while_writing']} while writing: {words}")
