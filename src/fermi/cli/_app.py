"""The commands of `fermi` with their options: each calls the function of its own module."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fermi import __version__
from fermi.cli._commands import bench, data_fetch, data_list, reproduce
from fermi.cli._flags import (
    Address,
    Advantaged,
    AsCategory,
    AsNumber,
    Attributes,
    Bins,
    CheckpointFile,
    Date,
    Decision,
    EngineName,
    File,
    Force,
    Ignore,
    Json,
    KeepSensitive,
    Labels,
    Lam,
    MaxRate,
    MaxViolation,
    Memory,
    MinRate,
    MinRatio,
    Model,
    Notion,
    Passes,
    Refit,
    Require,
    SaveSplit,
    Seed,
    Sensitive,
    SkipBadFiles,
    Slack,
    Solver,
    Target,
    TestFile,
    TestSize,
    Weights,
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Accurate and fair classifiers, and honest measures of fairness violation.",
)
data_app = typer.Typer(no_args_is_help=True, help="The data sets: what there is, and fetching their files.")
app.add_typer(data_app, name="data")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fermi {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Accurate and fair classifiers, and honest measures of fairness violation."""


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="Draw another sample of the same population.")] = 0,
    output: Annotated[str, typer.Option(metavar="DIR", help="The folder to write.")] = "fermi-demo",
    json: Json = False,
) -> None:
    """Show the price of fairness on made-up credit applicants, and write a report."""
    from fermi.cli.demo import run

    run(seed, output=output, as_json=json)


@app.command("train")
def train_command(
    file: File,
    target: Target,
    sensitive: Sensitive,
    notion: Notion = "demographic_parity",
    lam: Lam = None,
    max_violation: MaxViolation = None,
    decision: Decision = "auto",
    min_ratio: MinRatio = None,
    min_rate: MinRate = None,
    max_rate: MaxRate = None,
    slack: Slack = None,
    require: Require = False,
    model: Model = "linear",
    keep_sensitive: KeepSensitive = None,
    attributes: Attributes = "intersection",
    advantaged: Advantaged = None,
    weights: Weights = None,
    ignore: Ignore = None,
    bins: Bins = None,
    labels: Labels = None,
    as_category: AsCategory = None,
    as_number: AsNumber = None,
    date: Date = None,
    test_size: TestSize = 0.25,
    test: TestFile = None,
    save_split: SaveSplit = None,
    refit: Refit = True,
    seed: Seed = 0,
    solver: Solver = "auto",
    passes: Passes = None,
    engine: EngineName = "local",
    address: Address = None,
    checkpoint: CheckpointFile = None,
    memory: Memory = "1GB",
    skip_bad_files: SkipBadFiles = False,
    output: Annotated[str | None, typer.Option(metavar="DIR", help="The model folder to write.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Train a fair model on a file or a folder of files, which is streamed if it is large; write it with a report."""
    from fermi.cli.train_asked import start

    task = (target, sensitive, notion, advantaged, attributes, ignore, test_size, seed, weights)
    said, bounds = (bins, labels, as_category, as_number, date), (max_violation, min_ratio, min_rate, max_rate, slack)
    how = (solver, passes, engine, checkpoint, memory, skip_bad_files, address)
    rows = (file, test, save_split, keep_sensitive)
    then: dict[str, Any] = {"refit": refit, "output": output, "force": force, "as_json": json, "required": require}
    start(task, said, (model, lam, decision), bounds, rows, how, **then)


@app.command("tradeoff")
def tradeoff_command(
    file: File,
    target: Target,
    sensitive: Sensitive,
    notion: Notion = "demographic_parity",
    max_violation: MaxViolation = None,
    require: Require = False,
    model: Model = "linear",
    keep_sensitive: KeepSensitive = None,
    attributes: Attributes = "intersection",
    advantaged: Advantaged = None,
    weights: Weights = None,
    ignore: Ignore = None,
    bins: Bins = None,
    labels: Labels = None,
    as_category: AsCategory = None,
    as_number: AsNumber = None,
    date: Date = None,
    test_size: TestSize = 0.25,
    test: TestFile = None,
    save_split: SaveSplit = None,
    seed: Seed = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes; one by default, with Ray one per core.")] = None,
    engine: EngineName = "local",
    address: Address = None,
    output: Annotated[str | None, typer.Option(metavar="DIR", help="The folder to write.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Train along λ and write what each step towards fairness costs: a table, and a report to choose from."""
    from fermi.cli.tradeoff import run
    from fermi.cli.train import Rows
    from fermi.tables.mending import said_of_columns
    from fermi.tables.task import Task

    columns = said_of_columns(bins, labels, as_category, as_number, date)
    task = Task.asked(target, sensitive, notion, advantaged, attributes, ignore, test_size, seed, weights, columns)
    run(
        Rows(file, test, save_split, keep_sensitive),
        task,
        model=model,
        max_violation=max_violation,
        output=output,
        force=force,
        jobs=jobs,
        as_json=json,
        engine=engine,
        address=address,
        required=require,
    )


@app.command("predict")
def predict_command(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder that `fermi train` wrote.")],
    file: File,
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where to write; CSV to the screen if absent.")
    ] = None,
    json: Json = False,
) -> None:
    """Predict the rows of a file, and add a label and the probability of each class to them."""
    from fermi.cli.predict import run

    run(folder, file, output=output, as_json=json)


app.command()(bench)
app.command()(reproduce)
data_app.command("list")(data_list)
data_app.command("fetch")(data_fetch)
