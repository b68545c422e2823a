"""Training of the rivals that are networks: small batches, divergence, rows without a group, what to install."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from torch import nn

import fermi
from fermi import baselines
from fermi.baselines.common.networks import TorchBaseline
from fermi.torch import models

TORCH = [name for name in baselines.available() if issubclass(baselines.find(name), TorchBaseline)]


def small() -> tuple[Any, Any, list[int | None]]:
    """A few rows with two classes and two groups, some unknown."""
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(40, 3)), rng.integers(2, size=40)
    y = (X[:, 0] + s + rng.normal(size=40) > 0.5).astype(int)
    return X, y, [None if i % 7 == 0 else int(code) for i, code in enumerate(s)]


@pytest.mark.parametrize("size", [1, *(pytest.param(size, marks=pytest.mark.slow) for size in (2, 4))])
@pytest.mark.parametrize("kind", ["linear", "mlp", "double"])
@pytest.mark.parametrize("name", TORCH)
def test_small_batches(name: str, kind: str, size: int) -> None:
    """No crash, no NaN, and nobody else's random numbers used."""
    mlp = functools.partial(models.mlp, hidden=(8,))
    module = {"linear": None, "mlp": mlp, "double": lambda d, m: models.logistic(d, m).double()}[kind]
    before = torch.get_rng_state(), np.random.get_state(legacy=False)["state"]["key"]  # noqa: NPY002
    for notion in baselines.find(name).capabilities.notions:
        X, y, s = small()
        model = baselines.make(name, 1.0, notion, 0, module=module, batch_size=size, steps=12)
        F = model.fit(X, y, sensitive_features=s).predict_proba(X)
        assert np.isfinite(F).all()
        again = baselines.make(name, 1.0, notion, 0, module=module, batch_size=size, steps=12)
        assert np.array_equal(again.fit(X, y, sensitive_features=s).predict_proba(X), F)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state(legacy=False)["state"]["key"], before[1])  # noqa: NPY002


@pytest.mark.parametrize("name", TORCH)
def test_training_that_diverges(name: str) -> None:
    X, y, s = small()
    with pytest.raises(fermi.FermiError, match="Training diverged: choose a smaller `lr` or `strength`"):
        baselines.make(name, 1.0, random_state=0, lr=1e36, steps=6).fit(1e3 * X, y, sensitive_features=s)


@pytest.mark.slow
@pytest.mark.parametrize("name", TORCH)
def test_rows_without_a_group_train_the_loss(name: str) -> None:
    """Only they tell how the class follows X[:, 0]; the others carry labels at random."""
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(400, 5)), rng.integers(2, size=400).astype(object)
    s[100:] = None
    rates = []
    for told in (X[:, 0] > 0, X[:, 0] < 0):
        y = np.where(np.arange(400) < 100, rng.integers(2, size=400), told)
        model = baselines.make(name, 0.25, random_state=0, steps=120).fit(X, y, sensitive_features=s)
        rates.append((model.predict(X) == told).mean())
    assert min(rates) > 0.7


class Missing:
    """An importer for which a package is not installed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == self.name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize("name", ["cooper", "fairret"])
def test_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [module for module in sys.modules if module.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [Missing(name), *sys.meta_path])
    X, y, s = small()
    with pytest.raises(fermi.errors.MissingExtraError, match=rf"needs `{name}.*fermi-fair\[baselines\]"):
        baselines.make(name, 1.0, steps=3).fit(X, y, sensitive_features=s)


def test_a_module_must_suit_the_rows() -> None:
    rng = np.random.default_rng(0)
    X, y, s = rng.standard_normal((40, 4)), rng.integers(0, 2, 40), rng.integers(0, 2, 40)
    for outputs in (1, 3):
        with pytest.raises(
            fermi.FermiError, match=r"`module` returns the shape \(1, \d\) for 1 rows; expected \(1, 2\)"
        ):
            baselines.make("mary", module=nn.Linear(4, outputs)).fit(X, y, sensitive_features=s)
    with pytest.raises(fermi.FermiError, match=r"`module` fails on rows of shape \(4,\)"):
        baselines.make("mary", module=nn.Linear(3, 2)).fit(X, y, sensitive_features=s)


def test_repair_where_groups_are_known_in_one_class_alone() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 2, 60)
    s = [None if label == 0 else int(group) for label, group in zip(y, rng.integers(0, 2, 60), strict=True)]
    model = baselines.make("repair", 1.0, random_state=0, steps=5).fit(X, y, sensitive_features=s)
    assert model.predict(X).shape == (60,)
