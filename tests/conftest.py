from __future__ import annotations

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    # One process per core runs tests: threads of torch, XGBoost or BLAS inside of them would wait for each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

from fermi import datasets
from fermi.datasets._files import RemoteFile

settings.register_profile("fermi", deadline=None, max_examples=150, derandomize=True)
settings.load_profile("fermi")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


@pytest.fixture(scope="session")
def home_of() -> Callable[[str], Path]:
    """The folder of a data set's raw files; the suite itself never downloads."""

    def find(name: str) -> Path:
        home = os.environ.get("FERMI_DATA")
        files = datasets.find(name).FILES
        if not home or not all(file.is_present(home) for file in files):
            pytest.skip(f"FERMI_DATA names no folder with {files[0].path}")
        return Path(home)

    return find


@pytest.fixture
def adult_home(home_of: Callable[[str], Path]) -> Path:
    return home_of("adult")


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Mapping[str, bytes]], Path]:
    """Puts files written for a test, by name, in the place of a data set's own; returns their folder."""

    def write(name: str, contents: Mapping[str, bytes]) -> Path:
        module = datasets.find(name)
        files = []
        for file in module.FILES:
            path = tmp_path / file.path
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(contents[path.name])
            files.append(RemoteFile(file.path, file.url, None))
        monkeypatch.setattr(module, "FILES", tuple(files))
        return tmp_path

    return write
