"""Rows for a network: tables, images or texts, as arrays of any number of dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fermi._kernels import Floats
from fermi.errors import bad_argument
from fermi.features import read_features

_CHUNK = 2048  # rows predicted at once


def read_rows(estimator: Any, X: Any, y: Any = None, *, reset: bool) -> tuple[Any, Any]:
    """X as an array or a CSR matrix and y as an array; tables are checked as scikit-learn does."""
    if isinstance(X, Tensor):
        X = X.detach().cpu().numpy()
    y = y.detach().cpu().numpy() if isinstance(y, Tensor) else y
    if not isinstance(X, np.ndarray) or (X.ndim <= 2 and X.dtype.kind not in "iu"):
        return read_features(estimator, X, y, reset=reset)
    if X.ndim < 2 or X.dtype.kind not in "fiu":
        raise bad_argument("X", f"is {X.dtype} of shape {X.shape}", "numbers, one row per entry of the first axis")
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        raise bad_argument("X", "holds NaN or inf", "finite numbers")
    if reset:
        estimator.n_features_in_, estimator._row_shape = X.shape[1], X.shape[1:]
    elif X.shape[1:] != getattr(estimator, "_row_shape", X.shape[1:]) or X.shape[1] != estimator.n_features_in_:
        shape = getattr(estimator, "_row_shape", (estimator.n_features_in_,))
        raise bad_argument("X", f"has rows of shape {X.shape[1:]}", f"{shape}, as in fit")
    return X, None if y is None else np.asarray(y)


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
        """The rows on the module's device."""
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        tensor = torch.as_tensor(np.ascontiguousarray(dense))
        whole = not tensor.is_floating_point() and self.words
        return tensor.to(self.device, torch.int64 if whole else self.dtype)


@torch.no_grad()
def predict_logits(module: nn.Module, X: Any, device: torch.device) -> Floats:
    """Logits of all rows, in evaluation mode."""
    training, feed = module.training, Feed(module, device)
    module.eval()
    parts = [module(feed(X[i : i + _CHUNK])).double().cpu().numpy() for i in range(0, X.shape[0], _CHUNK)]
    module.train(training)
    return np.concatenate(parts)
