"""What is asked of the labels that a model gives, and how it was kept, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fermi.decisions.figures import NOISE, Figures
from fermi.errors import bad_argument
from fermi.inputs.arguments import AT_LEAST_ZERO, number

_RATE = "a number from 0 to 1"
_RULE = "Labels are the most probable class after a charge for the groups that a row is likely of, as its features tell"


@dataclass(frozen=True)
class Asked:
    """What is asked of labels; None leaves something out.

    Attributes
    ----------
    max_violation : float, optional
        The largest gap between groups.
    min_ratio : float, optional
        The least ratio of two groups' rates of the last class.
    min_rate : float, optional
        The least rate of the last class in every group.
    max_rate : float, optional
        The largest rate of the last class over all rows.
    slack : float, optional
        By how many standard errors each group's rate may be farther off.
    confidence : float, optional
        With which the bounds are to hold, judged on rows of their own.
    """

    max_violation: float | None = None
    min_ratio: float | None = None
    min_rate: float | None = None
    max_rate: float | None = None
    slack: float | None = None
    confidence: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_violation", "min_ratio", "min_rate", "max_rate"):
            if (value := getattr(self, name)) is not None:
                number(name, value, _RATE, low=0.0, high=1.0)
        if self.slack is not None:
            number("slack", self.slack, AT_LEAST_ZERO, low=0.0)
        if self.confidence is not None:
            expected = "a number above 0.5 and below 1, say 0.95"
            number("confidence", self.confidence, expected, low=0.5, high=1.0 - 1e-9, open_low=True)
        self._refuse_idle("confidence", "`max_violation` or `min_ratio`", self.max_violation, self.min_ratio)
        others = "`max_violation`, `min_ratio` or `min_rate`"
        self._refuse_idle("slack", others, self.max_violation, self.min_ratio, self.min_rate)

    def _refuse_idle(self, name: str, others: str, *bounds: float | None) -> None:
        """Refuse what would change nothing, for want of all the bounds that it is about."""
        value = getattr(self, name)
        if value is not None and all(bound is None for bound in bounds):
            raise bad_argument(name, f"is {value:g} without {others}", "a bound that it is about")

    @property
    def anything(self) -> bool:
        """Whether there is any bound."""
        return self.max_violation is not None or self.needs_labels

    @property
    def needs_labels(self) -> bool:
        """Whether no λ could be looked for that keeps it."""
        own = (self.min_ratio, self.min_rate, self.max_rate, self.slack, self.confidence)
        return any(value is not None for value in own)

    @property
    def about_a_label(self) -> str:
        """The first bound that is about the label that people want; empty where none is."""
        own = (("min_ratio", self.min_ratio), ("min_rate", self.min_rate), ("max_rate", self.max_rate))
        return next((f"`{name}`" for name, value in own if value is not None), "")

    def options(self) -> dict[str, Any]:
        """The bounds as options of `FairLabels`."""
        return {
            "max_violation": self.max_violation,
            "min_ratio": self.min_ratio,
            "min_rate": self.min_rate,
            "selection_rate": None if self.max_rate is None else (None, self.max_rate),
            "slack": 0.0 if self.slack is None else self.slack,
            "confidence": self.confidence,
        }

    def words(self, label: Any) -> str:
        """What is asked, `label` being the last class."""
        parts = [
            (self.max_violation, "a gap between groups of at most {:g}"),
            (self.min_ratio, f"a ratio of two groups’ rates of “{label}” of at least {{:g}}"),
            (self.min_rate, f"a rate of “{label}” of at least {{:g}} in every group"),
            (self.max_rate, f"a rate of “{label}” of at most {{:g}} over all rows"),
        ]
        found = [words.format(value) for value, words in parts if value is not None]
        wanted = found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"
        if self.slack:
            errors = "standard error" if self.slack == 1 else "standard errors"
            wanted += f", each rate with {self.slack:g} {errors} of its own to spare"
        return wanted + ("" if self.confidence is None else f", with confidence {self.confidence:g}")

    def reached(self, figures: Figures, label: Any) -> str:
        """What labels reach of it, with standard errors and what lies beyond sampling error."""
        found = [f"the gap is {figures.violation:.4f} (standard error {figures.standard_error:.4f})"]
        if self.min_ratio is not None:
            found.append(f"the ratio {figures.ratio:.3f}")
        if self.max_rate is not None or self.min_rate is not None:
            found.append(f"the rate of “{label}” over all rows {figures.rate:.3f}")
        words = found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"
        return words if self.max_violation is None else f"{words}; {beyond_noise(figures)}"


NOTHING = Asked()


def beyond_noise(figures: Figures) -> str:
    """What lies beyond sampling error, in words."""
    if figures.beyond_noise <= 0.0:
        return f"no two groups differ by more than sampling error explains ({NOISE:g} standard errors)"
    return (
        f"two groups differ by {figures.beyond_noise:.4f} more than sampling error explains ({NOISE:g} standard errors)"
    )


def how_labels_keep(asked: Asked, figures: Figures, label: Any, where: str, *, kept: bool, charged: bool) -> str:
    """Say how labels keep what is asked, or that they do not.

    Parameters
    ----------
    asked : Asked
        What is asked.
    figures : Figures
        What the labels reach.
    label : object
        The last class.
    where : str
        On which rows.
    kept : bool
        Whether all of it is kept there.
    charged : bool
        Whether the rule charges anything.
    """
    rule = _RULE if charged else "Labels are the most probable class, without any charge"
    wanted, found = asked.words(label), f"On {where} {asked.reached(figures, label)}."
    if kept:
        return f"{rule}. They keep {wanted}. {found}"
    return f"No labels kept {wanted}; these come nearest. {rule}. {found}"
