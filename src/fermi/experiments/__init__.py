"""The paper's figures and tables, one file each: the folder `figures` is the registry.

To add one, add a file there with one `Figure` in `FIGURE`: which cells to run, how to run one, what to write and draw.
"""

from __future__ import annotations

from pathlib import Path

from fermi._optional import require
from fermi._registry import Registry
from fermi.engines import check_address
from fermi.errors import FermiError, bad_argument
from fermi.experiments import figures
from fermi.experiments.figure import Figure
from fermi.experiments.judging.index import index
from fermi.experiments.runner import reproduce as run
from fermi.experiments.runner import write
from fermi.inputs.arguments import AT_LEAST_ONE, whole
from fermi.inputs.arguments import chosen as one_of

__all__ = ["Figure", "find", "names", "reproduce"]

_FIGURES = Registry(figures.__name__, figures.__path__, others=", or 'all'")


def names() -> list[str]:
    """The names of the figures and tables that `reproduce` knows."""
    return _FIGURES.names()


def find(name: str) -> Figure:
    """A figure or table by its name."""
    _FIGURES.check(name)
    require("torch", extra="baselines,report")  # some rival of every figure needs it
    figure: Figure = _FIGURES.find(name).FIGURE
    return figure


def reproduce(
    name: str,
    *,
    quick: bool = False,
    output: str | Path = "results",
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
    from_records: bool = False,
) -> list[Path]:
    """Run one figure, or all of them, and return the folders written.

    Parameters
    ----------
    name : str
        One of `names()`, or "all".
    quick : bool
        Fewer rows, seeds and settings: a look at the shape, no evidence.
    output : path
        Where a folder of each figure goes: `records.jsonl.xz` and `cells.csv` with its training runs, `summary.md`,
        `figure.png`; and `index.md`, the claims of all of them. Quick runs go below `quick`.
        Finished cells found there are not run again, and figures share them.
    workers : int, optional
        Processes, by default one per core.
    engine : "local" or "ray"
        Where training runs are made: on this machine, or as tasks of a Ray cluster.
    address : str, optional
        The Ray cluster, as in `fermi.engines.RayEngine`.
    from_records : bool
        Judge and draw again from the records in `output`, without training.

    Returns
    -------
    list of Path
        The folders, one per figure.
    """
    check_address(one_of("engine", engine, ("local", "ray")), address)
    if workers is not None:
        workers = whole("workers", workers, AT_LEAST_ONE, low=1)
    chosen = names() if name == "all" else [name]
    for each in chosen:
        find(each)
    root = Path(output) / "quick" if quick else Path(output)  # so that no page of a full run is overwritten
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise bad_argument("output", f"is {str(output)!r} ({error.strerror})", "a folder that can be made") from None
    failed = []
    for each in chosen:
        try:
            run(
                each, find(each), quick=quick, output=root, workers=workers, from_records=from_records, engine=engine,
                address=address,
            )  # fmt: skip
        except Exception as error:  # the other figures go on
            failed.append(f"{each}: {error}" if isinstance(error, FermiError) else f"{each}: {error!r}")
    write(root / "index.md", index(root, names()).encode())
    if failed:
        raise FermiError(" ".join(failed))
    return [root / each for each in chosen]
