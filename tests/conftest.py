from __future__ import annotations

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    # One process per core runs tests: threads of torch, XGBoost or BLAS inside of them would wait for each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

from fermi import datasets
from fermi.datasets import Dataset
from fermi.datasets.common.downloads import RemoteFile
from tests import skips

settings.register_profile("fermi", deadline=None, max_examples=150, derandomize=True)
settings.register_profile("fast", parent=settings.get_profile("fermi"), max_examples=30)
settings.load_profile("fermi")

# Rooms whose tests run whole commands, files, curves, audits, figures or other people's methods: all of them count as
# slow but for those marked `heart`.
WHOLE = (
    "auditing", "baselines", "boosting", "cli", "datasets", "engines", "experiments", "labels", "report", "stream",
    "tables", "tradeoff",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of this suite."""
    skips.pytest_addoption(parser)
    parser.addoption("--long", action="store_true", help="run the tests marked `long` as well; they take half an hour")


def pytest_configure(config: pytest.Config) -> None:
    """Watch for skips; without the slow tests, properties are tried on fewer examples as well."""
    skips.pytest_configure(config)
    if config.option.markexpr == "not slow":
        settings.load_profile("fast")


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Whoever asks where a real data set lies is marked as needing it; what takes longest starts first."""
    if not config.getoption("--long"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    slow = [Path(__file__).parent / room for room in WHOLE]
    for item in items:
        if "home_of" in getattr(item, "fixturenames", ()):
            item.add_marker("needs_data")
        if any(folder in item.path.parents for folder in slow) and item.get_closest_marker("heart") is None:
            item.add_marker("slow")
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


@pytest.fixture(scope="session")
def adult_numbers(home_of: Callable[[str], Path]) -> Dataset:
    """Adult with one-hot columns; read once, so not to be changed."""
    return datasets.load("adult", data_home=home_of("adult")).numeric()


@pytest.fixture
def one_thread() -> Iterator[None]:
    """torch with one thread: steps on small batches would only wait for a second one."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


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
