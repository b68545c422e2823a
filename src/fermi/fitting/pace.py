"""How fast W's running mean moves, and how long θ waits for it, in linear models and networks alike."""

from __future__ import annotations

from typing import Any

import numpy as np

RECENT = 4.0  # how much more a new row weighs than an old one in a mean that starts


def w_rate(lam: float, batch: int) -> float:
    """The weight of a batch in W's running mean: longer memory means less noise.

    Larger batches lessen the noise by themselves, and larger λ amplifies it. Found by experiment, on Adult and on
    made-up data.
    """
    rate: float = 6e-4 * batch**0.65 * max(lam, 1.0) ** -0.35
    return min(rate, 0.2)


def waiting_rate(steps: float) -> float:
    """The rate of W for which θ waits so many steps."""
    return min(RECENT / steps, 0.2)


def w_weight(step: Any, rate: float) -> Any:
    """The weight of a batch in W's running mean at given steps.

    At first the mean is over all steps so far, the later ones counting more.
    """
    return np.clip(RECENT / (step + RECENT), rate, 0.5)


def theta_share(step: Any, rate: float) -> Any:
    """The part of its size that θ's step has while it waits for W to find its place."""
    return np.minimum(1.0, step * rate / RECENT)
