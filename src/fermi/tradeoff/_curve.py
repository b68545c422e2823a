"""`TradeoffCurve`: figures along λ or a bound, the models behind them, and ways to choose one."""

from __future__ import annotations

import functools
import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fermi._typing import Floats
from fermi.errors import ConstantPredictionWarning, FermiError
from fermi.fitting.lam_search import NEARLY
from fermi.inputs.arguments import number
from fermi.records import PointRecord, ReportRecord
from fermi.tradeoff._figures import Predicted
from fermi.tradeoff._fits import CurvePlan
from fermi.tradeoff._grid import non_dominated


class Kept(NamedTuple):
    """Predictions kept in little room: small codes, and the probabilities of all classes but the last."""

    labels: NDArray[np.unsignedinteger[Any]]
    F: NDArray[np.float32] | None

    @classmethod
    def of(cls, predicted: Predicted) -> Kept:
        """Pack predictions into little room."""
        small = predicted.labels.astype(np.min_scalar_type(int(predicted.labels.max())))
        return cls(small, None if predicted.F is None else predicted.F[:, :-1].astype(np.float32))

    def probabilities(self) -> Floats | None:
        """Unpack the probabilities of all classes."""
        if self.F is None:
            return None
        first = self.F.astype(np.float64)
        return np.column_stack([first, np.maximum(1.0 - first.sum(axis=1), 0.0)])


class Picked(NamedTuple):
    """A choice on a curve: the number of the model, whether it is within the bound, and why it was chosen."""

    place: int
    reached: bool
    reason: str


class TradeoffCurve:
    """What fairness costs: models along λ or a bound, and their figures on training, validation and test rows.

    Made by `tradeoff_curve`. Choices are made on the validation rows alone.

    Attributes
    ----------
    frame : DataFrame
        One row per value and split, with these columns. With ``attributes="each"`` violations are the worst column's.

        - ``lam``: λ, the strength of a baseline, or the bound of `FairLabels`
        - ``bound``: along bounds alone, the same as ``lam``: what training asked of labels on rows it held out
        - ``split``: "train", "validation" or "test"
        - ``rows``: how many
        - ``error``: share of wrong labels; ``error_soft``: the same if labels are drawn from the probabilities
        - ``ermi``: soft ERMI, which training penalises; ``ermi_hard``: that of labels
        - ``violation``: parity difference of labels, ``standard_error``: its own; ``violation_soft``: of probabilities
        - ``linf``, ``linf_soft``: the largest distance of a group's rate from the overall rate
        - ``constant``: whether all rows get the same label
        - ``seconds``: of the fit, or of all folds' fits; along bounds the first row's has the fit, others the labels

        Soft columns are NaN for a method without probabilities, violations where no two groups can be compared.
    lams : list of float
        The values, ascending.
    models : list of estimators
        The fitted model of each.
    knob : "lam", "strength" or "max_violation"
        What the values are.
    """

    def __init__(
        self, frame: pd.DataFrame, models: list[Any], kept: list[dict[str, Kept]], plan: CurvePlan, cv: Any
    ) -> None:
        self.frame, self.models = frame, models
        self.lams: list[float] = frame["lam"].unique().tolist()
        self.knob = plan.knob.name
        self._kept, self._plan, self._cv = kept, plan, cv

    def __repr__(self) -> str:
        rows = self._validation()
        (v0, v1), (e0, e1) = ((rows[c].iloc[0], rows[c].iloc[-1]) for c in ("violation", "error"))
        ends = f"{self._plan.knob.word} from {self.lams[0]:g} to {self.lams[-1]:g}"
        return (
            f"TradeoffCurve({len(self.lams)} models, {ends}, violation {v0:.3f} → {v1:.3f}, error {e0:.3f} → {e1:.3f})"
        )

    def pareto(self) -> pd.DataFrame:
        """The models that no other beats in both error and violation of labels on the validation rows.

        Returns
        -------
        DataFrame
            Their validation rows of `frame`, by growing violation.
        """
        rows = self._validation()
        return rows.iloc[non_dominated(rows["violation"].tolist(), rows["error"].tolist())]

    def pick(self, max_violation: float) -> Any:
        """The fitted model with the smallest validation error among those within a bound.

        Parameters
        ----------
        max_violation : float
            The largest parity difference of labels on the validation rows. On new rows it differs by chance: see
            `standard_error` in the frame.

        Returns
        -------
        estimator
            Fitted. If no model is within the bound, a `ConvergenceWarning` says the best reached, and the model that
            reaches it, but for a quarter of its standard error, with the smallest error is returned. A
            `ConstantPredictionWarning` says that the model gives every validation row the same label.
        """
        choice = self._choose(max_violation)
        if not choice.reached:
            warnings.warn(choice.reason, ConvergenceWarning, stacklevel=2)
        row = self._validation().iloc[choice.place]
        if row["constant"]:
            label = self._plan.classes[int(self._kept[choice.place]["validation"].labels[0])]
            warnings.warn(
                f"The model picked, at {self._at(choice.place)}, predicts {label!r} for every validation row: it is "
                "fair because it tells nobody apart; a larger `max_violation` may leave it some use.",
                ConstantPredictionWarning,
                stacklevel=2,
            )
        return self.models[choice.place]

    def plot(self, ax: Any = None) -> Any:
        """Draw error against violation of labels on all splits, the models that no other beats joined by a line.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        Axes
            Where it was drawn.
        """
        from fermi.tradeoff._picture import draw

        return draw(self.frame, self.pareto(), self._plan.knob, ax)

    @functools.cached_property
    def points(self) -> tuple[PointRecord, ...]:
        """The audits of every model on every split, made when first asked for."""
        from fermi.tradeoff._report import points

        return points(self.frame, self.models, self._kept, self._plan)

    @property
    def record(self) -> ReportRecord:
        """The record of the report, with the most accurate model chosen."""
        return self.report()

    def report(self, max_violation: float | None = None) -> ReportRecord:
        """The record of the report, with the model chosen that `pick` would return.

        Parameters
        ----------
        max_violation : float, optional
            The bound for `pick`; without one the most accurate model is chosen.

        Returns
        -------
        ReportRecord
            All that the page shows.
        """
        from fermi.tradeoff._report import record

        return record(self.points, self._choose(max_violation), self._plan, self._cv)

    def to_html(self, path: str | os.PathLike[str], *, max_violation: float | None = None) -> Path:
        """Write the report, one HTML file that needs no network.

        Parameters
        ----------
        path : path
            The file. It appears whole or not at all.
        max_violation : float, optional
            Show first the model that `pick` would return; by default the most accurate one. The reader can choose
            another on the page.

        Returns
        -------
        Path
            The file.
        """
        from fermi.report import write

        return write(self.report(max_violation), path)

    def _validation(self) -> pd.DataFrame:
        return self.frame[self.frame["split"] == "validation"]

    def _at(self, index: int) -> str:
        return f"{self._plan.knob.word} = {self.lams[index]:.4g}"

    def _choose(self, bound: float | None) -> Picked:
        """Choose the most accurate model, within the bound if one is given."""
        rows = self._validation().reset_index(drop=True)
        if bound is None:
            index = _most_accurate(rows)
            return Picked(index, True, f"No bound on the violation was set; {self._at(index)} has the smallest error.")
        bound = number("max_violation", bound, "a number from 0 to 1", low=0.0, high=1.0)
        within = rows[rows["violation"] <= bound]
        if len(within):
            index = _most_accurate(within)
            reason = f"{self._at(index)} has the smallest error of the {len(within)} models"
            return Picked(index, True, f"{reason} whose violation on the validation rows is at most {bound:g}.")
        if rows["violation"].isna().all():
            raise FermiError("No two groups have validation rows to compare: pass `cv`, so that all rows judge.")
        best = rows.iloc[int(rows["violation"].fillna(np.inf).argmin())]
        index = _most_accurate(rows[rows["violation"] <= best["violation"] + NEARLY * best["standard_error"]])
        found = rows.iloc[index]
        reason = (
            f"No {self._plan.knob.word} brought the validation violation down to max_violation={bound:g}; the best "
            f"reached is {found['violation']:.4f} (standard error {found['standard_error']:.4f}) at {self._at(index)}."
        )
        return Picked(index, False, reason)


def _most_accurate(rows: pd.DataFrame) -> int:
    """The index of the most accurate row; of two with the same error, the less unfair one."""
    return int(rows.sort_values(["error", "violation", "lam"]).index[0])
