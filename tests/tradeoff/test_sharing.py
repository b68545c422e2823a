"""A curve reads its rows once, and gives the models that fits of their own would give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fermi
from fermi import FermiClassifier
from fermi.inputs import features
from fermi.linear.design import Design


@pytest.mark.parametrize("cv", [None, 2])
def test_rows_are_read_and_measured_once_per_fold(cv: int | None, monkeypatch: Any) -> None:
    data = fermi.datasets.synthetic(n=2000, bias=0.9, rated=False).numeric()
    counts = {"designs": 0, "features": 0}
    of, refuse = Design.of.__func__, features.refuse_infinite  # type: ignore[attr-defined]

    def counted_of(cls: Any, *args: Any, **options: Any) -> Any:
        counts["designs"] += 1
        return of(cls, *args, **options)

    def counted_refuse(*args: Any, **options: Any) -> None:
        counts["features"] += 1
        refuse(*args, **options)

    monkeypatch.setattr(Design, "of", classmethod(counted_of))
    monkeypatch.setattr(features, "refuse_infinite", counted_refuse)
    lams = [0.0, 1.0, 3.0, 10.0]
    curve = fermi.tradeoff_curve(
        FermiClassifier(), data.X_train, data.y_train, sensitive_features=data.s_train,
        X_test=data.X_test, y_test=data.y_test, sensitive_test=data.s_test, lams=lams, cv=cv, progress=False,
    )  # fmt: skip
    folds = 1 if cv is None else cv + 1
    assert counts["designs"] == folds
    assert counts["features"] == (4 if cv is None else 2 * cv + 3)  # fit, train, judged rows, test
    for lam, model in zip(lams, curve.models, strict=True):
        assert model.feature_names_in_.tolist() == list(data.X_train.columns)
        assert model.lam_ == lam
    if cv is not None:
        alone = FermiClassifier(lam=10.0, tol=1e-7).fit(data.X_train, data.y_train, sensitive_features=data.s_train)
        assert alone.history_[-1]["objective"] == pytest.approx(curve.models[-1].history_[-1]["objective"], abs=1e-7)
        assert np.abs(alone.coef_ - curve.models[-1].coef_).max() < 1e-2
