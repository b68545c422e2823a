"""ERMI in any PyTorch training loop, and networks in scikit-learn's conventions."""

from __future__ import annotations

from fermi._optional import require

require("torch", extra="torch")

from fermi.torch import models  # noqa: E402
from fermi.torch.net import FermiNet  # noqa: E402
from fermi.torch.regularizer import FermiRegularizer  # noqa: E402

__all__ = ["FermiNet", "FermiRegularizer", "models"]
