"""The figures of one model on some rows, as the frame of a curve has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fermi._typing import Floats, Ints
from fermi.fitting.problem import Problem
from fermi.formulas.gaps import standard_error
from fermi.measures import ermi, linf_violation, parity_difference
from fermi.measures.contingency import Contingency


class Predicted(NamedTuple):
    """Predictions for some rows: the code of each label, and the probabilities where the method has them."""

    labels: Ints
    F: Floats | None


def figures(rows: Problem, predicted: Predicted) -> dict[str, float]:
    """The error and violations of predictions; of several attributes, the worst one's."""
    F, m, cells = predicted.F, rows.n_classes, rows.cells()
    hard = [part.hard(predicted.labels, m) for part in cells]
    squares = [part.hard_squares(predicted.labels, m) for part in cells]
    soft = [] if F is None else [part.soft(F) for part in cells]
    counted = zip(hard, squares, strict=True)
    gaps = [(parity_difference(Contingency(t)), standard_error(t, sq)) for t, sq in counted if _compares(t)]
    gap, noise = max(gaps, default=(math.nan, math.nan))
    n = len(rows.target)
    return {
        "rows": n,
        "error": float(np.mean(predicted.labels != rows.target)),
        "error_soft": math.nan if F is None else float(np.mean(1.0 - F[np.arange(n), rows.target])),
        "ermi": _worst(ermi, soft),
        "ermi_hard": _worst(ermi, hard),
        "violation": gap,
        "violation_soft": _worst(parity_difference, soft),
        "standard_error": noise,
        "linf": _worst(linf_violation, hard),
        "linf_soft": _worst(linf_violation, soft),
        "constant": bool((predicted.labels == predicted.labels[0]).all()),
    }


def _compares(table: Floats) -> bool:
    """Whether two groups have rows under some condition: the absence of a group is no parity."""
    return bool(((table.sum(axis=2) > 0).sum(axis=1) > 1).any())


def _worst(measure: Callable[[Contingency], float], tables: list[Floats]) -> float:
    """The largest value of a measure over tables, or NaN where no two groups can be compared."""
    return max((float(measure(Contingency(table))) for table in tables if _compares(table)), default=math.nan)
