"""The options that several commands share, and what an error calls them."""

from __future__ import annotations

import re
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
File = Annotated[
    str, typer.Argument(metavar="FILE", help="A table: .csv, .tsv, .parquet, .feather or .jsonl.", show_default=False)
]
Target = Annotated[str, typer.Option(metavar="COL", help="The column to predict.")]
Sensitive = Annotated[
    list[str],
    typer.Option(metavar="COL", help="A column of groups; given several times, their combinations are the groups."),
]
Notion = Annotated[
    str, typer.Option(help="What must not depend on the group: demographic_parity, equalized_odds, equal_opportunity.")
]
Advantaged = Annotated[
    list[str] | None,
    typer.Option(metavar="LABEL", help="A label that equal_opportunity is about; the last by default."),
]
Attributes = Annotated[str, typer.Option(help="Several sensitive columns: their intersection, or each by itself.")]
MaxViolation = Annotated[
    float | None, typer.Option(help="The largest gap between groups that is acceptable, say 0.02.")
]
MinRatio = Annotated[
    float | None,
    typer.Option(help="The least ratio of two groups' rates of the last class; 0.8 is the four-fifths rule."),
]
MinRate = Annotated[float | None, typer.Option(help="The least part of every group that must get the last class.")]
MaxRate = Annotated[float | None, typer.Option(help="The largest part of all rows that may get the last class.")]
Slack = Annotated[
    float | None, typer.Option(help="By how many standard errors of its rate each group may be farther off, say 1.")
]
Confidence = Annotated[
    float | None, typer.Option(help="With which the bounds are to hold, judged on a third of the rows, say 0.95.")
]
Model = Annotated[str, typer.Option(help="linear, boosting or mlp.")]
KeepSensitive = Annotated[
    bool | None,
    typer.Option("--keep-sensitive/--drop-sensitive", help="Whether the sensitive columns are among the features."),
]
Ignore = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="A column that is no feature, say an identifier.")
]
Weights = Annotated[
    list[str] | None,
    typer.Option(
        metavar="balanced|LABEL=NUMBER",
        help="What each true label counts in training under equalized odds; repeatable.",
    ),
]
TestSize = Annotated[float, typer.Option(help="The part of the rows kept for the test.")]
Seed = Annotated[int, typer.Option(help="Of the split and of training.")]

Lam = Annotated[
    float | None,
    typer.Option(help="The weight of fairness; 1 by default, 0 with --min-ratio, --min-rate, --max-rate, --slack."),
]
Decision = Annotated[
    str,
    typer.Option(help="How --max-violation is kept: argmax by λ, labels by charging groups, auto by what errs less."),
]
Solver = Annotated[str, typer.Option(help="Of files that are streamed: exact passes (lbfgs), epochs (sgda), or auto.")]
Passes = Annotated[int | None, typer.Option(help="The most passes over files that are streamed; 1 uses no row twice.")]
EngineName = Annotated[
    str,
    typer.Option("--engine", metavar="local|ray", help="Where it runs: on this machine, or on a Ray cluster."),
]
Address = Annotated[
    str | None,
    typer.Option(help="The Ray cluster, such as ray://head:10001; by default that of RAY_ADDRESS, or one of its own."),
]
CheckpointFile = Annotated[
    str | None,
    typer.Option("--checkpoint", metavar="FILE", help="Where a stream saves its state, to go on from when run again."),
]
Memory = Annotated[str, typer.Option(help="About what streaming may take, beside Python and its libraries.")]
SkipBadFiles = Annotated[
    bool, typer.Option("--skip-bad-files", help="Leave out files that cannot be used, and count them.")
]

_TASK = ("target", "sensitive", "notion", "advantaged", "attributes", "ignore", "test_size", "seed", "weights")
_AUDIT = ("prediction", "probability", "output")
_BOUNDS = ("max_violation", "min_ratio", "min_rate", "max_rate", "slack", "confidence", "decision", "lam")
_STREAM = ("solver", "passes", "engine", "address", "checkpoint", "memory")
_GIVEN_AS = {"path": "`FILE`", "selection_rate": "--max-rate"} | {
    name: f"--{name.replace('_', '-')}" for name in (*_TASK, *_AUDIT, *_BOUNDS, *_STREAM)
}


def in_options(message: str) -> str:
    """What a function says of its arguments, in the words of a command line.

    Arguments stand in backticks. What is quoted is the user's own, such as the name of a column.

    Examples
    --------
    >>> in_options("`test_size` is 0.0; expected a number above 0.")
    '--test-size is 0.0; expected a number above 0.'
    """
    options = re.sub(r"(?<!['\"])`(--[\w-]+)`(?!['\"])", r"\1", message)
    return re.sub(r"(?<!['\"])`(\w+)`(?!['\"])", lambda found: _GIVEN_AS.get(found[1], found[0]), options)
