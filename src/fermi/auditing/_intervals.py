"""Intervals for the measures, by asking which violations could have given the table that was seen.

A violation is never negative, and its plug-in estimate is too large, the more so with many small groups: percentile
intervals of a bootstrap start at the wrong place and never hold 0. Instead a test is inverted. The law that was seen
lies on a ray that begins at independence, p(ŷ|s, z) = p(ŷ|z) + t·d(s, z, ŷ), where every measure grows with t. For a
number of t tables are drawn from the law at t; a measure's interval goes from the least t whose drawn values reach up
to the value seen to the largest t whose drawn values reach down to it.

Three additions, each for a way in which one ray misleads, found by simulation (`benchmarks/bench_coverage.py`):

- A value below the median of independence counts as that median at the upper end. Otherwise a lucky small value would
  give an interval of no width.
- A second ray without the deviations that are mere noise: on the first they would count as violations.
- The upper end is at least the value and its own normal error. When the worst place came out low by chance, the
  runner-up holds up the drawn values and hides how far it may be off; sums of deviations behave alike.
"""

from __future__ import annotations

from functools import partial
from statistics import NormalDist

import numpy as np

from fermi._typing import Floats
from fermi.auditing._noise import Sums
from fermi.formulas.ermi import nonzero
from fermi.formulas.stacked import NAMES, measures

_RATIO = NAMES.index("parity_ratio")
_SIGNED = NAMES.index("pearson_correlation")
# In units of the noise, around the law seen; then outwards in these steps as far as needed.
_STEPS = np.array([-6.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0])
_FURTHER = 6.0 * 1.6 ** np.arange(1, 9)
_AT_ONCE = 1 << 20  # cells of the tables that are drawn at a time
_MOST_GRADIENTS = 1 << 10
_PRIOR = 1.0  # rows of the pooled rates that every group is given: no rate of a direction is exactly 0 or 1
_CUT = 0.8  # of the nominal tails is cut off: the direction of the ray is an estimate too
_DENOISE = 2.0  # how many variances of a deviation are taken off its square


class Intervals:
    """The ends of the intervals of all measures, in the order of `NAMES`, and the p-value of independence.

    Attributes
    ----------
    low, high : (measures,) arrays
    p_value : float
        How often a table drawn under independence has at least the ERMI that was seen.
    """

    def __init__(self, sums: Sums, confidence: float, n_boot: int, seed: int, outcome: int | None = None) -> None:
        self._sums, self._tail, self._n_boot, self._seed = sums, (1.0 - confidence) / 2.0, n_boot, seed
        self._measures = partial(measures, outcome=outcome)  # of parity, about one class alone
        # The ratio falls where all others grow.
        self._sign = np.where(np.arange(len(NAMES)) == _RATIO, -1.0, 1.0)
        self._seen = self._sign * self._measures(sums.table)
        under = self._sign[:, None] * self._draws(sums.pooled)
        self.p_value = (1 + int(np.count_nonzero(under[0] >= self._seen[0] * (1 - 1e-12)))) / (1 + n_boot)
        self._independent = self._quantiles(under)
        directions = [self._direction(), self._denoised()]
        ends = [self._ends(d) for d in directions if d.any()]
        low, high = np.min([e[0] for e in ends], axis=0), np.max([e[1] for e in ends], axis=0)
        self._reach(low, high)
        # The plug-in value is too large and may lie beyond its interval, which few readers would take for right.
        low, high = self._sign * np.minimum(low, self._seen), self._sign * np.maximum(high, self._seen)
        self.low, self.high = np.minimum(low, high), np.maximum(low, high)

    def _direction(self) -> Floats:
        """The deviations of rates that were seen or, without any, those of a table drawn under independence."""
        sums = self._sums
        n = sums.effective[..., None]
        seen: Floats = (sums.rates - sums.pooled) * (n > 0)
        if np.abs(seen).max() < 1e-9:  # no violation at all, and so no direction
            drawn = Sums(sums.draw(sums.pooled, 1, np.random.default_rng(self._seed))[0], sums.squares, sums.soft)
            seen = (drawn.rates - sums.pooled) * (n > 0)
        return seen * n / (n + _PRIOR)

    def _denoised(self) -> Floats:
        """Every deviation of a rate less what noise adds to its square; 0 where noise is all of it."""
        sums, seen = self._sums, self._direction()
        p_s = sums.weight / nonzero(sums.weight.sum(axis=1, keepdims=True))
        noise = _DENOISE * sums.variance * (1.0 - p_s)[..., None]
        kept: Floats = seen * np.maximum(1.0 - noise / nonzero(seen**2), 0.0)
        return kept

    def _law(self, direction: Floats, t: float) -> Floats:
        rates = np.maximum(self._sums.pooled + t * direction, 0.0)
        total = rates.sum(axis=2, keepdims=True)
        return rates / np.where(total > 0, total, 1.0)

    def _draws(self, rates: Floats) -> Floats:
        """The measures of tables drawn from these rates, measures × draws; every law is drawn with the same chances."""
        rng = np.random.default_rng(self._seed)
        at_once = max(_AT_ONCE // rates.size, 1)
        sizes = [min(at_once, self._n_boot - done) for done in range(0, self._n_boot, at_once)]
        return np.concatenate([self._measures(self._sums.draw(rates, size, rng)) for size in sizes], axis=1)

    def _quantiles(self, drawn: Floats) -> Floats:
        """The lower end, the median and the upper end of each measure, as `np.quantile` has them but sooner."""
        tail = _CUT * self._tail
        place = np.array([tail, 0.5, 1.0 - tail]) * (drawn.shape[1] - 1)
        below = np.minimum(place.astype(np.int64), max(drawn.shape[1] - 2, 0))
        ordered = np.sort(drawn, axis=1)
        low, high = ordered[:, below].T, ordered[:, np.minimum(below + 1, drawn.shape[1] - 1)].T
        part = (place - below)[:, None]
        found: Floats = np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1.0 - part))
        return found

    def _at(self, direction: Floats, t: float) -> tuple[Floats, Floats]:
        """The measures of the law at t on the ray, and the quantiles of tables drawn from it."""
        law = self._law(direction, t)
        true = self._sign * self._measures(self._sums.weight[..., None] * law)
        return true, self._quantiles(self._sign[:, None] * self._draws(law))

    def _ends(self, direction: Floats) -> tuple[Floats, Floats]:
        """The ends of the intervals that inverting the test along one ray gives."""
        start = np.where(self._sign < 0, -1.0, 0.0)  # independence, without the rounding
        found = {0.0: (start, self._independent)}
        strength = self._measures(self._sums.weight[..., None] * self._law(direction, 1.0))[0]
        unit = np.sqrt(max(self._sums.ermi_bias(), 1e-15) / max(strength, 1e-15))
        for step in _STEPS:
            if 1.0 + step * unit > 0.0:
                found[1.0 + step * unit] = self._at(direction, 1.0 + step * unit)
        seen, raised = self._seen, np.maximum(self._seen, self._independent[1])
        asked = np.arange(len(NAMES)) != _SIGNED
        for step in _FURTHER:
            top = max(found)
            if (found[top][1][0] >= raised)[asked].all():
                break
            found[1.0 + step * unit] = self._at(direction, 1.0 + step * unit)
            if np.allclose(found[top][0], found[max(found)][0], rtol=1e-3):
                break  # every rate is 0 or 1 by now
        for step in _FURTHER:
            bottom = min(t for t in found if t > 0.0)
            if 1.0 - step * unit <= 0.0 or (found[bottom][1][2] <= seen)[asked].all():
                break
            found[1.0 - step * unit] = self._at(direction, 1.0 - step * unit)
        along = [found[t] for t in sorted(found)]
        true = np.stack([law for law, _ in along])
        low, high = (np.stack([quantiles[end] for _, quantiles in along]) for end in (0, 2))
        return (
            np.array([_least(true[:, j], high[:, j], seen[j]) for j in range(len(NAMES))]),
            np.array([_largest(true[:, j], low[:, j], raised[j]) for j in range(len(NAMES))]),
        )

    def _reach(self, low: Floats, high: Floats) -> None:
        """Widen intervals by normal errors: both ways for a signed measure, upwards for others, ratios in logs."""
        sums, z = self._sums, NormalDist().inv_cdf(1.0 - self._tail)
        error = z * self._errors(sums)
        low[_SIGNED] = max(self._seen[_SIGNED] - error[_SIGNED], -1.0)
        high[_SIGNED] = self._seen[_SIGNED]
        rank = min(sums.table.shape[1:])
        most = np.array([rank - 1.0, np.log(rank), np.log(rank), 1.0, 1.0, 2.0, 1.0, 1.0, 1.0])
        others = np.arange(len(NAMES)) != _RATIO
        high[others] = np.minimum(np.maximum(high, self._seen + error)[others], most)
        # Half a row more in every cell, as is usual for a ratio of rates, which may be 0.
        per_row = (sums.weight / nonzero(sums.effective))[..., None]
        smooth = Sums(sums.table + 0.5 * per_row * (per_row > 0), _with_half(sums, per_row), sums.soft)
        ratio = float(self._measures(smooth.table)[_RATIO])
        factor = float(np.exp(min(z * self._errors(smooth)[_RATIO] / ratio, 50.0)))
        low[_RATIO] = min(low[_RATIO], -min(ratio * factor, 1.0))
        high[_RATIO] = max(high[_RATIO], -ratio / factor)

    def _errors(self, sums: Sums) -> Floats:
        """Standard errors of the measures, from their gradients in every cell (of a maximum, where it is attained)."""
        table = sums.table
        if table.size > _MOST_GRADIENTS:
            spread: Floats = self._draws(sums.rates).std(axis=1)
            return spread
        # A small part of the group itself: a fixed number of rows would be many for a small group.
        step = np.broadcast_to(1e-5 * sums.weight[..., None], table.shape).ravel()
        moved = self._measures(table + np.diag(step).reshape(table.size, *table.shape)) - self._measures(table)[:, None]
        gradient = np.divide(moved, step, out=np.zeros_like(moved), where=step > 0)
        return sums.spread(np.moveaxis(gradient.reshape(len(NAMES), *table.shape), 0, -1))


def _with_half(sums: Sums, per_row: Floats) -> Floats:
    """The second moments of a table to which half a row is added in every cell."""
    extra = 0.5 * per_row**2 * np.ones(sums.table.shape)
    if sums.squares.ndim == 3:
        return sums.squares + extra
    return sums.squares + extra[..., None] * np.eye(sums.table.shape[2])


def _least(true: Floats, high: Floats, seen: float) -> float:
    """The value of a measure at the smallest t from where on drawn values reach up to the value seen."""
    reached = np.maximum.accumulate(high)
    if reached[0] >= seen:
        return float(true[0])
    if reached[-1] < seen:
        return float(true[-1])
    i = int(np.argmax(reached >= seen))
    between = (seen - reached[i - 1]) / (reached[i] - reached[i - 1])
    return float(true[i - 1] + between * (true[i] - true[i - 1]))


def _largest(true: Floats, low: Floats, seen: float) -> float:
    """The value of a measure at the largest t up to where drawn values reach down to the value seen."""
    reached = np.minimum.accumulate(low[::-1])[::-1]
    if reached[-1] <= seen:
        return float(true.max())
    if reached[0] > seen:
        return float(true[0])
    i = int(np.flatnonzero(reached <= seen)[-1])
    between = (seen - reached[i]) / (reached[i + 1] - reached[i])
    return float(true[i] + between * (true[i + 1] - true[i]))
