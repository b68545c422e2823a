"""What every method has in common: how it is made, fitted and asked, and what it says of itself."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from fermi._typing import Floats, Ints
from fermi.errors import bad_argument, listed
from fermi.fitting.problem import Source, read_problem, take_rows
from fermi.inputs.arguments import generator, number
from fermi.inputs.cells import Cells
from fermi.inputs.columns import check_rows, read_columns, row_index
from fermi.inputs.features import read_features, read_target, unchanged_on_error
from fermi.inputs.groups import GroupEncoder
from fermi.notions import NAMES, as_notion


@dataclass(frozen=True)
class Capabilities:
    """What a method can do: the columns of the paper's table 1 and a few more.

    Attributes
    ----------
    notions : tuple of str
        The notions it knows.
    nonbinary_target, nonbinary_attribute : bool
        Whether it takes more than two classes, more than two groups.
    beyond_logistic : bool
        Whether the method, as published, trains other models than linear ones.
    stochastic, unbiased, convergent : bool
        Whether it can train on batches, whether its batch gradients are unbiased, and whether that provably converges.
    needs_attribute : bool
        Whether `predict` needs the sensitive attribute.
    unknown_attribute : bool
        Whether rows with an unknown group train the loss. Otherwise they are left out.
    has_knob : bool
        Whether the method itself trades accuracy for fairness. Otherwise `strength` mixes its predictions with the
        unmitigated ones: each row gets the mitigated prediction with that probability.
    draws : bool
        Whether labels are drawn at random.
    adjusts_labels : bool
        Whether fairness is in the labels alone: they are other than the most probable classes of `predict_proba`.
    adversarial : bool
        Whether a second network is trained against the first: from other first weights both may end elsewhere.
    """

    notions: tuple[str, ...] = NAMES
    nonbinary_target: bool = False
    nonbinary_attribute: bool = False
    beyond_logistic: bool = False
    stochastic: bool = False
    unbiased: bool = False
    convergent: bool = False
    needs_attribute: bool = False
    unknown_attribute: bool = False
    has_knob: bool = True
    draws: bool = False
    adjusts_labels: bool = False
    adversarial: bool = False


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows as a method sees them.

    Attributes
    ----------
    X : (n, d) float array
        Features.
    y, s, z : (n,) int64
        Class, group (-1: unknown) and condition (-1: outside 𝒵) of each row.
    n_classes, n_groups, n_conditions : int
        How many of each.
    """

    X: Any
    y: Ints
    s: Ints
    z: Ints
    n_classes: int
    n_groups: int
    n_conditions: int

    def take(self, rows: Any) -> Rows:
        """Some of the rows, by number or by mask."""
        return replace(self, X=take_rows(self.X, rows), y=self.y[rows], s=self.s[rows], z=self.z[rows])

    @property
    def cells(self) -> Ints:
        """The cell of each row, condition · n_groups + group, or -1 for rows that do not count."""
        return Cells.of(self.z, self.s, (self.n_conditions, self.n_groups), np.ones(len(self.s))).index


class Baseline(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """A method that trades accuracy for fairness.

    A subclass says what it can do, trains in `_fit`, and gives probabilities in `_proba`. Labels are the most probable
    classes unless it says otherwise in `_labels`.

    Parameters
    ----------
    strength : float
        From 0, no mitigation, to 1, as fair as the method can be.
    notion : str or Notion
        What must be independent of the group.
    random_state : int, Generator or RandomState, optional
        Seed.
    """

    capabilities: ClassVar[Capabilities]

    # Scikit-learn routes `sensitive_features` here from pipelines and searches without being asked to.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012
    __metadata_request__predict = {"sensitive_features": True}  # noqa: RUF012
    __metadata_request__score = {"sensitive_features": True}  # noqa: RUF012
    __metadata_request__predict_proba = {"sensitive_features": True}  # noqa: RUF012

    def __init__(self, strength: float = 0.5, notion: Any = "demographic_parity", random_state: Any = None) -> None:
        self.strength = strength
        self.notion = notion
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, sensitive_features: Any) -> Self:
        """Train on rows X with labels y and their groups.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix, n × d
            Features.
        y : (n,) labels
            The classes; how many a method takes is in `capabilities`.
        sensitive_features : array, Series, DataFrame or dict of columns
            The groups: one column, or several whose combinations are the groups.

        Returns
        -------
        Baseline
            The method itself, fitted.
        """
        with unchanged_on_error(self):
            strength = number("strength", self.strength, "a number from 0 to 1", low=0.0, high=1.0)
            rows = self._read(X, y, sensitive_features)
            rng = generator(self.random_state)
            self._draws = int(rng.integers(2**62))
            self._fit(rows, strength, rng)
        return self

    def predict(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix, n × d
            Features.
        sensitive_features : array, Series, DataFrame or dict of columns, optional
            The groups of these rows; only a method that needs the attribute to predict looks at them.

        Returns
        -------
        (n,) array
            Labels; of a method that draws them, the same ones for the same fit and rows.
        """
        check_is_fitted(self)
        labels: NDArray[Any] = self.classes_[self._labels(*self._read_new(X, sensitive_features))]
        return labels

    def predict_proba(self, X: Any, sensitive_features: Any = None) -> Floats:
        """Probability of each class for each row; of a method that draws its labels, the probabilities of the draw.

        Parameters
        ----------
        X, sensitive_features
            As in `predict`.

        Returns
        -------
        (n, m) array with one column per class, in the order of `classes_`
        """
        check_is_fitted(self)
        return self._proba(*self._read_new(X, sensitive_features))

    def score(self, X: Any, y: Any, sample_weight: Any = None, sensitive_features: Any = None) -> float:
        """The accuracy of the labels that the method predicts.

        Parameters
        ----------
        X, sensitive_features
            As in `predict`.
        y, sample_weight : (n,) labels and numbers
            The true labels and, if given, weights of the rows.

        Returns
        -------
        float
        """
        return float(accuracy_score(y, self.predict(X, sensitive_features), sample_weight=sample_weight))

    @abstractmethod
    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        """Train on coded rows, and set what `_proba` needs."""

    @abstractmethod
    def _proba(self, X: Any, s: Ints | None) -> Floats:
        """The probabilities of rows, n × m; s is None unless the method needs the attribute, and -1 where unknown."""

    def _labels(self, X: Any, s: Ints | None) -> Ints:
        """The code of the class predicted for each row."""
        F = self._proba(X, s)
        codes: Ints = self._drawn(F) if self.capabilities.draws else F.argmax(axis=1)
        return codes

    def _drawn(self, F: Floats) -> Ints:
        """Draw labels from probabilities, the same ones for the same fit and rows."""
        uniform = np.random.default_rng(self._draws).random(len(F))
        codes: Ints = (np.cumsum(F, axis=1) <= uniform[:, None]).sum(axis=1).clip(max=F.shape[1] - 1)
        return codes

    def _features(self, X: Any, y: Any = None, *, reset: bool) -> tuple[Any, Any]:
        """Read X and y as arrays."""
        return read_features(self, X, y, reset=reset)

    def _read(self, X: Any, y: Any, sensitive_features: Any) -> Rows:
        """Code the training rows, and refuse what the method cannot do."""
        if sensitive_features is None:
            raise bad_argument("sensitive_features", "is None", "the groups, one column or several")
        notion = as_notion(self.notion)
        if notion.name not in self.capabilities.notions:
            raise bad_argument(
                "notion",
                f"is {notion.name!r}, which {self._name} does not know",
                f"one of {listed(self.capabilities.notions)}",
            )
        if notion.weights is not None:
            raise bad_argument("notion", f"has weights, which {self._name} does not know", f"{notion.name!r} without")
        matrix, labels = self._features(X, y, reset=True)
        target, self.classes_ = read_target(labels)
        source = Source(X, y, sensitive_features, None)
        problem = read_problem(source, matrix, labels, target, self.classes_.tolist(), None, notion, "intersection")
        self._groups = GroupEncoder().fit(sensitive_features)
        (groups,) = problem.attributes
        self.groups_ = groups.labels
        self._refuse(len(self.classes_), len(groups.labels))
        sizes = (problem.n_classes, len(groups.labels), problem.n_conditions)
        rows = Rows(problem.X, target, groups.codes, problem.conditions, *sizes)
        if not (rows.cells >= 0).any():
            expected = "a known group in some row that the notion counts"
            raise bad_argument("sensitive_features", "is unknown in every row that the notion compares", expected)
        if not self.capabilities.unknown_attribute:
            rows = rows.take(groups.codes >= 0)
            if len(np.unique(rows.y)) < rows.n_classes:
                expected = "a known group in some row of every class"
                raise bad_argument("sensitive_features", "is unknown in all rows of a class", expected)
        return rows

    def _refuse(self, n_classes: int, n_groups: int) -> None:
        can = self.capabilities
        if n_classes > 2 and not can.nonbinary_target:
            raise bad_argument("y", f"holds {n_classes} classes", f"two, which is all that {self._name} can take")
        if n_groups > 2 and not can.nonbinary_attribute:
            raise bad_argument(
                "sensitive_features", f"holds {n_groups} groups", f"two, which is all that {self._name} can take"
            )
        if n_groups < 2:
            raise bad_argument("sensitive_features", "holds one group", "at least two")

    def _read_new(self, X: Any, sensitive_features: Any) -> tuple[Any, Ints | None]:
        matrix, _ = self._features(X, reset=False)
        if not self.capabilities.needs_attribute:
            return matrix, None
        if sensitive_features is None:
            expected = f"the groups of the new rows, without which {self._name} cannot predict"
            raise bad_argument("sensitive_features", "is None", expected)
        columns = read_columns(sensitive_features, "sensitive_features")
        check_rows(
            [("X", range(matrix.shape[0]) if row_index(X) is None else X)]
            + [("sensitive_features", c) for c in columns.values()]
        )
        codes = self._groups.transform(sensitive_features, unseen="unknown")
        if (codes < 0).sum() > (GroupEncoder().fit_transform(sensitive_features) < 0).sum():
            raise bad_argument(
                "sensitive_features", "holds a group never seen in `fit`", f"one of {listed(self.groups_)}"
            )
        return matrix, codes

    @property
    def _name(self) -> str:
        return type(self).__module__.rpartition(".")[2]


def geometric(strength: float, low: float, high: float) -> float:
    """A knob whose effect is roughly even: 0 at strength 0, then from `low` to `high` by equal factors."""
    return 0.0 if strength == 0.0 else low * (high / low) ** strength
