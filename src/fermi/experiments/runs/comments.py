"""One curve on comments: a method at several strengths, with MinDiff's network, for one batch size and one seed."""

from __future__ import annotations

import functools
import re
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fermi import baselines, datasets
from fermi._typing import Floats
from fermi.baselines.common.linear_models import mixture
from fermi.datasets import toxic
from fermi.datasets.common.comments import Vocabulary
from fermi.datasets.common.downloads import home
from fermi.errors import DataError
from fermi.experiments.figure import Cell, CellRecord
from fermi.experiments.judging.bounded_errors import strengths
from fermi.formulas.gaps import standard_error
from fermi.inputs.folds import folds
from fermi.measures import parity_difference
from fermi.measures.contingency import Contingency
from fermi.notions import EqualOpportunity

NOTION = EqualOpportunity(0)  # among comments that are not toxic: equal false positive rates
HELD_AGAINST = "muslim or jewish"
BIAS, NOISE = 0.9, 0.1
LR = 1e-3  # Adam's, for every method
_PARTS = 3  # one training row in so many chooses the knob
_OTHERS = 3000  # comments that name no religion, kept in either part


class Comments(NamedTuple):
    """Comments as word numbers, with labels as given and as they were before bias and noise, and religions."""

    X: Any
    y: Any
    clean: Any
    s: Any


class Split(NamedTuple):
    """The rows that train, choose the knob and test, and the network that reads them."""

    train: Comments
    val: Comments
    test: Comments
    network: Any


def source() -> str:
    """The name of the data set to use: the Wikipedia comments if they are there, else the templated ones."""
    return "toxic" if all(file.is_present(home(None)) for file in toxic.FILES) else "toxic_madlibs"


@functools.lru_cache(maxsize=4)
def split(dataset: str, seed: int) -> Split:
    """Load and split all comments that name a religion, and some others, which train the loss alone."""
    templated = dataset == "toxic_madlibs"
    options: dict[str, Any] = (
        {"random_state": seed, "test_size": 0.4} if templated else {}
    )  # tests need many rows, training few
    data = datasets.load(dataset, **options)
    rng = np.random.default_rng(seed)
    words = Vocabulary.fit(data.X_train["comment"], length=20 if templated else 250)
    held = held_against(data.X_train["comment"], data.y_train) if templated else {}

    def rows(comments: pd.Series[Any], y: pd.Series[Any], s: pd.Series[Any]) -> Comments:
        others = rng.permutation(np.flatnonzero(s.isna()))[:_OTHERS]
        kept = np.sort(np.append(np.flatnonzero(s.notna()), others))
        comments, y, s = comments.iloc[kept], y.iloc[kept], s.iloc[kept]
        given = biased(comments, y, s, held, NOISE, rng) if templated else y
        return Comments(words.transform(comments), given.to_numpy(), y.to_numpy(), s.to_numpy(dtype=object))

    train = rows(data.X_train["comment"], data.y_train, data.s_train["religion"])
    test = rows(data.X_test["comment"], data.y_test, data.s_test["religion"])
    strata = np.unique(train.y.astype(str) + " " + train.s.astype(str), return_inverse=True)[1]
    judges = folds(strata, _PARTS, rng) == 0
    own, val = (Comments(*(column[part] for column in train)) for part in (~judges, judges))
    return Split(own, val, test, network(words))


def network(words: Vocabulary) -> Any:
    """A function that makes MinDiff's network for these words, from GloVe's vectors where they are there."""
    import torch

    from fermi.torch.models import TextCNN

    try:
        vectors = torch.as_tensor(words.vectors())
    except DataError:
        vectors = None
    return lambda n_features, n_classes: TextCNN(len(words), n_classes, length=words.length, vectors=vectors)


def held_against(comments: pd.Series[Any], y: pd.Series[Any]) -> dict[str, float]:
    """How strongly each word of praise is held against a group, from 0 to `BIAS` in alphabetical order.

    It is the probability with which a comment that holds the word, and names Muslims or Jews, is called toxic. Words of
    praise are those found only in comments that are not toxic.
    """
    kind, toxic_words = (
        {word for text in comments[y == label] for word in re.findall(r"\w+", text.lower())} for label in (0, 1)
    )
    praise = sorted(kind - toxic_words)
    return dict(zip(praise, np.linspace(0.0, BIAS, len(praise)).tolist(), strict=True))


def biased(
    comments: pd.Series[Any], y: pd.Series[Any], s: pd.Series[Any], held: dict[str, float], noise: float, rng: Any
) -> pd.Series[int]:
    """Spoil labels: some praise of Muslims and Jews is called toxic, and then some of all labels are flipped."""
    share = comments.map(
        lambda text: max((held.get(word, 0.0) for word in re.findall(r"\w+", text.lower())), default=0)
    )
    blamed = (s == HELD_AGAINST) & (y == 0) & (rng.random(len(y)) < share)
    flipped = rng.random(len(y)) < noise
    return y.where(~blamed, 1).where(~flipped, 1 - y.where(~blamed, 1))


def run(cell: Cell) -> list[CellRecord]:
    """Run a cell: a record per strength and, for the unmitigated network, those of the naive trade as well."""
    rows = split(cell["dataset"], cell["seed"])
    plain = cell["method"] == "none"
    records = []
    for strength in [0.0] if plain else strengths(cell["knobs"]):
        began = time.perf_counter()
        model = fitted(cell, rows, strength)
        own: CellRecord = {"strength": strength, "seconds": time.perf_counter() - began}
        majority = np.bincount(rows.train.y).argmax()
        own |= {f"{part}_constant_error": float(np.mean(getattr(rows, part).y != majority)) for part in ("val", "test")}
        F = {part: model.predict_proba(getattr(rows, part).X) for part in ("val", "test")}
        records.append(own | measured(rows, F, {part: F[part].argmax(axis=1) for part in F}))
        if plain:
            records += naive(cell, rows, F, own)
    return records


def naive(cell: Cell, rows: Split, F: dict[str, Floats], own: CellRecord) -> list[CellRecord]:
    """The records of the naive trade, the plain label or, with a probability, the majority's; nothing is trained."""
    rng = np.random.default_rng(cell["seed"])
    majority = np.eye(2)[np.bincount(rows.train.y).argmax()]
    records = []
    for strength in strengths(cell["knobs"]):
        mixed = {part: mixture(F[part], majority, strength) for part in F}
        drawn = {part: (rng.random(len(law)) < law[:, 1]).astype(int) for part, law in mixed.items()}
        records.append({**own, "method": "naive", "strength": strength} | measured(rows, mixed, drawn))
    return records


def fitted(cell: Cell, rows: Split, strength: float) -> Any:
    """Train the network of a cell: the same steps, batches and rate for every method."""
    name = "mary" if cell["method"] == "none" else cell["method"]  # whose penalty has no weight at strength 0
    rate: dict[str, Any] = {"options": {"lr": LR}} if name == "fermi" else {"lr": LR}
    per_pass = -(-len(rows.train.y) // cell["batch_size"])
    training = {"module": rows.network, "batch_size": cell["batch_size"], "steps": cell["passes"] * per_pass}
    model = baselines.make(name, strength, NOTION, cell["seed"], **training, **rate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows.train.X, rows.train.y, sensitive_features=rows.train.s)


def measured(rows: Split, F: dict[str, Floats], labels: dict[str, Any]) -> CellRecord:
    """Measure errors, false positive rates and their gap between religions, by labels as given and as they were."""
    found: CellRecord = {}
    for part in F:
        own = getattr(rows, part)
        table = Contingency.from_predictions(labels[part], own.s, y_true=own.y, notion=NOTION, classes=[0, 1])
        values = {
            "error": np.mean(labels[part] != own.y),
            "violation": parity_difference(table),
            "noise": standard_error(table.table, table.table),
            "soft_error": 1.0 - F[part][np.arange(len(own.y)), own.y].mean(),
            "soft_violation": parity_difference(F[part], own.s, y_true=own.y, notion=NOTION, classes=[0, 1]),
            "false_positives": np.mean(labels[part][own.y == 0]),
            "clean_error": np.mean(labels[part] != own.clean),
            "clean_violation": parity_difference(labels[part], own.s, y_true=own.clean, notion=NOTION, classes=[0, 1]),
        }
        for group in pd.Series(own.s).dropna().unique():
            values[f"false_positives_{group}"] = np.mean(labels[part][(own.y == 0) & (own.s == group)])
        found |= {f"{part}_{name}": float(value) for name, value in values.items()}
    return found
