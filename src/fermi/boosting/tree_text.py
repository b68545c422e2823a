"""LightGBM's text of trees, read and written anew: what its own parser is given then is nothing but whole trees.

That parser trusts the text. Lengths, offsets and places of children go into memory accesses as they stand, so that a
text that was altered crashes the process or lets it run in a circle. Here each tree must be one: as many numbers as it
has nodes, every node and leaf below one node that comes before it, features that there are, numbers that are finite.
The text is then written from these parts alone, in the order and with the offsets that LightGBM writes; what is not
needed for predictions, such as parameters, is left out.
"""

from __future__ import annotations

import re

import numpy as np

from fermi._typing import Ints

_NUMBER = re.compile(r"-?\d{1,400}(\.\d{0,400})?([eE][-+]?\d{1,3})?")
_THRESHOLD = re.compile(rf"-?inf|{_NUMBER.pattern}")
_WHOLE = re.compile(r"-?\d{1,9}")
_RANGE = re.compile(rf"none|\[({_NUMBER.pattern}):({_NUMBER.pattern})\]")
_LEFT_OR_RIGHT = {0, 2}  # where a missing value goes, by LightGBM's bits
_MISSING = {0, 4, 8}  # what counts as missing: nothing, zero, NaN
_DECISIONS = {side + kind for side in _LEFT_OR_RIGHT for kind in _MISSING}  # an odd one would be about categories
_SPLITS = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
_END = "end of trees"


def checked_text(text: str, n_classes: int, width: int) -> str:
    """Write the text of a LightGBM model anew from its trees, each of which is checked.

    Parameters
    ----------
    text : str
        What `Booster.model_to_string` gave, of a model of numbers without categories.
    n_classes : int
        How many classes it predicts.
    width : int
        How many features it takes.

    Returns
    -------
    str
        A text whose booster predicts the same. `ValueError` says what is wrong with one that is no such model.
    """
    head, *blocks = re.split(r"^Tree=\d+\n", text, flags=re.MULTILINE)
    outputs = 1 if n_classes == 2 else n_classes
    if not blocks or len(blocks) % outputs or _END not in blocks[-1]:
        raise ValueError("the booster has no trees, or too few for its classes")
    blocks[-1] = blocks[-1].partition(_END)[0]
    trees = [f"Tree={k}\n{_tree(block, width)}\n\n" for k, block in enumerate(blocks)]
    sizes = " ".join(str(len(tree)) for tree in trees)
    end = f"{_END}\n\nparameters:\nend of parameters\n"
    return f"{_head(head, n_classes, width)}tree_sizes={sizes}\n\n{''.join(trees)}{end}"


def _head(head: str, n_classes: int, width: int) -> str:
    """What comes before the trees."""
    found = _fields(head)
    link, outputs = ("binary sigmoid:1", 1) if n_classes == 2 else (f"multiclass num_class:{n_classes}", n_classes)
    expected = {
        "num_class": outputs,
        "num_tree_per_iteration": outputs,
        "max_feature_idx": width - 1,
        "objective": link,
    }
    if any(found.get(name) != str(value) for name, value in expected.items()) or "average_output" in head.split():
        raise ValueError("the booster is about other classes or features than the model")
    ranges = _entries(found, "feature_infos", width, _RANGE)
    names = " ".join(f"Column_{j}" for j in range(width))
    return (
        f"tree\nversion=v4\nnum_class={outputs}\nnum_tree_per_iteration={outputs}\nlabel_index=0\n"
        f"max_feature_idx={width - 1}\nobjective={link}\nfeature_names={names}\nfeature_infos={' '.join(ranges)}\n"
    )


def _tree(block: str, width: int) -> str:
    """One tree, all of it but its number."""
    found = _fields(block)
    leaves = _whole(found, "num_leaves", 1)[0]
    if leaves < 1 or found.get("num_cat") != "0" or found.get("is_linear", "0") != "0":
        raise ValueError("a tree of the booster has no leaves, or asks for categories")
    nodes = leaves - 1
    feature, decision, left, right = (_whole(found, name, nodes) for name in _SPLITS if name != "threshold")
    if any(not 0 <= j < width for j in feature) or not set(decision.tolist()) <= _DECISIONS:
        raise ValueError("a tree of the booster asks for features that there are not")
    _check_shape(left, right, nodes)
    lines = [f"num_leaves={leaves}", "num_cat=0"]
    for name in _SPLITS:
        # Thresholds that part missing values from all others are infinite.
        entries = _entries(found, name, nodes, _THRESHOLD) if name == "threshold" else _numbers(found, name, nodes)
        lines.append(f"{name}={' '.join(entries)}")
    values = _numbers(found, "leaf_value", leaves)
    shrinkage = _numbers(found, "shrinkage", 1)[0]
    return "\n".join([*lines, f"leaf_value={' '.join(values)}", "is_linear=0", f"shrinkage={shrinkage}", "", ""])


def _check_shape(left: Ints, right: Ints, nodes: int) -> None:
    """Refuse what is no tree: every node but the first, and every leaf, lies below exactly one node before it."""
    below = np.concatenate([left, right])
    above = np.tile(np.arange(nodes), 2)
    inner = below >= 0
    every = np.sort(below)
    if not np.array_equal(every, [*range(-nodes - 1, 0), *range(1, nodes)] if nodes else []):
        raise ValueError("a tree of the booster is none: some of its nodes are nowhere, or twice")
    if (below[inner] <= above[inner]).any():
        raise ValueError("a tree of the booster is none: it runs in a circle")


def _fields(lines: str) -> dict[str, str]:
    """What the lines NAME=VALUE say; a name that comes twice is refused."""
    pairs = [line.split("=", 1) for line in lines.split("\n") if "=" in line]
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("the booster says something twice")
    return found


def _entries(found: dict[str, str], name: str, count: int, kind: re.Pattern[str]) -> list[str]:
    entries = found.get(name, "").split(" ") if found.get(name) else []
    if len(entries) != count or not all(kind.fullmatch(entry) for entry in entries):
        raise ValueError(f"the booster's {name} is missing, or not as long as its tree")
    return entries


def _numbers(found: dict[str, str], name: str, count: int) -> list[str]:
    entries = _entries(found, name, count, _NUMBER)
    if not np.isfinite([float(entry) for entry in entries]).all():
        raise ValueError(f"the booster's {name} holds what is no number")
    return entries


def _whole(found: dict[str, str], name: str, count: int) -> Ints:
    return np.array([int(entry) for entry in _entries(found, name, count, _WHOLE)], dtype=np.int64)
