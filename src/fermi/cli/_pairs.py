"""The commands about two predictions and about many days, with their options: `fermi compare` and `fermi follow`."""

from __future__ import annotations

from typing import Annotated

import typer

from fermi.cli._app import app
from fermi.cli._flags import (
    Advantaged,
    AuditedFile,
    AuditedProbability,
    Bins,
    CsvFile,
    DrawSeed,
    Json,
    Labels,
    Level,
    MapLabels,
    Notion,
    Prediction,
    ProbabilityOf,
    RowWeight,
    Sensitive,
    TrueLabels,
)
from fermi.cli._given import question_of


@app.command("compare")
def compare_command(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="A table with predictions.", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="One with others for the same rows.")],
    sensitive: Sensitive,
    target: TrueLabels = None,
    prediction: Prediction = None,
    probability: AuditedProbability = None,
    probability_of: ProbabilityOf = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="COL", help="A column that tells which rows are the same; else they stand in one order."),
    ] = None,
    weight: RowWeight = None,
    map_labels: MapLabels = None,
    notion: Notion = "demographic_parity",
    advantaged: Advantaged = None,
    confidence: Level = 0.95,
    bins: Bins = None,
    labels: Labels = None,
    seed: DrawSeed = 0,
    csv: CsvFile = None,
    json: Json = False,
) -> None:
    """Compare two predictions for the same rows: what differs by more than chance, in all and in each group."""
    from fermi.cli.compare import run

    columns = (target, prediction, probability, sensitive, weight, None, map_labels, bins, labels, probability_of)
    question = question_of(columns, (notion, confidence, None, advantaged, seed))
    run(first, second, question, key=key, csv=csv, as_json=json)


@app.command("follow")
def follow_command(
    file: AuditedFile,
    sensitive: Sensitive,
    by: Annotated[
        str | None,
        typer.Option(metavar="COL", help="The column of the day; else each file of a folder is one."),
    ] = None,
    every: Annotated[str, typer.Option(help="How much a period is of --by: day, week or month.")] = "day",
    reference: Annotated[
        str | None, typer.Option(metavar="FILE", help="Compare with these rows, and not with the days before.")
    ] = None,
    target: TrueLabels = None,
    prediction: Prediction = None,
    probability: AuditedProbability = None,
    probability_of: ProbabilityOf = None,
    weight: RowWeight = None,
    map_labels: MapLabels = None,
    notion: Notion = "demographic_parity",
    advantaged: Advantaged = None,
    confidence: Level = 0.95,
    bins: Bins = None,
    labels: Labels = None,
    seed: DrawSeed = 0,
    require: Annotated[
        bool, typer.Option("--require", help="Exit with code 3 where something moved on the last day.")
    ] = False,
    csv: CsvFile = None,
    json: Json = False,
) -> None:
    """Follow the gap between groups day by day, and name the days on which it moved by more than noise."""
    from fermi.cli.follow import run

    columns = (target, prediction, probability, sensitive, weight, None, map_labels, bins, labels, probability_of)
    question = question_of(columns, (notion, confidence, None, advantaged, seed))
    run(file, question, by=by, every=every, reference=reference, csv=csv, as_json=json, required=require)
