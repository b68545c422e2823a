"""Figure 10: COMPAS, German and Adult with pre- and post-processing rivals, demographic parity."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from fermi.experiments.figures._tradeoffs import three_datasets
from fermi.experiments.judging.claims import Claim, Verdict, exceeds, overall, widest
from fermi.experiments.judging.frontier import OVERLAP, interval, said
from fermi.experiments.pages.curves import named


def unfair(records: pd.DataFrame, dataset: str, least: float, blinds: tuple[bool, ...]) -> Verdict:
    """Whether the violation of the unmitigated model is above a number, with and without the attribute among features.

    A largest gap is never below zero, so that of a fair model is not zero on average: the size of the mean gap with its
    sign is what counts.
    """
    plain = records[(records["dataset"] == dataset) & (records["method"] == "none") & records["blind"].isin(blinds)]
    words, told, widths = [], [], []
    for blind, some in plain.groupby("blind", sort=False):
        signed = np.array([np.mean(np.atleast_2d(gaps), axis=0)[-1] for gaps in some["test_gaps"]])
        mean, width = interval(signed, OVERLAP)
        if np.isnan(width):  # one split: what sampling does to a gap
            width = 1.96 * float(some["test_standard_error"].mean())
        words.append(exceeds(abs(mean), width, least))
        told.append(f"{said(abs(mean), width, 3)} ({named('blind', blind)})")
        widths.append(width)
    return Verdict(overall(words), ", ".join(told) or "not run", widest(widths))


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
