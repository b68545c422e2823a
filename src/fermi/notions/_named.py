"""The notions that have a name to choose them by: Z is constant, or the true label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fermi.errors import bad_argument, listed
from fermi.inputs.codes import Codes
from fermi.inputs.columns import read_labels
from fermi.inputs.encode import sort_key
from fermi.inputs.groups import positions
from fermi.notions._notion import Notion
from fermi.notions._weights import read_weights
from fermi.records import Rate


@dataclass(frozen=True)
class DemographicParity(Notion):
    """The prediction is independent of the group: Z is constant.

    Examples
    --------
    >>> DemographicParity().conditions(None, 3).dense().tolist()
    [0, 0, 0]
    """

    name: ClassVar[str] = "demographic_parity"
    short: ClassVar[str] = "DP"
    meaning: ClassVar[str] = "the prediction should not depend on the group"
    aim: ClassVar[str] = "each group is given each class equally often"
    needs_target: ClassVar[bool] = False

    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        return Codes.constant(len(target), "all")


@dataclass(frozen=True, repr=False)
class EqualizedOdds(Notion):
    """The prediction is independent of the group given the true label: Z = Y, 𝒵 = every label.

    Parameters
    ----------
    weights : "balanced" or dict of label and weight, optional
        What each label z counts in training: the fairness term becomes Σ w_z p(z) D_R(z) / Σ w_z p(z), and p(z) is the
        share of the rows. By default all w_z are 1, which is the paper's; "balanced" is 1 / p(z), so that all labels
        count alike; in a dict, what is not named weighs 1. Measures do not change: they are about the notion.

    Examples
    --------
    >>> EqualizedOdds().conditions(["no", "yes", "no"], 3).dense().tolist()
    [0, 1, 0]
    """

    weights: Any = field(default=None, repr=False, hash=False)
    name: ClassVar[str] = "equalized_odds"
    short: ClassVar[str] = "EO"
    meaning: ClassVar[str] = "among rows of the same true class, the prediction should not depend on the group"
    aim: ClassVar[str] = "among rows of the same true class, each group is given each class equally often"
    rate: ClassVar[Rate] = "true_positive"
    conditions_are_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", read_weights(self.weights))

    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        return target


@dataclass(frozen=True, repr=False)
class EqualOpportunity(Notion):
    """The prediction is independent of the group given an advantaged true label: Z = Y, 𝒵 = `advantaged`.

    Parameters
    ----------
    advantaged : label or set of labels, optional
        By default the last label in sorted order, 1 of 0 and 1, among those in `y_true` and the declared `classes`.
        Name it, or declare the classes, where rows come in parts: a part may not show them all.
    weights : "balanced" or dict of label and weight, optional
        What each of several advantaged labels counts in training, as in `EqualizedOdds`.

    Examples
    --------
    >>> EqualOpportunity("yes").conditions(["no", "yes", "maybe"], 3).dense().tolist()
    [-1, 0, -1]
    """

    advantaged: Any = None
    weights: Any = field(default=None, repr=False, hash=False)
    name: ClassVar[str] = "equal_opportunity"
    short: ClassVar[str] = "EOpp"
    meaning: ClassVar[str] = "among rows of an advantaged true class, the prediction should not depend on the group"
    aim: ClassVar[str] = "among rows of the advantaged class, each group is given it equally often"
    rate: ClassVar[Rate] = "true_positive"
    takes_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.advantaged is not None:
            object.__setattr__(self, "advantaged", frozenset(read_labels(self.advantaged, "advantaged")))
        object.__setattr__(self, "weights", read_weights(self.weights))

    @property
    def needs_all_labels(self) -> bool:
        """Whether 𝒵 is left to the labels: by default it is the last of all."""
        return self.advantaged is None

    def choice(self, conditions: Sequence[Any]) -> str:
        """The advantaged labels, in words that follow the name.

        Parameters
        ----------
        conditions : sequence
            The values of 𝒵.

        Returns
        -------
        str
            Such as " of 1".
        """
        return f" of {listed(conditions)}"

    def of_labels(self, labels: Any) -> Notion:
        """Equal opportunity with these as the advantaged labels.

        Parameters
        ----------
        labels : label or set of labels
            The advantaged labels.

        Returns
        -------
        EqualOpportunity
            A new notion.
        """
        return EqualOpportunity(labels, self.weights)

    def labels_of(self, classes: Sequence[Any]) -> list[Any]:
        """The advantaged labels.

        Parameters
        ----------
        classes : sequence
            All classes, in order.

        Returns
        -------
        list
            The labels, sorted.
        """
        chosen = self.advantaged or sorted(classes, key=sort_key)[-1:]
        return sorted(chosen, key=sort_key)

    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        chosen = self.labels_of(labels)
        absent = [label for label, place in zip(chosen, positions(chosen, labels), strict=True) if place < 0]
        if absent:
            raise bad_argument(
                "advantaged",
                f"holds {listed(absent)}, which does not occur in `y_true`",
                f"labels among {listed(labels)} (`classes` can name labels that these rows do not show)",
            )
        return target.recode(positions(target.values_of, chosen), chosen)


_NAMED: dict[str, type[Notion]] = {c.name: c for c in (DemographicParity, EqualizedOdds, EqualOpportunity)}
NAMES = tuple(_NAMED)
"""What a caller can choose by name."""
OF_LABELS = tuple(name for name, kind in _NAMED.items() if kind.takes_labels)
"""Those of them that are about some of the labels."""


def as_notion(notion: str | Notion, argument: str = "notion") -> Notion:
    """Turn the name of a notion into the notion; a notion stays what it is.

    Parameters
    ----------
    notion : str or Notion
        "demographic_parity", "equalized_odds", "equal_opportunity" or a notion.
    argument : str
        What the argument is called, for the message about a bad one.

    Returns
    -------
    Notion
        The notion of that name.

    Examples
    --------
    >>> as_notion("equalized_odds")
    EqualizedOdds()
    """
    if isinstance(notion, Notion):
        return notion
    if isinstance(notion, str) and notion in _NAMED:
        return _NAMED[notion]()
    raise bad_argument(argument, f"is {notion!r}", f"one of {listed(NAMES)}, or a notion such as ConditionalParity(z)")
