"""Appendices B and C: what ERMI is, and how it bounds the other measures of a violation (lemmas 1 to 9)."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from fermi.experiments.statements import laws
from fermi.experiments.statements.laws import Case
from fermi.experiments.statements.statement import Measured, Statement, equal, every, several
from fermi.formulas.bounds import ermi_bounds
from fermi.notions import as_notion

Sides: TypeAlias = Callable[[Case], tuple[float, float]]
Parts: TypeAlias = dict[str, Sides]

ORDERS = (1.0, 1.2, 1.5, 2.0, 3.0, 8.0, math.inf)
NORMS = (1.0, 1.5, 2.0, 3.0, math.inf)
_LAWS = "random laws"
_OPPORTUNITY = as_notion("equal_opportunity").words


def drawn(quick: bool, **shape: int) -> tuple[Case, ...]:
    """The cases that a check goes through."""
    return laws.cases(laws.QUICK_DRAWS if quick else laws.DRAWS, **shape)


def inequalities(parts: Parts, quick: bool) -> Measured:
    """Measure inequalities between measures on random laws under one to three conditions."""
    return several({name: every(map(sides, drawn(quick)), of=_LAWS) for name, sides in parts.items()})


def equations(parts: Parts, quick: bool) -> Measured:
    """Measure equations between measures on random laws under one to three conditions."""
    return several({name: equal(map(sides, drawn(quick)), of=_LAWS) for name, sides in parts.items()})


def unconditional_inequalities(parts: Parts, quick: bool) -> Measured:
    """Measure inequalities on random laws without conditions."""
    cases = drawn(quick, conditions=1)
    return several({name: every(map(sides, cases), of=_LAWS) for name, sides in parts.items()})


def unconditional_equations(parts: Parts, quick: bool) -> Measured:
    """Measure equations on random laws without conditions."""
    cases = drawn(quick, conditions=1)
    return several({name: equal(map(sides, cases), of=_LAWS) for name, sides in parts.items()})


def two_groups(sides: Sides, quick: bool) -> Measured:
    """Measure an equation on random laws of two groups, without conditions."""
    return equal(map(sides, drawn(quick, conditions=1, groups=2)), of="random laws of two groups")


def vanishing(measure: Callable[[Case], float], quick: bool) -> Measured:
    """Measure whether something is 0 on independent laws, and on no others.

    Among the others is a law that a correlation of numbers takes for independent: the middle of three groups differs.
    """
    cases = drawn(quick)
    hidden: Case = [(1.0, np.array([[0.3, 0.1], [0.05, 0.15], [0.3, 0.1]]))]
    apart = [case for case in (*cases, hidden) if laws.lq(case, 1.0) > 1e-3]
    least = min(abs(measure(case)) for case in apart)
    zero = every(((abs(measure(laws.independent(case))), 1e-7) for case in cases), of="independent laws")
    more = every(((1e-7, abs(measure(case))) for case in apart), of="dependent laws")
    return several({"0 on independent laws": zero, f"at least {least:.2g} on dependent laws": more})


def trace_lemma(root: float, quick: bool) -> Measured:
    """Measure whether ρ_R, found as a supremum over functions, is the second eigenvalue of P to some power."""
    rng = np.random.default_rng(0)
    pairs = []
    for ((_, P),) in drawn(quick, conditions=1)[: 40 if quick else 300]:
        gram = (P / np.sqrt(laws.product(P))) @ (P / np.sqrt(laws.product(P))).T
        pairs.append((laws.maximal_correlation(P, rng), float(np.sort(np.linalg.eigvalsh(gram))[-2]) ** root))
    return equal(pairs, of=_LAWS, within=1e-6)


def trace_of_gram(offset: float, quick: bool) -> Measured:
    """Measure whether D_R is the trace of P, and the sum of its eigenvalues, less a number."""
    pairs = []
    for case in drawn(quick, conditions=1):
        ((_, P),) = case
        Q = P / np.sqrt(laws.product(P))
        pairs += [(laws.ermi(case), float(np.trace(Q @ Q.T)) - offset)]
        pairs += [(laws.ermi(case), float(np.linalg.eigvalsh(Q @ Q.T).sum()) - offset)]
    return equal(pairs, of="sums over random laws")


def limit_of_order(factor: float, quick: bool) -> Measured:
    """Measure whether I_α comes near to a multiple of I_1 as α falls to 1."""
    near = 1.0 + 1e-6
    pairs = ((laws.renyi_information(c, near), factor * laws.renyi_information(c, 1.0)) for c in drawn(quick))
    return equal(pairs, of=_LAWS, within=1e-3)


def package_bounds(swapped: bool, quick: bool) -> Measured:
    """Measure the inequalities that `fermi.bounds` gives, as corrected, or with their sides swapped."""
    found: dict[str, list[tuple[float, float]]] = {}
    for case in drawn(quick)[: laws.DRAWS // 4]:
        for bound in ermi_bounds(case):
            sides = (bound.right, bound.left) if swapped else (bound.left, bound.right)
            found.setdefault(bound.statement.replace("|", "\\|"), []).append(sides)
    return several({name: every(pairs, of=_LAWS) for name, pairs in found.items()})


def opportunity_display(extra_factor: bool, quick: bool) -> Measured:
    """Measure whether the display of ERMI for equal opportunity, last line, is ERMI given that Y is advantaged."""

    def display(case: Case) -> float:
        terms = (p * (P**2 / laws.product(P) * (P if extra_factor else 1.0)).sum() for p, P in case)
        return float(sum(terms)) - 1.0

    return equal(((laws.ermi(case), display(case)) for case in drawn(quick)), of=_LAWS)


def small_for_all(fixed: bool, quick: bool) -> Measured:
    """Measure whether a law with an ERMI of at most 0.0001 has all groups' rates within 0.05 of each other.

    With `fixed` the rarest group has at least a tenth of the weight, otherwise it may be as rare as it likes.
    """
    pairs = []
    for rare in (0.5, 0.3, 0.1) if fixed else (0.5, 0.1, 1e-3, 1e-4):
        for rate in np.linspace(0.0, 1.0, 2_001 if quick else 20_001):
            P = np.array([[(1 - rare) * 0.5, (1 - rare) * 0.5], [rare * (1 - rate), rare * rate]])
            if laws.ermi([(1.0, P)]) <= 1e-4:
                pairs.append((abs(float(rate) - 0.5), 0.05))
    return every(pairs, of="laws of two groups with ERMI ≤ 0.0001")


def ordered(sign: float) -> Parts:
    """I_α is at most I_β for neighbouring orders α < β, or the reverse."""
    return {
        f"I_{low:g} and I_{high:g}": lambda c, low=low, high=high: (  # type: ignore[misc]
            sign * laws.renyi_information(c, low),
            sign * laws.renyi_information(c, high),
        )
        for low, high in pairwise(ORDERS)
    }


def norms(factor: float) -> Parts:
    """L_q is at most a multiple of √D_R."""
    return {f"q = {q:g}": lambda c, q=q: (laws.lq(c, q), factor * laws.root_of_ermi(c)) for q in NORMS}  # type: ignore[misc]


def _information(c: Case, order: float) -> float:
    return laws.renyi_information(c, order)


SHANNON: Parts = {
    "0 ≤ I₁": lambda c: (0.0, _information(c, 1.0)),
    "I₁ ≤ I₂": lambda c: (_information(c, 1.0), _information(c, 2.0)),
    "I₂ ≤ e^I₂ − 1": lambda c: (_information(c, 2.0), math.expm1(_information(c, 2.0))),
    "e^I₂ − 1 ≤ D_R": lambda c: (math.expm1(_information(c, 2.0)), laws.ermi(c)),
    "D_R ≤ e^I₂ − 1": lambda c: (laws.ermi(c), math.expm1(_information(c, 2.0))),
}

STATEMENTS = (
    Statement(
        "remark-2", "ERMI is at least 0, and 0 exactly where group and prediction are independent given z",
        "remark 2, appendix B", vanishing, laws.ermi, lambda c: laws.pearson(c, centred=True),
        "Pearson's correlation is 0 exactly there",
    ),
    Statement(
        "chi-square", "ERMI is the χ² divergence between the law and the product of its margins",
        "definition 1, appendix B; lemma 6", equations,
        {"E[ratio] − 1 and χ²": lambda c: (laws.ermi(c), laws.chi_square(c))},
        {"E[ratio] and χ²": lambda c: (laws.ermi(c) + 1.0, laws.chi_square(c))}, "it is χ² without the 1 taken off",
    ),
    Statement(
        "opportunity-display", f"ERMI for {_OPPORTUNITY}, as its display's last line has it", "appendix B",
        opportunity_display, True, False, "the same without the extra factor p(ŷ, s\\|y)",
    ),
    Statement(
        "lemma-1", "0 ≤ I₁ ≤ I₂ ≤ e^I₂ − 1 = D_R", "lemma 1", inequalities, SHANNON,
        {"I₂ ≤ I₁": lambda c: (_information(c, 2.0), _information(c, 1.0))}, "I₂ ≤ I₁",
    ),
    Statement(
        "lemma-2-pearson", "\\|ρ\\| ≤ ρ_R, with Pearson's ρ as equation (PC) has it, without centring", "lemma 2",
        inequalities, {"": lambda c: (abs(laws.pearson(c, centred=False)), laws.renyi_correlation(c))},
        {"": lambda c: (abs(laws.pearson(c, centred=True)), laws.renyi_correlation(c))}, "the same with both centred",
    ),
    Statement(
        "lemma-2", "ρ_R ≤ D_R", "lemma 2", inequalities, {"": lambda c: (laws.renyi_correlation(c), laws.ermi(c))},
        {"": lambda c: (laws.renyi_correlation(c) ** 2, laws.ermi(c))}, "ρ_R² ≤ D_R",
    ),
    Statement(
        "lemma-2-two-groups", "D_R = ρ_R for two groups; so ERMI equals the Rényi correlation in binary tasks",
        "lemma 2; section 4.1.1", two_groups, lambda c: (laws.ermi(c), laws.renyi_correlation(c)),
        lambda c: (laws.ermi(c), laws.renyi_correlation(c) ** 2), "D_R = ρ_R² for two groups",
    ),
    Statement(
        "renyi-zero", "ρ_R is 0 exactly where group and prediction are independent given z",
        "appendix C, before lemma 2", vanishing, laws.renyi_correlation,
        lambda c: laws.pearson(c, centred=True), "Pearson's ρ is 0 exactly there",
    ),
    Statement(
        "lemma-3", "L_q ≤ √D_R for every q ≥ 1, discrete predictions", "lemma 3", inequalities, norms(1.0), norms(0.5),
        "L_q ≤ ½ √D_R",
    ),
    Statement(
        "lq-zero", "L_q is 0 exactly where group and prediction are independent given z", "appendix C, before lemma 3",
        vanishing, lambda c: laws.lq(c, 2.0), lambda c: laws.pearson(c, centred=True), "Pearson's ρ is 0 exactly there",
    ),
    Statement(
        "lemma-4a", "Rényi's mutual information grows with its order, from 1 to ∞", "lemma 4 (a)", inequalities,
        ordered(1.0), ordered(-1.0), "it falls with its order",
    ),
    Statement(
        "lemma-4b", "It tends to Shannon's as the order falls to 1", "lemma 4 (b)", limit_of_order, 1.0, 2.0,
        "it tends to twice Shannon's",
    ),
    Statement(
        "lemma-4c", "It is 0 exactly where group and prediction are independent given z", "lemma 4 (c)", vanishing,
        lambda c: laws.renyi_information(c, 3.0), lambda c: laws.pearson(c, centred=True),
        "Pearson's ρ is 0 exactly there",
    ),
    Statement(
        "lemma-5-correlation", "ρ_R is the second eigenvalue of P", "lemma 5", trace_lemma, 1.0, 0.5,
        "ρ_R is the root of the second eigenvalue",
    ),
    Statement(
        "lemma-5-trace", "D_R = Tr(P) − 1, the sum of all eigenvalues of P but the first", "lemma 5", trace_of_gram,
        1.0, 0.0, "D_R = Tr(P)",
    ),
    Statement(
        "lemma-6", "D_R = Σ (p(ŷ, s) − p(ŷ)p(s))² / (p(ŷ)p(s))", "lemma 6", unconditional_equations,
        {"": lambda c: (laws.ermi(c), laws.chi_square(c))}, {"": lambda c: (laws.ermi(c), laws.lq(c, 2.0) ** 2)},
        "D_R = Σ (p(ŷ, s) − p(ŷ)p(s))²",
    ),
    Statement(
        "lemma-7", "The conditional L∞ violation is 0 exactly where group and prediction are independent", "lemma 7",
        vanishing, laws.conditional_gap, lambda c: laws.pearson(c, centred=True), "Pearson's ρ is 0 exactly there",
    ),
    Statement(
        "lemma-8", "The conditional L∞ violation is at most √D_R / p_S^min, discrete predictions", "lemma 8",
        unconditional_inequalities, {"": lambda c: (laws.conditional_gap(c), laws.root_of_ermi(c) / laws.rarest(c))},
        {"": lambda c: (laws.conditional_gap(c), laws.root_of_ermi(c))}, "it is at most √D_R",
    ),
    Statement(
        "lemma-8-proof", "Σ (p(ŷ, s) − p(ŷ)p(s))² = D_R, the last line of the proof", "lemma 8, proof",
        unconditional_equations, {"": lambda c: (laws.lq(c, 2.0) ** 2, laws.ermi(c))},
        {"": lambda c: (min(laws.lq(c, 2.0) ** 2, laws.ermi(c)), laws.lq(c, 2.0) ** 2)}, "the sum is at most D_R",
    ),
    Statement(
        "lemma-9", f"The same for {_OPPORTUNITY}, with the least p(s\\|y) of the advantaged labels", "lemma 9",
        inequalities, {"": lambda c: (laws.conditional_gap(c), laws.root_of_ermi(c) / laws.rarest(c))},
        {"": lambda c: (laws.conditional_gap(c), laws.root_of_ermi(c))}, "it is at most √D_R",
    ),
    Statement(
        "every-bound", "Every inequality of `fermi.bounds`, as corrected", "not in the paper", package_bounds, False,
        True, "every one of them turned round",
    ),
    Statement(
        "small-ermi", "Small ERMI makes every other violation small, groups of a tenth or more",
        "appendix C, remark after lemma 3", small_for_all, True, False, "the same whatever the size of a group",
    ),
)  # fmt: skip
