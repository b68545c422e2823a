"""`FermiRegularizer`: λ Ψ(θ, W) of a batch, one term to add to the loss.

W is a parameter whose gradient arrives reversed, so that the optimizer's ordinary step descends in the model and
ascends in W. Given W, ψ is linear in the predicted probabilities: the value is a table look-up and a dot product, and
it is unbiased at any batch size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.distributed.algorithms.join import Join

from fermi.errors import bad_argument
from fermi.formulas.ermi import nonzero
from fermi.inputs.arguments import number, whole
from fermi.notions import Notion
from fermi.torch._inputs import (
    as_codes,
    as_column,
    check_codes,
    check_logits,
    check_weight,
    chosen_notion,
    full_precision,
    read_conditions,
    read_prior,
    refuse_prior,
    settle,
    unpacked,
)
from fermi.torch._ranks import Joining, add_over_ranks, average_over_ranks
from fermi.torch._saddle import saddle
from fermi.torch.cells import BatchCells


class FermiRegularizer(Joining, nn.Module):
    """λ times an unbiased estimate of ERMI, maximised over W by the optimizer that trains the model.

    Parameters
    ----------
    n_classes, n_groups : int
        How many there are.
    lam : float
        λ.
    notion : str or Notion
        "demographic_parity", "equalized_odds" or "equal_opportunity". `weights` of a notion need the shares of the
        conditions, so that `from_labels` or `from_loader` has to count them.
    n_conditions : int, optional
        How many values a column of yours has, for parity within them; their codes then take the target's place.
    advantaged : iterable of int, optional
        For "equal_opportunity": the classes that count, by default the last.
    group_prior : array, optional
        p(s), or p(s|z) with one row per condition, of the whole data set; even by default. `from_labels` counts it.
    radius : float, optional
        Keep W within this Frobenius norm.

    Attributes
    ----------
    W : Parameter, conditions × groups × classes
        The adversary. Put it into the same optimizer as the model, in a group of its own for its learning rate.
    group_prior, known : buffers
        The prior, and the fraction of all rows that count (known group, condition inside the notion).
    factors : buffer, or None
        What each condition's rows count, one on average, where the notion has weights; NaN until they are counted.
    debug : bool
        Check the codes on every device, which waits for it; on the CPU they are always checked.

    Examples
    --------
    >>> reg = FermiRegularizer.from_labels(torch.tensor([0, 1, 1, -1]), n_classes=3, n_groups=2, lam=5.0)
    >>> logits = torch.zeros(2, 3, requires_grad=True)
    >>> loss = reg(logits, torch.tensor([0, 1]))
    >>> loss.backward()
    >>> tuple(reg.W.grad.shape)
    (1, 2, 3)
    """

    over_ranks = True  # whether processes that train together share counts and W's gradient
    W: nn.Parameter
    group_prior: Tensor
    known: Tensor
    factors: Tensor | None
    condition_of: Tensor

    def __init__(
        self,
        n_classes: int,
        n_groups: int,
        *,
        lam: float = 1.0,
        notion: str | Notion = "demographic_parity",
        n_conditions: int | None = None,
        advantaged: Iterable[int] | None = None,
        group_prior: Any = None,
        radius: float | None = None,
    ) -> None:
        nn.Module.__init__(self)
        Joining.__init__(self)
        kind = chosen_notion(notion, advantaged)
        self.n_classes = whole("n_classes", n_classes, "a whole number of at least 2", low=2)
        self.n_groups = whole("n_groups", n_groups, "a whole number of at least 1", low=1)
        self.lam, self.notion = number("lam", lam, "a number of at least 0", low=0.0), kind.name
        condition_of = read_conditions(kind, n_classes, n_conditions)
        if radius is not None:
            radius = number("radius", radius, "a positive number, or None", low=0.0, open_low=True)
        self.radius, self.debug = radius, False
        # With conditions of the user's own, the target is the condition.
        self.own_conditions, self.needs_target = n_conditions is not None, kind.needs_target or n_conditions is not None
        Z = int(condition_of.max()) + 1
        self.W = nn.Parameter(torch.zeros(Z, n_groups, n_classes))
        self.register_buffer("condition_of", condition_of, persistent=False)
        self.register_buffer("group_prior", read_prior(group_prior, Z, n_groups))
        self.register_buffer("known", torch.ones(()))
        self._weights = kind.condition_weights(range(n_classes))
        self.register_buffer("factors", None if self._weights is None else torch.full((Z,), torch.nan))
        settle(self.W, self.group_prior)
        self._watch()

    @classmethod
    def from_labels(
        cls,
        sensitive: Any,
        target: Any = None,
        *,
        n_classes: int,
        n_groups: int | None = None,
        weight: Any = None,
        **options: Any,
    ) -> Self:
        """Make a regularizer whose prior is counted from codes, over all ranks if there are several.

        Parameters
        ----------
        sensitive, target : (n,) codes
            Group of every row of the data (-1: unknown), and class or condition where the notion asks for it.
        n_classes, n_groups : int
            How many there are; groups by default as many as the largest code says.
        weight : (n,) numbers, optional
            What each row weighs in the prior.
        **options
            Other arguments of `FermiRegularizer`, but for `group_prior`.

        Returns
        -------
        FermiRegularizer
        """
        refuse_prior(options)
        codes = as_column("sensitive", sensitive)
        if n_groups is None:
            n_groups = max(int(codes.max()) + 1 if len(codes) else 0, 1)
        regularizer = cls(n_classes, n_groups, **options)
        labels = None if target is None else as_column("target", target)
        table, rows = regularizer._count(codes, labels, None if weight is None else as_column("weight", weight))
        regularizer._set_prior(table, rows)
        return regularizer

    @classmethod
    def from_loader(
        cls,
        loader: Iterable[Any],
        *,
        n_classes: int,
        n_groups: int,
        unpack: Callable[[Any], tuple[Tensor, Tensor | None]] | None = None,
        **options: Any,
    ) -> Self:
        """Make a regularizer whose prior is counted in one pass over a loader, over all ranks if there are several.

        Parameters
        ----------
        loader : iterable of batches
            A dict with "sensitive" and "target", or what ends with (target, sensitive), unless `unpack` is given.
        n_classes, n_groups : int
        unpack : function, optional
            Gets sensitive and target from a batch.
        **options
            Other arguments of `FermiRegularizer`, but for `group_prior`.

        Returns
        -------
        FermiRegularizer
        """
        refuse_prior(options)
        regularizer = cls(n_classes, n_groups, **options)
        table, rows = torch.zeros_like(regularizer.group_prior, dtype=torch.float64), 0.0
        for batch in loader:
            sensitive, target = (unpack or unpacked)(batch)
            counts, size = regularizer._count(sensitive, target)
            table, rows = table + counts, rows + size
        regularizer._set_prior(table, rows)
        return regularizer

    def forward(
        self, logits: Tensor, sensitive: Tensor, target: Tensor | None = None, weight: Tensor | None = None
    ) -> Tensor:
        """The fairness term of a batch of B rows, λ Σ ψ_i / (B q), q the fraction of all rows that count.

        Parameters
        ----------
        logits : (B, n_classes) tensor
            What the model says of the batch.
        sensitive, target : (B,) codes
            Group of each row (-1: unknown), and class or condition where the notion asks for it.
        weight : (B,) tensor, optional
            What each row weighs, 1 on the average of the whole data; the prior must have been counted with it.

        Returns
        -------
        tensor of one number, to be added to the loss
        """
        cells = self._cells(sensitive, target)
        self._check(logits, cells, weight)
        if self.training and not torch.compiler.is_compiling():
            self._watch()  # again, because loading or moving may have put another W in its place
            Join.notify_join_context(self)
        if self.training:
            self.project()
        with full_precision(logits.device.type):
            precise = torch.promote_types(self.W.dtype, torch.float32)
            F, prior = logits.to(precise).softmax(-1), self.group_prior.to(precise)
            if self.factors is not None:
                weight = self.factors[cells.z] * (1.0 if weight is None else weight)
            total = saddle(F, self.W.to(precise), prior, cells, weight)
            return self.lam * total / (max(len(logits), 1) * self.known)

    def project(self) -> None:
        """Put W back into the ball of `radius`, if there is one; `forward` does so before it uses W."""
        if self.radius is not None:
            norm = torch.linalg.vector_norm(self.W.data)
            self.W.data.mul_(torch.clamp(self.radius / norm.clamp_min(1e-30), max=1.0))

    def _watch(self) -> None:
        if self.over_ranks:
            average_over_ranks(self.W)

    def _cells(self, sensitive: Tensor, target: Tensor | None) -> BatchCells:
        """The cells that the rows of a batch belong to."""
        sensitive = as_codes("sensitive", sensitive)
        if self._looks_at(sensitive):
            check_codes("sensitive", sensitive, self.n_groups)
        if not self.needs_target:
            return BatchCells.of(None, sensitive, self.n_groups)
        if target is None:
            raise bad_argument("target", f"is missing, and {self.notion!r} conditions on it", "one code per row")
        target = as_codes("target", target, len(sensitive))
        if self._looks_at(target):
            check_codes("target", target, len(self.condition_of))
        if not self.own_conditions:
            target = torch.where(target >= 0, self.condition_of.to(target.device)[target.clamp_min(0)], -1)
        return BatchCells.of(target, sensitive, self.n_groups)

    def _looks_at(self, tensor: Tensor) -> bool:
        """Whether to check the values of a tensor: where that does not wait for a device, or if asked to."""
        return not torch.compiler.is_compiling() and (self.debug or tensor.device.type == "cpu")

    def _check(self, logits: Tensor, cells: BatchCells, weight: Tensor | None) -> None:
        """Refuse what would be broadcast, an index out of range or a division by zero further on."""
        check_logits(logits, (len(cells.cell), self.n_classes))
        if weight is not None:
            check_weight(weight, cells.cell.shape, values=self._looks_at(weight))
        if not self._looks_at(logits):
            return
        if self.factors is not None and bool(self.factors.isnan().any()):
            raise bad_argument(
                "notion", "has weights, but no rows were counted", "from_labels(...) or from_loader(...)"
            )
        without = self.group_prior.flatten()[cells.cell] == 0.0
        if bool((without & cells.counted & (True if weight is None else weight > 0)).any()):
            raise bad_argument("group_prior", "is zero for a group that occurs", "the prior of the whole data set")

    def _count(self, sensitive: Tensor, target: Tensor | None, weight: Tensor | None = None) -> tuple[Tensor, float]:
        _, cell, counted = self._cells(sensitive, target)
        if weight is not None:
            check_weight(weight, cell.shape, values=True)
        shares = counted.double() if weight is None else torch.where(counted, weight.double(), 0.0)
        table = torch.bincount(cell, shares, self.group_prior.numel()).reshape(self.group_prior.shape)
        return table.cpu(), float(len(sensitive) if weight is None else weight.double().sum())

    def _set_prior(self, table: Tensor, rows: float) -> None:
        counts = torch.cat([table.flatten(), torch.tensor([rows], dtype=torch.float64)])
        if self.over_ranks:
            add_over_ranks(counts)
        table, total = counts[:-1].reshape(table.shape), counts[-1]
        if not bool(table.any()):
            raise bad_argument("sensitive", "is unknown in every row that the notion compares", "some known groups")
        self.group_prior.copy_(table / nonzero(table.sum(1, keepdim=True)))
        self.known.copy_(table.sum() / total)
        if self._weights is not None and self.factors is not None:
            names = torch.nonzero(self.condition_of >= 0).flatten().tolist()  # conditions are in the order of classes
            self.factors.copy_(torch.as_tensor(self._weights.factors(table.sum(1).numpy(), names)))
        settle(self.W, self.group_prior)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._watch()  # copies and pickles lose hooks
