"""A made-up population of credit applicants whose law is known exactly.

Every applicant has a group S, a true standing V that the column `rating` shows, and an outcome Y that equals V except
for noise. V depends on the group, more so with more `bias`; given V, nothing else in the row helps to predict Y.
`district` is a proxy for the group; income, debt ratio and years employed follow V; age and purpose are noise. The
sensitive columns are not among the features.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermi.datasets.common.dataset import Dataset
from fermi.datasets.common.downloads import RemoteFile
from fermi.errors import bad_argument
from fermi.measures.contingency import Contingency
from fermi.notions import Notion

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
FILES: tuple[RemoteFile, ...] = ()
_NOISE = 0.1  # the probability that the outcome differs from the standing


@dataclass(frozen=True, eq=False)
class Population:
    """The law of (S, V, Y) of the applicants, and what the best classifiers reach on it, in closed form.

    With p_s the law of the group and q_s that of V in group s, the Bayes classifier predicts V. The best classifier
    under demographic parity sees S and V and may draw at random: all groups get the same rates r, and group s agrees
    with V with probability Σ_v min(q_s(v), r(v)) = 1 − TV(q_s, r). All q_s lie on a line from u to w, q_s = u +
    b_s (w − u), so Σ p_s TV(q_s, r) = TV(u, w) Σ p_s |b_s − b| is least at the weighted median b of the b_s.

    Attributes
    ----------
    groups : DataFrame
        The values of the sensitive columns, one row per group.
    p_group : (k,) array
        Law of S.
    position : (k,) array
        b_s, from 0 (the law u, low standings) to 1 (the law w, high standings).
    ends : (2, m) array
        u and w.
    noise : float
        P(Y ≠ V); the other classes share it evenly.
    """

    groups: pd.DataFrame
    p_group: Floats
    position: Floats
    ends: Floats
    noise: float = _NOISE

    @property
    def outcome_given_standing(self) -> Floats:
        """The law of the outcome given the standing, P(Y = y | V = v), m × m."""
        m = self.ends.shape[1]
        other = self.noise / (m - 1)
        kernel: Floats = np.full((m, m), other) + (1.0 - self.noise - other) * np.eye(m)
        return kernel

    @property
    def unfair_rates(self) -> Floats:
        """The rates p(ŷ|s) of the Bayes classifier, k × m: the law q_s of the standing."""
        u, w = self.ends
        rates: Floats = u + self.position[:, None] * (w - u)
        return rates

    @property
    def joint(self) -> Floats:
        """The law p(s, y) of group and outcome, k × m."""
        law: Floats = self.p_group[:, None] * (self.unfair_rates @ self.outcome_given_standing)
        return law

    @property
    def unfair_error(self) -> float:
        """The least error of any classifier, fair or not."""
        return self.noise

    @property
    def fair_rates(self) -> Floats:
        """The rates p(ŷ), the same for every group, of the best classifier under demographic parity."""
        order = np.argsort(self.position)
        median = order[np.searchsorted(np.cumsum(self.p_group[order]), 0.5 - 1e-12)]
        rates: Floats = self.unfair_rates[median]
        return rates

    @property
    def fair_error(self) -> float:
        """The least error of any classifier that satisfies demographic parity and may see the group."""
        kernel = self.outcome_given_standing
        distance = 0.5 * np.abs(self.unfair_rates - self.fair_rates).sum(axis=1)
        return self.noise + float(kernel[0, 0] - kernel[0, 1]) * float(self.p_group @ distance)

    def contingency(self, notion: str | Notion = "demographic_parity") -> Contingency:
        """The exact table of the Bayes classifier, of total weight one.

        Parameters
        ----------
        notion : str or Notion
            What the table conditions on.

        Returns
        -------
        Contingency
            The law of condition, group and prediction.
        """
        k, m = self.unfair_rates.shape
        s, v, y = (axis.ravel() for axis in np.meshgrid(np.arange(k), np.arange(m), np.arange(m), indexing="ij"))
        law = self.p_group[s] * self.unfair_rates[s, v] * self.outcome_given_standing[v, y]
        groups = self.groups.iloc[s].reset_index(drop=True)
        return Contingency.from_predictions(v, groups, y_true=y, notion=notion, classes=range(m), sample_weight=law)


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticDataset(Dataset):
    """A drawn data set with the population that it was drawn from.

    Attributes
    ----------
    name, X_train, y_train, s_train, X_test, y_test, s_test, note
        As in `Dataset`.
    population : Population
        The exact law, and the best fair and unfair rates and errors.
    """

    population: Population = field(kw_only=True)


def synthetic(
    n: int = 10_000,
    n_classes: int = 2,
    groups: int | Mapping[str, int | Sequence[str]] = 2,
    bias: float = 0.5,
    seed: int = 0,
    *,
    rated: bool = True,
) -> SyntheticDataset:
    """Draw credit applicants from a population whose law is known exactly.

    Parameters
    ----------
    n : int
        Training rows; half as many test rows come on top.
    n_classes : int
        Outcomes 0 to n_classes − 1, higher is better.
    groups : int, or dict of column to number or names
        The groups of one sensitive column, or of several whose combinations are the groups.
    bias : float
        How far the groups' chances lie apart, from 0 (not at all) to 1.
    seed : int
        Two seeds give two samples of the same population.
    rated : bool
        Whether the column `rating`, which settles almost every prediction, is among the features. Without it the rest
        is gradual evidence, and no classifier reaches the population's best rates.

    Returns
    -------
    SyntheticDataset
        A `Dataset` with `population`, where the exact law and the best fair and unfair rates and errors are.

    Examples
    --------
    >>> data = synthetic(n=1000, n_classes=3, groups={"sex": ["F", "M"], "region": 2}, bias=0.8)
    >>> data.population.unfair_error, round(data.population.fair_error, 4)
    (0.1, 0.1677)
    """
    population = _population(n_classes, groups, bias)
    _check_whole("n", n, 1)
    _check_whole("seed", seed, 0)
    rng = np.random.default_rng(seed)
    train = _draw(population, n, rng)
    test = _draw(population, max(n // 2, 1), rng)
    data = SyntheticDataset("synthetic", *train, *test, (__doc__ or ""), population=population)
    if rated:
        return data
    unrated = {name: getattr(data, name).drop(columns="rating") for name in ("X_train", "X_test")}
    return dataclasses.replace(data, **unrated)


def load(*, data_home: str | Path | None = None, **options: Any) -> Dataset:
    """Draw the synthetic data set under the interface of the other data sets.

    Parameters
    ----------
    data_home : path, optional
        Not used: nothing is read from a file.
    **options
        What `synthetic` takes.

    Returns
    -------
    SyntheticDataset
        What `synthetic` returns.
    """
    return synthetic(**options)


def _population(n_classes: int, groups: int | Mapping[str, int | Sequence[str]], bias: float) -> Population:
    import pandas as pd

    _check_whole("n_classes", n_classes, 2)
    if not (isinstance(bias, int | float | np.number) and 0.0 <= bias <= 1.0):
        raise bad_argument("bias", f"is {bias!r}", "a number from 0 to 1")
    if not isinstance(groups, int | np.integer | Mapping):
        raise bad_argument("groups", f"is {groups!r}", "a whole number, or a dict of column to number or names")
    columns = dict(groups) if isinstance(groups, Mapping) else {"group": groups}
    values = {name: _names(name, given) for name, given in columns.items()}
    frame = pd.DataFrame(list(product(*values.values())), columns=list(values))
    k = len(frame)
    weight = 1.0 / (2.0 + np.arange(k))  # unequal groups: 0.6 and 0.4 for two
    position = 0.5 + bias * (np.linspace(0.0, 1.0, k) - 0.5) if k > 1 else np.array([0.5])
    high = np.arange(1.0, n_classes + 1.0)
    ends = np.stack([high[::-1], high]) / high.sum()
    return Population(frame, weight / weight.sum(), position, ends)


def _check_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise bad_argument(name, f"is {value!r}", f"a whole number of at least {least}")


def _names(column: str, given: int | Sequence[str]) -> list[str]:
    if isinstance(given, int | np.integer):
        names = [f"{str(column)[:1].upper()}{j + 1}" for j in range(given)]
    else:
        names = list(given)
    if not names or len(set(names)) != len(names):
        raise bad_argument("groups", f"gives {column!r} the values {names}", "at least one value, none of them twice")
    return names


def _draw(population: Population, n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    import pandas as pd

    def category(codes: NDArray[np.int64], names: list[str]) -> pd.Categorical[str]:
        return pd.Categorical.from_codes(codes, pd.Index(names))

    k, m = population.unfair_rates.shape
    s = rng.choice(k, size=n, p=population.p_group)
    v = _choose(population.unfair_rates[s], rng)
    y = _choose(population.outcome_given_standing[v], rng)
    standing = v / (m - 1)
    lives_with_own = rng.random(n) < 0.6
    district = np.where(lives_with_own, s % 4, rng.integers(0, 4, n))
    X = pd.DataFrame(
        {
            "income": np.exp(10.0 + 0.6 * standing + 0.4 * rng.standard_normal(n)).round(2),
            "debt_ratio": np.clip(0.5 - 0.2 * standing + 0.15 * rng.standard_normal(n), 0.0, None).round(4),
            "years_employed": rng.gamma(2.0 + 2.0 * standing, 2.0).round(1),
            "age": rng.integers(18, 76, n),
            "rating": category(v, [f"R{j + 1}" for j in range(m)]),
            "purpose": category(rng.integers(0, 4, n), ["car", "education", "home", "other"]),
            "district": category(district, ["north", "east", "south", "west"]),
        }
    )
    return X, pd.Series(y, name="outcome"), population.groups.iloc[s].reset_index(drop=True)


def _choose(p: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one class per row from the row's probabilities."""
    below = rng.random(len(p))[:, None] > np.cumsum(p, axis=1)[:, :-1]
    chosen: NDArray[np.int64] = below.sum(axis=1)
    return chosen
