"""Rows for a network: tables, images or texts, as arrays of any number of dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.utils import column_or_1d
from torch import Tensor, nn

from fermi._typing import Floats
from fermi.errors import bad_argument
from fermi.inputs.features import read_features

_CHUNK = 2048  # rows predicted at once


def read_rows(estimator: Any, X: Any, y: Any = None, *, reset: bool) -> tuple[Any, Any]:
    """Read X as an array or a CSR matrix and y as an array; tables are checked as scikit-learn does."""
    X, y = _array(X), _array(y)
    if isinstance(X, np.ndarray) and (X.ndim > 2 or (X.ndim == 2 and X.dtype.kind in "iu")):
        matrix, y = _read_any(estimator, X, y, reset=reset)
    else:
        matrix, y = read_features(estimator, X, y, reset=reset)
    if reset:
        estimator._row_shape = matrix.shape[1:]
    elif matrix.shape[1:] != estimator._row_shape:
        raise bad_argument("X", f"has rows of shape {matrix.shape[1:]}", f"{estimator._row_shape}, as in fit")
    return matrix, y


def _array(given: Any) -> Any:
    """A tensor as an array, anything else as it is."""
    if not isinstance(given, Tensor):
        return given
    dense = given.detach().cpu()
    return (dense.float() if dense.dtype == torch.bfloat16 else dense).numpy()


def _read_any(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
    """Read rows that are no table of floats, such as images or texts."""
    if X.dtype.kind not in "fiub" or len(X) == 0:
        raise bad_argument("X", f"is {X.dtype} of shape {X.shape}", "numbers, one row per entry of the first axis")
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        raise bad_argument("X", "holds NaN or inf", "finite numbers")
    if reset:
        if y is None:
            raise bad_argument("y", "is missing", "one label per row")
        estimator.n_features_in_ = X.shape[1]
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    return X, None if y is None else column_or_1d(y, warn=True)


class Feed:
    """Turns rows into the tensors that a module takes.

    Floats get the type of its parameters. Whole numbers stay whole if it looks them up in an `nn.Embedding`; otherwise
    they become floats as well.
    """

    def __init__(self, module: nn.Module, device: torch.device) -> None:
        self.device = device
        floats = (p.dtype for p in module.parameters() if p.is_floating_point())
        self.dtype = next(floats, torch.float32)
        self.words = any(isinstance(part, nn.Embedding | nn.EmbeddingBag) for part in module.modules())

    def __call__(self, rows: Any) -> Tensor:
        """Turn rows into a tensor on the module's device."""
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        # A copy: torch takes no read-only or reversed rows, and a module may change in place what it is given.
        tensor = torch.as_tensor(np.array(dense, order="C"))
        whole = not tensor.is_floating_point() and self.words
        return tensor.to(self.device, torch.int64 if whole else self.dtype)


@torch.no_grad()
def predict_logits(module: nn.Module, X: Any, device: torch.device) -> Floats:
    """Predict the logits of all rows, in evaluation mode."""
    training, feed = module.training, Feed(module, device)
    module.eval()
    parts = [module(feed(X[i : i + _CHUNK])).double().cpu().numpy() for i in range(0, X.shape[0], _CHUNK)]
    module.train(training)
    return np.concatenate(parts, axis=-2)


def first_logits(module: nn.Module, X: Any, n_classes: int, device: torch.device) -> Floats:
    """Predict the logits before training, which show whether module and rows suit each other."""
    expected = (X.shape[0], n_classes)
    try:
        logits = predict_logits(module, X, device)
    except (RuntimeError, ValueError, IndexError, AttributeError) as error:
        reason = str(error).splitlines()[0]
        raise bad_argument(
            "module", f"fails on rows of shape {X.shape[1:]} ({reason})", "a network for them, with logits out"
        ) from error
    if logits.shape != expected:
        raise bad_argument("module", f"returns the shape {logits.shape} for {expected[0]} rows", f"{expected}")
    return logits
