"""The record that every loader of a data set returns."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test rows of a data set: features X, labels y, sensitive columns s.

    Attributes
    ----------
    name : str
        What the data set is called.
    X_train, X_test : DataFrame
        Features.
    y_train, y_test : Series
        Labels.
    s_train, s_test : DataFrame
        Sensitive columns.
    note : str
        Where the data comes from, what is known to be wrong with it, and whether the sensitive columns are among the
        features.
    """

    name: str
    X_train: pd.DataFrame
    y_train: pd.Series
    s_train: pd.DataFrame
    X_test: pd.DataFrame
    y_test: pd.Series
    s_test: pd.DataFrame
    note: str = ""

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}, {len(self.X_train)} + {len(self.X_test)} rows, {self.X_train.shape[1]} columns, "
            f"sensitive: {', '.join(self.s_train.columns)})"
        )

    def numeric(self) -> Self:
        """The data set with features that any model takes, fitted on the training rows alone.

        Numbers are standardised, a missing one becomes the mean; each category of a column becomes a 0/1 column
        ``column=category``; a missing category, or one never seen in training, is zero in all of them.

        Returns
        -------
        Dataset
            With the same rows, labels and sensitive columns.

        Examples
        --------
        >>> from fermi.datasets import synthetic
        >>> list(synthetic(n=100).numeric().X_train.columns[:5])
        ['income', 'debt_ratio', 'years_employed', 'age', 'rating=R1']
        """
        import pandas as pd

        numbers = self.X_train.select_dtypes("number")
        scale = numbers.std(ddof=0).replace(0.0, 1.0)
        others = self.X_train.columns.drop(numbers.columns)
        categories = {name: self.X_train[name].astype("category").cat.categories for name in others}

        def encode(X: pd.DataFrame) -> pd.DataFrame:
            parts: list[pd.DataFrame] = [((X[numbers.columns] - numbers.mean()) / scale).fillna(0.0)]
            for name in others:
                known = X[name].astype(object).where(X[name].isin(categories[name]))
                dummies = pd.get_dummies(known.astype(pd.CategoricalDtype(categories[name])), dtype=float)
                parts.append(dummies.set_axis([f"{name}={value}" for value in dummies.columns], axis=1))
            return pd.concat(parts, axis=1)

        return dataclasses.replace(self, X_train=encode(self.X_train), X_test=encode(self.X_test))
