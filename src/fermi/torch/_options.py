"""The options of `FermiNet`, checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from fermi.errors import bad_argument, listed
from fermi.fitting.options import Common
from fermi.inputs.arguments import AT_LEAST_ONE, chosen, existing_folder, number, seed_of, whole

_OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}
_LARGEST = torch.finfo(torch.float32).max


@dataclass(frozen=True)
class NetSettings(Common):
    """The options of `FermiNet`, checked."""

    module: Any
    optimizer: Callable[..., torch.optim.Optimizer]
    lr: float
    lr_w: float | None
    schedule: str
    batch_size: int
    max_epochs: int
    patience: int
    radius: float | None
    checkpoint: Path | None
    device: torch.device
    seed: str  # as far as it can be told from another

    @classmethod
    def read(cls, net: Any) -> NetSettings:
        """Check every option that does not depend on the data."""
        positive = "a positive number that single precision holds"
        lr_w = None if isinstance(net.lr_w, str) and net.lr_w == "auto" else net.lr_w
        radius = net.radius
        if radius is not None:
            radius = number("radius", radius, "a positive number or None", low=0.0, open_low=True)
        if lr_w is not None:
            lr_w = number("lr_w", lr_w, "a positive number or 'auto'", low=0.0, high=_LARGEST, open_low=True)
        if not isinstance(net.module, nn.Module) and not callable(net.module):
            raise bad_argument("module", f"is {net.module!r}", "a torch module, or a function that makes one")
        if net.checkpoint is not None and net.max_violation is not None:
            raise bad_argument("checkpoint", "is given with `max_violation`, whose search it would not save", "None")
        return cls(
            **Common.of(net),
            module=net.module,
            optimizer=_optimizer(net.optimizer),
            lr=number("lr", net.lr, positive, low=0.0, high=_LARGEST, open_low=True),
            lr_w=lr_w,
            schedule=chosen("schedule", net.schedule, ("linear", "constant")),
            batch_size=whole("batch_size", net.batch_size, AT_LEAST_ONE, low=1),
            max_epochs=whole("max_epochs", net.max_epochs, AT_LEAST_ONE, low=1),
            patience=whole("patience", net.patience, AT_LEAST_ONE, low=1),
            radius=radius,
            checkpoint=existing_folder("checkpoint", net.checkpoint),
            device=_device(net.device),
            seed=seed_of(net.random_state),
        )

    def make_module(self, n_features: int, n_classes: int) -> nn.Module:
        """Make a fresh module of the user's kind."""
        try:
            module = self.module(n_features, n_classes)
        except TypeError as error:
            raise bad_argument(
                "module", f"cannot make a network ({error})", "a function of the numbers of features and classes"
            ) from None
        if not isinstance(module, nn.Module):
            raise bad_argument("module", f"has made {module!r}", "a torch module")
        return module

    def make_optimizer(self, module: nn.Module) -> torch.optim.Optimizer:
        """Make the user's kind of optimizer, for what is to be trained of the module."""
        trained = [p for p in module.parameters() if p.requires_grad]
        if not trained:
            raise bad_argument("module", "has no parameters to train", "at least one that requires a gradient")
        try:
            optimizer = self.optimizer(trained, lr=self.lr)
        except Exception as error:  # each has its own ways to refuse parameters
            name, said = getattr(self.optimizer, "__name__", "it"), f"{type(error).__name__}: {error}"
            raise bad_argument(
                "optimizer", f"cannot be made as {name}(parameters, lr={self.lr}) ({said})", "a class that can"
            ) from error
        if not isinstance(optimizer, torch.optim.Optimizer) or isinstance(optimizer, torch.optim.LBFGS):
            raise bad_argument("optimizer", f"has made {type(optimizer).__name__}", "one that steps by gradients alone")
        return optimizer


def _optimizer(given: Any) -> Callable[..., torch.optim.Optimizer]:
    if isinstance(given, str) and given in _OPTIMIZERS:
        return _OPTIMIZERS[given]
    if isinstance(given, str) or not callable(given):
        raise bad_argument(
            "optimizer", f"is {given!r}", f"one of {listed(_OPTIMIZERS)}, or a class such as torch.optim.RMSprop"
        )
    kind: Callable[..., torch.optim.Optimizer] = given
    return kind


def _device(given: Any) -> torch.device:
    if isinstance(given, str) and given == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(given)
        torch.empty(0, device=device)
        return device
    except (RuntimeError, TypeError, ValueError, AssertionError):
        raise bad_argument("device", f"is {given!r}", "'auto', 'cpu', or a device that torch has here") from None
