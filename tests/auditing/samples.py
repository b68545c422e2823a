"""Made-up predictions to audit, and what is read off an audit."""

from __future__ import annotations

from typing import Any

import numpy as np

import fermi

Rows = dict[str, Any]


def rows(n: int = 600, k: int = 4, m: int = 3, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    s = rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))
    y = rng.integers(0, m, n)
    F = rng.dirichlet(np.ones(m), n) + np.eye(m)[y] * rng.random((n, 1)) + 0.3 * np.eye(m)[s % m]
    F /= F.sum(axis=1, keepdims=True)
    return {"y": y, "s": s, "F": F, "labels": F.argmax(axis=1), "w": rng.integers(1, 5, n).astype(float)}


def frame_of(found: fermi.Audit) -> Any:
    return found.frame  # of any type: the stubs of pandas know of every kind of entry


def estimates(found: fermi.Audit) -> dict[str, tuple[float, float, float]]:
    return {f"{m.name} {m.soft}": (m.estimate.value, m.estimate.low, m.estimate.high) for m in found.record.measures}
