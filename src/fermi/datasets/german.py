"""German credit: whether a customer of a bank is a good or a bad risk.

1,000 credits of the 1970s, donated to UCI by Hofmann (Statlog, 1994), with no official split. Known problems: bad
risks were oversampled to 30%; a single column holds sex and marital status, and Grömping (2019) found its codes, among
others, to be wrong, so that sex is not safely known: no row is a single woman. Categories keep the publisher's codes;
of marital status all that can be told for both sexes is whether a person is single. Sensitive columns are among the
features unless `include_sensitive=False`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fermi.datasets.common.dataset import Dataset
from fermi.datasets.common.downloads import RemoteFile
from fermi.datasets.common.loading import TEST_SIZE, flag, sensitive_columns, split, table

if TYPE_CHECKING:
    import pandas as pd

FILES = (
    RemoteFile(
        "german/german.data",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/german/german.data",
        "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
    ),
)
_COLUMNS = [
    "status",
    "duration",
    "credit_history",
    "purpose",
    "amount",
    "savings",
    "employment_since",
    "installment_rate",
    "personal_status",
    "other_debtors",
    "residence_since",
    "property",
    "age",
    "other_installment_plans",
    "housing",
    "existing_credits",
    "job",
    "people_liable",
    "telephone",
    "foreign_worker",
    "credit",
]
_SENSITIVE = ("sex", "marital_status")
_SEX = {"A91": "male", "A92": "female", "A93": "male", "A94": "male", "A95": "female"}
_SINGLE = ("A93", "A95")


def load(
    *,
    data_home: str | Path | None = None,
    sensitive: str | Sequence[str] = "sex",
    include_sensitive: bool = True,
    test_size: float = TEST_SIZE,
    random_state: Any = 0,
) -> Dataset:
    """Load German credit. The label is "good" or "bad".

    Parameters
    ----------
    data_home : path, optional
        The folder that holds ``german/german.data``.
    sensitive : "sex", "marital_status" or both
        The sensitive columns.
    include_sensitive : bool
        Whether sex and marital status stay among the features. Both come from one column of the file, and no woman is
        single there, so either of them tells of the other.
    test_size : float
        The share of test rows. The split is stratified by label, sex and marital status, whatever is `sensitive`.
    random_state : int, Generator or RandomState, optional
        Another seed gives another split.

    Returns
    -------
    Dataset
        A stratified split drawn by `random_state`.
    """
    chosen = sensitive_columns(sensitive, _SENSITIVE)
    train, test = split(_read(FILES[0].locate(data_home)), ["credit", *_SENSITIVE], test_size, random_state)
    if not flag("include_sensitive", include_sensitive):
        others = [name for name in _SENSITIVE if name not in chosen]
        train, test = train.drop(columns=others), test.drop(columns=others)
    return table(
        "german",
        train,
        test,
        target="credit",
        sensitive=chosen,
        include_sensitive=include_sensitive,
        note=__doc__ or "",
    )


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    frame = pd.read_csv(path, sep=" ", names=_COLUMNS)
    status = frame.pop("personal_status")
    return frame.assign(
        sex=status.map(_SEX),
        marital_status=status.isin(_SINGLE).map({True: "single", False: "not single"}),
        credit=frame["credit"].map({1: "good", 2: "bad"}),
    )
