"""An audit of rows that come in parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from fermi.auditing._answer import Asked
from fermi.auditing._merging import merged
from fermi.auditing._reading import tally
from fermi.auditing._result import Audit
from fermi.auditing._tally import Tally, judged_by
from fermi.errors import FermiError, bad_argument
from fermi.notions import Notion, as_notion

_NONE = as_notion("demographic_parity")  # a part may lack the label that a notion is about: it is asked for at the end


class RunningAudit:
    """An audit of rows that come in parts: batches, files, days or machines.

    It keeps sums and no rows, so that it does not grow with them, and two of them add up exactly with ``a + b``. The
    audit is that of all rows together.

    Parameters
    ----------
    notion : str or Notion
        What must be independent of the group; a notion with a column of its own is about given rows, and not for here.
    classes : sequence, optional
        The classes, in the order of the columns of a probability matrix. Needed where a part may not show them all.

    Examples
    --------
    >>> running = RunningAudit()
    >>> _ = running.add([1, 0], [1, 0], sensitive_features=["a", "b"])
    >>> _ = running.add([1, 1], [0, 1], sensitive_features=["a", "c"])
    >>> running.audit().frame["rate_1"].to_dict()
    {'a': 0.5, 'b': 0.0, 'c': 1.0}
    """

    def __init__(self, notion: str | Notion = "demographic_parity", *, classes: Sequence[Any] | None = None) -> None:
        self.notion, self.classes = as_notion(notion), classes
        self._sums: Tally | None = None
        if self.notion.column is not None:
            raise bad_argument("notion", "holds a column of certain rows", "one that any rows can be judged by")

    def add(
        self,
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any,
        sample_weight: ArrayLike | None = None,
        labels: Any = None,
        counts: ArrayLike | None = None,
    ) -> RunningAudit:
        """Count some more rows.

        Parameters
        ----------
        y_true, y_pred, sensitive_features, sample_weight, labels, counts
            As in `fermi.audit`; the same kinds in every part. A part may consist of unknown groups alone.

        Returns
        -------
        RunningAudit
            The audit itself.
        """
        if y_true is None and self.notion.needs_target:
            raise bad_argument("y_true", f"is missing, and {self.notion.name!r} conditions on it", "the true labels")
        found = tally(
            y_true, y_pred, sensitive_features, _NONE, self.classes, sample_weight, labels, counts, whole=False
        )
        self._sums = found if self._sums is None else merged(self._sums, found)
        return self

    def __add__(self, other: object) -> RunningAudit:
        if not isinstance(other, RunningAudit):
            return NotImplemented
        if (self.notion, self.classes) != (other.notion, other.classes):
            raise FermiError("Cannot add two audits of other notions or classes.")
        out = RunningAudit(self.notion, classes=self.classes)
        parts = [part._sums for part in (self, other) if part._sums is not None]
        out._sums = merged(*parts) if len(parts) == 2 else (parts[0] if parts else None)
        return out

    def __radd__(self, other: object) -> RunningAudit:
        return self if other == 0 else NotImplemented  # so that sum() works

    def audit(
        self, *, confidence: float = 0.95, min_group_size: int = 0, n_boot: int = 1000, random_state: Any = 0
    ) -> Audit:
        """The audit of all rows so far.

        Parameters
        ----------
        confidence, min_group_size, n_boot, random_state
            As in `fermi.audit`.

        Returns
        -------
        Audit
        """
        return Asked.of(confidence, min_group_size, n_boot, random_state).answer(self.counted())

    def counted(self) -> Tally:
        """The sums over all rows so far, judged by the notion.

        Returns
        -------
        Tally
        """
        if self._sums is None:
            raise FermiError("No rows have been added to this audit: call `add` first.")
        if not self._sums.groups:
            raise bad_argument("sensitive_features", "is unknown in every row", "a known group in at least one")
        return judged_by(self._sums, self.notion)
