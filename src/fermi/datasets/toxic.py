"""Toxic comments: whether a comment on a talk page of Wikipedia is rude, disrespectful or unreasonable.

Comments of 2001 to 2016 with the judgement of about ten crowd workers each (Wulczyn et al. 2017), in the files of Dixon
et al. (2018), 95,692 of them for training; toxic is what more than half found so. Known problems: crowd workers rate
dialects and the mere name of a group as rude; about one comment in sixty names one of these religions; terms are
matched as text, so that a comment about a religion counts whoever wrote it. `religion` is the group whose term a
comment holds, Christians against Muslims and Jews as in the paper; comments with none, or with both, are unknown. We
had no copy of the files, so their checksums are not known. Sensitive columns are not among the features, but the terms
are in the text unless `include_sensitive=False`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fermi.datasets.common.comments import TextDataset, check_religions, text_dataset
from fermi.datasets.common.downloads import RemoteFile
from fermi.errors import DataError
from fermi.inputs.arguments import chosen

if TYPE_CHECKING:
    import pandas as pd

_URL = (
    "https://raw.githubusercontent.com/conversationai/unintended-ml-bias-analysis/"
    "e02b9f12b63a39235e57ba6d3d62d8139ca5572c/data"
)
_PARTS = ("train", "dev", "test")
FILES = tuple(RemoteFile(f"toxic/wiki_{part}.csv", f"{_URL}/wiki_{part}.csv", sha256=None) for part in _PARTS)


def load(
    *,
    data_home: str | Path | None = None,
    religions: str = "two",
    include_sensitive: bool = True,
    held_out: str = "test",
) -> TextDataset:
    """Load the Wikipedia comments. The label is 1 for toxic.

    Parameters
    ----------
    data_home : path, optional
        The folder that holds ``toxic/wiki_train.csv``, ``toxic/wiki_dev.csv`` and ``toxic/wiki_test.csv``.
    religions : "two" or "three"
        Whether Muslims and Jews are one group.
    include_sensitive : bool
        Whether the words that name a religion stay in the text.
    held_out : "test" or "dev"
        Which of the publisher's parts are the test rows.

    Returns
    -------
    TextDataset
        The publisher's training part and the part held out.
    """
    check_religions(religions)
    part = FILES[_PARTS.index(chosen("held_out", held_out, ("test", "dev")))]
    train, test = (_read(file.locate(data_home)) for file in (FILES[0], part))
    return text_dataset(
        "toxic", train, test, religions=religions, include_sensitive=include_sensitive, note=__doc__ or ""
    )


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        frame = pd.read_csv(path, usecols=["comment", "is_toxic"], dtype={"comment": str}, keep_default_na=False)
        return frame.assign(is_toxic=frame["is_toxic"].astype(int))
    except ValueError as error:
        raise DataError(f"{path} is not the publisher's CSV with comment and is_toxic ({error}).") from error
