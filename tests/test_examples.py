"""Every example is short, runs, and makes its model fair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


@pytest.mark.slow
def test_the_gallery_on_adult(home_of: Callable[[str], Path]) -> None:
    pytest.importorskip("lightgbm", reason="the extra `boosting` is not installed")
    home_of("adult")
    found = load("adult").main()
    for kind, fair in (("linear", "linear, within the bound"), ("trees", "trees, λ = 10")):
        assert found[f"{kind}, plain"][1] > 0.15
        assert found[fair][1] < 0.04
        assert found[fair][0] < found[f"{kind}, plain"][0] + 0.03
    plain, fair_gap = load("other_predictions").main()
    assert plain > 0.15
    assert fair_gap < 0.05
    model, gap = load("choosing").main()
    assert model.lam in (2, 3, 5, 8)
    assert gap < 0.07


@pytest.mark.slow
def test_the_gallery_on_small_tables(home_of: Callable[[str], Path]) -> None:
    home_of("compas")
    home_of("communities")
    plain, fair = (audit.record.measure("parity_difference").value for audit in load("compas").main())
    assert fair < 0.6 * plain
    before, after = load("communities").main()
    assert len(before) == 18
    assert max(after) < 0.5 * max(before)


@pytest.mark.slow
def test_a_transformer_and_coloured_digits(home_of: Callable[[str], Path]) -> None:
    accuracy, gap = load("transformer").main(0.0)
    fair_accuracy, fair_gap = load("transformer").main()
    assert gap > 0.3
    assert fair_gap < 0.1
    assert fair_accuracy > accuracy - 0.1
    home_of("color_mnist")
    plain, blind = load("color_mnist").main()
    assert blind > plain + 0.05  # on digits without colour


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_are_short(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= (60 if path.stem.startswith("ray_") else 39)
    assert "pip install" in lines[0]
