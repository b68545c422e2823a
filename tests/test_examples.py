"""Every example is short, runs, and makes its model fair."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch

from tests.example_files import EXAMPLES, load

LIGHTNING = (
    r"ignore:`isinstance\(treespec, LeafSpec\)` is deprecated:FutureWarning:lightning\.pytorch",
    "ignore:The 'train_dataloader' does not have many workers:UserWarning",  # where there are more than two cores
)
TRANSFORMERS = r"ignore:'pin_memory' argument is set as true but no accelerator:UserWarning:torch\.utils\.data"
CASES = [
    pytest.param("plain_loop", "torch"),
    # These load large libraries first.
    pytest.param("lightning_module", "lightning", marks=pytest.mark.filterwarnings(*LIGHTNING)),
    pytest.param(
        "huggingface_trainer", "transformers", marks=[pytest.mark.long, pytest.mark.filterwarnings(TRANSFORMERS)]
    ),
    pytest.param("accelerate_loop", "accelerate", marks=pytest.mark.long),
]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No network, files only in a folder of the test's, one thread: small batches gain nothing from more."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "package"), CASES)
def test_the_fairness_term_closes_the_gap(name: str, package: str) -> None:
    pytest.importorskip(package)
    main = load(name).main
    accuracy, gap = main(0.0)
    fair_accuracy, fair_gap = main(10.0)
    assert gap > 0.2
    assert fair_gap < 0.5 * gap
    assert fair_accuracy > accuracy - 0.1
    assert fair_accuracy > 0.7


@pytest.mark.slow
def test_monitoring_notices_a_model_that_turns_against_a_group() -> None:
    pytest.importorskip("duckdb", reason="the extra `sql` is not installed")
    main = load("monitoring").main
    lows = main()
    assert max(lows[:10]) < 0.02
    assert min(lows[12:]) > 0.02  # three of seven days are enough
    assert max(main(drift=0.0)) < 0.02


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_are_short(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= (60 if path.stem.startswith("ray_") else 39)
    assert "pip install" in lines[0]
