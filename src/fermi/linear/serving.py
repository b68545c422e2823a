"""Scores of a fitted linear model, and its copy for scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fermi._typing import Floats
from fermi.errors import FermiError, bad_argument
from fermi.inputs.features import read_features
from fermi.inputs.sharing import remembered


class LinearScores:
    """How an estimator with `coef_`, `intercept_` and `classes_` scores rows."""

    coef_: Floats
    intercept_: Floats
    classes_: NDArray[Any]

    def decision_function(self, X: Any) -> Floats:
        """Logits of each row, from which probabilities and labels follow.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix, n × d
            Features.

        Returns
        -------
        (n,) or (n, m) array
            The logit of the second class where there are two, else one per class.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        known = None if names is None else "\n".join(names)
        matrix, _ = remembered(("features", known, X), lambda: read_features(self, X, reset=False))
        with np.errstate(over="ignore", invalid="ignore"):
            logits: Floats = np.asarray(matrix @ self.coef_.T.astype(matrix.dtype)) + self.intercept_
        if not np.isfinite(logits).all():
            raise bad_argument("X", "holds numbers too large for this model", "rows like those of `fit`")
        return logits[:, 0] if len(self.coef_) == 1 else logits

    def to_sklearn(self) -> Any:
        """Copy the model into a plain scikit-learn classifier, for serving without fermi.

        Returns
        -------
        sklearn.linear_model.LogisticRegression
            Fitted, with the same predictions.
        """
        from sklearn.linear_model import LogisticRegression

        check_is_fitted(self)
        if getattr(self, "decision_", "argmax") == "labels":
            raise FermiError(
                "A LogisticRegression cannot carry this model's labels: `decision_` is 'labels', so that they depend "
                "on a group model as well; fit with decision='argmax', or serve this model itself."
            )
        model = LogisticRegression()
        for name in ("coef_", "intercept_", "classes_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name).copy())
        model.n_features_in_ = self.coef_.shape[1]
        model.n_iter_ = np.array([getattr(self, "n_iter_", 1)], dtype=np.int32)
        return model
