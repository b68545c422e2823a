"""An audit of ten million rows: seconds, and peak memory of the whole process, against fairlearn's MetricFrame.

Each case runs in a process of its own, which makes the rows first; peak memory includes them. The peer gets the same
rows and computes what it has of the same figures (selection rate, error, true and false positive rate by group),
without intervals; its own bootstrap would resample all rows for each draw. It is compared at a tenth of the rows, ten
million would take it many minutes a case. `--quick` leaves out the ten million.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

ROWS, PEER_ROWS = 10_000_000, 1_000_000
CASES: dict[str, dict[str, Any]] = {
    "labels, integer columns, 6 groups": {"groups": 6},
    "labels, text columns, 6 groups": {"groups": 6, "text": True},
    "labels, two sensitive columns of text, 24 groups": {"groups": 24, "text": True, "columns": 2},
    "labels, 1,000 groups, equalized odds": {"groups": 1000, "notion": "equalized_odds"},
    "labels with weights, 6 groups": {"groups": 6, "weights": True},
    "probabilities of 2 classes, 6 groups": {"groups": 6, "soft": True},
}


def make(n: int, groups: int, text: bool = False, columns: int = 1, weights: bool = False, soft: bool = False) -> Any:
    """Labels, predictions, sensitive columns and weights."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, groups, n)
    y = (rng.random(n) < 0.4).astype(np.int64)
    F = np.clip(0.25 + 0.4 * y + 0.1 * (s % 2) + 0.2 * rng.standard_normal(n), 0.0, 1.0)
    predicted: Any = np.column_stack([1.0 - F, F]) if soft else (F > 0.5).astype(np.int64)
    del F
    weight = rng.random(n) + 0.5 if weights else None
    if not text:
        return y, predicted, s, weight
    names = np.array([f"group {j}" for j in range(groups)], dtype=object)
    words = np.array(["denied", "granted"], dtype=object)
    if columns == 1:
        return words[y], words[predicted], names[s], weight
    frame = pd.DataFrame({"sex": np.array(["F", "M"], dtype=object)[s % 2], "region": names[s // 2]})
    return words[y], words[predicted], frame, weight


def run_audit(rows: Any, notion: str) -> None:
    from fermi import audit

    y, predicted, s, weight = rows
    audit(y, predicted, sensitive_features=s, notion=notion, sample_weight=weight)


def run_peer(rows: Any, notion: str) -> None:
    from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate
    from sklearn.metrics import zero_one_loss

    y, predicted, s, weight = rows
    last = "granted" if np.asarray(y).dtype == object else 1
    predicted = predicted.argmax(axis=1) if np.ndim(predicted) == 2 else predicted
    shared = {} if weight is None else {"sample_weight": weight}
    metrics: dict[str, Callable[..., Any]] = {
        "rate": lambda y, p, **w: selection_rate(y, p, pos_label=last, **w),
        "error": zero_one_loss,
        "tpr": lambda y, p, **w: true_positive_rate(y, p, pos_label=last, **w),
        "fpr": lambda y, p, **w: false_positive_rate(y, p, pos_label=last, **w),
    }
    params = dict.fromkeys(metrics, shared)
    MetricFrame(metrics=metrics, y_true=y, y_pred=predicted, sensitive_features=s, sample_params=params).by_group  # noqa: B018


def alone(case: str, n: int, who: str) -> dict[str, float]:
    """One run in a process of its own."""
    done = subprocess.run([sys.executable, __file__, case, str(n), who], capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.returncode}
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(case: str, n: int, who: str) -> None:
    options = dict(CASES[case])
    notion = str(options.pop("notion", "demographic_parity"))
    work = run_audit if who == "fermi" else run_peer
    work(make(10_000, **options), notion)  # compiled code and imports are loaded
    given = make(n, **options)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, used = time.perf_counter(), time.process_time()
    work(given, notion)
    print(
        json.dumps(
            {
                "seconds": time.perf_counter() - began,
                "cpu_seconds": time.process_time() - used,
                "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
                "rows_gb": before / 2**20,
            }
        )
    )


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """A case per kind of rows, ours and the peer's."""
    cases = []
    for case in CASES:
        found: dict[str, Any] = {"case": case, "peer": "fairlearn.metrics.MetricFrame", "peer_rows": PEER_ROWS}
        found |= {"fermi": alone(case, PEER_ROWS, "fermi"), "of_peer": alone(case, PEER_ROWS, "peer")}
        if not quick:
            found |= {"rows": ROWS, "fermi_all": alone(case, ROWS, "fermi")}
        cases.append(found)
        print(line(found), file=sys.stderr, flush=True)
    return cases


def line(case: dict[str, Any]) -> str:
    few = f"{case['peer_rows']:,} rows"
    parts = [_said(f"{case['rows']:,} rows", case["fermi_all"])] if "fermi_all" in case else []
    parts += [_said(few, case["fermi"]), _said(f"{few}, peer", case["of_peer"])]
    both = "failed" not in case["fermi"] and "failed" not in case["of_peer"]
    ratio = f"; ratio {case['fermi']['seconds'] / case['of_peer']['seconds']:.4f}" if both else ""
    return f"{case['case']:<50} {'; '.join(parts)}{ratio}"


def _said(rows: str, run: dict[str, float]) -> str:
    if "failed" in run:
        return f"{rows}: failed"
    return f"{rows}: {run['seconds']:.2f} s, {run['peak_gb']:.2f} GB (rows alone {run['rows_gb']:.2f})"


def show(cases: list[dict[str, Any]]) -> None:
    """A line per case."""
    for case in cases:
        print(line(case))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
