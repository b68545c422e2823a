"""The exponential that compiled loops predict with: numpy's to the last digits, and finite at the ends."""

from __future__ import annotations

import numpy as np
import pytest

from fermi.compiled.exponential import both, exponential


def test_the_exponential_to_the_last_digits() -> None:
    x = np.concatenate([np.linspace(-708.0, 708.0, 4001), np.linspace(-1.0, 1.0, 1001)])
    found = np.array([exponential(value) for value in x])
    assert found == pytest.approx(np.exp(x), rel=1e-15, abs=0.0)


def test_beyond_its_range_the_exponential_stays_at_the_ends() -> None:
    assert exponential(1e300) == exponential(np.inf) == exponential(708.0) > 1e307
    assert 0.0 < exponential(-np.inf) == exponential(-708.0) < 1e-307
    assert np.isnan(exponential(np.nan))


@pytest.mark.parametrize("logit", [-800.0, -40.0, -1.5, 0.0, 0.3, 40.0, 800.0])
def test_both_probabilities_are_accurate_however_small(logit: float) -> None:
    first, second = both(logit)
    expected = np.exp(-np.logaddexp(0.0, [logit, -logit]))
    assert [first, second] == pytest.approx(expected, rel=1e-13, abs=1e-307)
    assert first + second == pytest.approx(1.0, rel=1e-15)
