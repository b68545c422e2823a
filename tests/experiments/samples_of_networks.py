"""Made-up records of the figures about many groups and networks, 4 to 7."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fermi.experiments.figures import fig4, fig6
from fermi.experiments.runs import comments as comment_runs
from fermi.experiments.runs import communities as community_runs


def curve(method: str, shift: float, split: int, **more: Any) -> list[dict[str, Any]]:
    """Three strengths; on test rows another one keeps the bounds."""
    return [
        {
            "method": method,
            "split": split,
            "strength": strength,
            "val_error": 0.5 - violation + shift,
            "val_attribute": violation,
            "test_error": 0.5 - violation + shift + 0.02 * split,
            "test_attribute": 0.3 - violation,
            "val_constant_error": 0.6,
            "test_constant_error": 0.6 + 0.02 * split,
            **more,
        }
        for strength, violation in ((0.0, 0.3), (0.5, 0.09), (1.0, 0.04))
    ]


def communities(rival: float, splits: int = 3) -> pd.DataFrame:
    """Records of figure 5 in which all kinds of violation are one, and rivals differ from FERMI by a shift."""
    rows: list[dict[str, Any]] = []
    for count, notion, split in ((a, n, i) for a in (1, 18) for n in community_runs.NOTIONS for i in range(splits)):
        more = {"attributes": count, "notion": notion, "groups": 2, "test_large": 2, "seconds": 1.0}
        for name in ("mary", "baharlouei", "cho_kde"):
            rows += curve(name, rival * count + 0.0001 * split, split, **more)[1:]
        rows += curve("fermi", 0.0, split, **more)[1:] + curve("fermi_each", 0.0, split, **more)[1:]
        plain = curve("none", 0.0, split, **more)[:1]
        rows += [{**row, "divisor": d, "val_attribute": row["val_attribute"] / d} for row in plain for d in (1.0, 30.0)]
    records = pd.DataFrame(rows)
    for part in ("val", "test"):
        for kind in ("soft_attribute", "intersection", "soft_intersection", "soft_everything"):
            records[f"{part}_{kind}"] = records[f"{part}_attribute"]
        records[f"{part}_soft_error"] = records[f"{part}_error"]
    noise = dict.fromkeys(("test_attribute_noise", "test_intersection_noise"), 0.01)
    return records.assign(**noise, chance_attribute=0.1, chance_intersection=0.1)


def toxic(rival: float, seeds: int = 3) -> pd.DataFrame:
    """Records of figure 4 in which rivals differ from FERMI by a shift, ten times as much at small batches."""
    rows: list[dict[str, Any]] = []
    for batch_size, seed in ((size, seed) for size in fig4.PASSES for seed in range(seeds)):
        more = {"dataset": "toxic_madlibs", "batch_size": batch_size, "seed": seed, "seconds": 1.0}
        for name in ("none", *fig4.METHODS):
            shift = 0.0 if name in ("fermi", "none") else rival * (1 if batch_size == 128 else 10) + 0.0001 * seed
            some = curve(name, shift, seed, **more)
            rows += some[:1] if name == "none" else some[1:]
    records = pd.DataFrame(rows)
    for part in ("val", "test"):
        records[f"{part}_violation"] = records[f"{part}_soft_violation"] = records[f"{part}_attribute"]
        records[f"{part}_soft_error"] = records[f"{part}_clean_error"] = records[f"{part}_error"]
        records[f"{part}_clean_violation"] = records[f"{part}_violation"]
        records[f"{part}_noise"] = records[f"{part}_false_positives"] = 0.01
        records[f"{part}_false_positives_christian"] = 0.1
        records[f"{part}_false_positives_{comment_runs.HELD_AGAINST}"] = 0.1 + records[f"{part}_violation"]
    return records


def colour_records(out: float = 0.8, **changed: float) -> pd.DataFrame:
    """What the paper says, with the test error falling where the validation error rises."""
    rows = []
    for method, size, seed in [(m, b, s) for m in fig6.LAMS_BY_METHOD for b in (64, 512, 1024) for s in (1, 2, 3)]:
        first, second, _ = fig6.LAMS_BY_METHOD[method]
        for model in fig6.MODELS if method == "fermi" else ("lenet5",):
            for lam in (0.0, first, second) if method == "fermi" and size == 512 else (first, second):
                error = (0.25 if method == "fermi" else 0.5 + 0.2 * (size == 64)) if lam else 0.8
                error = changed.get(f"{method}_{size}", error) if lam == first else error
                own: dict[str, Any] = {
                    "method": method,
                    "model": model,
                    "lam": lam,
                    "batch_size": size,
                    "seed": seed,
                    "steps": 216,
                }
                measured = {
                    "train_error": 0.01 * lam,
                    "val_error": 0.3 + 0.01 * lam,
                    "test_error": error + 0.001 * seed - (0.2 if lam == second else 0.0),
                }
                rows.append({**own, **measured, "seconds": 1.0, "cell_seconds": 1.0})
                if lam == 0.0 and model == "lenet5":
                    trained = {"test_error": out + 0.001 * seed, "val_error": 0.1, "steps": fig6.TRAINED_OUT}
                    rows.append({**rows[-1], **trained})
    return pd.DataFrame(rows)


def paths(fermi: float = 0.0001, mary: float = 0.1, noise: float = 0.00001, bias: float = 0.004) -> pd.DataFrame:
    """Objectives that fall from 1 to 0.5, the minimum, and then go up and down by given amounts, and estimates."""
    rows: list[dict[str, Any]] = [{"model": "linear", "method": "exact", "kind": "exact", "objective": 0.5}]
    rows[0] |= {"ermi": 0.0, "test_accuracy": 0.8, "cell_seconds": 1.0}
    for method, swing, seed in [(m, w, i) for m, w in (("fermi", fermi), ("mary", mary)) for i in range(3)]:
        own = {"model": "linear", "rates": "falling", "method": method, "seed": seed, "cell_seconds": 1.0}
        for step in range(11):
            objective = 1.0 if step == 0 else 0.5 + swing * (1.5 + (-1) ** step)
            more: dict[str, Any] = {"loss": 0.4, "ermi": 0.01, "test_accuracy": 0.8}
            more["gradient"] = 1.0 if step == 0 else swing
            rows.append({**own, "kind": "path", "step": step, "objective": objective, **more})
        for size in (64, 128):
            for name, value in (("fermi", noise), ("mary", bias * 64 / size)):
                more = {"estimate_of": name, "estimate_batch": size, "bias": value, "standard_error": 0.0001}
                rows.append({**own, "kind": "estimate", "ermi": 0.01, "expected_bias": 0.004, **more})
    return pd.DataFrame(rows)
