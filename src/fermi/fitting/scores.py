"""Predictions from scores, which are (n,) logits of the second of two classes, or (n, m) logits."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from fermi._typing import Floats, Ints


def probabilities(scores: Any) -> Floats:
    """The probabilities F of all classes, n × m, from scores."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    found: Floats = softmax(scores, axis=1)
    return found


def most_probable(scores: Any) -> Ints:
    """The code of each row's most probable class."""
    codes: Ints = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
    return codes
