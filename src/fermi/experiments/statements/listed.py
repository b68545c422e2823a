"""All statements of the paper that have a check here, in the order of the paper."""

from __future__ import annotations

from fermi.experiments.statements import (
    continuous,
    data_sets,
    networks,
    orderings,
    population,
    rates,
    remark_1,
    saddle,
)
from fermi.experiments.statements.statement import Statement

PARTS: dict[str, tuple[Statement, ...]] = {
    "The min-max form and the lemmas of theorem 1": saddle.STATEMENTS,
    "Rates": rates.STATEMENTS,
    "Remark 1": remark_1.STATEMENTS,
    "The population": population.STATEMENTS,
    "ERMI and the other measures": orderings.STATEMENTS,
    "Continuous predictions": continuous.STATEMENTS,
    "Networks on colour MNIST": networks.STATEMENTS,
    "Data sets, and figure 5 as published": data_sets.STATEMENTS,
}
STATEMENTS: dict[str, Statement] = {one.name: one for part in PARTS.values() for one in part}
