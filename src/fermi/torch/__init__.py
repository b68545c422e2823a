"""ERMI in any PyTorch training loop, and networks in scikit-learn's conventions.

`FermiNet` is loaded when first used: a loop with the regularizer alone needs no scikit-learn, on none of its ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fermi._optional import require

require("torch", extra="torch")

from fermi.torch import models  # noqa: E402
from fermi.torch.regularizer import FermiRegularizer  # noqa: E402

if TYPE_CHECKING:
    from fermi.torch.net import FermiNet

__all__ = ["FermiNet", "FermiRegularizer", "models"]


def __getattr__(name: str) -> Any:
    if name == "FermiNet":
        from fermi.torch.net import FermiNet

        return FermiNet
    raise AttributeError(f"module 'fermi.torch' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
