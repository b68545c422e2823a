"""Tables with categories as numbers for trees: codes of words, and numbers as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype
from sklearn.base import BaseEstimator, TransformerMixin

from fermi._typing import Floats

_CATEGORIES = 250  # of a column: scikit-learn's trees take 255


class TableCodes(TransformerMixin, BaseEstimator):
    """The columns of a table as floats: first the codes of words, then numbers; what is missing or unknown is NaN.

    Scikit-learn's own encoder turns pandas' categories, which are codes already, into words first and takes longer over
    it than the trees over growing.

    Parameters
    ----------
    words, numbers : sequence of int
        The places of the columns of each kind; others are left out.

    Attributes
    ----------
    categories_ : list of Index
        What the codes of each column of words stand for. Where a column has too many for a tree, all that are rarer
        than those listed share the code after the last.
    rare_ : list of Index
        These rarer ones.
    """

    def __init__(self, words: Sequence[int] = (), numbers: Sequence[int] = ()) -> None:
        self.words = words
        self.numbers = numbers

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Learn which words there are."""
        counts = [_of_one_type(X.iloc[:, j]).value_counts() for j in self.words]
        known = [pd.Index(np.asarray(count.index[count.to_numpy() > 0])) for count in counts]
        self.categories_ = [words[: _CATEGORIES - 1] for words in known]
        self.rare_ = [words[_CATEGORIES - 1 :] for words in known]
        return self

    def transform(self, X: pd.DataFrame) -> Floats:
        """Turn rows into numbers, n × (words + numbers)."""
        found = np.empty((len(X), len(self.words) + len(self.numbers)))
        for place, j in enumerate(self.words):
            found[:, place] = self._codes(_of_one_type(X.iloc[:, j]), place)
        for place, j in enumerate(self.numbers, start=len(self.words)):
            found[:, place] = X.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan)
        return found

    def _codes(self, column: pd.Series[Any], place: int) -> Floats:
        """The code of each entry; of pandas' categories each is looked up once, whatever the number of rows."""
        if isinstance(column.dtype, pd.CategoricalDtype):
            entries, kinds = column.cat.codes.to_numpy(), column.cat.categories
        else:
            entries, kinds = pd.factorize(column)
        codes = self.categories_[place].get_indexer(kinds).astype(np.float64)
        codes[codes < 0] = np.nan
        codes[self.rare_[place].get_indexer(kinds) >= 0] = len(self.categories_[place])
        return np.append(codes, np.nan)[entries]  # -1, what is missing, is the last


def _of_one_type(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column whose entries can be told apart by their words: numbers among words become words."""
    categories = getattr(column.dtype, "categories", None)
    mixed = infer_dtype(categories).startswith("mixed") if categories is not None else column.dtype == object
    return column.astype(object).map(str, na_action="ignore") if mixed else column
