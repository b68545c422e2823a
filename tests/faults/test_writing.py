"""Disks that are full, folders that cannot be written, processes that are killed: what was there stays, or is whole."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import fermi
from fermi.cli import main
from fermi.tables.model_folder import SavedModel
from tests.tables.samples import people

TASK = ("--target", "hired", "--sensitive", "group")


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Files may grow to so many bytes, which the system refuses as it does on a full disk."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    people(300).to_csv(folder / "rows.csv", index=False)
    assert main(["train", str(folder / "rows.csv"), *TASK, "--output", str(folder / "model"), "--no-refit"]) == 0
    return folder


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


COMMANDS: dict[str, Callable[[Path, Path], list[str]]] = {
    "model": lambda here, to: ["train", str(here / "rows.csv"), *TASK, "--output", str(to / "out")],
    "predictions": lambda here, to: [
        "predict", str(here / "model"), str(here / "rows.csv"), "--output", str(to / "out.csv"),
    ],
    "report": lambda here, to: [
        "audit", str(here / "rows.csv"), *TASK, "--prediction", "hired", "--output", str(to / "out.html"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("what", COMMANDS)
def test_a_full_disk_is_one_line_and_leaves_nothing(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    with full_disk(2000):
        code = main(COMMANDS[what](trained, tmp_path))
    said = capsys.readouterr().err.splitlines()
    assert code in (1, 2)
    assert said[-1].startswith("fermi: ")
    assert "File too large" in said[-1]
    assert names(tmp_path) == set()


@pytest.mark.parametrize("what", COMMANDS)
def test_a_folder_that_cannot_be_written_is_one_line(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    """The system's answer is made up, since it lets root write anywhere."""
    monkeypatch.setattr("fermi._files.os.access", lambda path, mode: path != tmp_path)
    assert main(COMMANDS[what](trained, tmp_path)) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == f"fermi: Nothing can be written into the folder {str(tmp_path)!r}."
    assert names(tmp_path) == set()


def test_a_file_that_vanishes_while_it_is_written_is_one_sentence(tmp_path: Path) -> None:
    from fermi._files import whole_file

    def write() -> None:
        with whole_file(tmp_path / "out.csv") as partial:
            partial.write_text("a")
            partial.unlink()

    with pytest.raises(fermi.FermiError, match=r"out.csv' cannot be written: No such file or directory\.$"):
        write()
    assert names(tmp_path) == set()


def test_a_model_whose_files_vanish_is_one_sentence(trained: Path, tmp_path: Path) -> None:
    for name in ("model.json", "arrays.npz"):
        folder = tmp_path / name
        folder.mkdir()
        for path in (trained / "model").iterdir():
            if path.name != name:
                (folder / path.name).write_bytes(path.read_bytes())
        with pytest.raises(fermi.FermiError, match=r"There is no model|arrays.npz is missing, or no file"):
            SavedModel.load(folder)


WRITER = """
import sys
from pathlib import Path
import numpy as np
from fermi._files import whole_file, whole_folder
from fermi.fitting.checkpoint import LastTwo
kind, folder = sys.argv[1], Path(sys.argv[2])
print("ready", flush=True)
for k in range(10**9):
    if kind == "folder":
        with whole_folder(folder / "out", ("a", "b")) as partial:
            for name in ("a", "b"):
                (partial / name).write_bytes(bytes([k % 251]) * 200_000)
    elif kind == "file":
        with whole_file(folder / "out") as partial:
            with partial.open("wb") as file:
                for _ in range(50):
                    file.write(bytes([k % 251]) * 4000)
    else:
        LastTwo(folder / "out", "mark").save({"array": np.full(30_000, float(k)), "k": k})
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "folder", "checkpoint"])
def test_a_process_killed_at_any_moment_of_writing_leaves_what_is_whole(tmp_path: Path, kind: str) -> None:
    """After a kill the last version or the one before is there, whole; nothing half-written has its name."""
    from fermi.fitting.checkpoint import LastTwo

    rng = np.random.default_rng(len(kind))
    found = 0
    for trial in range(5):
        here = tmp_path / str(trial)
        here.mkdir()
        with subprocess.Popen([sys.executable, "-c", WRITER, kind, str(here)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.02 + 0.15 * float(rng.random()))
            process.kill()
        out = here / "out"
        if kind == "file" and out.exists():
            content = out.read_bytes()
            assert len(content) == 200_000
            assert len(set(content)) == 1
            found += 1
        elif kind == "folder":
            kept = [out] if out.exists() else list(here.glob(".out-*-before"))
            for folder in kept:
                assert {p.name: len(set(p.read_bytes())) for p in folder.iterdir()} == {"a": 1, "b": 1}
                assert len({p.read_bytes() for p in folder.iterdir()}) == 1
            found += len(kept)
        elif kind == "checkpoint" and names(here):
            saved = LastTwo(out, "mark").load()
            if saved is not None:
                assert saved.array("array", (30_000,))[0] == saved.whole("k", 0, 10**9)
                found += 1
    assert found


def test_a_checkpoint_on_a_full_disk_keeps_the_one_before(tmp_path: Path) -> None:
    from fermi.fitting.checkpoint import LastTwo

    file = LastTwo(tmp_path / "fit", "mark")
    for k in range(2):
        file.save({"array": np.full(3, float(k)), "k": k})
    with full_disk(50), pytest.raises(fermi.FermiError, match="cannot be written: File too large"):
        file.save({"array": np.full(3, 2.0), "k": 2})
    saved = file.load()
    assert saved is not None
    assert saved.whole("k", 0, 9) == 1
    assert not [name for name in names(tmp_path) if name.startswith(".")]


def test_an_existing_model_survives_a_full_disk(trained: Path, tmp_path: Path) -> None:
    here = tmp_path / "model"
    here.mkdir()
    for path in (trained / "model").iterdir():
        (here / path.name).write_bytes(path.read_bytes())
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    with full_disk(2000):
        assert main(["train", str(trained / "rows.csv"), *TASK, "--output", str(here), "--force"]) in (1, 2)
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before
    assert json.loads(before["model.json"])["kind"] == "linear"
    assert names(tmp_path) == {"model"}
