"""Monitoring of decisions, one small table per day; pip install "fermi-fair[sql]"."""

import duckdb
import numpy as np
import pandas as pd

from fermi import Audit, Contingency

WINDOW = 7  # days that are judged together
COUNTS = "SELECT region, label, COUNT(*) AS n FROM decisions GROUP BY region, label"


def decisions_of(day: int, drift: float) -> pd.DataFrame:
    """What a model decided on one day; from the tenth day on it turns against one region."""
    rng = np.random.default_rng(day)
    region = rng.choice(["north", "east", "west"], 600)
    rate = 0.5 - drift * ((region == "west") & (day >= 10))
    return pd.DataFrame({"region": region, "label": np.where(rng.random(600) < rate, "grant", "deny")})


def main(drift: float = 0.2, days: int = 20) -> list[float]:
    """Keep a table per day and audit the sum over the last week; return the lower ends of the gap's intervals."""
    kept, lows = [], []
    for day in range(days):
        with duckdb.connect() as database:  # the decisions stay where they are, and are counted there
            database.register("decisions", decisions_of(day, drift))
            counts = database.sql(COUNTS)
            kept.append(Contingency.from_counts(counts, prediction="label", group="region", weight="n"))
        gap = Audit.from_contingency(sum(kept[-WINDOW:])).record.measure("parity_difference")
        lows.append(gap.low)
        alarm = "  <- look into this" if gap.low > 0.02 else ""
        print(f"day {day:2d}: gap of the last week {gap.value:.3f} ({gap.low:.3f} to {gap.high:.3f}){alarm}")
    return lows


if __name__ == "__main__":
    main()
