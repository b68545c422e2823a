"""Predictions of a fitted linear model, and its copy for scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.utils.validation import check_is_fitted

from fermi._kernels import Floats
from fermi.features import read_features


class LinearPredictions:
    """What an estimator with `coef_`, `intercept_` and `classes_` predicts."""

    coef_: Floats
    intercept_: Floats
    classes_: NDArray[Any]

    def decision_function(self, X: Any) -> Floats:
        """Logits: (n,) of the second of two classes, else (n, m)."""
        check_is_fitted(self)
        matrix, _ = read_features(self, X, reset=False)
        logits: Floats = np.asarray(matrix @ self.coef_.T.astype(matrix.dtype)) + self.intercept_
        return logits[:, 0] if len(self.coef_) == 1 else logits

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, one row each."""
        logits = self.decision_function(X)
        if logits.ndim == 1:
            return np.column_stack([expit(-logits), expit(logits)])
        probabilities: Floats = softmax(logits, axis=1)
        return probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        logits = self.decision_function(X)
        codes = (logits > 0).astype(np.int64) if logits.ndim == 1 else logits.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def to_sklearn(self) -> Any:
        """A plain `sklearn.linear_model.LogisticRegression` with the same predictions, for serving without fermi."""
        from sklearn.linear_model import LogisticRegression

        check_is_fitted(self)
        model = LogisticRegression()
        for name in ("coef_", "intercept_", "classes_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name).copy())
        model.n_features_in_ = self.coef_.shape[1]
        model.n_iter_ = np.array([getattr(self, "n_iter_", 1)], dtype=np.int32)
        return model
