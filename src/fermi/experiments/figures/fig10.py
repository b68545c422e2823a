"""Figure 10: COMPAS, German and Adult with pre- and post-processing rivals, demographic parity."""

from __future__ import annotations

from functools import partial

import pandas as pd

from fermi.experiments.figures._tradeoffs import three_datasets
from fermi.experiments.judging.claims import Claim, Verdict
from fermi.experiments.pages.curves import named


def unfair(records: pd.DataFrame, dataset: str, least: float, blinds: tuple[bool, ...]) -> Verdict:
    """Whether the violation of the unmitigated model is above a number on average over the splits."""
    plain = records[(records["dataset"] == dataset) & (records["method"] == "none") & records["blind"].isin(blinds)]
    found = plain.groupby("blind", sort=False)["test_violation"].mean()
    if found.empty:
        return "could not be tested here", "not run"
    words = ", ".join(f"{value:.3f} ({named('blind', blind)})" for blind, value in found.items())
    return "held" if bool((found > least).all()) else "did not hold", words


FIGURE = three_datasets(
    10,
    "demographic_parity",
    [
        Claim(
            "German: without fairness the violation is above 20%",
            "appendix E.6",
            partial(unfair, dataset="german", least=0.2, blinds=(True, False)),
        ),
        Claim(
            "Adult: without gender among the features the model is still highly biased",
            "appendix E.6",
            partial(unfair, dataset="adult", least=0.1, blinds=(True,)),
        ),
    ],
)
