"""ERMI in any PyTorch training loop."""

from __future__ import annotations

from fermi._optional import require

require("torch", extra="torch")

from fermi.torch.regularizer import FermiRegularizer  # noqa: E402

__all__ = ["FermiRegularizer"]
