"""Write the tables of the pages from benchmarks/results: `python tools/figures.py`; a test fails where they differ.

A table stands between `<!-- NAME -->` and `<!-- end -->`; each function below whose name is in TABLES writes one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fermi import baselines

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "compare.md")
PEERS = {
    "fermi": "fermi, λ",
    "fermi_labels": "fermi, labels",
    "fermi_boosting": "fermi, trees",
    "agarwal": "fairlearn, reductions",
    "hardt": "fairlearn, thresholds",
    "oxonfair": "OxonFair",
    "fairgbm": "FairGBM",
    "fairret": "fairret",
    "cooper": "Cooper",
    "zhang": "adversarial",
}
FACTS = {
    "nonbinary_target": "classes",
    "nonbinary_attribute": "groups",
    "beyond_logistic": "models",
    "stochastic": "batches",
    "convergent": "converges",
    "unknown_attribute": "unknown",
}
NOTIONS = {
    "demographic_parity": "demographic parity",
    "equalized_odds": "equalized odds",
    "equal_opportunity": "equal opportunity",
}


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of a benchmark as it was last kept."""
    found: list[dict[str, Any]] = json.loads((ROOT / f"benchmarks/results/{name}.json").read_text("utf-8"))["cases"]
    return found


def written(lines: Iterable[Iterable[str]]) -> str:
    """Lines of cells as a Markdown table, the first being the head."""
    head, *rest = [list(line) for line in lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ["---"] * len(head), *rest])


def capabilities() -> str:
    """What each method can do, as its capabilities in the code say; the tests hold the methods to them."""
    lines = [["", *FACTS.values(), "blind", "certain"]]
    for name, title in PEERS.items():
        own = baselines.find(name).capabilities
        held = [*(getattr(own, fact) for fact in FACTS), not own.needs_attribute, not own.draws]
        lines.append([title, *("yes" if fact else "·" for fact in held)])
    return written(lines)


def labels() -> str:
    """Error at gap of labels within a bound on Adult, with LightGBM, by method."""
    names = ("plain", "FairLabels", "reduction", "FairGBM", "OxonFair, blind", "ThresholdOptimizer*")
    lines = [["notion, bound", *names]]
    kept = [case for case in cases("labels-adult") if case["model"] == "LightGBM" and case["groups"] == "sex"]
    for notion, title in NOTIONS.items():
        mine = {c["method"]: c for c in kept if (c["notion"], c["bound"]) == (notion, 0.02)}
        told = [f"{mine[n]['error']:.4f} at {mine[n]['gap']:.3f}" if n in mine else "has none" for n in names]
        lines.append([f"{title}, 0.02", *told])
    return written(lines)


def batches() -> str:
    """How far above the least objective training ends, the worst of λ up to 20 and of all notions, by batch size."""
    lines = [["", "1 row", "4 rows", "64 rows", "all rows"]]
    for method, title in {"sgda": "Algorithm 1, untuned", "mary": "each batch's own estimate, tuned"}.items():
        own = [case for case in cases("convergence") if case["method"] == method]
        worst = [max(case["worst_excess"] for case in own if case["batch"] == size) for size in (1, 4, 64, None)]
        lines.append([title, *(f"{100 * excess:.2f}%" for excess in worst)])
    return written(lines)


def solvers() -> str:
    """Seconds of a fit beside scikit-learn's."""
    lines = [["", "fermi", "peer", "ratio", "the peer"]]
    for case in cases("solvers"):
        seconds = [f"{case[f'{who}_median_seconds']:.3f} s" for who in ("fermi", "peer")]
        lines.append([case["case"], *seconds, f"{case['median_ratio']:.2f}", case["peer"].replace("|", "\\|")])
    return written(lines)


def audits() -> str:
    """Seconds of an audit of a million rows beside fairlearn's."""
    lines = [["", "fermi, with intervals", "fairlearn's `MetricFrame`, without"]]
    lines += [[c["case"], f"{c['fermi']['seconds']:.1f} s", f"{c['of_peer']['seconds']:.0f} s"] for c in cases("audit")]
    return written(lines)


def network_steps() -> str:
    """What the term adds to a training step of a network."""
    lines = [["", "step without", "step with the term", "ratio"]]
    for case in cases("torch"):
        seconds = [f"{1000 * case[f'{who}_seconds']:.2f} ms" for who in ("peer", "fermi")]
        lines.append([case["case"], *seconds, f"{case['ratio']:.2f}"])
    return written(lines)


def three_numbers() -> str:
    """The README's figures, each with the command that makes it."""
    adult = {
        c["method"]: c
        for c in cases("labels-adult")
        if (c["model"], c["notion"], c["groups"], c["bound"]) == ("LightGBM", "equalized_odds", "sex", 0.02)
    }
    plain, fair, other = adult["plain"], adult["FairLabels"], adult["reduction"]
    rows = [case for case in cases("convergence") if case["batch"] == 1]
    ours, theirs = (100 * max(c["worst_excess"] for c in rows if c["method"] == m) for m in ("sgda", "mary"))
    fit = next(case for case in cases("solvers") if case["case"] == "Adult, standardised: lbfgs, λ = 5")
    return (
        f"- **{fair['gap']:.3f}** is the gap that is left of {plain['gap']:.3f} under equalized odds on Adult, where "
        f"0.02 was asked of LightGBM's labels:\n  the error goes from {100 * plain['error']:.1f}% to "
        f"{100 * fair['error']:.1f}%. fairlearn's reduction stops at {other['gap']:.3f} with an error of "
        f"{100 * other['error']:.1f}%.\n  `fermi bench labels --dataset adult`\n"
        f"- **{ours:.1f}%** above the least objective is where training ends, at worst, when each step sees a *single "
        f"row*; with the estimate\n  of each batch alone, tuned, {theirs:.0f}%. `fermi bench convergence`\n"
        f"- **{fit['median_ratio']:.2f}** of the time that scikit-learn takes for a plain logistic regression on "
        f"Adult is what the fair one takes.\n  `fermi bench solvers`\n"
    )


TABLES = {
    table.__name__.replace("_", " "): table
    for table in (capabilities, labels, batches, solvers, audits, network_steps, three_numbers)
}


def filled(text: str) -> str:
    """A page with all its tables written anew."""
    for name, table in TABLES.items():
        if f"<!-- {name} -->" in text:
            old = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", flags=re.DOTALL)
            new = table()
            text = old.sub(lambda found, new=new: f"{found[1]}\n{new}\n{found[2]}", text)
    return text


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
