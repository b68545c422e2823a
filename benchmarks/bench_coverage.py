"""How often the 95% intervals of `fermi.audit` hold the truth, on populations whose law is known.

Rows are drawn again and again from each population and audited. Populations: independence and violations of two sizes,
two and six groups, equal and unequal, one with thirty rows, two and four classes, 300 to 30,000 rows, equalized odds,
weights that undo a biased sample, probabilities in place of labels, and the synthetic applicants of
`fermi.datasets.synthetic`. A case says how often each measure's interval held the truth, and the same of all single
rates together whose truth lies between 0.05 and 0.95. There are 150 draws, more where a draw has few rates: a share of
150 has a standard error of 1.8 points, and the rates of two classes are one rate. `--quick` takes 30 draws. One process
per core.
"""

from __future__ import annotations

import functools
import multiprocessing
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermi.auditing import Audit, audit
from fermi.auditing._measured import value_of
from fermi.datasets import synthetic
from fermi.measures.contingency import Contingency

Floats = NDArray[np.float64]
DRAWS, QUICK_DRAWS, N_BOOT = 150, 30, 200
RATES = 4000  # intervals of rates in one population, if need be by more draws
KINDS = ("labels", "weights", "probabilities")


@dataclass(frozen=True)
class Population:
    """A law p(y, s, ŷ), how rows are drawn from it, and how many."""

    name: str
    law: Floats
    n: int
    notion: str = "demographic_parity"
    kind: str = "labels"

    def audit(self, rng: np.random.Generator, n_boot: int) -> Audit:
        """Draw rows and audit them."""
        m = self.law.shape[2]
        toll = np.ones(m)
        if self.kind == "weights":
            toll[-1] = 3.0  # rows of the last class are three times as rare as they should be, and weigh three times
        p = (self.law / toll).ravel()
        y, s, predicted = np.unravel_index(rng.choice(p.size, self.n, p=p / p.sum()), self.law.shape)
        weight = toll[predicted] * rng.lognormal(0.0, 0.4, self.n) if self.kind == "weights" else None
        if self.kind == "probabilities":
            rates = self.law / self.law.sum(axis=2, keepdims=True)
            chance = rng.gamma(4.0 * rates[y, s])  # Dirichlet, whose means are the rates
            predicted = chance / chance.sum(axis=1, keepdims=True)
        return audit(
            y,
            predicted,
            sensitive_features=s,
            notion=self.notion,
            sample_weight=weight,
            classes=range(m),
            n_boot=n_boot,
            random_state=int(rng.integers(2**31)),
        )

    def truths(self) -> dict[str, float]:
        """The measures of the law, and the rates of labels, by names of their own."""
        table = self.law.sum(axis=0, keepdims=True) if self.notion == "demographic_parity" else self.law
        names = [m.name for m in self.audit(np.random.default_rng(0), 200).record.measures if not m.soft]
        found = {name: value_of(name, Contingency(table)) for name in names}
        by_group = self.law.sum(axis=0)
        by_group = by_group / by_group.sum(axis=1, keepdims=True)
        given = self.law / self.law.sum(axis=(0, 2), keepdims=True)
        m, last = self.law.shape[2], self.law.shape[2] - 1
        for s, rates in enumerate(by_group):
            found |= {f"{s} rate_{j}": float(rate) for j, rate in enumerate(rates)}
            if self.law.shape[0] == m:
                found[f"{s} error"] = 1.0 - float(np.trace(given[:, s]))
                found[f"{s} tpr_{last}"] = float(given[last, s, last] / given[last, s].sum())
                found[f"{s} fpr_{last}"] = float(given[:last, s, last].sum() / given[:last, s].sum())
        return found


def grid() -> Iterator[Population]:
    """Every population."""
    shapes = [
        (2, "equal", 2),
        (2, "equal", 4),
        (6, "unequal", 2),
        (6, "unequal", 4),
        (6, "one of 30 rows", 2),
        (6, "one of 30 rows", 4),
    ]
    for n in (300, 3000, 30_000):
        for k, sizes, m in shapes:
            for violation in (0.0, 0.05, 0.3):
                name = f"{k} groups, {sizes}, {m} classes, gap {violation:g}"
                law = made_law(k, sizes, m, violation, n)
                yield Population(name, law, n)
                if n == 3000:
                    odds = np.stack([0.6 * law, 0.4 * law[..., ::-1]])[:, 0]
                    yield Population(name, odds, n, "equalized_odds")
                    yield Population(name, law, n, kind="weights")
                    yield Population(name, law, n, kind="probabilities")
    for n, m, k, bias in [
        (1000, 2, 2, 0.5),
        (5000, 2, 2, 0.5),
        (2000, 3, 4, 0.8),
        (3000, 4, 6, 0.0),
        (3000, 4, 6, 0.5),
    ]:
        law = synthetic(1, m, k, bias).population.contingency("equalized_odds").table
        for notion in ("demographic_parity", "equalized_odds"):
            yield Population(f"synthetic, {k} groups, {m} classes, bias {bias:g}", law, n, notion)


def made_law(k: int, sizes: str, m: int, violation: float, n: int) -> Floats:
    """p(s, ŷ) with one axis more in front: the rates of the first and last class spread over a range of `violation`."""
    p = 1.0 / (2.0 + np.arange(k)) if sizes == "unequal" else np.ones(k)
    if sizes == "one of 30 rows":
        p[-1] = 30 * (k - 1) / (n - 30)
    base = np.array([0.7, 0.3]) if m == 2 else np.array([0.4, 0.3, 0.2, 0.1])
    place = np.random.default_rng(k * 100 + m).permutation(np.linspace(-0.5, 0.5, k))
    rates = base + violation * place[:, None] * np.r_[-1.0, np.zeros(m - 2), 1.0]
    rates = np.maximum(rates, 0.01)
    law: Floats = (p / p.sum())[None, :, None] * (rates / rates.sum(axis=1, keepdims=True))
    return law


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """A case per population."""
    cases = []
    # Forked, since a process that starts anew could not import this file by name.
    with multiprocessing.get_context("fork").Pool() as pool:
        run = functools.partial(cover, draws=QUICK_DRAWS) if quick else functools.partial(cover, least_rates=RATES)
        for case in pool.imap(run, grid()):
            cases.append(case)
            print(line(case), file=sys.stderr, flush=True)
    return cases


def cover(population: Population, draws: int = DRAWS, least_rates: int = 0, n_boot: int = N_BOOT) -> dict[str, Any]:
    """Shares of draws whose intervals hold the truth; more draws until there are so many rates."""
    rng, truths, soft = np.random.default_rng(1), population.truths(), population.kind == "probabilities"
    measures = [name for name in truths if " " not in name]
    held = dict.fromkeys(measures, 0)
    width = dict.fromkeys(measures, 0.0)
    rates: list[bool] = []
    made, began = 0, time.perf_counter()
    while made < draws or 0 < len(rates) < least_rates:
        made += 1
        found = population.audit(rng, n_boot)
        for name in measures:
            estimate = found.record.measure(name, soft=soft)
            held[name] += estimate.low - 1e-12 <= truths[name] <= estimate.high + 1e-12
            width[name] += estimate.high - estimate.low
        prefix = "soft_" if soft else ""
        for name, truth in truths.items():
            group, _, column = name.partition(" ")
            if column and 0.05 <= truth <= 0.95 and (not soft or column.startswith("rate")):
                row = found.frame.loc[group]
                column = prefix + column
                rates.append(bool(row[f"{column}_low"] <= truth <= row[f"{column}_high"]))
    return {
        "population": population.name,
        "n": population.n,
        "notion": population.notion,
        "kind": population.kind,
        "draws": made,
        "rates": float(np.mean(rates)) if rates else None,
        "n_rates": len(rates),
        **{name: held[name] / made for name in measures},
        "width_ermi": width["ermi"] / made,
        "width_parity_difference": width["parity_difference"] / made,
        "seconds": (time.perf_counter() - began) / made,
    }


_SHORT = {
    "rates": "rates",
    "ermi": "ERMI",
    "mutual_information": "MI",
    "renyi_correlation": "ρ_R",
    "pearson_correlation": "Pears",
    "lq_violation(q=1)": "L1",
    "lq_violation(q=2)": "L2",
    "linf_violation": "L∞",
    "parity_difference": "diff",
    "parity_ratio": "ratio",
}


def line(case: dict[str, Any]) -> str:
    odds = "odds" if case["notion"] == "equalized_odds" else "parity"
    head = f"{case['population']:<46} {case['n']:>6} {odds:<7}{case['kind']:<14}"
    return head + " ".join("     " if case[name] is None else f"{100 * case[name]:5.1f}" for name in _SHORT)


def show(cases: list[dict[str, Any]]) -> None:
    """A line per case, then the least of each column."""
    print(f"{'population':<46} {'rows':>6} {'notion':<7}{'of':<14}" + " ".join(f"{s:>5}" for s in _SHORT.values()))
    for case in cases:
        print(line(case))
    least = [min(c[name] for c in cases if c[name] is not None) for name in _SHORT]
    print(f"{'least':<75}" + " ".join(f"{100 * value:5.1f}" for value in least))
