"""Why Algorithm 1 converges at any batch size, and descent on the batch's own ERMI does not."""

from __future__ import annotations

import pytest

from tests.convergence.samples import BENCH, three_groups


def test_descent_on_the_batch_s_own_ermi_lands_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    cases = BENCH.measure(quick=True, rows=three_groups())
    excess = {(case["method"], case["batch"]): case["excess"] for case in cases}
    assert len(excess) == len(cases) == 8
    assert all(-1e-5 < excess["sgda", batch] < 0.005 for batch in BENCH.BATCHES)
    assert min(excess["mary", 1], excess["mary", 4]) > 0.1
    assert excess["mary", 64] > 0.005
    assert abs(excess["mary", None]) < 0.005  # all rows at once: there it is the same objective
    BENCH.show(cases)
    assert f"mary, batch 4: at most {100 * excess['mary', 4]:.3f} % above" in capsys.readouterr().out
