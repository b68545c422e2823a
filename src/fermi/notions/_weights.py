"""What the conditions of a notion count in training: the option `weights` of the notions that have several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.errors import bad_argument, listed
from fermi.formulas import condition_weights as formula
from fermi.inputs.arguments import number

BALANCED = "balanced"
_EXPECTED = "a dict of condition and weight, 'balanced' or None"
_NUMBERS = "numbers above 0 and up to 1e100"


def read_weights(given: Any) -> Any:
    """Check the option `weights` of a notion; a dict is copied, since the caller's may change later."""
    if given is None or (isinstance(given, str) and given == BALANCED):
        return given
    if not isinstance(given, Mapping):
        raise bad_argument("weights", f"is {given!r}", _EXPECTED)
    return {
        name: number("weights", value, _NUMBERS, low=0.0, open_low=True, high=1e100) for name, value in given.items()
    }


def refuse_unknown(weights: Any, conditions: Sequence[Any]) -> None:
    """Refuse weights of what is no condition."""
    strange = [name for name in weights if name not in conditions] if isinstance(weights, Mapping) else []
    if strange:
        raise bad_argument("weights", f"names {strange[0]!r}", f"one of the conditions {listed(conditions)}")


@dataclass(frozen=True, eq=False)
class ConditionWeights:
    """The weights of a notion's conditions in the fairness term.

    Attributes
    ----------
    given : "balanced" or dict
        What the caller gave; a condition that a dict does not name weighs 1.
    """

    given: Any

    def factors(self, p_z: Floats, conditions: Sequence[Any]) -> Floats:
        """The factor of each condition's rows, one on average: w_z over Σ w_z p(z).

        Parameters
        ----------
        p_z : (Z,) float64
            The weight of the rows of each condition.
        conditions : sequence
            The names of the conditions.

        Returns
        -------
        (Z,) float64
        """
        if self.given == BALANCED:
            weights = formula.balanced(p_z)
        else:
            weights = np.array([self.given.get(name, 1.0) for name in conditions])
        found: Floats = formula.mean_one(weights, p_z)
        return found
