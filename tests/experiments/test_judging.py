"""Knobs are chosen on validation rows, methods compared run by run, verdicts come from records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")
pytest.importorskip("matplotlib", reason="the extra `report` is not installed")


from fermi.experiments.figures import fig1, fig2, fig3, fig8, fig10, table1
from fermi.experiments.figures._tradeoffs import comparisons, damage, dominance, listed_gains, with_strength_0
from fermi.experiments.judging.frontier import (
    OVERLAP,
    area,
    at_levels,
    compare,
    interval,
    level_table,
    place_within,
    uncertain,
)
from fermi.experiments.pages.curves import Panels, tables
from tests.experiments.samples import lost, records


def test_knobs_are_chosen_on_validation_rows() -> None:
    found = at_levels(records(), (0.04, 0.001))
    ours = found[(found["method"] == "fermi") & (found["level"] == 0.04)]
    # Strength 1 is within as well, with a larger error there; on test rows strength 0 would be within alone.
    assert ours["strength"].tolist() == [0.5] * 3
    assert ours["error"].tolist() == pytest.approx([0.282, 0.302, 0.322])
    # Nothing is within the smaller level on validation rows: all get the majority's label.
    assert (found[found["level"] == 0.001]["error"] == 0.5).all()
    page = level_table(found, (0.04, 0.001))
    assert "| fermi | 0.3020 ± 0.0657 (at 0.050) | 0.5000 ± 0.0000 (constant) |" in page
    assert "| hardt* |" in page
    some = records()
    some = some.assign(val_gaps=lost(some, (some["split"] == 2) & (some["method"] == "fermi"), "val_gaps"))
    page = level_table(at_levels(some, (0.04,)), (0.04,))
    assert "(at 0.033, constant in 1 of 3 runs) |" in page
    bad = records().assign(val_constant_error=0.1)  # better than what the knob gives within the level
    assert at_levels(bad, (0.04,))["constant"].all()
    mean, width = interval([1.0, 2.0, 3.0])
    assert (mean, width) == pytest.approx((2.0, 4.302653 / np.sqrt(3)))
    assert interval([1.0, 2.0, 3.0], 0.25)[1] == pytest.approx(4.302653 * np.sqrt(1 / 3 + 0.25))


def test_curves_are_read_off_between_neighbours() -> None:
    (entry,) = at_levels(records(splits=1), (0.12,)).query("method == 'fermi'").to_dict("records")
    assert entry["strength"] == pytest.approx(0.25)  # half way from 0.2 to 0.04 on validation rows
    assert entry["error"] == pytest.approx((0.21 + 0.282) / 2)
    assert entry["violation"] == pytest.approx((0.01 + 0.05) / 2)
    assert entry["blocks"] == pytest.approx([0.23, 0.24, 0.25])
    back = records(splits=1).assign(val_gaps=lambda r: r["strength"].map({0.0: [0.2], 0.5: [0.01], 1.0: [0.2]}))
    (entry,) = at_levels(back, (0.105,)).query("method == 'fermi'").to_dict("records")
    assert entry["strength"] == pytest.approx(0.25)  # not 0.75, where the level is crossed again at more error
    (entry,) = at_levels(back, (0.5,)).query("method == 'fermi'").to_dict("records")
    assert entry["strength"] == 0.0
    # From one group's favour to the other's: there is a fair setting between, where the second gap is small as well.
    gaps = np.array([[0.2, 0.05], [-0.1, 0.02], [-0.1, 0.02]])
    errors = np.array([0.1, 0.4, 0.3])
    assert place_within(gaps, errors, 0.05) == pytest.approx(0.5)
    assert place_within(gaps, errors, 0.035) == pytest.approx(0.55)
    assert place_within(gaps, errors, 0.001) is None
    assert place_within(gaps, errors, 0.05, spare=0.24) is None  # its error is 0.25
    assert place_within(gaps, errors, 0.05, spare=0.26) == pytest.approx(0.5)
    assert place_within(gaps, errors, 0.1) == pytest.approx(1 / 3)
    assert place_within(gaps[1:], errors[1:], 0.1) == 1.0


def test_intervals_come_from_splits_or_from_test_rows_and_seeds() -> None:
    blocks = [np.array([0.1, 0.2, 0.3, 0.2]), np.array([0.1, 0.2, 0.3, 0.2])]
    same = pd.DataFrame({"split": 0, "seed": [0, 1], "error": [0.2, 0.2], "blocks": blocks})
    rows_alone = 3.182446 * np.std([0.1, 0.2, 0.3, 0.2], ddof=1) / 2
    assert uncertain(same) == pytest.approx((0.2, rows_alone))
    assert uncertain(same[:1]) == pytest.approx((0.2, rows_alone))
    assert uncertain(same.assign(error=[0.15, 0.25]))[1] > rows_alone
    splits = same.assign(split=[0, 1], error=[0.15, 0.25])
    assert uncertain(splits) == pytest.approx(interval([0.15, 0.25], OVERLAP))
    assert np.isnan(uncertain(same[:0])[0])


def test_the_area_charges_what_is_not_reached_with_the_constant_prediction() -> None:
    curve = pd.DataFrame(
        {
            "strength": [0.0, 1.0],
            "val_error": [0.1, 0.2],
            "val_gaps": [[0.1], [0.05]],
            "test_error": [0.3, 0.4],
            "test_gaps": [[0.1], [0.05]],
            "test_constant_error": 0.9,
            "val_constant_error": 0.9,
            "test_block_errors": [[0.3, 0.2], [0.4, 0.6]],
            "test_constant_block_errors": [[0.8, 1.0], [0.8, 1.0]],
        }
    )
    found = area(curve)
    assert found["error"] == pytest.approx((4 * 0.9 + 0.4 + 0.38 + 0.36 + 0.34 + 0.32 + 11 * 0.3) / 20)
    assert found["blocks"][1] == pytest.approx((4 * 1.0 + 0.6 + 0.52 + 0.44 + 0.36 + 0.28 + 11 * 0.2) / 20)


def outcomes(some: pd.DataFrame, level: float = 0.05) -> dict[str, str]:
    found = compare(some, (level,))
    return dict(zip(found["method"], found["outcome"], strict=True))


def test_methods_are_compared_run_by_run() -> None:
    assert outcomes(records(0.002)) == {"mary": "above"}  # hardt needs the attribute, none is no rival
    assert outcomes(records(-0.002)) == {"mary": "below"}
    assert outcomes(records(-0.002, splits=1)) == {"mary": "below"}  # the same in all blocks of test rows
    assert outcomes(records(0.002).assign(test_standard_error=0.06)) == {"mary": "noise"}
    assert outcomes(records(0.002).assign(val_standard_error=0.026)) == {"mary": "noise"}  # two of them are above 0.05
    noisy = records(-0.002)
    noisy.loc[(noisy["method"] == "mary") & (noisy["split"] == 1), "test_error"] += 0.02
    assert outcomes(noisy) == {"mary": "open"}
    unfair = records(-0.002)
    unfair["test_gaps"] = lost(unfair, unfair["method"] == "mary", "test_gaps")
    assert outcomes(unfair) == {"mary": "open"}
    ours_unfair = records(0.002)
    ours_unfair["test_gaps"] = lost(ours_unfair, ours_unfair["method"] == "fermi", "test_gaps")
    assert outcomes(ours_unfair) == {"mary": "open"}
    # Where FERMI never gets there it is charged with the constant prediction, whatever the rival's error is.
    ahead = records(0.002)
    ahead["val_gaps"] = lost(ahead, ahead["method"] == "fermi", "val_gaps")
    assert outcomes(ahead) == {"mary": "below"}
    exact = records().assign(test_standard_error=0.0, val_standard_error=0.0)
    assert outcomes(exact, 0.001) == {"mary": "idle"}  # both give all rows one label
    assert outcomes(exact, 0.5) == {"mary": "idle"}  # neither has anything to do
    assert outcomes(records(0.001), 0.05) == {"mary": "above"}
    assert outcomes(records(0.0), 0.05) == {"mary": "even"}


def test_a_method_that_draws_is_compared_by_all_its_seeds() -> None:
    some = records(0.002, splits=1)
    rival = some[some["method"] == "mary"]
    others = [
        rival.assign(seed=seed, test_error=rival["test_error"] + shift) for seed, shift in ((1, 0.03), (2, -0.03))
    ]
    found = compare(pd.concat([some, *others]), (0.05,))
    assert found["runs"].tolist() == [3]
    assert found["difference"].tolist() == pytest.approx([0.002], abs=1e-4)
    assert found["outcome"].tolist() == ["open"]  # the seeds differ by more


def test_the_constant_prediction_has_blocks_of_its_own() -> None:
    some = records(splits=1)
    ours = some["method"] == "fermi"
    some = some.assign(val_gaps=lost(some, ours, "val_gaps"))  # so that FERMI is charged with the constant
    near = some[some["method"] == "mary"].assign(test_error=0.495, method="naive")
    near["test_block_errors"] = near["test_block_errors"].map(lambda _: [0.396, 0.494, 0.595])
    found = compare(pd.concat([some, near]), (0.05,))
    (naive,) = found[found["method"] == "naive"].to_dict("records")
    assert naive["outcome"] == "below"
    assert naive["width"] < 0.003  # the blocks differ much more than the two methods in each
    assert level_table(at_levels(some, (0.05,)), (0.05,)).count("0.5000 ± 0.2484 (constant)") == 1


def test_verdicts() -> None:
    better, none_below = (claim.judge for claim in dominance("best", "here", ("notion", "blind")))
    assert better(records(0.002))[0] == none_below(records(0.002))[0] == "held"
    tie = records().replace({"test_error": dict.fromkeys(records()["test_error"], 0.3)})
    assert (better(tie)[0], none_below(tie)[0]) == ("refuted", "held")  # equal is not better
    word, figures, width = none_below(records(-0.002))
    assert word == better(records(-0.002))[0] == "refuted"
    assert "demographic parity, attribute not among the features: refuted" in figures
    assert "mary at ≤ 0.05 below -0.0020 ± 0.0000" in figures
    assert width < 0.0001
    wide = records(0.002)
    wide.loc[(wide["method"] == "mary") & (wide["split"] == 1), "test_error"] += 0.02
    assert better(wide)[0] == none_below(wide)[0] == "not shown"
    two = pd.concat([records(0.002), records(-0.002).assign(blind=False)])
    word, figures, _ = better(two)
    assert word == "refuted"  # in one setting of two
    assert "attribute not among the features: held" in figures
    some = records()
    for judge in (better, none_below):
        assert judge(some.assign(test_standard_error=0.5))[0] == "could not be tested here"
        assert judge(some[some["method"] == "fermi"])[0] == "could not be tested here"
    page = tables(records(0.002), ("notion", "blind"))
    assert "## demographic parity, attribute not among the features" in page
    assert "| mary | above +0.0020 ± 0.0000 |" in page


def test_fermi_with_other_labels_is_no_rival_of_fermi() -> None:
    some = records(-0.002).replace({"method": {"mary": "fermi_labels"}})
    claims = dominance("best", "here", ("notion", "blind"))
    assert {claim.judge(some)[0] for claim in claims} == {"could not be tested here"}
    page = tables(pd.concat([records(), some[some["method"] == "fermi_labels"]]), ("notion", "blind"))
    assert "| fermi_labels | below -0.0020 ± 0.0000 |" in page  # shown all the same
    soft = page.partition("Probabilities on both axes")[2].partition("Area under")[0]
    assert "| mary |" in soft
    assert "fermi_labels" not in soft


def test_damage_and_gains_over_naive() -> None:
    clean, spoilt = records(0.02, splits=1).assign(missing=np.nan), records(0.03, splits=1).assign(missing=0.9)
    spoilt = pd.concat([spoilt, spoilt.assign(seed=1)])
    finer = clean.assign(strength=clean["strength"] + 0.1, test_error=0.0, val_error=0.0)  # another grid, left out
    lost = damage(pd.concat([clean, spoilt, finer]), "missing").set_index("method")
    assert lost["lost"].to_dict() == pytest.approx({"fermi": 0.0, "mary": 0.01, "hardt": 0.0}, abs=1e-4)
    assert lost["width"]["mary"] < 0.001  # every block loses the same
    assert lost["levels"]["mary"] == pytest.approx({0.1: 0.01, 0.05: 0.01}, abs=1e-4)  # others are within the noise
    found = comparisons(records().replace({"method": {"hardt": "naive"}}), ("notion", "blind"), "naive")
    assert set(found["method"]) == {"fermi", "mary"}
    assert "fermi -0.100 ± 0.000" in listed_gains(found[found["outcome"] != "noise"])


def test_strength_0_is_the_unmitigated_model_beside_every_run() -> None:
    some = records(splits=2).assign(missing=np.nan)
    plain = some[(some["method"] == "none") & (some["strength"] == 0.0)]
    spoilt = some[(some["method"] == "mary") & (some["strength"] > 0.0)].assign(missing=0.9)
    plain_spoilt = plain.assign(missing=0.9, test_error=0.7)
    seeded = [part.assign(seed=seed) for part in (spoilt, plain_spoilt) for seed in (0, 1)]
    own = some[some["method"].isin(("mary", "fermi")) & (some["strength"] > 0.0)]
    whole = with_strength_0(pd.concat([plain, own, own[own["method"] == "mary"].assign(seed=1), *seeded]))
    start = whole[(whole["strength"] == 0.0) & (whole["method"] == "mary")]
    assert start.groupby(["split", "seed", "missing"], dropna=False).size().tolist() == [1] * 8
    assert set(start[start["missing"].notna()]["test_error"]) == {0.7}
    assert set(start[start["missing"].isna()]["test_error"]) == set(plain["test_error"])
    assert len(whole[whole["method"] == "fermi"]) == len(own[own["method"] == "fermi"]) + 2


def test_violations_are_means_over_the_models_of_a_setting() -> None:
    some = records(splits=1)
    some["test_gaps"] = some["test_gaps"].map(lambda gaps: [gaps, [-3.0 * gap for gap in gaps]])
    (entry,) = at_levels(some, (0.04,)).query("method == 'fermi'").to_dict("records")
    assert entry["violation"] == pytest.approx(0.1)  # of 0.05 and 0.15, whatever their signs


def test_figures_3_and_8_judge_what_is_lost() -> None:
    def runs(column: str, rival: float) -> pd.DataFrame:
        clean, spoilt = records(0.02, splits=1), records(rival, splits=1)
        naive = spoilt[spoilt["method"] == "mary"].assign(method="naive")
        naive["test_error"] += 0.005
        parts = [clean.assign(**{column: np.nan}), pd.concat([spoilt, naive]).assign(**{column: 0.9})]
        return pd.concat([part[part["method"] != "hardt"] for part in parts])

    assert fig3.near_the_oracle(runs("missing", 0.05))[0] == "held"
    word, figures, _ = fig3.rivals_are_hurt(runs("missing", 0.05))
    assert word == "held"
    assert "mary +0.0300" in figures
    assert fig3.rivals_are_hurt(runs("missing", 0.02))[0] == "refuted"
    assert fig8.all_lose(runs("forced", 0.05))[0] == "refuted"  # FERMI loses nothing
    some = runs("forced", 0.05)
    assert fig8.all_lose(some[some["method"] != "fermi"])[0] == "held"


def test_what_is_missing_is_one_panel() -> None:
    from matplotlib.figure import Figure as Canvas

    clean, spoilt = (records(splits=1).assign(missing=share, test_violation=0.1) for share in (np.nan, 0.9))
    canvas = Canvas()
    Panels("blind", "missing").draw(pd.concat([clean, spoilt]), canvas)
    assert [axes.get_title().splitlines()[0] for axes in canvas.axes] == [
        "groups as they are",
        "90% of the groups missing",
    ]


def test_figure_2_judges_batch_4_and_batch_1() -> None:
    def some(shift: float, **columns: Any) -> pd.DataFrame:
        found = records(splits=1).query("method == 'fermi'").assign(**columns)
        found["test_error"] += shift
        found["test_block_errors"] = found["test_block_errors"].map(lambda blocks: [b + shift for b in blocks])
        return found

    full = some(0.0, budget="all rows", batch_size="all")
    naive = some(0.02, budget="all rows", batch_size="all", method="naive")
    close = some(0.002, budget="own passes", batch_size=4)
    assert fig2.close_to_full(pd.concat([full, close]))[0] == "held"
    far = some(0.004, budget="own passes", batch_size=4)
    assert fig2.close_to_full(pd.concat([full, far]))[0] == "refuted"
    alone = {"budget": "equal steps", "batch_size": 1}
    runs = pd.concat([naive, some(0.0, **alone), some(0.019, **alone, method="mary")])
    assert fig2.no_better_than_fermi(runs)[0] == "held"
    ahead = some(-0.003, **alone, method="mary")
    assert fig2.no_better_than_fermi(pd.concat([naive, some(0.0, **alone), ahead]))[0] == "refuted"
    word, figures, _ = fig2.no_better_than_naive(runs)
    assert (word, "fermi +0.020 ± 0.000, mary +0.001 ± 0.000" in figures) == ("held", True)
    runs = pd.concat([naive, some(0.0, **alone), some(0.009, **alone, method="mary")])
    assert fig2.no_better_than_naive(runs)[0] == "refuted"


def test_smaller_claims() -> None:
    runs = records(0.0, splits=1).assign(test_violation=lambda r: 0.2 * (1.0 - r["strength"]))
    twin = runs[runs["method"] == "mary"].assign(method="baharlouei")
    both = pd.concat([runs[(runs["method"] != "none") | (runs["strength"] == 0.0)], twin])
    assert fig1.coincide(both)[0] == "held"
    assert fig1.coincide(both.assign(test_violation=0.2))[0] == "could not be tested here"  # nothing mitigates
    both.loc[both["method"] == "mary", "test_error"] += 0.01
    assert fig1.coincide(both)[0] == "refuted"
    plain = runs[runs["strength"] == 0.0].assign(dataset="german")
    plain["test_gaps"] = pd.Series([[[0.1, -0.1]]] * len(plain), index=plain.index)
    for least, word in ((0.05, "held"), (0.2, "refuted"), (0.095, "not shown")):
        assert fig10.unfair(plain, "german", least, (True,))[0] == word
    assert fig10.unfair(plain, "adult", 0.1, (True,))[0] == "could not be tested here"
    table = pd.DataFrame({"method": ["fermi", "mary"], "stochastic": True, "convergent": [True, False]})
    word, figures, _ = table1.only_fermi(table)
    assert (word, figures.endswith("with a proof: fermi")) == ("could not be tested here", True)
