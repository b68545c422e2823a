"""The bare objective of some rows, for those who call a library's `train` themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from fermi.boosting._ranks import XGBoostRanks, shared_codes
from fermi.boosting.custom_objective import BoostingObjective
from fermi.errors import bad_argument
from fermi.fitting.problem import Source, read_problem
from fermi.inputs.arguments import AT_LEAST_ZERO, chosen, number
from fermi.inputs.columns import check_rows, read_columns, read_labels
from fermi.inputs.encode import sort_key
from fermi.inputs.features import known_target, natural_labels, read_target
from fermi.notions import as_notion


def objective(
    sensitive: Any,
    target: Any,
    *,
    notion: Any = "demographic_parity",
    lam: float = 1.0,
    attributes: str = "intersection",
    classes: Any = None,
    sample_weight: Any = None,
    learning_rate: float = 0.3,
    distributed: bool = False,
) -> BoostingObjective:
    """The fair objective of some rows, for those who call `lightgbm.train` or `xgboost.train` themselves.

    Parameters
    ----------
    sensitive : array, Series, DataFrame or dict of columns
        The groups. A row with a missing entry trains the loss and is left out of the fairness term.
    target : (n,) labels
        Two or more classes of any type.
    notion : str or Notion
        What must be independent of the group, as in `FermiClassifier`.
    lam : float
        λ, the weight of the fairness term.
    attributes : "intersection" or "each"
        Of several sensitive columns: one term for their combinations, or one term per column.
    classes : sequence, optional
        All labels, where these rows may not show them all, as rows held out.
    sample_weight : (n,) numbers, optional
        Weighs the loss and the group statistics alike. The booster's own data set is not asked for weights.
    learning_rate : float
        That of the booster, or a larger one. With a large λ the Hessian grows with it, and boosting slows down.
    distributed : bool
        Whether these rows are those of one worker of XGBoost's distributed training, inside its `CommunicatorContext`.
        The objective is then that of the rows of all workers, exactly; all of them make it and use it alike.

    Returns
    -------
    BoostingObjective
        `lightgbm` and `xgboost` are the objectives, `lightgbm_metric` and `xgboost_metric` the metrics, `start` the
        scores of the base rate. A metric is about the rows of its own objective: make another one for rows held out.

    Examples
    --------
    >>> import fermi.boosting
    >>> fair = fermi.boosting.objective(["a", "a", "b", "b"], [0, 1, 1, 1], lam=5.0)
    >>> gradient, hessian = fair.lightgbm([0.5, 0.5, 0.5, 0.5])
    >>> gradient.round(3)
    array([ 0.622, -0.378, -0.378, -0.378])
    """
    if sensitive is None:
        raise bad_argument("sensitive", "is None", "the groups, one column or several")
    labels = column_or_1d(target)
    named = read_columns(sensitive, "sensitive")
    columns = [("sensitive" if name is None else f"sensitive[{name!r}]", column) for name, column in named.items()]
    check_rows([("target", target if hasattr(target, "index") else labels), *columns])
    ranks = XGBoostRanks() if distributed else None
    if classes is None and ranks is not None:
        classes = sorted(ranks.union(read_labels(np.unique(labels), "target")), key=sort_key)
    if classes is None:
        codes, known = read_target(labels)
    else:
        known = natural_labels(read_labels(classes, "classes"))
        if len(known) < 2:
            raise bad_argument("classes", f"holds one class only, {known[0]!r}", "at least two classes")
        codes = known_target(labels, known.tolist(), "target")
    problem = read_problem(
        Source(None, target, sensitive, sample_weight), np.empty((len(codes), 0)), labels, codes, known.tolist(), None,
        as_notion(notion), chosen("attributes", attributes, ("intersection", "each")), known=not distributed,
    )  # fmt: skip
    problem = problem if ranks is None else shared_codes(problem, ranks)
    rate = number("learning_rate", learning_rate, "a positive number", low=0.0, open_low=True)
    return BoostingObjective(problem, known, number("lam", lam, AT_LEAST_ZERO, low=0.0), rate, ranks)
