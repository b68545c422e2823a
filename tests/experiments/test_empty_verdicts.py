"""No verdict says held of an unmitigated model, nor of pure noise, but of what is claimed of such a model itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")
pytest.importorskip("matplotlib", reason="the extra `report` is not installed")


from fermi import experiments
from fermi.experiments.figures import fig4, fig5, fig6, fig7
from fermi.experiments.judging.claims import Claim
from fermi.experiments.judging.index import claims_of
from tests.experiments.samples_of_networks import colour_records, communities, paths, toxic

# What is claimed of the unmitigated model itself, or of an estimate that no training changes.
OF_THE_PLAIN_MODEL = (
    "German: without fairness",
    "Adult: without gender",
    "Without care",
    "Without a penalty",
    "The batch estimate of `mary`",
    "FERMI's estimate is unbiased",
)
METHODS = ("none", "fermi", "naive", "mary", "baharlouei", "zafar")


def plain(rng: np.random.Generator, notion: str) -> dict[str, Any]:
    """What is measured of an unmitigated model, whatever the method is called."""
    return measures(0.2, [0.15, -0.15], 0.2, [[0.15, -0.15]])


def noise(rng: np.random.Generator, notion: str) -> dict[str, Any]:
    """Errors and gaps that have nothing to do with method or strength."""
    gap, other = rng.normal(0.0, 0.06, size=2)
    return measures(0.2 + 0.02 * rng.normal(), [gap, -gap], 0.2 + 0.02 * rng.normal(), [[other, -other]])


def measures(val: float, val_gaps: Any, test: float, test_gaps: Any) -> dict[str, Any]:
    """The columns of a record of `runs.tabular`."""
    found: dict[str, Any] = {"seconds": 1.0}
    for part, error, gaps in (("val", val, val_gaps), ("test", test, test_gaps)):
        violation = float(np.abs(gaps).max())
        found |= {f"{part}_{kind}error": error for kind in ("", "soft_")}
        found |= {f"{part}_{kind}gaps": gaps for kind in ("", "soft_")}
        found |= {f"{part}_{kind}violation": violation for kind in ("", "soft_")}
        blocks = (error + 0.01 * np.sin(np.arange(20))).tolist()
        found |= {f"{part}_standard_error": 0.01, f"{part}_constant_error": 0.24, f"{part}_block_errors": blocks}
        found[f"{part}_constant_block_errors"] = (0.24 + 0.01 * np.sin(np.arange(20))).tolist()
    return found


def verdicts_of(name: str, record: Callable[[np.random.Generator, str], dict[str, Any]]) -> dict[str, str]:
    """The verdicts of a figure on tables, from a record for each cell of a few methods, splits and seeds."""
    figure, rng = experiments.find(name), np.random.default_rng(0)
    cells = [c for c in figure.cells(False) if c["method"] in METHODS and c["split"] < 3 and c["seed"] < 2]
    page = figure.summarise(pd.DataFrame([{**cell, **record(rng, cell["notion"])} for cell in cells]))
    return {claim.text: claim.word for claim in claims_of(page)}


@pytest.mark.parametrize("record", [plain, noise])
@pytest.mark.parametrize(
    "name",
    ["fig3", "fig9", *(pytest.param(f"fig{i}", marks=pytest.mark.slow) for i in (1, 2, 8, 10, 11, 12))],
)
def test_trade_offs_on_tables(name: str, record: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from fermi.experiments.figures import _tradeoffs

    monkeypatch.setattr(_tradeoffs, "tables", lambda *rest: "")  # the claims alone
    monkeypatch.setattr("fermi.experiments.figures.fig2.tables", lambda *rest: "")
    assert_none_held(verdicts_of(name, record), record is plain)


def assert_none_held(words: dict[str, str], unmitigated: bool) -> None:
    """Check that nothing is held, but for what is said of the unmitigated model itself."""
    assert words
    if unmitigated:
        words = {text: word for text, word in words.items() if not text.startswith(OF_THE_PLAIN_MODEL)}
    assert "held" not in words.values(), words
    assert set(words.values()) <= {"refuted", "not shown", "could not be tested here"}


def of_claims(claims: list[Claim], records: pd.DataFrame) -> dict[str, str]:
    """The words on some claims."""
    return {claim.text: claim.judge(records).word for claim in claims}


def everywhere(records: pd.DataFrame, unmitigated: bool) -> pd.DataFrame:
    """Records whose measurements are those of the unmitigated model in every row, or random."""
    rng = np.random.default_rng(1)
    measured = [
        name for name in map(str, records) if name.startswith(("val_", "test_", "train_")) and "noise" not in name
    ]
    changed = records.copy()
    first = records[records["method"] == "none"].iloc[0] if (records["method"] == "none").any() else records.iloc[0]
    for name in measured:
        if "constant" not in name:
            changed[name] = first[name] if unmitigated else rng.uniform(0.0, 0.3, size=len(records))
    return changed


@pytest.mark.slow
@pytest.mark.parametrize("unmitigated", [True, False])
def test_comments_and_communities(unmitigated: bool) -> None:
    assert_none_held(of_claims(fig4.CLAIMS, everywhere(toxic(0.002, seeds=4), unmitigated)), unmitigated)
    assert_none_held(of_claims(fig5.CLAIMS, everywhere(communities(0.002, splits=4), unmitigated)), unmitigated)


@pytest.mark.parametrize("unmitigated", [True, False])
def test_digits(unmitigated: bool) -> None:
    some = colour_records()
    found = everywhere(some, unmitigated)
    if unmitigated:
        found = found.assign(train_error=0.05, val_error=0.7, test_error=0.7 + 0.01 * some["seed"])
    assert_none_held(of_claims(fig6.CLAIMS, found), unmitigated)


def test_training_that_goes_nowhere_or_anywhere() -> None:
    some, rng = paths(), np.random.default_rng(2)
    flat = some.assign(objective=1.0, gradient=0.3)
    flat.loc[flat["kind"] == "exact", "objective"] = 0.5
    assert_none_held(of_claims(fig7.CLAIMS, flat), True)
    wild = some.assign(
        objective=rng.uniform(0.5, 1.0, len(some)), gradient=rng.uniform(0.0, 1.0, len(some)),
        bias=rng.normal(0.0, 0.001, len(some)), standard_error=0.001,
    )  # fmt: skip
    assert_none_held(of_claims(fig7.CLAIMS, wild), False)
