"""The options that several commands share, and what an error calls them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fermi.records import ReportRecord

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A table: .csv, .tsv, .xlsx, .parquet, .feather or .jsonl, or a folder of them; - is standard input.",
        show_default=False,
    ),
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
    typer.Option(
        "--favourable",
        "--advantaged",
        metavar="LABEL",
        help="The label that people want, which equal_opportunity, ratios and rates are about; known of yes/no, 1/0 "
        "and the like.",
    ),
]
Require = Annotated[
    bool, typer.Option("--require", help="Exit with code 3, and write no model, where a bound is missed.")
]
Attributes = Annotated[str, typer.Option(help="Several sensitive columns: their intersection, or each by itself.")]
Lam = Annotated[
    float | None,
    typer.Option(help="The weight of fairness; 1 by default, 0 with --min-ratio, --min-rate, --max-rate, --slack."),
]
Decision = Annotated[
    str,
    typer.Option(help="How --max-violation is kept: argmax by λ, labels by charging groups, auto by what errs less."),
]
Refit = Annotated[
    bool, typer.Option("--refit/--no-refit", help="Whether the saved model is trained again on all rows.")
]
Probabilities = Annotated[
    list[str] | None,
    typer.Option(
        "--probability",
        metavar="COL",
        help="The probability of the last of two classes, or one column per class, sorted; by default the columns "
        "probability=LABEL, as `fermi predict` writes them.",
    ),
]
MaxViolation = Annotated[
    float | None, typer.Option(help="The largest gap between groups that is acceptable, say 0.02.")
]
MinRatio = Annotated[
    float | None,
    typer.Option(help="The least ratio of two groups' rates of the favourable label; 0.8 is the four-fifths rule."),
]
MinRate = Annotated[
    float | None, typer.Option(help="The least part of every group that must get the favourable label.")
]
MaxRate = Annotated[float | None, typer.Option(help="The largest part of all rows that may get the favourable label.")]
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
        metavar="LABEL=2",
        help="What a true label counts in training, where the notion compares within labels; or balanced.",
    ),
]
Bins = Annotated[
    list[str] | None, typer.Option(metavar="COL=…", help="Put the numbers of a column into ranges: age=30,50.")
]
Labels = Annotated[
    list[str] | None, typer.Option(metavar="COL=…", help="Call the values of a column: sex=0:men,1:women.")
]
AsCategory = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="A column of numbers that are names, such as a zip code.")
]
AsNumber = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="A column of numbers with signs about them: $12,345 or 12.3%.")
]
Date = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="A column of dates, with their format where it is in doubt: born=%d.%m.%Y."),
]
TestFile = Annotated[
    str | None, typer.Option("--test", metavar="FILE", help="Test on the rows of this file, and train on all of FILE.")
]
SaveSplit = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Write the rows with a column that says which were for training."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the folder if it was written before.")]
TestSize = Annotated[float, typer.Option(help="The part of the rows kept for the test.")]
AuditedFile = Annotated[
    str,
    typer.Argument(metavar="FILE", help="A table, a folder of tables or a quoted pattern.", show_default=False),
]
TrueLabels = Annotated[str | None, typer.Option("--target", metavar="COL", help="The column of true labels.")]
Prediction = Annotated[str | None, typer.Option(metavar="COL", help="The column of predicted labels.")]
AuditedProbability = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL",
        help="Instead of --prediction or beside it: the probability of the second of two classes, or one column per "
        "class.",
    ),
]
ProbabilityOf = Annotated[
    str | None, typer.Option(metavar="LABEL", help="The label that a single --probability column is about.")
]
RowWeight = Annotated[str | None, typer.Option("--weight", metavar="COL", help="A column of what each row counts.")]
MapLabels = Annotated[
    list[str] | None,
    typer.Option(metavar="OLD:NEW,…", help="Call labels of target and prediction alike: approve:1,deny:0."),
]
Control = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="Compare groups within each value of this column; several: their combinations."),
]
Level = Annotated[float, typer.Option("--confidence", help="Of the intervals.")]
Withhold = Annotated[
    int | None,
    typer.Option("--min-group-size", help="Withhold the figures of groups with fewer rows, for privacy."),
]
DrawSeed = Annotated[int, typer.Option("--seed", help="Of the draws that intervals are made from.")]
HtmlFile = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write a page.")]
CsvFile = Annotated[str | None, typer.Option("--csv", metavar="FILE", help="Write the figures as a table.")]
Seed = Annotated[int, typer.Option(help="Of the split and of training.")]

Solver = Annotated[str, typer.Option(help="Of files that are streamed: exact passes (lbfgs), epochs (sgda), or auto.")]
Passes = Annotated[int | None, typer.Option(help="The most passes over files that are streamed; 1 uses no row twice.")]
EngineName = Annotated[
    str,
    typer.Option("--engine", metavar="NAME", help="Where it runs: local, on this machine, or on a ray cluster."),
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

_TASK = ("test", "target", "sensitive", "notion", "attributes", "ignore", "test_size", "seed", "weights")
_COLUMNS = ("bins", "labels", "as_category", "as_number", "date")
_AUDIT = ("prediction", "probability", "probability_of", "output", "weight", "control", "map_labels", "key", "by")
_BOUNDS = ("max_violation", "min_ratio", "min_rate", "max_rate", "slack", "confidence", "decision", "lam")
_STREAM = ("solver", "passes", "engine", "address", "checkpoint", "memory")
_GIVEN_AS = {"path": "`FILE`", "selection_rate": "--max-rate", "advantaged": "--favourable", "refit": "--refit"} | {
    name: f"--{name.replace('_', '-')}" for name in (*_TASK, *_COLUMNS, *_AUDIT, *_BOUNDS, *_STREAM)
}


def in_options(message: str) -> str:
    """What a function says of its arguments, in the words of a command line.

    Arguments stand in backticks. What is quoted is the user's own, such as the name of a column.

    Examples
    --------
    >>> in_options("`test_size` is 0.0; expected a number above 0.")
    '--test-size is 0.0; expected a number above 0.'
    >>> in_options("merge them, or use attributes='each'; `slack=1` allows more.")
    'merge them, or use --attributes each; --slack 1 allows more.'
    """
    options = re.sub(r"(?<!['\"])`(--[\w-]+)`(?!['\"])", r"\1", message)
    options = re.sub(r"(?<!['\"\w])`?\b(\w+)=('?)([\w.]+\b)\2`?", _as_option, options)
    return re.sub(r"(?<!['\"])`(\w+)`(?!['\"])", lambda found: _GIVEN_AS.get(found[1], found[0]), options)


def _as_option(found: re.Match[str]) -> str:
    """An argument with its value, such as ``slack=1``, as an option; what is no argument, as a group is, stays."""
    return f"{_GIVEN_AS[found[1]]} {found[3]}" if found[1] in (*_BOUNDS, "attributes") else found[0]


def in_command_words(record: ReportRecord) -> ReportRecord:
    """A report whose sentences and settings name the options of the command, and not the arguments of a function."""
    facts = dict(record.facts)
    if "Settings" in facts:
        facts["Settings"] = re.sub(r"(\w+)=", lambda found: f"--{found[1].replace('_', '-')} ", facts["Settings"])
    return replace(record, facts=facts, reason=in_options(record.reason), notes=tuple(map(in_options, record.notes)))
