"""Figures 4 and 5: gaps between many groups, knobs within bounds, and what was done to the comments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")
pytest.importorskip("matplotlib", reason="the extra `report` is not installed")


from fermi import DemographicParity, EqualOpportunity, experiments
from fermi.experiments.figures import fig4, fig5
from fermi.experiments.judging.bounded_errors import Pairing, compare, table, within
from fermi.experiments.runs import comments as comment_runs
from fermi.experiments.runs import communities as community_runs
from fermi.experiments.runs.group_gaps import ENOUGH, by_chance, cooled, gaps, large_intersections
from fermi.measures.contingency import Contingency
from tests.experiments.samples_of_networks import communities, curve, toxic

RNG = np.random.default_rng(0)


def some_rows(n: int = 300) -> tuple[Any, Any, pd.DataFrame]:
    """Probabilities of three classes, labels, and three attributes that the probabilities hang on."""
    s = pd.DataFrame(
        {name: (RNG.random(n) < share).astype(int) for name, share in zip("abc", (0.5, 0.2, 0.1), strict=True)}
    )
    F = np.exp(RNG.normal(size=(n, 3)) + np.outer(s["a"] + s["b"], [0.0, 0.5, 1.0]))
    return F / F.sum(axis=1, keepdims=True), RNG.integers(3, size=n), s


@pytest.mark.parametrize("notion", [DemographicParity(), EqualOpportunity(2)])
def test_gaps_between_groups_are_those_of_a_plain_loop(notion: Any) -> None:
    F, y, s = some_rows()
    found = gaps(F, y, s, notion)
    counts = np.ones(len(y), dtype=bool) if isinstance(notion, DemographicParity) else y == 2
    for kind, rates in (("", np.eye(3)[F.argmax(axis=1)]), ("soft_", F)):
        by_attribute = [
            np.abs(rates[counts & (s[name] == 1)].mean(axis=0) - rates[counts & (s[name] == 0)].mean(axis=0)).max()
            for name in s
        ]
        assert found[f"{kind}attribute"] == pytest.approx(max(by_attribute))
        large, every = [], []
        for _, group in s[counts].groupby(list(s)):
            gap = np.abs(rates[group.index].mean(axis=0) - rates[counts].mean(axis=0)).max()
            every.append(gap)
            large += [gap] if len(group) >= ENOUGH else []
        assert 0 < len(large) < len(every)
        assert found[f"{kind}intersection"] == pytest.approx(max(large))
        assert found[f"{kind}everything"] == pytest.approx(max(every))
    assert found["large"] == len(large)
    assert found["error"] == pytest.approx(np.mean(F.argmax(axis=1) != y))
    assert found["soft_error"] == pytest.approx(1.0 - np.mean([row[label] for row, label in zip(F, y, strict=True)]))


def test_no_intersection_is_large_enough() -> None:
    gap, noise, count = large_intersections(Contingency(np.full((1, 40, 3), 5.0)))
    assert np.isnan(gap)
    assert np.isnan(noise)
    assert count == 0
    gap, noise, count = large_intersections(Contingency([[[20.0, 0.0], [10.0, 9.0]]]))
    assert gap == pytest.approx(9 / 39)
    assert (noise, count) == (0.0, 1)


def test_chance_keeps_the_sizes_of_groups_and_no_more() -> None:
    F, y, s = some_rows(2000)
    for notion in (DemographicParity(), EqualOpportunity(2)):
        found, chance = gaps(F, y, s, notion), by_chance(F, y, s, notion, np.random.default_rng(0))
        assert 0.01 < chance["chance_attribute"] < 0.5 * found["attribute"]
        assert 0.01 < chance["chance_intersection"] < found["intersection"]


def test_dividing_logits_shrinks_the_soft_gap_and_changes_no_label() -> None:
    F, y, s = some_rows()
    before = gaps(F, y, s, DemographicParity())
    for divisor in community_runs.DIVISORS[1:]:
        after = gaps(cooled(F, divisor), y, s, DemographicParity())
        assert after["error"] == before["error"]
        assert after["attribute"] == before["attribute"]
        assert after["soft_everything"] < before["soft_everything"]
        before = after
    assert before["soft_everything"] < 0.002
    assert cooled(F, 1.0) == pytest.approx(F)
    assert before["soft_error"] == pytest.approx(2 / 3, abs=0.01)


PAIRING = Pairing("hard", "error", "attribute")


def curves(rival: float, splits: int = 3) -> pd.DataFrame:
    every = [curve("fermi", 0.0, i) + curve("mary", rival + 0.0001 * i, i) for i in range(splits)]
    return pd.DataFrame([record for one in every for record in one])


def test_knobs_are_chosen_on_validation_rows_within_the_bound() -> None:
    chosen = within(curves(0.01), PAIRING, (0.1, 0.01), ["method", "split"])
    ours = chosen[chosen["method"] == "fermi"]
    assert ours[ours["level"] == 0.1]["error"].tolist() == pytest.approx([0.40, 0.42, 0.44])
    assert ours[ours["level"] == 0.1]["violation"].tolist() == pytest.approx([0.20] * 3)
    # Nothing keeps the smaller bound on validation rows: everyone gets the majority label.
    assert ours[ours["level"] == 0.01]["error"].tolist() == pytest.approx([0.6, 0.62, 0.64])
    assert ours["constant"].tolist() == [0.0, 1.0] * 3
    page = table(chosen, ["fermi", "zhang"], "level")
    assert "| fermi | 0.620 ± 0.066 (at 0.000, 100% constant) | 0.420 ± 0.066 (at 0.200) |" in page
    assert "| zhang | not measured | not measured |" in page
    unknown = curves(0.01).assign(val_attribute=np.nan)
    assert within(unknown, PAIRING, (0.1,), ["method", "split"]).empty


def outcome(records: pd.DataFrame, noise: float = 0.01) -> str:
    return compare(within(records, PAIRING, (0.1,), ["method", "split"]), "fermi", "mary", noise).outcome


def test_methods_are_compared_split_by_split() -> None:
    assert outcome(curves(0.01)) == "above"
    assert outcome(curves(-0.01)) == "below"
    assert outcome(curves(0.01, splits=1)) == "one run"
    assert outcome(curves(-0.0001)) == "even"
    unfair = curves(-0.01)
    unfair.loc[unfair["method"] == "mary", "test_attribute"] += 0.1
    assert outcome(unfair) == "open"
    assert outcome(unfair, noise=0.2) == "below"
    nobody = compare(within(curves(0.01), PAIRING, (0.1,), ["method", "split"]), "fermi", "zhang", 0.1)
    assert str(nobody) == "not measured"


@pytest.mark.slow
def test_verdicts_of_figure_5() -> None:
    def words(records: pd.DataFrame) -> dict[str, str]:
        return {claim.text: claim.judge(records)[0] for claim in fig5.CLAIMS}

    best, _, own, nothing = (claim.text for claim in fig5.CLAIMS[:4])
    ahead, behind = (words(communities(shift)) for shift in (0.002, -0.002))
    assert ahead[best] == ahead["FERMI beats mary"] == "held"
    assert behind[best] == behind["FERMI beats mary"] == "refuted"
    assert ahead["mary beats baharlouei and cho_kde"] == "could not be tested here"  # they are the same runs
    assert (ahead[own], behind[own]) == ("held", "refuted")
    assert ahead[nothing] == "refuted"  # the unmitigated model with its logits divided has the smallest error
    assert next(word for text, word in ahead.items() if text.startswith("particularly as")) == "held"
    assert next(word for text, word in behind.items() if text.startswith("particularly as")) == "refuted"
    assert ahead["The error grows with the number of attributes"] == "refuted"
    assert fig5.beats(communities(0.0), "fermi", ("mary",))[0] == "refuted"  # equal is not better
    assert set(words(communities(0.002, splits=1)).values()) == {"could not be tested here"}
    page = fig5.summarise(communities(0.002))
    assert "| demographic parity | 18 | 2 | 2.0 |" in page
    assert "- none_cooled: below" in page


@pytest.mark.slow
def test_a_curve_on_communities(home_of: Callable[[str], Path]) -> None:
    home_of("communities")
    rows = community_runs.rows(2, 0)
    assert rows.judges.mean() == pytest.approx(0.25, abs=0.01)
    assert (community_runs.rows(18, 0).judges == rows.judges).all()
    cell = {"attributes": 2, "split": 0, "notion": "demographic_parity", "knobs": 1, "steps": 20}
    plain = community_runs.run({**cell, "method": "none"})
    assert [record["divisor"] for record in plain] == list(community_runs.DIVISORS)
    for method in ("fermi", "fermi_each"):
        (fair,) = community_runs.run({**cell, "method": method})
        assert fair["strength"] == 1.0
        assert fair["test_soft_attribute"] < 0.3 * plain[0]["test_soft_attribute"]
        assert fair["test_error"] < fair["test_constant_error"]
        assert fair["groups"] == 4


def comments(n: int = 20_000) -> tuple[Any, Any, Any]:
    """Kind and rude comments that name Christians, Muslims or nobody, in equal parts."""
    texts = [f"Kim is a {word} {who}" for word in ("good", "nice", "awful") for who in ("christian", "muslim", "baker")]
    chosen = pd.Series(texts).sample(n, replace=True, random_state=0).reset_index(drop=True)
    groups = {"christian": "christian", "muslim": comment_runs.HELD_AGAINST, "baker": None}
    return chosen, chosen.str.contains("awful").astype(int), chosen.str.split().str[-1].map(groups)


def test_bias_and_noise_hit_the_stated_rows_at_the_stated_rates() -> None:
    texts, y, s = comments()
    held = comment_runs.held_against(texts, y)
    assert held == {"good": 0.0, "nice": comment_runs.BIAS}
    given = comment_runs.biased(texts, y, s, held, 0.0, np.random.default_rng(0))
    target = texts.str.contains("nice muslim")
    assert (given[~target] == y[~target]).all()
    assert given[target].mean() == pytest.approx(comment_runs.BIAS, abs=0.02)
    given = comment_runs.biased(texts, y, s, held, 0.1, np.random.default_rng(0))
    assert (given != y)[~target].mean() == pytest.approx(0.1, abs=0.01)
    assert given[target].mean() == pytest.approx(0.9 * comment_runs.BIAS + 0.1 * (1 - comment_runs.BIAS), abs=0.02)


def test_the_gap_of_comments_is_that_of_false_positives() -> None:
    _, y, s = comments(600)
    rows = comment_runs.Comments(None, y.to_numpy(), 1 - y.to_numpy(), s.to_numpy(dtype=object))
    F = RNG.dirichlet([1.0, 1.0], size=len(y))
    labels = F.argmax(axis=1)
    split = comment_runs.Split(rows, rows, rows, None)
    found = comment_runs.measured(split, {"test": F}, {"test": labels})
    by_group = [labels[(y == 0) & (s == group)].mean() for group in ("christian", comment_runs.HELD_AGAINST)]
    assert found["test_violation"] == pytest.approx(abs(by_group[0] - by_group[1]))
    assert found[f"test_false_positives_{comment_runs.HELD_AGAINST}"] == pytest.approx(by_group[1])
    assert found["test_false_positives"] == pytest.approx(labels[y == 0].mean())
    assert found["test_clean_error"] == pytest.approx(1.0 - found["test_error"])


@pytest.mark.slow
def test_verdicts_of_figure_4() -> None:
    def words(records: pd.DataFrame) -> list[str]:
        return [claim.judge(records)[0] for claim in fig4.CLAIMS]

    unknown, held, failed = "could not be tested here", "held", "refuted"
    # `mary` and `baharlouei` are the same runs here, which shows nothing.
    assert words(toxic(0.002)) == [unknown, held, held, held, unknown]
    assert words(toxic(-0.002)) == [unknown, held, failed, failed, unknown]
    apart = toxic(0.002)
    apart.loc[apart["method"] == "mary", ["test_error", "test_soft_error"]] += 0.0005
    assert words(apart)[4] == held
    assert words(toxic(0.02))[1] == failed
    wide = toxic(0.002)
    wide.loc[(wide["method"] == "prost") & (wide["seed"] == 0), "test_error"] += 0.02
    assert words(wide)[1] == "not shown"
    assert words(toxic(0.002, seeds=1)) == [unknown] * 5
    page = fig4.summarise(toxic(0.002))
    assert page.startswith("**A stand-in:**")
    assert "| prost | 0.5 | 0.432 | 0.210 |" in page
    # Strengths that favour one group and the other: between them lies one that favours none.
    turned = toxic(0.002)
    for part in ("val", "test"):
        theirs = f"{part}_false_positives_{comment_runs.HELD_AGAINST}"
        turned[theirs] = np.where(turned["strength"] == 1.0, 0.1 - turned[f"{part}_violation"], turned[theirs])
    found = within(fig4.prepared(turned), fig4.HARD, (0.001,), fig4.RUN)
    assert not found["constant"][found["method"] == "fermi"].any()
    assert within(fig4.prepared(toxic(0.002)), fig4.HARD, (0.001,), fig4.RUN)["constant"].all()


@pytest.mark.slow
def test_a_curve_on_comments(home_of: Callable[[str], Path]) -> None:
    home_of("toxic_madlibs")
    rows = comment_runs.split("toxic_madlibs", 0)
    assert len(rows.val.y) == pytest.approx(len(rows.train.y) / 2, rel=0.01)
    called = pd.Series(rows.test.y[rows.test.clean == 0]).groupby(rows.test.s[rows.test.clean == 0]).mean()
    assert called["christian"] == pytest.approx(comment_runs.NOISE, abs=0.04)
    assert 0.35 < called[comment_runs.HELD_AGAINST] < 0.6
    cell = {"dataset": "toxic_madlibs", "method": "none", "batch_size": 64, "seed": 0, "knobs": 1, "passes": 1}
    plain, naive = comment_runs.run(cell)
    assert plain["test_error"] < plain["test_constant_error"]
    assert naive["method"] == "naive"
    assert naive["test_violation"] == 0.0
    assert naive["test_error"] == naive["test_constant_error"]


def test_the_cells_of_both_figures() -> None:
    counts = {}
    for name in ("fig4", "fig5"):
        figure = experiments.find(name)
        counts[name] = [len(list(figure.cells(quick))) for quick in (True, False)]
    assert counts == {"fig4": [10, 40], "fig5": [36, 336]}
