"""Templated comments: made-up sentences that are toxic or not whatever group they name.

76,564 sentences such as an identity with a kind or a rude adjective, by Dixon et al. (2018), who measure with them
whether a model takes the name of a group for toxicity; with no official split. Known problems: half of the sentences of
every group are toxic by construction, and one adjective or verb settles it; 94% follow one template; the same sentence
about a group other than a religion may be on the other side of the split. `religion` is the group whose term a sentence
holds, Christians against Muslims and Jews as in the paper; all others are unknown. Sensitive columns are not among the
features, but the terms are in the text unless `include_sensitive=False`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fermi.datasets.common.comments import TextDataset, check_religions, religion, text_dataset, without_religion
from fermi.datasets.common.downloads import RemoteFile
from fermi.datasets.common.loading import TEST_SIZE, split

FILES = (
    RemoteFile(
        "toxic/bias_madlibs_77k.csv",
        "https://raw.githubusercontent.com/conversationai/unintended-ml-bias-analysis/"
        "ff0f436f0c3bf336702f80644b935b9bcc296cb4/unintended_ml_bias/eval_datasets/bias_madlibs_77k.csv",
        "aac542254cf158415ec74623d54fa76176f26a7e7d8ef20788e1748a05ba5b4c",
    ),
)


def load(
    *,
    data_home: str | Path | None = None,
    religions: str = "two",
    include_sensitive: bool = True,
    test_size: float = TEST_SIZE,
    random_state: Any = 0,
) -> TextDataset:
    """Load the templated comments. The label is 1 for toxic.

    Parameters
    ----------
    data_home : path, optional
        The folder that holds ``toxic/bias_madlibs_77k.csv``.
    religions : "two" or "three"
        Whether Muslims and Jews are one group.
    include_sensitive : bool
        Whether the words that name a religion stay in the text.
    test_size : float
        The share of test rows. The split is stratified by label and by whether a religion is named; sentences that
        differ in the religion alone stay together.
    random_state : int, Generator or RandomState, optional
        Another seed gives another split.

    Returns
    -------
    TextDataset
        A split drawn by `random_state`.
    """
    import pandas as pd

    check_religions(religions)
    raw = pd.read_csv(FILES[0].locate(data_home), keep_default_na=False)
    frame = pd.DataFrame({"comment": raw["Text"], "is_toxic": raw["Label"].eq("BAD").astype(int)})
    # All versions of a sentence that differ in the religion alone fall on one side: a test row is no copy of others.
    frame["sentence"] = without_religion(frame["comment"])
    frame["named"] = religion(frame["comment"], "three").notna()
    sentences = frame.groupby("sentence", as_index=False)[["is_toxic", "named"]].max()
    _, chosen = split(sentences, ["is_toxic", "named"], test_size, random_state)
    is_test = frame["sentence"].isin(chosen["sentence"])
    train, test = frame[~is_test], frame[is_test]
    return text_dataset(
        "toxic_madlibs", train, test, religions=religions, include_sensitive=include_sensitive, note=__doc__ or ""
    )
