"""A network of one linear layer ends where the exact solver of the linear model does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

from sklearn.preprocessing import StandardScaler

import fermi
from fermi.datasets import Dataset
from fermi.torch import FermiNet, models
from tests.torch.samples import table

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", fermi.EqualOpportunity({"two", "one"})])
def test_a_linear_module_reaches_the_objective_of_the_linear_model(notion: Any) -> None:
    X, y, s = table()
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    s = np.where(np.arange(len(s)) % 7 == 0, None, s)
    options = {"sensitive_features": {"s": s, "t": y == "one"}, "sample_weight": weight}
    for attributes in ("intersection", "each"):
        exact = fermi.FermiClassifier(notion, 2.0, attributes=attributes, l2=0.0, class_weight={"two": 2.0})
        net = FermiNet(models.logistic, notion, 2.0, attributes=attributes, class_weight={"two": 2.0}, lr=0.01)
        net.set_params(max_epochs=60, random_state=0)
        best = exact.fit(X, y, **options).history_[-1]
        last = net.fit(X, y, **options).history_[-1]
        assert last["objective"] == pytest.approx(best["objective"], rel=0.01)
        assert 0 <= last["dual_gap"] < 0.01 * best["objective"]
        assert net.groups_ == exact.groups_
        assert net.dual_.shape == exact.dual_.shape
        assert net.predict_proba(X) == pytest.approx(exact.predict_proba(X), abs=0.1)


def test_a_linear_module_on_adult(adult_numbers: Dataset) -> None:
    data = adult_numbers
    X = StandardScaler().fit_transform(data.X_train)
    exact = fermi.FermiClassifier(lam=5.0, l2=0.0, max_iter=3000).fit(X, data.y_train, sensitive_features=data.s_train)
    net = FermiNet(models.logistic, lam=5.0, lr=5e-3, max_epochs=5, batch_size=128, random_state=0)
    net.fit(X, data.y_train, sensitive_features=data.s_train)
    assert net.history_[-1]["objective"] == pytest.approx(exact.history_[-1]["objective"], rel=0.01)
