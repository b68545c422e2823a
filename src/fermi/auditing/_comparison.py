"""`fermi.compare`: two predictions for the same rows, group by group, with intervals as of pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fermi._typing import Floats, Ints
from fermi.auditing._pairs import Mask, of_areas, of_gaps, of_precisions, of_shares
from fermi.auditing._rates import SMALL, words
from fermi.auditing._records import DifferenceRecord
from fermi.errors import FermiError, bad_argument, listed
from fermi.fitting.scores import most_probable
from fermi.inputs.arguments import number
from fermi.inputs.coded_groups import CodedGroups
from fermi.inputs.columns import read_column
from fermi.inputs.encode import encode, sort_key
from fermi.inputs.predictions import read_weight
from fermi.notions import Notion, as_notion

if TYPE_CHECKING:
    import pandas as pd

EVERYBODY = "everybody"
_MOST_CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two predictions for the same rows, compared. Made by `fermi.compare`.

    Attributes
    ----------
    rows : int
        How many rows there are.
    confidence : float
        Of the intervals.
    figures : tuple of DifferenceRecord
        Every figure of both, of all rows and of each group: the gap between groups, error, rates, precision, areas.
    """

    rows: int
    confidence: float
    figures: tuple[DifferenceRecord, ...]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The figures, one row each: of which group, what it is, of both, and the second less the first."""
        import pandas as pd

        rows = [
            (f.group, f.rows, f.figure, f.first, f.second, f.change.value, f.change.low, f.change.high, f.beyond_noise)
            for f in self.figures
        ]
        names = ["group", "rows", "figure", "first", "second", "difference", "low", "high", "beyond_noise"]
        return pd.DataFrame(rows, columns=names)

    def of(self, figure: str, group: str = EVERYBODY) -> DifferenceRecord:
        """One figure of one group.

        Parameters
        ----------
        figure : str
            Such as "error" or "parity_difference".
        group : str
            By default all rows together.

        Returns
        -------
        DifferenceRecord
        """
        return next(found for found in self.figures if (found.figure, found.group) == (figure, group))

    def __repr__(self) -> str:
        shown = self.frame.drop(columns="rows").to_string(index=False, float_format="{:.3f}".format)
        return f"Comparison of two predictions for {self.rows:,} rows, intervals at {self.confidence:.0%}\n{shown}"


def compare(
    y_true: Any,
    first: Any,
    second: Any,
    *,
    sensitive_features: Any,
    notion: str | Notion = "demographic_parity",
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
    classes: Sequence[Any] | None = None,
    labels: tuple[Any, Any] = (None, None),
    random_state: int = 0,
) -> Comparison:
    """Compare two predictions for the same rows: the second less the first, with intervals as of pairs.

    Both have met the same people, so that only rows in which they differ say anything, and intervals are much narrower
    than those of two separate audits.

    Parameters
    ----------
    y_true : (n,) labels or None
        The true labels. Without them there are rates and the gap between them, but no errors.
    first, second : (n,) labels or (n, m) probabilities
        What the two predict. Areas under ROC curves are compared where both are probabilities.
    sensitive_features : array, Series, DataFrame or dict of columns
        One or several columns; several mean the combinations that occur. Rows of unknown group count in the figures of
        everybody alone.
    notion : str or Notion
        What the gap between groups is about.
    confidence : float
        That the intervals are made for.
    sample_weight : (n,) numbers, optional
        What each row counts.
    classes : sequence, optional
        The classes, in the order of the columns of probabilities; by default the sorted labels.
    labels : two of (n,) labels or None
        Beside probabilities: the labels that each gives, where they are not the most probable ones.
    random_state : int
        The seed of the draws for the interval of the gap.

    Returns
    -------
    Comparison
        With `frame`, one row per group and figure.

    Examples
    --------
    >>> found = compare([1, 0, 1, 1], [1, 0, 0, 1], [1, 0, 1, 1], sensitive_features=["a", "a", "b", "b"])
    >>> found.of("error").first, found.of("error").change.value
    (0.25, -0.25)
    """
    level = number("confidence", confidence, "a number above 0 and at most 0.999", low=0.0, high=0.999, open_low=True)
    coded = sensitive_features if isinstance(sensitive_features, CodedGroups) else CodedGroups.read(sensitive_features)
    pairs = _Pairs.read(y_true, (first, second), labels, coded, sample_weight, classes)
    return Comparison(len(pairs.weight), level, tuple(pairs.figures(as_notion(notion), level, random_state)))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Coded rows with two predictions: the true classes, both labels, both scores, groups and weights."""

    classes: list[Any]
    y: Ints | None
    a: Ints
    b: Ints
    scores: tuple[Floats, Floats] | None
    groups: CodedGroups
    weight: Floats

    @classmethod
    def read(
        cls,
        y_true: Any,
        given: tuple[Any, Any],
        labels: tuple[Any, Any],
        groups: CodedGroups,
        weight: Any,
        classes: Any,
    ) -> _Pairs:
        n = len(groups.codes)
        matrices = [np.asarray(each, dtype=np.float64) if np.ndim(each) > 1 else None for each in given]
        words_of = [
            each if own is None and matrix is None else own
            for each, own, matrix in zip(given, labels, matrices, strict=True)
        ]
        columns = [None if each is None else read_column(each, "labels") for each in (y_true, *words_of)]
        seen = {v for column in columns if column is not None for v in encode(column, "labels").compact().values_of}
        known = list(classes) if classes is not None else sorted(seen, key=sort_key)
        for name, each in zip(("y_true", "first", "second"), (y_true, *given), strict=True):
            if each is not None and len(each) != n:
                raise bad_argument(name, f"has {len(each)} rows", f"{n}, as many as `sensitive_features`")
        coded = [None if column is None else _codes(column, known) for column in columns]
        a, b = (
            most_probable(matrix) if codes is None and matrix is not None else codes
            for codes, matrix in zip(coded[1:], matrices, strict=True)
        )
        both = None if matrices[0] is None or matrices[1] is None else (matrices[0], matrices[1])
        read = read_weight(weight)
        return cls(known, coded[0], np.asarray(a), np.asarray(b), both, groups, np.ones(n) if read is None else read)

    def figures(self, notion: Notion, level: float, seed: int) -> Iterator[DifferenceRecord]:
        """Every figure: of all rows first, then of each group."""
        first, second, change = of_gaps(*self._joint(notion), level, seed)
        yield DifferenceRecord(EVERYBODY, float(len(self.y_rows)), "parity_difference", first, second, change)
        yield from self._of(EVERYBODY, self.y_rows, level)
        for code, name in enumerate(self.groups.labels):
            own = self.groups.codes == code
            if own.any():
                yield from self._of(str(name), own, level)

    @property
    def y_rows(self) -> Mask:
        return np.ones(len(self.weight), dtype=np.bool_)

    def _joint(self, notion: Notion) -> tuple[Floats, Floats]:
        """Sums of weights, and of their squares, by condition, group and both labels; small groups are left out."""
        n, m = len(self.weight), len(self.classes)
        if self.y is None and notion.needs_target:
            raise bad_argument("y_true", f"is missing, and {notion.name!r} conditions on it", "the true labels")
        true = None if self.y is None else [self.classes[j] for j in self.y.tolist()]
        conditions = notion.conditions(true, n, tuple(self.classes) if true is not None else ())
        z, s = conditions.dense(), self.groups.codes
        z = np.zeros(n, dtype=np.int64) if conditions.is_constant else z
        shape = (len(conditions.values_of), len(self.groups.labels), m, m)
        if math.prod(shape) > _MOST_CELLS:
            raise FermiError(
                f"There are {shape[1]:,} groups and {m} classes; expected fewer, to compare pairs of them."
            )
        kept = (z >= 0) & (s >= 0)
        cell = np.ravel_multi_index((z[kept], s[kept], self.a[kept], self.b[kept]), shape)
        rows, joint, squares = (
            np.bincount(cell, w[kept], math.prod(shape)).reshape(shape)
            for w in (np.ones(n), self.weight, self.weight**2)
        )
        enough = (rows.sum(axis=(2, 3)) >= SMALL)[..., None, None]
        return joint * enough, squares * enough

    def _of(self, group: str, own: Mask, level: float) -> Iterator[DifferenceRecord]:
        w, a, b = self.weight[own], self.a[own], self.b[own]
        rows, names = float(own.sum()), words(tuple(self.classes))
        told = [1] if len(names) == 2 else list(range(len(names)))

        def shares(figure: str, x: Mask, y: Mask, within: Mask) -> DifferenceRecord:
            weight, total = w[within], float(w[within].sum())
            first, second = (float(weight[of[within]].sum()) / total if total > 0 else math.nan for of in (x, y))
            change = of_shares(x[within], y[within], weight, level)
            return DifferenceRecord(group, rows, figure, first, second, change)

        every = np.ones(len(w), dtype=np.bool_)
        if self.y is not None:
            yield shares("error", a != self.y[own], b != self.y[own], every)
        for c in told:
            yield shares(f"rate_{names[c]}", a == c, b == c, every)
        if self.y is None:
            return
        for c in told:
            right = self.y[own] == c
            yield shares(f"tpr_{names[c]}", a == c, b == c, right)
            yield shares(f"fpr_{names[c]}", a == c, b == c, ~right)
            granted = (a == c, b == c)
            first, second = (float(w[p & right].sum() / w[p].sum()) if w[p].sum() > 0 else math.nan for p in granted)
            change = of_precisions(*granted, right, w, level)
            yield DifferenceRecord(group, rows, f"precision_{names[c]}", first, second, change)
            if self.scores is not None:
                yield self._areas(group, own, c, names[c], level)

    def _areas(self, group: str, own: Mask, c: int, name: str, level: float) -> DifferenceRecord:
        from fermi.auditing._ranks import ranked

        assert self.scores is not None
        assert self.y is not None
        w, right = self.weight[own], self.y[own] == c
        a, b = (scores[own, c] for scores in self.scores)

        def area(score: Floats) -> float:
            both = np.column_stack([1.0 - score, score])
            found = ranked(both, right.astype(np.int64), np.zeros(len(w), int), 1, w, w**2)
            assert found is not None
            return found.by_group[0][0].area(level, "").value

        change = of_areas(a, b, right, w, level)
        return DifferenceRecord(group, float(own.sum()), f"auc_{name}", area(a), area(b), change)


def _codes(column: Any, classes: list[Any]) -> Ints:
    found = encode(column, "labels").compact()
    if found.n_unknown:
        raise bad_argument("labels", f"has {found.n_unknown} missing entries", "a label in every row")
    strange = [value for value in found.values_of if value not in classes]
    if strange:
        raise bad_argument("labels", f"holds {strange[0]!r}", f"one of {listed(classes)}")
    places = np.array([classes.index(value) for value in found.values_of], dtype=np.int64)
    return places[found.dense()]
