"""The groups of some rows, coded once for all who ask for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fermi._typing import Ints
from fermi.inputs.codes import Codes
from fermi.inputs.groups import GroupEncoder


@dataclass(frozen=True, eq=False)
class CodedGroups:
    """The groups of some rows, read once for all who ask for them.

    Attributes
    ----------
    columns : tuple of str or None
        The names of the sensitive columns.
    labels : tuple of str
        The groups, in order; some of the rows may not show all of them.
    codes : (n,) int64
        The group of each row, -1 where it is unknown.
    """

    columns: tuple[str | None, ...]
    labels: tuple[str, ...]
    codes: Ints

    @classmethod
    def read(cls, sensitive_features: Any) -> CodedGroups:
        """The combinations of all columns that occur."""
        encoder = GroupEncoder()
        codes = encoder.fit_transform(sensitive_features)
        return cls(encoder.columns_, encoder.groups_, codes)

    def take(self, rows: Ints) -> CodedGroups:
        """The groups of some of the rows."""
        return replace(self, codes=self.codes[rows])

    def as_codes(self) -> Codes:
        """The groups as a coded column."""
        return Codes(self.codes, 0, self.labels, int(np.count_nonzero(self.codes < 0)))
