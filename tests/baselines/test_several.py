"""Several strengths at once: the models are those of fits one by one, and what they share is made once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `baselines` is not installed")
pytest.importorskip("fairlearn", reason="the extra `baselines` is not installed")
pytest.importorskip("fairret", reason="the extra `baselines` is not installed")

import torch
from scipy.sparse import csr_array

from fermi import FermiError, baselines
from fermi.baselines.common import linear_models
from fermi.baselines.common.networks import TorchBaseline, cross_entropy, probabilities
from fermi.baselines.common.several import fit_each
from fermi.baselines.common.stacked import Stack
from fermi.baselines.fairret import NormPenalty
from fermi.torch.models import logistic
from tests.baselines.samples import NOTIONS, coded, draw

METHODS = [name for name in baselines.available() if name not in ("fairgbm", "repair")]
NETWORKS = [name for name in METHODS if issubclass(baselines.find(name), TorchBaseline)]
STRENGTHS = (0.0, 0.4, 1.0)


def rows(n: int = 300, unknown: float = 0.0) -> tuple[Any, Any, Any]:
    X, y, s = draw(n, k=2)
    names = np.where(np.random.default_rng(1).random(n) < unknown, None, np.array(["a", "b"], dtype=object)[s])
    return X, y, names


def both(name: str, notion: str, unknown: float = 0.0, **options: Any) -> tuple[list[Any], list[Any], Any]:
    """Methods fitted at once and one by one, and the rows."""
    X, y, s = rows(unknown=unknown)
    known = baselines.find(name)._get_param_names()
    own = {key: value for key, value in options.items() if key in known}

    def make(strength: float) -> Any:
        return baselines.make(name, strength, notion, 3, **own)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        many = fit_each(make(0.7), STRENGTHS, X, y, sensitive_features=s)
        single = [make(strength).fit(X, y, sensitive_features=s) for strength in STRENGTHS]
    return many, single, (X, y, s)


def assert_same(many: list[Any], single: list[Any], given: Any, atol: float) -> None:
    X, _, s = given
    for strength, one, other in zip(STRENGTHS, many, single, strict=True):
        assert one.strength == strength
        groups = s if one.capabilities.needs_attribute else None
        np.testing.assert_allclose(one.predict_proba(X, groups), other.predict_proba(X, groups), atol=atol)
        if not atol:
            assert one.predict(X, groups).tolist() == other.predict(X, groups).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in METHODS if name not in NETWORKS])
def test_other_methods_are_the_same_to_the_last_digit(name: str) -> None:
    for notion in baselines.find(name).capabilities.notions[:2]:
        assert_same(*both(name, notion), atol=0.0)


@pytest.fixture
def doubles() -> Iterator[None]:
    """Networks of double precision: Adam makes a step of full length even of a gradient that is rounding alone."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize("batch_size", [1000, 32])
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("name", NETWORKS)
def test_linear_networks_trained_side_by_side_are_those_trained_alone(name: str, notion: str, batch_size: int) -> None:
    many, single, given = both(name, notion, unknown=0.3, batch_size=batch_size, steps=40)
    assert_same(many, single, given, atol=1e-6)
    apart = np.abs(many[1].predict_proba(given[0]) - many[2].predict_proba(given[0])).max()
    assert apart > 1e-4  # each has its own weight


def test_what_is_trained_side_by_side() -> None:
    X, y, s = rows()
    method = baselines.make("mary", batch_size=64, steps=3, random_state=0)
    calls: list[Any] = []

    def spied(X: Any, **options: Any) -> list[Any]:
        made = baselines.make("mary", 0.5, random_state=options.pop("seed", 0), batch_size=64, steps=3, **options)
        kind = type("Spied", (type(made),), {"_fit": lambda self, *rest: calls.append(self.strength)})
        return fit_each(kind(**made.get_params()), STRENGTHS, X, y, sensitive_features=s)

    spied(X)
    assert calls == [0.0]
    for more in ({"module": logistic}, {"seed": None}):
        calls.clear()
        spied(X, **more)
        assert calls == list(STRENGTHS)
    calls.clear()
    spied(csr_array(X))
    assert calls == list(STRENGTHS)
    assert not hasattr(method, "module_")
    with pytest.raises(FermiError, match="`strength` is 2"):
        fit_each(method, [0.5, 2.0], X, y, sensitive_features=s)


@pytest.mark.parametrize("name", ["naive", "hardt", "rezaei", "zafar"])
def test_the_plain_model_is_trained_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    plain = linear_models.logistic_regression

    def counted(n: int) -> Any:
        made.append(n)
        return plain(n)

    monkeypatch.setattr(linear_models, "logistic_regression", counted)
    X, y, s = rows()
    fit_each(baselines.make(name), STRENGTHS, X, y, sensitive_features=s)
    fit_each(baselines.make(name), STRENGTHS, X, y, sensitive_features=s)
    assert made == [300, 300]  # and what is kept is kept for these rows alone


def test_a_stack_is_its_networks() -> None:
    torch.manual_seed(0)
    first, X, y = torch.nn.Linear(4, 3), torch.randn(20, 4), torch.randint(3, (20,))
    stack = Stack(first, 5)
    stack.weight.data += 0.1 * torch.randn_like(stack.weight)
    logits = stack(X)
    for own, network in zip(logits, stack.networks(), strict=True):
        torch.testing.assert_close(own, network(X))
    torch.testing.assert_close(probabilities(logits), logits.softmax(-1))
    expected = torch.stack([torch.nn.functional.cross_entropy(own, y) for own in logits])
    torch.testing.assert_close(cross_entropy(logits, y), expected)


@pytest.mark.parametrize("notion", NOTIONS)
def test_fairret_of_several_networks_is_the_library_s_of_each(notion: str) -> None:
    some = coded(notion, n=200, k=3)
    penalty = NormPenalty(some)
    columns = [torch.as_tensor(column) for column in (some.y, some.s, some.z)]
    logits = torch.randn(4, 200, 2, dtype=torch.float64, requires_grad=True)
    expected = torch.stack([penalty(own, *columns) for own in logits])
    torch.testing.assert_close(penalty(logits, *columns), expected)
    slopes = [torch.autograd.grad(value.sum(), logits)[0] for value in (penalty(logits, *columns), expected)]
    torch.testing.assert_close(slopes[0], slopes[1])
