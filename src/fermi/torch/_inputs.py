"""Reads and checks what `FermiRegularizer` is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fermi.errors import bad_argument
from fermi.inputs.arguments import whole
from fermi.notions import OF_LABELS, Notion, as_notion


def refuse_prior(options: Mapping[str, Any]) -> None:
    """Refuse a prior where it is counted from rows."""
    if options.get("group_prior") is not None:
        raise bad_argument("group_prior", "is given where it is counted", "None, or FermiRegularizer(...) itself")


def check_weight(weight: Any, shape: Any, *, values: bool) -> None:
    """Check that there is one weight per row; `values` says whether to look at them, which waits for the device."""
    if not isinstance(weight, Tensor) or weight.shape != shape:
        found = f"is a {type(weight).__name__} of shape {tuple(getattr(weight, 'shape', ()))}"
        raise bad_argument("weight", found, f"a tensor of {tuple(shape)}")
    if values and not bool(((weight >= 0) & weight.isfinite()).all()):
        raise bad_argument("weight", "holds negative or infinite numbers", "finite numbers of at least 0")


def check_logits(logits: Any, shape: tuple[int, int]) -> None:
    """Refuse what is no tensor of one logit per row and class."""
    if not isinstance(logits, Tensor) or logits.shape != shape:
        found = tuple(getattr(logits, "shape", ()))
        raise bad_argument("logits", f"is a {type(logits).__name__} of shape {found}", f"a tensor of {shape}")


def check_codes(name: str, codes: Tensor, size: int) -> None:
    """Refuse codes out of range, which waits for the device."""
    if len(codes):
        low, high = (int(end) for end in codes.aminmax())
        if low < -1 or high >= size:
            raise bad_argument(name, f"holds codes from {low} to {high}", f"-1 (unknown) to {size - 1}")


def as_column(name: str, given: Any) -> Tensor:
    """Read numbers of any library as a tensor."""
    try:
        return given if isinstance(given, Tensor) else torch.as_tensor(np.asarray(given))
    except (TypeError, ValueError, RuntimeError):
        raise bad_argument(name, "holds no numbers", "whole codes (fermi.GroupEncoder makes them)") from None


def as_codes(name: str, given: Any, rows: int | None = None) -> Tensor:
    """Check that there is one whole number per row, and as many as rows of `sensitive` where that is given."""
    if not isinstance(given, Tensor):
        raise bad_argument(name, f"is a {type(given).__name__}", "a tensor with one whole code per row")
    if given.is_floating_point() or given.is_complex() or given.dim() != 1:
        raise bad_argument(name, f"is {given.dtype} of shape {tuple(given.shape)}", "one whole code per row")
    if rows is not None and len(given) != rows:
        raise bad_argument(name, f"has {len(given)} rows", f"{rows}, as many as `sensitive`")
    return given.long()  # small types would overflow, and unsigned ones have no -1


def chosen_notion(notion: str | Notion, advantaged: Iterable[int] | None) -> Notion:
    """The notion, about these classes if they are given."""
    kind = as_notion(notion)
    if kind.column is not None:
        raise bad_argument("notion", f"is {kind.name!r} with a column of its own", "`n_conditions`, with its codes")
    if advantaged is None:
        return kind
    if not kind.takes_labels:
        raise bad_argument("advantaged", f"is given for {kind.name!r}", f"None, or notion={OF_LABELS[0]!r}")
    return kind.of_labels(set(advantaged))


def read_conditions(notion: Notion, n_classes: int, n_conditions: Any) -> Tensor:
    """The condition of each class, -1 where it does not count; or of each value of a column, of so many values."""
    if n_conditions is not None:
        n_conditions = whole("n_conditions", n_conditions, "a whole number of at least 1, or None", low=1)
        if notion.needs_target:
            raise bad_argument("n_conditions", f"is given with notion={notion.name!r}", "one of the two")
        return torch.arange(n_conditions)
    labels = list(range(n_classes))
    return torch.as_tensor(notion.conditions(labels, n_classes, labels).dense())


def read_prior(given: Any, Z: int, k: int) -> Tensor:
    """Read the prior p(s|z), one row per condition; even by default."""
    if given is None:
        return torch.full((Z, k), 1.0 / k)
    try:
        prior = torch.as_tensor(given, dtype=torch.float32)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise bad_argument("group_prior", f"is {given!r}", f"({k},) or ({Z}, {k}) numbers, none negative") from None
    if prior.shape not in ((k,), (Z, k)) or not bool((prior >= 0).all()):
        raise bad_argument("group_prior", f"has the shape {tuple(prior.shape)}", f"({k},) or ({Z}, {k}), none negative")
    if bool(((prior.sum(-1) - 1.0).abs() > 1e-3).any()):
        raise bad_argument("group_prior", "does not sum to one", "the share of every group")
    return prior.expand(Z, k).clone()


@torch.no_grad()
def settle(W: Tensor, prior: Tensor) -> None:
    """Put W to its optimum where a condition has one group: ERMI is zero there, and W has nothing to find out."""
    alone = (prior > 0.0).sum(1) == 1
    W[alone] = (prior[alone] > 0.0).to(W.dtype)[:, :, None]


def unpacked(batch: Any) -> tuple[Tensor, Tensor | None]:
    """Get sensitive and target from a batch in one of the usual forms."""
    if isinstance(batch, Mapping):
        return batch["sensitive"], batch.get("target")
    return batch[-1], batch[-2]


def full_precision(device: str) -> AbstractContextManager[None]:
    """A context without autocast; some devices, such as "meta", have none that could be turned off."""
    return torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else nullcontext()
