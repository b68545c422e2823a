"""The commands of `fermi` with their options: each calls the function of its own module."""

from __future__ import annotations

from typing import Annotated

import typer

from fermi import __version__
from fermi.cli._commands import bench, data_fetch, data_list, reproduce
from fermi.cli._flags import (
    Address,
    Advantaged,
    Attributes,
    CheckpointFile,
    Confidence,
    Decision,
    EngineName,
    File,
    Ignore,
    Json,
    KeepSensitive,
    Lam,
    MaxRate,
    MaxViolation,
    Memory,
    MinRate,
    MinRatio,
    Model,
    Notion,
    Passes,
    Seed,
    Sensitive,
    SkipBadFiles,
    Slack,
    Solver,
    Target,
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
    model: Model = "linear",
    keep_sensitive: KeepSensitive = None,
    attributes: Attributes = "intersection",
    advantaged: Advantaged = None,
    weights: Weights = None,
    ignore: Ignore = None,
    test_size: TestSize = 0.25,
    seed: Seed = 0,
    solver: Solver = "auto",
    passes: Passes = None,
    engine: EngineName = "local",
    address: Address = None,
    checkpoint: CheckpointFile = None,
    memory: Memory = "1GB",
    skip_bad_files: SkipBadFiles = False,
    output: Annotated[str | None, typer.Option(metavar="DIR", help="The model folder to write.")] = None,
    json: Json = False,
) -> None:
    """Train a fair model on a file and write a folder with the model and a report.

    A folder or a glob of Parquet, Feather or CSV files is streamed, and need not fit into memory.
    """
    from fermi.cli.train import Wanted, run
    from fermi.cli.train_stream import is_stream
    from fermi.cli.train_stream import run as run_stream
    from fermi.tables.asked import Asked
    from fermi.tables.streaming import Streaming
    from fermi.tables.task import Task

    task = Task.asked(target, sensitive, notion, advantaged, attributes, ignore, test_size, seed, weights)
    wanted = Wanted(model, lam, decision, Asked(max_violation, min_ratio, min_rate, max_rate, slack))
    how = Streaming(solver, passes, engine, checkpoint, memory, skip_bad_files, address)
    if is_stream(file, how):
        run_stream(file, task, wanted, how, keep=keep_sensitive, output=output, as_json=json)
        return
    run(file, task, wanted, keep=keep_sensitive, output=output, as_json=json)


@app.command("tradeoff")
def tradeoff_command(
    file: File,
    target: Target,
    sensitive: Sensitive,
    notion: Notion = "demographic_parity",
    max_violation: MaxViolation = None,
    model: Model = "linear",
    keep_sensitive: KeepSensitive = None,
    attributes: Attributes = "intersection",
    advantaged: Advantaged = None,
    weights: Weights = None,
    ignore: Ignore = None,
    test_size: TestSize = 0.25,
    seed: Seed = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes; one by default, with Ray one per core.")] = None,
    engine: EngineName = "local",
    address: Address = None,
    output: Annotated[str | None, typer.Option(metavar="DIR", help="The folder to write.")] = None,
    json: Json = False,
) -> None:
    """Train along λ and write what each step towards fairness costs: a table, and a report to choose from."""
    from fermi.cli.tradeoff import run
    from fermi.tables.task import Task

    task = Task.asked(target, sensitive, notion, advantaged, attributes, ignore, test_size, seed, weights)
    run(
        file,
        task,
        model=model,
        max_violation=max_violation,
        keep=keep_sensitive,
        output=output,
        jobs=jobs,
        as_json=json,
        engine=engine,
        address=address,
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


@app.command("audit")
def audit_command(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A table, a folder of tables or a quoted pattern.", show_default=False),
    ],
    sensitive: Sensitive,
    target: Annotated[str | None, typer.Option(metavar="COL", help="The column of true labels.")] = None,
    prediction: Annotated[str | None, typer.Option(metavar="COL", help="The column of predicted labels.")] = None,
    probability: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="Instead: the probability of the second of two classes, or one per class."),
    ] = None,
    notion: Notion = "demographic_parity",
    advantaged: Advantaged = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    min_group_size: Annotated[
        int | None, typer.Option(help="Withhold the figures of groups with fewer rows, for privacy.")
    ] = None,
    engine: EngineName = "local",
    address: Address = None,
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="A page (.html), the groups (.csv) or everything (.json).")
    ] = None,
    json: Json = False,
) -> None:
    """Measure how far somebody's predictions depend on the group."""
    from fermi.cli.audit import run
    from fermi.engines import engine_of
    from fermi.tables.audited import Question

    question = Question(
        target, prediction, probability or (), sensitive, notion, confidence, min_group_size, advantaged or ()
    )
    run(file, question, output=output, as_json=json, engine=engine_of(engine, address=address))


@app.command("adjust")
def adjust_command(
    file: File,
    target: Annotated[str, typer.Option(metavar="COL", help="The column of true labels; rows may lack it.")],
    sensitive: Sensitive,
    probability: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL",
            help="The probability of the last of two classes, or one column per class, sorted; by default the columns "
            "probability=LABEL, as `fermi predict` writes them.",
        ),
    ] = None,
    notion: Notion = "demographic_parity",
    max_violation: Annotated[
        float | None, typer.Option(help="The largest gap between groups; 0.02 unless another bound is given.")
    ] = None,
    min_ratio: MinRatio = None,
    min_rate: MinRate = None,
    max_rate: MaxRate = None,
    slack: Slack = None,
    confidence: Confidence = None,
    attributes: Attributes = "intersection",
    advantaged: Advantaged = None,
    ignore: Ignore = None,
    seed: Annotated[int, typer.Option(help="Of the rows that are held out.")] = 0,
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where to write; FILE with -labels in its name if absent.")
    ] = None,
    json: Json = False,
) -> None:
    """Give somebody else's probabilities labels that keep a bound, and add them to the rows of the file."""
    from fermi.cli.adjust import run
    from fermi.tables.asked import Asked
    from fermi.tables.task import Task

    task = Task.asked(target, sensitive, notion, advantaged, attributes, ignore, 0.25, seed)
    if max_violation is None and min_ratio is None and min_rate is None and max_rate is None:
        max_violation = 0.02
    asked = Asked(max_violation, min_ratio, min_rate, max_rate, slack, confidence)
    run(file, task, probability or (), asked, output=output, as_json=json)


app.command()(bench)
app.command()(reproduce)
data_app.command("list")(data_list)
data_app.command("fetch")(data_fetch)
