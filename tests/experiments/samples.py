"""Made-up records of runs."""

from __future__ import annotations

from typing import Any

import pandas as pd


def records(rival: float = 0.02, splits: int = 3) -> pd.DataFrame:
    """Runs of four methods; what is best on validation rows is not what is best on test rows."""
    rows = []
    for split in range(splits):
        for method, shift in (("fermi", 0.0), ("mary", rival), ("hardt", -0.1), ("none", 0.0)):
            for strength, violation in ((0.0, 0.2), (0.5, 0.04), (1.0, 0.005)):
                error = 0.3 - violation / 2 + shift + 0.02 * split  # splits differ more than methods do
                rows.append(
                    {
                        "dataset": "d",
                        "split": split,
                        "seed": 0,
                        "blind": True,
                        "notion": "demographic_parity",
                        "method": method,
                        "strength": strength,
                        "seconds": 1.0,
                        "val_error": error,
                        "val_gaps": [violation, -violation / 2],
                        "val_standard_error": 0.02,
                        "test_error": error + 0.05 * violation + 0.0001 * split * shift,
                        "test_gaps": [0.0, violation / 4 - 0.06],
                        "test_standard_error": 0.01,
                        "val_soft_error": error,
                        "val_soft_gaps": [violation],
                        "test_soft_error": error,
                        "test_soft_gaps": [violation],
                        "test_constant_error": 0.5,
                        "val_constant_error": 0.5,
                        "test_block_errors": [error - 0.01, error, error + 0.01],
                        "test_constant_block_errors": [0.4, 0.5, 0.6],
                    }
                )
    return pd.DataFrame(rows)


def lost(some: pd.DataFrame, where: Any, name: str) -> pd.Series[Any]:
    """The column with a large gap in some rows."""
    return pd.Series([[0.5, 0.0] if hit else old for hit, old in zip(where, some[name], strict=True)], some.index)
