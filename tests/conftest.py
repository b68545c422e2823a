from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("fermi", deadline=None, max_examples=150, derandomize=True)
settings.load_profile("fermi")


@pytest.fixture
def adult_home() -> Path:
    """A folder with Adult's raw files; the suite itself never downloads."""
    home = os.environ.get("FERMI_DATA")
    if not home or not (Path(home) / "adult" / "adult.data").exists():
        pytest.skip("FERMI_DATA names no folder with adult/adult.data")
    return Path(home)
