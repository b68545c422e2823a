"""`fermi.audit`: predictions and groups in, a record of what was found out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from fermi.auditing._answer import Asked
from fermi.auditing._reading import tally
from fermi.auditing._result import Audit
from fermi.notions import Notion, as_notion


def audit(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    notion: str | Notion = "demographic_parity",
    confidence: float = 0.95,
    min_group_size: int = 0,
    sample_weight: ArrayLike | None = None,
    classes: Sequence[Any] | None = None,
    n_boot: int = 1000,
    random_state: Any = 0,
    labels: Any = None,
    counts: ArrayLike | None = None,
) -> Audit:
    """Measure how predictions differ between groups, each figure with an interval. Any model's predictions will do.

    Parameters
    ----------
    y_true : (n,) labels or None
        The true labels. Without them there are rates and measures, but no errors.
    y_pred : (n,) labels or (n, m) probabilities
        Of probabilities the most probable label, or the one of `labels`, is audited too, and soft and hard figures
        are kept apart.
    sensitive_features : array, Series, DataFrame or dict of columns
        One or several columns; several mean the combinations that occur. Rows with a missing entry are counted and
        left out of everything that is by group.
    notion : str or Notion
        What must be independent of the group. It bears on the measures; the rates of groups are the same for all.
    confidence : float
        That the intervals are made for.
    min_group_size : int
        The figures of groups with fewer rows are withheld: their names stay, their rows enter no figure, totals
        included.
    sample_weight : (n,) numbers, optional
        Integer weights give the values of repeated rows, but not their intervals: a row of weight two is one
        observation, two rows are two.
    classes : sequence, optional
        The classes, in the order of the columns of a probability matrix. By default the matrix's column names, or 0,
        1, 2, …, or, if there are as many of them, the sorted labels of `y_true`.
    n_boot : int
        How many tables are drawn for every law that an interval is made from; more where `confidence` asks for it,
        fewer where tables are so large that a million cells would be drawn.
    random_state : int or Generator
        The seed of these draws: the same seed gives the same intervals.
    labels : (n,) labels, optional
        Beside probabilities: the labels that the model gives, where they are not the most probable ones. Hard figures
        are of these.
    counts : (n,) whole numbers, optional
        How many rows each of these rows stands for, such as COUNT(*) of a GROUP BY. Values and intervals are those of
        the repeated rows.

    Returns
    -------
    Audit
        With `frame`, one row per group, `measures`, `record` and `to_html`.

    Examples
    --------
    >>> found = audit([1, 0, 1, 0, 1, 1], [1, 0, 0, 0, 1, 1], sensitive_features=["a", "a", "a", "b", "b", "b"])
    >>> found.frame[["rows", "rate_1", "tpr_1"]].round(2).to_dict("index")["b"]
    {'rows': 3, 'rate_1': 0.67, 'tpr_1': 1.0}
    >>> round(found.record.measure("parity_difference").value, 4)
    0.3333
    """
    chosen = as_notion(notion)
    asked = Asked.of(confidence, min_group_size, n_boot, random_state)
    return asked.answer(tally(y_true, y_pred, sensitive_features, chosen, classes, sample_weight, labels, counts))
