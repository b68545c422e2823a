"""The entries of `history_`, the same for everything that trains."""

from __future__ import annotations

from fermi.fitting.contract import Record
from fermi.fitting.objective import Value


def parts(value: Value, penalty: float = 0.0, **more: float) -> Record:
    """Loss, ERMI and the objective with its penalty on the weights, and whatever else a trainer knows of a point."""
    return {"loss": value.loss, "ermi": value.ermi, "objective": value.objective + penalty, **more}
