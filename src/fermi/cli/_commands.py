"""The commands about the paper's figures, benchmarks and data sets, with their options."""

from __future__ import annotations

from typing import Annotated

import typer

from fermi.cli._flags import Address, EngineName, Json


def bench(
    name: Annotated[str, typer.Argument(help="Which benchmark: a file benchmarks/bench_NAME.py of the checkout.")],
    dataset: Annotated[str | None, typer.Option(help="The data set, where the benchmark takes one.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and settings, where it can.")] = False,
    json: Json = False,
) -> None:
    """Measure fermi against a named peer in the same run, and print how they compare."""
    from fermi.cli.bench import run

    run(name, as_json=json, dataset=dataset, quick=quick)


def reproduce(
    name: Annotated[str, typer.Argument(help="A figure or table of the paper, such as fig1, or all.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer rows, seeds and settings: a look, no evidence.")
    ] = False,
    output: Annotated[
        str, typer.Option(help="The folder for what is found; finished runs there are not made again.")
    ] = ("results"),
    workers: Annotated[int | None, typer.Option(help="Processes; one per core by default.")] = None,
    from_records: Annotated[
        bool, typer.Option("--from-records", help="Judge and draw again from the records there; nothing is trained.")
    ] = False,
    engine: EngineName = "local",
    address: Address = None,
    json: Json = False,
) -> None:
    """Run a figure or table of the paper, and write its runs, a page with verdicts and a picture."""
    from fermi.cli.reproduce import run

    where = {"workers": workers, "engine": engine, "address": address}
    run(name, quick=quick, output=output, from_records=from_records, as_json=json, **where)


def data_list(json: Json = False) -> None:
    """Print the data sets and whether their files are here."""
    from fermi.cli.data import list_all

    list_all(as_json=json)


def data_fetch(name: Annotated[str, typer.Argument(help="The data set.")], json: Json = False) -> None:
    """Download and verify the files of a data set, unless they are here already, and print where they are."""
    from fermi.cli.data import fetch

    fetch(name, as_json=json)
