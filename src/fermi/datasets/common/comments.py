"""Data sets of comments: the religion that a comment names, and words as numbers."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from fermi.datasets.common.dataset import Dataset
from fermi.datasets.common.downloads import home
from fermi.datasets.common.loading import flag
from fermi.errors import DataError, bad_argument
from fermi.inputs.arguments import AT_LEAST_ONE, chosen, whole

if TYPE_CHECKING:
    import pandas as pd

# The paper sets Christians against Muslims and Jews together.
_RELIGIONS = {
    "two": {"christian": "christian", "muslim or jewish": "muslim|jewish"},
    "three": {"christian": "christian", "jewish": "jewish", "muslim": "muslim"},
}
_NAMING_WORDS = re.compile(r"\w*(?:christian|jewish|muslim)\w*", re.IGNORECASE)
_WORD = re.compile(r"n't|'\w+|\w+?(?=n't)|\w+")  # as GloVe: "don't" is do and n't
_PADDING, _UNKNOWN = 0, 1
_GLOVE = "toxic/glove.100d.subset.txt.gz"


@dataclass(frozen=True)
class Vocabulary:
    """Words of the training rows as whole numbers, for a network that looks them up.

    0 is padding, 1 any word that is not known, and the others follow from the most frequent word down.

    Attributes
    ----------
    words : tuple of str
        The words, whose numbers begin at 2.
    length : int
        How many words of a text are read.

    Examples
    --------
    >>> vocabulary = Vocabulary.fit(["You are kind.", "You aren't"], length=4)
    >>> vocabulary.words
    ('are', 'you', 'kind', "n't")
    >>> vocabulary.transform(["you are very kind", "Kind"])
    array([[3, 2, 1, 4],
           [4, 0, 0, 0]], dtype=int32)
    """

    words: tuple[str, ...]
    length: int

    @classmethod
    def fit(cls, texts: Iterable[str], *, max_words: int = 10_000, length: int = 250) -> Self:
        """Take the most frequent words of the training texts; of two as frequent, the first in the alphabet.

        Parameters
        ----------
        texts : iterable of str
            One text per row.
        max_words : int
            How many words at most.
        length : int
            How many words of each text `transform` will read.

        Returns
        -------
        Vocabulary
            The words and the length.
        """
        whole("max_words", max_words, AT_LEAST_ONE, low=1)
        whole("length", length, AT_LEAST_ONE, low=1)
        counts = Counter(word for text in _checked(texts) for word in _words(text))
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(tuple(ranked[:max_words]), length)

    def __len__(self) -> int:
        """How many numbers a vocabulary uses: one per word, and those for padding and unknown words."""
        return len(self.words) + 2

    def transform(self, texts: Iterable[str]) -> NDArray[np.int32]:
        """Turn texts into rows of word numbers: longer texts are cut, shorter ones padded.

        Parameters
        ----------
        texts : iterable of str
            One text per row.

        Returns
        -------
        (n, length) int32 array
            One row per text.
        """
        known = self._numbers
        rows = [[known.get(word, _UNKNOWN) for word in _words(text)[: self.length]] for text in _checked(texts)]
        numbers = np.full((len(rows), self.length), _PADDING, dtype=np.int32)
        for target, row in zip(numbers, rows, strict=True):
            target[: len(row)] = row
        return numbers

    def vectors(self, file: str | Path | None = None, *, data_home: str | Path | None = None) -> NDArray[np.float32]:
        """Look up the GloVe vector of every word number; padding, unknown words and words that GloVe lacks are zeros.

        Parameters
        ----------
        file : path, optional
            One of GloVe's text files, or a part of one, also as ``.gz``; by default
            ``toxic/glove.100d.subset.txt.gz`` in the data folder.
        data_home : path, optional
            The data folder.

        Returns
        -------
        (len(self), dimensions) float32 array
            One row per number.
        """
        path = home(data_home) / _GLOVE if file is None else Path(file)
        try:
            found = _read_vectors(path, self._numbers)
            table = np.stack(list(found.values()))
        except FileNotFoundError:
            raise DataError(
                f"There is no file {path}: put a text file of https://nlp.stanford.edu/projects/glove there, "
                "or name one with `file`."
            ) from None
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise DataError(f"{path} is no file of vectors of these words ({error}).") from error
        vectors = np.zeros((len(self), table.shape[1]), dtype=np.float32)
        vectors[list(found)] = table
        return vectors

    @property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words, start=_UNKNOWN + 1)}


@dataclass(frozen=True, eq=False, repr=False)
class TextDataset(Dataset):
    """A data set of comments, which are in the one column `comment`.

    Attributes
    ----------
    name, X_train, y_train, s_train, X_test, y_test, s_test, note
        As in `Dataset`.
    """

    def numeric(self) -> Self:
        """The data set with a 0/1 column for each of the 1,000 most frequent words of the training rows.

        Returns
        -------
        TextDataset
            With the same rows, labels and sensitive columns.
        """
        import pandas as pd

        words = Vocabulary.fit(self.X_train["comment"], max_words=1000).words
        place = {word: j for j, word in enumerate(words)}

        def encode(X: pd.DataFrame) -> pd.DataFrame:
            table = np.zeros((len(X), len(words)), dtype=np.float32)
            for row, text in zip(table, X["comment"], strict=True):
                row[[place[word] for word in _words(text) if word in place]] = 1.0
            return pd.DataFrame(table, index=X.index, columns=list(words), copy=False)

        return replace(self, X_train=encode(self.X_train), X_test=encode(self.X_test))


def text_dataset(
    name: str, train: pd.DataFrame, test: pd.DataFrame, *, religions: str, include_sensitive: bool, note: str
) -> TextDataset:
    """Make a data set of frames with the columns `comment` and `is_toxic`."""
    named = flag("include_sensitive", include_sensitive)

    def rows(part: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
        comment = part["comment"] if named else without_religion(part["comment"])
        return comment.to_frame(), part["is_toxic"], religion(part["comment"], religions).to_frame()

    return TextDataset(name, *rows(train), *rows(test), note=note)


def without_religion(comments: pd.Series) -> pd.Series:
    """The comments without the words that name a religion."""
    return comments.str.replace(_NAMING_WORDS, " ", regex=True)


def check_religions(religions: str) -> str:
    """Check the argument `religions` of the loaders and return it."""
    return chosen("religions", religions, list(_RELIGIONS))


def religion(comments: pd.Series, religions: str) -> pd.Series:
    """The one religion whose term a comment holds, in any case and inside longer words; None if none or several."""
    import pandas as pd

    terms = _RELIGIONS[check_religions(religions)]
    named = pd.DataFrame({group: comments.str.contains(term, case=False) for group, term in terms.items()})
    group = named.idxmax(axis=1).astype(object)
    return group.where(named.sum(axis=1) == 1, None).rename("religion")


def _checked(texts: Iterable[str]) -> list[str]:
    """Refuse texts that are not one text per row; return them as a list."""
    rows = [texts] if isinstance(texts, str) else list(texts)
    strange = next((i for i, text in enumerate(rows) if not isinstance(text, str)), None)
    if isinstance(texts, str) or strange is not None:
        found = "is one text" if strange is None else f"has {rows[strange]!r} in row {strange}"
        raise bad_argument("texts", found, "one text per row")
    return rows


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("’", "'"))


def _read_vectors(path: Path, numbers: dict[str, int]) -> dict[int, NDArray[np.float32]]:
    """Read the vectors of the words that have numbers, by number."""
    unpack = gzip.open if path.suffix == ".gz" else open
    found = {}
    with unpack(path, "rt", encoding="utf-8") as lines:
        size = None
        for line in lines:
            if size is None:
                size = len(line.split(" ")) - 1
            word, *values = line.rstrip().rsplit(" ", size)  # a word may hold spaces
            if word in numbers:
                found[numbers[word]] = np.array(values, dtype=np.float32)
    return found
