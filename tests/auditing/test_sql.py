"""The query that the page on audits shows for DuckDB, run on files as it stands there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fermi
from fermi import Audit, Contingency

duckdb = pytest.importorskip("duckdb", reason="the extra `sql` is not installed")
PAGE = Path(__file__).parents[2] / "docs" / "audit.md"


def test_the_query_of_the_page_gives_the_audit_of_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n = np.random.default_rng(0), 500
    frame = pd.DataFrame(
        {
            "outcome": rng.integers(0, 2, n),
            "sex": rng.choice(["F", "M"], n),
            "race": rng.choice(["a", "b", "c"], n),
            "prediction": rng.integers(0, 2, n),
        }
    )
    (tmp_path / "predictions").mkdir()
    frame[:200].to_parquet(tmp_path / "predictions" / "a.parquet")
    frame[200:].to_parquet(tmp_path / "predictions" / "b.parquet")
    monkeypatch.chdir(tmp_path)
    query = PAGE.read_text(encoding="utf-8").partition("```sql\n")[2].partition("```")[0]
    with duckdb.connect() as connection:
        counts = connection.sql(query)
        table = Contingency.from_counts(
            counts, prediction="prediction", group=["sex", "race"], weight="n", condition="outcome",
            notion="equalized_odds",
        )  # fmt: skip
        rows = connection.sql(query).df()
    groups = frame[["sex", "race"]]
    for notion in ("demographic_parity", "equalized_odds"):
        whole = fermi.audit(frame.outcome, frame.prediction, sensitive_features=groups, notion=notion, n_boot=200)
        found = Audit.from_contingency(table, notion=notion, n_boot=200)
        assert found.frame.equals(whole.frame)
        assert found.measures.equals(whole.measures)
        counted = fermi.audit(
            rows.outcome, rows.prediction, sensitive_features=rows[["sex", "race"]], counts=rows.n, notion=notion,
            n_boot=200,
        )  # fmt: skip
        assert counted.frame.equals(whole.frame)
