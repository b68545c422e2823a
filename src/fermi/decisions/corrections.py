"""What is added to the rates of the stage to get the true ones, found by trying."""

from __future__ import annotations

import numpy as np

from fermi._typing import Floats

SETTLED = 2e-3  # of a rate
_MEMORY = 3


class Corrections:
    """Finds the correction that reproduces itself, by Anderson's method: a mixture of the last ones that errs least."""

    def __init__(self) -> None:
        self.tried: list[tuple[Floats, Floats]] = []

    def next(self, shift: Floats, error: Floats) -> Floats:
        """The next correction to try after one that was off by `error`."""
        self.tried = [*self.tried[-_MEMORY:], (shift, error)]
        if len(self.tried) == 1:
            return shift + error
        shifts, errors = (np.stack([entry[part].ravel() for entry in self.tried]) for part in (0, 1))
        steps = np.diff(errors, axis=0).T
        # Rounding to whole rows is noise in the errors, which must not be amplified.
        ridge = steps.T @ steps + (0.1 * SETTLED) ** 2 * np.eye(steps.shape[1])
        mix = np.linalg.solve(ridge, steps.T @ errors[-1])
        mixed: Floats = shifts[-1] + errors[-1] - (np.diff(shifts, axis=0).T + steps) @ mix
        return mixed.reshape(shift.shape)
