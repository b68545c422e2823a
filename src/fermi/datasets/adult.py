"""Adult (census income): whether a person earns more than 50,000 dollars a year.

48,842 rows drawn from the 1994 census of the United States, donated to UCI by Kohavi and Becker (1996), in the
official split of 32,561 and 16,281. Known problems: the threshold is arbitrary and binds women and Black people far
more than others (Ding et al. 2021 show how much results hang on it); `fnlwgt` is a sampling weight, not a trait;
`education` repeats `education-num`; 7% of rows lack occupation, workclass or country. Sensitive columns are among the
features unless `include_sensitive=False`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fermi.datasets.common.dataset import Dataset
from fermi.datasets.common.downloads import RemoteFile
from fermi.datasets.common.loading import sensitive_columns, table

if TYPE_CHECKING:
    import pandas as pd

_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult"
FILES = (
    RemoteFile(
        "adult/adult.data",
        f"{_URL}/adult.data",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    RemoteFile(
        "adult/adult.test",
        f"{_URL}/adult.test",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
)
_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
_SENSITIVE = ("sex", "race")


def load(
    *,
    data_home: str | Path | None = None,
    sensitive: str | Sequence[str] = "sex",
    include_sensitive: bool = True,
) -> Dataset:
    """Load Adult. The label is ">50K" or "<=50K".

    Parameters
    ----------
    data_home : path, optional
        The folder that holds ``adult/adult.data`` and ``adult/adult.test``.
    sensitive : "sex", "race" or both
        The sensitive columns.
    include_sensitive : bool
        Whether they stay among the features.

    Returns
    -------
    Dataset
        The publisher's split, with the label `income`.
    """
    chosen = sensitive_columns(sensitive, _SENSITIVE)
    train, test = (_read(file.locate(data_home)) for file in FILES)
    return table(
        "adult", train, test, target="income", sensitive=chosen, include_sensitive=include_sensitive, note=__doc__ or ""
    )


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    # The test file opens with a comment and ends its labels with a full stop.
    frame = pd.read_csv(path, names=_COLUMNS, skipinitialspace=True, na_values="?", comment="|", skip_blank_lines=True)
    frame["income"] = frame["income"].str.rstrip(".")
    return frame
