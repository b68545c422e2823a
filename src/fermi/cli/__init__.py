"""The command `fermi`: parse, call one function, print.

Exit codes: 0 success, 2 a user's mistake (one line on stderr), 1 anything else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from fermi import __version__
from fermi.errors import FermiError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Accurate and fair classifiers, and honest measures of fairness violation.",
)
data_app = typer.Typer(no_args_is_help=True, help="The data sets: what there is, and fetching their files.")
app.add_typer(data_app, name="data")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


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
    seed: Annotated[int, typer.Option(help="Draw another sample of the same population.")] = 0, json: Json = False
) -> None:
    """Audit a plain logistic regression on made-up credit applicants whose true law is known."""
    from fermi.cli.demo import run

    run(seed, as_json=json)


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="Which benchmark: a file benchmarks/bench_NAME.py of the checkout.")],
    dataset: Annotated[str | None, typer.Option(help="The data set, where the benchmark takes one.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and settings, where it can.")] = False,
    json: Json = False,
) -> None:
    """Measure fermi against a named peer in the same run, and print how they compare."""
    from fermi.cli.bench import run

    run(name, as_json=json, dataset=dataset, quick=quick)


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="A figure or table of the paper, such as fig1, or all.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer rows, seeds and settings: a look, no evidence.")
    ] = False,
    output: Annotated[
        str, typer.Option(help="The folder for what is found; finished runs there are not made again.")
    ] = ("results"),
    workers: Annotated[int | None, typer.Option(help="Processes; one per core by default.")] = None,
    json: Json = False,
) -> None:
    """Run a figure or table of the paper, and write its runs, a page with verdicts and a picture."""
    from fermi.cli.reproduce import run

    run(name, quick=quick, output=output, workers=workers, as_json=json)


@data_app.command("list")
def data_list(json: Json = False) -> None:
    """Print the data sets and whether their files are here."""
    from fermi.cli.data import list_all

    list_all(as_json=json)


@data_app.command("fetch")
def data_fetch(name: Annotated[str, typer.Argument(help="The data set.")], json: Json = False) -> None:
    """Download and verify the files of a data set, unless they are here already, and print where they are."""
    from fermi.cli.data import fetch

    fetch(name, as_json=json)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        code = app(args=arguments, prog_name="fermi", standalone_mode=False)
        sys.stdout.flush()
    except FermiError as error:
        return _fail(str(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", 1)
    except BrokenPipeError:
        # The reader has left (`fermi demo | head`): say nothing, and keep Python from flushing into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # a full disk, say
        return _fail(str(error), 1)
    except Exception as error:
        # Usage errors are click's, which some versions of typer carry inside: known by what they can do.
        if not hasattr(error, "format_message"):
            raise
        return _fail(error.format_message() or "a command is missing", 2) if str(error) else 0
    if code == 130:  # typer's word for Ctrl-C
        return _fail("interrupted", 1)
    return int(code or 0)


def _fail(message: str, code: int) -> int:
    print(f"fermi: {' '.join(message.split())}", file=sys.stderr)
    return code
