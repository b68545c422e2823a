"""`fermi train` as its options ask for it: of rows in memory, or of files that are streamed."""

from __future__ import annotations

from typing import Any

from fermi.cli.train import Rows, Wanted, run
from fermi.cli.train_stream import is_stream, refuse_in_memory_options
from fermi.cli.train_stream import run as run_stream
from fermi.tables.asked import Asked
from fermi.tables.mending import said_of_columns
from fermi.tables.streaming import Streaming
from fermi.tables.task import Task


def start(
    task: tuple[Any, ...],
    said: tuple[Any, ...],
    model: tuple[Any, ...],
    bounds: tuple[Any, ...],
    rows: tuple[Any, ...],
    how: tuple[Any, ...],
    *,
    refit: bool,
    output: str | None,
    force: bool,
    as_json: bool,
    required: bool,
) -> None:
    """Train on a file or on a stream, by options in the order in which the records of both take them."""
    about: tuple[Any, ...] = (*task, said_of_columns(*said))
    kind: tuple[Any, ...] = (*model, Asked(*bounds))
    whole, wanted = Task.asked(*about), Wanted(*kind)
    given, streaming = Rows(*rows), Streaming(*how)
    if not is_stream(given.file, streaming):
        run(given, whole, wanted, refit=refit, output=output, force=force, as_json=as_json, required=required)
        return
    refuse_in_memory_options(given, whole, refit=refit, required=required)
    run_stream(given.file, whole, wanted, streaming, keep=given.keep, output=output, force=force, as_json=as_json)
