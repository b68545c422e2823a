"""The commands that train nothing, with their options: `fermi check`, `fermi audit` and `fermi adjust`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fermi.cli._app import app
from fermi.cli._flags import (
    Address,
    Advantaged,
    AsCategory,
    AsNumber,
    Attributes,
    AuditedFile,
    AuditedProbability,
    Bins,
    Confidence,
    Control,
    CsvFile,
    Date,
    DrawSeed,
    EngineName,
    File,
    HtmlFile,
    Ignore,
    Json,
    Labels,
    Level,
    MapLabels,
    MaxRate,
    MaxViolation,
    MinRate,
    MinRatio,
    Notion,
    Prediction,
    Probabilities,
    ProbabilityOf,
    Require,
    RowWeight,
    Sensitive,
    Slack,
    TrueLabels,
    Withhold,
)

if TYPE_CHECKING:
    from fermi.tables.question import Question


@app.command("check")
def check_command(
    file: File,
    target: Annotated[str, typer.Option(metavar="COL", help="The column to predict.")],
    sensitive: Sensitive,
    ignore: Ignore = None,
    bins: Bins = None,
    labels: Labels = None,
    as_category: AsCategory = None,
    as_number: AsNumber = None,
    date: Date = None,
    json: Json = False,
) -> None:
    """Look for what is likely wrong with a file, and name the option that mends it."""
    from fermi.cli.check import run
    from fermi.tables.mending import said_of_columns
    from fermi.tables.task import Task

    columns = said_of_columns(bins, labels, as_category, as_number, date)
    task = Task.asked(target, sensitive, "demographic_parity", None, "intersection", ignore, 0.25, 0, columns=columns)
    run(file, task, as_json=json)


@app.command("audit")
def audit_command(
    file: AuditedFile,
    sensitive: Sensitive,
    target: TrueLabels = None,
    prediction: Prediction = None,
    probability: AuditedProbability = None,
    probability_of: ProbabilityOf = None,
    weight: RowWeight = None,
    control: Control = None,
    map_labels: MapLabels = None,
    notion: Notion = "demographic_parity",
    advantaged: Advantaged = None,
    max_violation: MaxViolation = None,
    min_ratio: MinRatio = None,
    require: Annotated[
        bool, typer.Option("--require", help="Exit with code 3, and write nothing, where a bound is missed.")
    ] = False,
    confidence: Level = 0.95,
    min_group_size: Withhold = None,
    bins: Bins = None,
    labels: Labels = None,
    seed: DrawSeed = 0,
    engine: EngineName = "local",
    address: Address = None,
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="A page (.html), the groups (.csv) or everything (.json).")
    ] = None,
    html: HtmlFile = None,
    csv: CsvFile = None,
    json: Json = False,
) -> None:
    """Measure how far somebody's predictions depend on the group."""
    from fermi.cli.audit import run
    from fermi.engines import engine_of

    columns = (target, prediction, probability, sensitive, weight, control, map_labels, bins, labels, probability_of)
    bounds = (max_violation, min_ratio)
    question = question_of(columns, (notion, confidence, min_group_size, advantaged, seed), bounds)
    where = engine_of(engine, address=address)
    files = {"--output": output, "--html": html, "--csv": csv}
    run(file, question, files=files, as_json=json, required=require, engine=where)


def question_of(columns: tuple[Any, ...], how: tuple[Any, ...], bounds: tuple[Any, ...] = (None, None)) -> Question:
    """What an audit is asked, of options in this order."""
    from fermi.tables.asked import Asked
    from fermi.tables.mending import said_of_columns
    from fermi.tables.question import Question

    target, prediction, probability, sensitive, weight, control, map_labels, bins, labels, about = columns
    notion, confidence, least, advantaged, seed = how
    return Question(
        target,
        prediction,
        probability or (),
        sensitive,
        notion,
        confidence,
        least,
        advantaged or (),
        Asked(*bounds),
        weight,
        control or (),
        map_labels or (),
        said_of_columns(bins, labels, None, None, None),
        about,
        seed,
    )


@app.command("adjust")
def adjust_command(
    file: File,
    target: Annotated[str, typer.Option(metavar="COL", help="The column of true labels; rows may lack it.")],
    sensitive: Sensitive,
    probability: Probabilities = None,
    notion: Notion = "demographic_parity",
    max_violation: Annotated[
        float | None, typer.Option(help="The largest gap between groups; 0.02 unless another bound is given.")
    ] = None,
    min_ratio: MinRatio = None,
    min_rate: MinRate = None,
    max_rate: MaxRate = None,
    slack: Slack = None,
    confidence: Confidence = None,
    require: Require = False,
    attributes: Attributes = "intersection",
    advantaged: Advantaged = None,
    ignore: Ignore = None,
    bins: Bins = None,
    labels: Labels = None,
    as_category: AsCategory = None,
    as_number: AsNumber = None,
    date: Date = None,
    seed: Annotated[int, typer.Option(help="Of the rows that are held out.")] = 0,
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where to write; FILE with -labels in its name if absent.")
    ] = None,
    json: Json = False,
) -> None:
    """Give somebody else's probabilities labels that keep a bound, and add them to the rows of the file."""
    from fermi.cli.adjust import run
    from fermi.tables.asked import Asked
    from fermi.tables.mending import said_of_columns
    from fermi.tables.task import Task

    columns = said_of_columns(bins, labels, as_category, as_number, date)
    task = Task.asked(target, sensitive, notion, advantaged, attributes, ignore, 0.25, seed, columns=columns)
    if max_violation is None and min_ratio is None and min_rate is None and max_rate is None:
        max_violation = 0.02
    asked = Asked(max_violation, min_ratio, min_rate, max_rate, slack, confidence)
    run(file, task, probability or (), asked, output=output, as_json=json, required=require)
