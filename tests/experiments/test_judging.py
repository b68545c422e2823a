"""Knobs are chosen on validation rows, methods compared run by run, verdicts come from records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")
pytest.importorskip("matplotlib", reason="the extra `report` is not installed")


from fermi.experiments.figures import fig1, fig2, fig3, fig8, fig10, table1
from fermi.experiments.figures._tradeoffs import damage, dominance, gains_over_naive
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
    noisy = records(-0.002)
    noisy.loc[(noisy["method"] == "mary") & (noisy["split"] == 1), "test_error"] += 0.02
    assert outcomes(noisy) == {"mary": "same"}
    unfair = records(-0.002)
    unfair["test_gaps"] = lost(unfair, unfair["method"] == "mary", "test_gaps")
    assert outcomes(unfair) == {"mary": "same"}
    ours_unfair = records(0.002)
    ours_unfair["test_gaps"] = lost(ours_unfair, ours_unfair["method"] == "fermi", "test_gaps")
    assert outcomes(ours_unfair) == {"mary": "same"}
    # Where FERMI never gets there it is charged with the constant prediction, whatever the rival's error is.
    ahead = records(0.002)
    ahead["val_gaps"] = lost(ahead, ahead["method"] == "fermi", "val_gaps")
    assert outcomes(ahead) == {"mary": "below"}
    assert outcomes(records().assign(test_standard_error=0.0, val_standard_error=0.0), 0.001) == {"mary": "same"}


def test_a_method_that_draws_is_compared_by_all_its_seeds() -> None:
    some = records(0.002, splits=1)
    rival = some[some["method"] == "mary"]
    others = [
        rival.assign(seed=seed, test_error=rival["test_error"] + shift) for seed, shift in ((1, 0.03), (2, -0.03))
    ]
    found = compare(pd.concat([some, *others]), (0.05,))
    assert found["runs"].tolist() == [3]
    assert found["difference"].tolist() == pytest.approx([0.002], abs=1e-4)
    assert found["outcome"].tolist() == ["same"]  # the seeds differ by more


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
    assert (better(tie)[0], none_below(tie)[0]) == ("did not hold", "held")
    word, figures = none_below(records(-0.002))
    assert word == better(records(-0.002))[0] == "did not hold"
    assert "mary at ≤ 0.05 by 0.0020 (demographic parity, attribute not among the features)" in figures
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
    assert lost.loc["mary", "at 0.05"] == pytest.approx(0.01, abs=1e-4)
    gains = gains_over_naive(records().replace({"method": {"hardt": "naive"}}))
    assert gains[True, "fermi"] == pytest.approx(-0.1, abs=1e-4)
    assert set(gains.index.get_level_values("method")) == {"fermi", "mary"}


def test_figures_3_and_8_judge_what_is_lost() -> None:
    def runs(column: str, rival: float) -> pd.DataFrame:
        clean, spoilt = records(0.02, splits=1), records(rival, splits=1)
        naive = spoilt[spoilt["method"] == "mary"].assign(method="naive")
        naive["test_error"] += 0.005
        parts = [clean.assign(**{column: np.nan}), pd.concat([spoilt, naive]).assign(**{column: 0.9})]
        return pd.concat([part[part["method"] != "hardt"] for part in parts])

    assert fig3.near_the_oracle(runs("missing", 0.05))[0] == "held"
    word, figures = fig3.rivals_are_hurt(runs("missing", 0.05))
    assert word == "held"
    assert "mary +0.0300" in figures
    assert fig3.rivals_are_hurt(runs("missing", 0.02))[0] == "did not hold"
    assert fig8.all_lose(runs("forced", 0.05))[0] == "did not hold"  # FERMI loses nothing
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
        return found

    full = some(0.0, budget="all rows", batch_size="all")
    naive = some(0.02, budget="all rows", batch_size="all", method="naive")
    close = some(0.002, budget="own passes", batch_size=4)
    assert fig2.close_to_full(pd.concat([full, close]))[0] == "held"
    assert fig2.close_to_full(pd.concat([full, close.assign(test_error=close["test_error"] + 0.002)]))[0] != "held"
    alone = {"budget": "equal steps", "batch_size": 1}
    runs = pd.concat([naive, some(0.0, **alone), some(0.019, **alone, method="mary")])
    assert fig2.no_better_than_fermi(runs)[0] == "held"
    better = some(-0.001, **alone, method="mary")
    assert fig2.no_better_than_fermi(pd.concat([naive, some(0.0, **alone), better]))[0] == "did not hold"
    word, figures = fig2.no_better_than_naive(runs)
    assert (word, "fermi +0.020, mary +0.001" in figures) == ("held", True)
    runs.loc[runs["method"] == "mary", "test_error"] -= 0.01
    assert fig2.no_better_than_naive(runs)[0] == "did not hold"


def test_smaller_claims() -> None:
    runs = records(0.0, splits=1)
    twin = runs[runs["method"] == "mary"].assign(method="baharlouei", test_violation=0.1)
    both = pd.concat([runs.assign(test_violation=0.1), twin])
    assert fig1.coincide(both)[0] == "held"
    both.loc[both["method"] == "mary", "test_error"] += 0.01
    assert fig1.coincide(both)[0] == "did not hold"
    plain = runs.assign(test_violation=0.1, dataset="german")
    for least, word in ((0.05, "held"), (0.2, "did not hold")):
        assert fig10.unfair(plain, "german", least, (True,))[0] == word
    assert fig10.unfair(plain, "adult", 0.1, (True,))[0] == "could not be tested here"
    table = pd.DataFrame({"method": ["fermi", "mary"], "stochastic": True, "convergent": [True, False]})
    assert table1.only_fermi(table)[0] == "held"
    assert table1.only_fermi(table.assign(convergent=True)) == ("did not hold", "mary")
