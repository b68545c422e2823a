"""COMPAS: whether a defendant is charged with another crime within two years.

7,214 people screened in Broward County, Florida, in 2013 and 2014, published by ProPublica (Angwin et al. 2016), with
no official split; ProPublica's own filters leave 6,172. Known problems: the label is a new charge, so it measures
policing as much as conduct; Barenstein (2019) found that of people screened after the cut-off date only those who
reoffended were kept, which lifts the rate from 36% to 45%; race and sex are what officers wrote down. Scores, names,
dates and whatever became known after the screening are no features. Sensitive columns are among the features unless
`include_sensitive=False`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fermi.datasets.common.dataset import Dataset
from fermi.datasets.common.downloads import RemoteFile
from fermi.datasets.common.loading import TEST_SIZE, sensitive_columns, split, table
from fermi.inputs.arguments import chosen as one_of

if TYPE_CHECKING:
    import pandas as pd

FILES = (
    RemoteFile(
        "compas/compas-scores-two-years.csv",
        "https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv",
        "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
    ),
)
_FEATURES = [
    "sex",
    "race",
    "age",
    "age_cat",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "c_charge_degree",
]
_TARGET = "two_year_recid"
_FILTERED_BY = ["days_b_screening_arrest", "is_recid", "score_text"]
_SENSITIVE = ("race", "sex")
_TWO_RACES = ("African-American", "Caucasian")


def load(
    *,
    data_home: str | Path | None = None,
    sensitive: str | Sequence[str] = "race",
    races: str = "all",
    include_sensitive: bool = True,
    test_size: float = TEST_SIZE,
    random_state: Any = 0,
) -> Dataset:
    """Load COMPAS. The label is 1 for a new charge, 0 for none: the better outcome is 0.

    Parameters
    ----------
    data_home : path, optional
        The folder that holds ``compas/compas-scores-two-years.csv``.
    sensitive : "race", "sex" or both
        The sensitive columns.
    races : "all" or "two"
        Whether to keep everyone or African-American and Caucasian people only, 5,278 rows.
    include_sensitive : bool
        Whether the sensitive columns stay among the features.
    test_size : float
        The share of test rows. The split is stratified by label, race and sex, whichever of them is `sensitive`.
    random_state : int, Generator or RandomState, optional
        Another seed gives another split.

    Returns
    -------
    Dataset
        A stratified split drawn by `random_state`, with the label `two_year_recid`.
    """
    chosen = sensitive_columns(sensitive, _SENSITIVE)
    two = one_of("races", races, ("all", "two")) == "two"
    frame = _read(FILES[0].locate(data_home))
    if two:
        frame = frame[frame["race"].isin(_TWO_RACES)]
    train, test = split(frame, [_TARGET, *_SENSITIVE], test_size, random_state)
    return table(
        "compas", train, test, target=_TARGET, sensitive=chosen, include_sensitive=include_sensitive, note=__doc__ or ""
    )


def _read(path: Path) -> pd.DataFrame:
    """Read the rows that ProPublica's analysis keeps."""
    import pandas as pd

    # The header names two columns twice; of `priors_count` both are equal, and the first is taken.
    frame = pd.read_csv(path, usecols=[*_FEATURES, _TARGET, *_FILTERED_BY])
    kept = (
        frame["days_b_screening_arrest"].abs().le(30)  # else the charge may be another one
        & frame["is_recid"].ne(-1)  # no case was found
        & frame["c_charge_degree"].ne("O")  # an ordinary traffic offence
        & frame["score_text"].notna()  # N/A in the file
    )
    return frame.loc[kept, [*_FEATURES, _TARGET]]
