"""Labels that hang by a thread: groups whose rows are too much alike for a charge to tell them apart.

A rule is chosen with models that have not seen the rows, and used with models that have seen them all, whose
probabilities differ a little. Where the scores of a group's classes differ by next to nothing in most of its rows, as
where a column gives the label away and another the group, that little turns the labels of the whole group.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fermi.decisions.figures import rates_of
from fermi.decisions.judged import JudgedRows
from fermi.decisions.rule import Rule
from fermi.errors import listed

_NEAR = 0.02  # a difference of scores, which are probabilities
_MANY = 0.3  # of a group's rows within a condition
_ENOUGH = 30  # rows, below which it may be chance


def hanging_groups(rows: JudgedRows, rule: Rule, names: Sequence[Sequence[str]]) -> list[str]:
    """The groups of which a slight shift of the scores would change the labels of many rows.

    Parameters
    ----------
    rows : JudgedRows
        The rows that the rule was chosen on.
    rule : Rule
        What gives the labels; scores that are costs have no scale to compare with, and none of their groups is named.
    names : sequence of sequences of str
        The groups of each attribute.
    """
    if rule.changes_nothing or rule.costs is not None:
        return []
    scores = rule.scores(rows.F, np.concatenate(rows.q, axis=1))
    m = scores.shape[1]
    ahead = np.diff(np.sort(scores, axis=1)[:, -2:], axis=1)[:, 0]
    labels = scores.argmax(axis=1)
    if (labels == labels[0]).all():  # which is said elsewhere, and keeps any bound
        return []
    # The labels that hang are counted as classes of their own, after the others.
    labels = labels + m * (ahead < _NEAR)
    found = []
    for cells, groups in zip(rows.cells, names, strict=True):
        hanging = (rates_of(cells.hard(labels, 2 * m))[:, :, m:] > _MANY).any(axis=2)
        enough = np.bincount(cells.index[cells.counted], minlength=cells.size).reshape(cells.shape) >= _ENOUGH
        found += [groups[s] for s in np.flatnonzero((hanging & enough).any(axis=0)).tolist()]
    return found


def said_of_hanging(groups: Sequence[str]) -> str:
    """What a user should know of groups whose labels hang by a thread, in one sentence."""
    return (
        f"The labels of {listed(groups, limit=4)} hang on differences of less than {_NEAR:g} in probability: the bound "
        "is kept on held-out rows, and the model of all rows may still label most of the group otherwise. Columns that "
        "give the label or the group away do this: leave them out, or ask for a looser bound."
    )
