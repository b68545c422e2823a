"""Labels that are not the most probable classes, as numbers and arrays: what a model folder holds of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._archive import Archive
from fermi._typing import Floats, Ints
from fermi.decisions.group_models import CellModel, LinearCells
from fermi.decisions.rule import Rule
from fermi.fitting.label_stage import AdjustedLabels


def portable(labels: AdjustedLabels) -> AdjustedLabels:
    """Turn group models into coefficients alone, which a file can hold; the labels stay the same."""
    models = [
        model if model.model is None else CellModel(LinearCells.of(model.model), model.kinds, model.n_cells)
        for model in labels.group_models
    ]
    return AdjustedLabels(labels.rule, tuple(models))


def dump_labels(labels: AdjustedLabels) -> tuple[dict[str, Any], dict[str, Floats | Ints]]:
    """Take labels apart into facts for JSON and arrays."""
    arrays: dict[str, Floats | Ints] = dict(labels.rule.arrays())
    models = portable(labels).group_models
    for t, model in enumerate(models):
        arrays[f"kinds{t}"] = model.kinds
        if model.model is not None:
            arrays |= {f"coef{t}": model.model.coef, f"intercept{t}": model.model.intercept}
    return {"cells": [model.n_cells for model in models]}, arrays


def restore_labels(facts: dict[str, Any], arrays: Archive, n_classes: int, width: int) -> AdjustedLabels:
    """Put labels together again from what `dump_labels` gave; refuses arrays that do not belong together.

    Parameters
    ----------
    facts, arrays
        What `dump_labels` gave.
    n_classes : int
        How many classes the model has.
    width : int
        How many features.

    Returns
    -------
    AdjustedLabels
        They give every row the same label.
    """
    cells = facts.get("cells") if isinstance(facts, dict) else None
    if not isinstance(cells, list) or not cells or any(type(count) is not int or count < 1 for count in cells):
        raise ValueError("the labels do not say how many cells there are")
    shapes = {"psi": (sum(cells), n_classes), "mean": (sum(cells),), "offset": (n_classes,)}
    if "costs" in arrays.names:
        shapes["costs"] = (n_classes, n_classes)
    rule = Rule.from_arrays({name: arrays.numbers(name, shape) for name, shape in shapes.items()})
    return AdjustedLabels(rule, tuple(_group_model(arrays, t, count, width) for t, count in enumerate(cells)))


def _group_model(arrays: Archive, t: int, n_cells: int, width: int) -> CellModel:
    shape = arrays.shape(f"kinds{t}")
    if len(shape) != 1 or not 0 < shape[0] <= n_cells + 1:
        raise ValueError(f"the array kinds{t} of the labels is no list of cells")
    kinds = arrays.numbers(f"kinds{t}", shape, "iu").astype(np.int64)
    if len(set(kinds.tolist())) < len(kinds) or kinds.min() < 0 or kinds.max() > n_cells:
        raise ValueError(f"the array kinds{t} of the labels names cells that there are not")
    if len(kinds) == 1:
        return CellModel(None, kinds, n_cells)
    lines = 1 if len(kinds) == 2 else len(kinds)
    coef, intercept = (
        arrays.numbers(f"{name}{t}", shape) for name, shape in (("coef", (lines, width)), ("intercept", (lines,)))
    )
    return CellModel(LinearCells(coef, intercept, kinds), kinds, n_cells)
