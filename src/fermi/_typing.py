"""The arrays that the package speaks of, by name; importing this loads numpy and nothing else."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Law: TypeAlias = NDArray[np.float64]  # of (group, prediction): groups in rows, at least zero, of sum one
