"""The booster libraries, each behind one file."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def engine(booster: str) -> Any:
    """The module for one library: `make_data`, `train`, `raw_scores`, `canonical` names of parameters, its `Error`."""
    return import_module(f"fermi.boosting._{booster}")
