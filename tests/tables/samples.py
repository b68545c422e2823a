"""A table of made-up people, with awkward words in it."""

from __future__ import annotations

import numpy as np
import pandas as pd


def people(n: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    score = rng.normal(size=n) + (group == "a")
    return pd.DataFrame(
        {
            "score": score,
            "colour of hair": rng.choice(["brün", "red, dark", 'grey"'], n),
            "group": group,
            "hired": np.where(score + rng.normal(size=n) > 0.5, "yes", "no"),
        }
    )


def scored(n: int = 1500, seed: int = 0) -> pd.DataFrame:
    """People with somebody's probability of being hired, and a column that half tells the group."""
    frame = people(n, seed)
    hint = (frame["group"] == "a") + np.random.default_rng(seed + 1).normal(size=n).round(3)
    return frame.assign(hint=hint, p=1 / (1 + np.exp(0.7 - frame["score"])))
