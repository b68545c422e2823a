"""What an audit hands back: tables, text and a page."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fermi
from fermi.auditing._text import as_text
from fermi.records import AuditRecord, Estimate, GroupRecord, MeasureRecord, PointRecord, ReportRecord, VerdictRecord

if TYPE_CHECKING:
    import pandas as pd

    from fermi.auditing._ranks import Ranks
    from fermi.auditing._tally import Tally
    from fermi.measures import Contingency
    from fermi.notions import Notion


_MOST_ROWS = 60  # of a notebook's table
_TITLES = {
    "met": "Predictions that keep what was asked of them",
    "missed": "Predictions that miss what was asked of them",
    "undecided": "Predictions: these rows cannot tell whether they keep what was asked",
}


class Audit:
    """What an audit found: figures by group, measures of violation, and a page that shows them. Made by `fermi.audit`.

    Attributes
    ----------
    frame : DataFrame
        One row per group: `rows`, and with its ends under ``_low`` and ``_high`` ``rate_C`` for every class C, `error`,
        ``tpr_C``, ``fpr_C`` and ``precision_C`` of each class against the rest (of two classes the last), ``auc_C``,
        ``soft_rate_C`` and `calibration_error` where probabilities were given, and a `note`. NaN where a figure cannot
        be estimated or is withheld; the note says why.
    measures : DataFrame
        One row per measure and `kind` (hard: labels, soft: probabilities): `value`, `low`, `high`, the `gap` between
        soft and hard, the `bound` that ties it to ERMI, and a `note`.
    roc, calibration : DataFrame
        Where probabilities were given: the ROC curve of every group and class (`threshold`, `fpr`, `tpr`), and what was
        observed in each range of the probability (`rows`, `predicted`, `observed`, `low`, `high`).
    record : AuditRecord
        All of this as plain records.

    Examples
    --------
    >>> from fermi import audit
    >>> found = audit(None, [1, 0, 1, 1], sensitive_features=["a", "a", "b", "b"])
    >>> found.frame["rate_1"].tolist()
    [0.5, 1.0]
    """

    def __init__(self, record: AuditRecord, counted: Tally | None = None) -> None:
        self.record = record
        self._counted = counted
        self._first: dict[str, Any] = {}
        self._facts: dict[str, str] = {}

    def judged(self, favourable: Any = None) -> Audit:
        """The audit with what can be told of groups that have enough rows, and what its labels are worth.

        Parameters
        ----------
        favourable : label, optional
            The class that people want, whose ratio the four-fifths rule is about.

        Returns
        -------
        Audit
            Its record has `judged` and `use`. Groups that are withheld are not spoken of.
        """
        from fermi.auditing._judged import judge_tally
        from fermi.auditing._use import use_of

        if self._counted is None:
            return self
        gap = self.record.measure("parity_difference")
        told = judge_tally(self._counted, favourable=favourable, confidence=self.record.confidence, gap=gap, each=True)
        label = self.record.label if told.favourable is None else told.favourable
        record = replace(self.record, judged=told, use=use_of(self._counted), label=label)
        return Audit(record, self._counted)

    @property
    def ranks(self) -> Ranks | None:
        """The rows in the order of their probabilities, where they are known."""
        return None if self._counted is None else self._counted.ranks

    def with_words(
        self,
        verdict: VerdictRecord | None,
        summary: tuple[str, ...],
        warnings: tuple[str, ...],
        *,
        facts: dict[str, str] | None = None,
        target: str = "",
    ) -> Audit:
        """The audit with what its page is to say first.

        Parameters
        ----------
        verdict : VerdictRecord or None
            Whether a request was met.
        summary, warnings : tuple of str
            The sentences that follow, and what must not be overlooked.
        facts : dict of str to str, optional
            Where the predictions come from, for the foot of the page.
        target : str
            The column of true labels.

        Returns
        -------
        Audit
            The same figures.
        """
        found = Audit(self.record, self._counted)
        found._first = {"verdict": verdict, "summary": summary, "warnings": warnings, "target": target}
        found._facts = dict(facts or {})
        return found

    @classmethod
    def from_contingency(
        cls,
        contingency: Contingency,
        *,
        notion: str | Notion | None = None,
        confidence: float = 0.95,
        min_group_size: int = 0,
        n_boot: int = 1000,
        random_state: Any = 0,
    ) -> Audit:
        """Audit a table, without the rows it was counted from: the result of a GROUP BY, or the sum of many days.

        Parameters
        ----------
        contingency : Contingency
            A table of labels, not of probabilities. Whole weights are taken for counts of rows. Of other weights there
            are values but no intervals, since sums of weights do not tell how many rows they are of.
        notion : str or Notion, optional
            By default that of the table. A table whose conditions are all true labels ("equalized_odds") can be asked
            for the other notions too, and its audit has errors and true and false positive rates.
        confidence, min_group_size, n_boot, random_state
            As in `fermi.audit`.

        Returns
        -------
        Audit
            As of the rows themselves, but that rows of unknown group are in no figure, the overall error included.

        Examples
        --------
        >>> from fermi import Audit, Contingency
        >>> table = Contingency([[30, 10], [40, 40]], groups=["a", "b"])
        >>> Audit.from_contingency(table).frame["rate_1"].tolist()
        [0.25, 0.5]
        """
        from fermi.auditing._answer import Asked
        from fermi.auditing._tables import audit_table

        return audit_table(contingency, notion, Asked.of(confidence, min_group_size, n_boot, random_state))

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The figures of every group, one row each."""
        import pandas as pd

        rows = [_flat(group) for group in self.record.groups]
        frame = pd.DataFrame(rows, index=pd.Index([group.group for group in self.record.groups], name="group"))
        if (frame["rows"] % 1 == 0).all():
            frame["rows"] = frame["rows"].astype(int)
        return frame

    @cached_property
    def measures(self) -> pd.DataFrame:
        """The measures of violation, one row each."""
        import pandas as pd

        hard = {m.name: m.estimate.value for m in self._all_measures() if not m.soft}
        return pd.DataFrame(
            {
                "measure": m.name,
                "kind": "soft" if m.soft else "hard",
                "value": m.estimate.value,
                "low": m.estimate.low,
                "high": m.estimate.high,
                "gap": m.estimate.value - hard[m.name] if m.soft else math.nan,
                "bound": m.bound,
                "note": m.estimate.note,
            }
            for m in self._all_measures()
        )

    @cached_property
    def roc(self) -> pd.DataFrame:
        """The ROC curves, one row per point: all of them, or about 100 of every curve."""
        import pandas as pd

        rows = [
            (group.group, c, *point)
            for group in self.record.groups
            for c, curve in group.roc.items()
            for point in curve
        ]
        return pd.DataFrame(rows, columns=["group", "class", "threshold", "fpr", "tpr"])

    @cached_property
    def calibration(self) -> pd.DataFrame:
        """The calibration of every group, one row per class and range of its probability that holds rows."""
        import pandas as pd

        rows = [
            (group.group, b.outcome, b.rows, b.predicted, b.observed.value, b.observed.low, b.observed.high)
            for group in self.record.groups
            for b in group.calibration
        ]
        return pd.DataFrame(rows, columns=["group", "class", "rows", "predicted", "observed", "low", "high"])

    def _all_measures(self) -> list[MeasureRecord]:
        record = self.record
        corrected = [(False, record.corrected_ermi), (True, record.corrected_ermi_soft)]
        less = [MeasureRecord("ermi less its bias", soft, found) for soft, found in corrected if found is not None]
        found = [*record.measures, *less]
        return sorted(found, key=lambda m: m.soft)

    def to_html(self, path: str | PathLike[str]) -> Path:
        """Write the audit as a page, one HTML file that needs no network.

        Parameters
        ----------
        path : path
            The file. It appears whole or not at all.

        Returns
        -------
        Path
            The file.
        """
        from fermi.report import write

        record = self.record
        facts = self._facts | {
            "Rows": f"{record.rows:,.0f}, of which {record.unknown:,.0f} of no known group",
            "Groups": f"{len(record.groups)} of {', '.join(record.columns)}",
            "Classes": ", ".join(record.classes),
            "Notion": record.called or record.notion,
            "Confidence of intervals": f"{record.confidence:.0%}",
            "Software": f"fermi {fermi.__version__}",
            "Date": datetime.date.today().isoformat(),
        }
        point = PointRecord("predictions", math.nan, {"audit": record})
        verdict = self._first.get("verdict")
        title = _TITLES[verdict.outcome] if verdict is not None else "Audit of predictions"
        return Path(write(ReportRecord(title, facts, (point,), **self._first), path))

    def __repr__(self) -> str:
        return as_text(self.record)

    def _repr_html_(self) -> str:
        """The two tables as HTML, for notebooks; pandas escapes the names in them."""
        shown = self.measures.drop(columns="note") if not self.measures["note"].any() else self.measures
        return self.frame.to_html(float_format="{:.3f}".format, max_rows=_MOST_ROWS) + shown.to_html(
            index=False, float_format="{:.3g}".format
        )


def _flat(group: GroupRecord) -> dict[str, Any]:
    """The figures of one group as one row of the frame."""
    row: dict[str, Any] = {"rows": group.rows}
    named = [
        *((f"rate_{c}", found) for c, found in group.rates.items()),
        *([("error", group.error)] if group.error is not None else []),
        *((f"tpr_{c}", found) for c, found in group.tpr.items()),
        *((f"fpr_{c}", found) for c, found in group.fpr.items()),
        *((f"precision_{c}", found) for c, found in group.precision.items()),
        *((f"auc_{c}", found) for c, found in group.auc.items()),
        *((f"soft_rate_{c}", found) for c, found in group.soft_rates.items()),
    ]
    for name, found in named:
        row |= _ends(name, found)
    if group.calibration_error is not None:
        row["calibration_error"] = group.calibration_error
    return row | {"note": group.note}


def _ends(name: str, found: Estimate) -> dict[str, float]:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
