"""Files that are not what their names say, given to the command: code 0, or code 2 and one line."""

from __future__ import annotations

import contextlib
import gzip
import io
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from fermi.cli import main
from tests.fuzz.attempt import Defect, Family
from tests.fuzz.values import Rng
from tests.tables.samples import scored

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7")
ENDINGS = ("csv", "tsv", "parquet", "feather", "jsonl", "csv.gz", "csv.bz2", "zip", "txt", "xlsx", "json", "zst")


@cache
def _written(kind: str) -> bytes:
    """A good file of one kind."""
    frame, room = scored(90), io.BytesIO()
    if kind == "parquet":
        frame.to_parquet(room)
    elif kind == "feather":
        frame.to_feather(room)
    elif kind == "jsonl":
        return frame.to_json(orient="records", lines=True).encode()
    elif kind == "csv.gz":
        return gzip.compress(frame.to_csv(index=False).encode(), mtime=0)
    else:
        return frame.to_csv(index=False).encode()
    return room.getvalue()


def flipped(data: bytes, rng: Rng) -> bytes:
    """Some bits changed."""
    room = np.frombuffer(data, dtype=np.uint8).copy()
    if len(room):
        at = rng.integers(len(room), size=int(rng.integers(1, 6)))
        room[at] ^= (1 << rng.integers(8, size=len(at))).astype(np.uint8)
    return room.tobytes()


def _lines(data: bytes, rng: Rng) -> bytes:
    """Lines that are doubled, lost or exchanged, the header among them."""
    lines = data.split(b"\n")
    order = rng.integers(len(lines), size=len(lines)) if rng.random() < 0.5 else rng.permutation(len(lines))
    return b"\n".join(lines[int(k)] for k in order)


def _header(data: bytes, rng: Rng) -> bytes:
    """Another header: names twice, none, strange ones, fewer or more of them."""
    first, _, rest = data.partition(b"\n")
    names = first.split(b",")
    strange = [
        b"",
        b" ",
        b"hired",
        b"group",
        b"score",
        b"\x1b[31m",
        b"=1",
        b'"',
        b"prediction",
        b"probability=yes",
        b"a" * 9999,
    ]
    for _ in range(int(rng.integers(1, 3))):
        names[int(rng.integers(len(names)))] = strange[int(rng.integers(len(strange)))]
    names = names[: int(rng.integers(1, len(names) + 1))] + names[: int(rng.integers(0, 2))]
    return b",".join(names) + b"\n" + rest


def _inserted(data: bytes, rng: Rng) -> bytes:
    """Something in the middle that no field should hold."""
    pieces = (
        b"\0", b"\0" * 1000, b'"', b'""', b"'", b",", b"," * 500, b"\r", b"\r\n", b"\n\n\n", b"\xff\xfe",
        b"x" * 300_000, b"9" * 5000, b"1e999", b"NaN", b"inf", b"-", b"=cmd|' /C calc'!A0", b"\x1a", b";",
        b"\t", b"#", b"\\", b"nan,nan,nan\n", b"\xef\xbb\xbf", b"\xe2\x80\xae",
    )  # fmt: skip
    at = int(rng.integers(len(data) + 1))
    return data[:at] + pieces[int(rng.integers(len(pieces)))] + data[at:]


def _encoded(data: bytes, rng: Rng) -> bytes:
    with contextlib.suppress(UnicodeError):
        return data.decode().encode(ENCODINGS[int(rng.integers(len(ENCODINGS)))], errors="replace")
    return data


def _short(data: bytes, rng: Rng) -> bytes:
    """Cut short, or nothing but a beginning."""
    return data[: int(rng.choice([0, 1, 3, 20, 100, len(data) // 2, max(len(data) - 1, 0)]))]


def _column(data: bytes, rng: Rng) -> bytes:
    """One column of one value, of nothing, or of different words."""
    lines = [line.split(b",") for line in data.split(b"\n")]
    j = int(rng.integers(len(lines[0])))
    values: tuple[Callable[[int], bytes], ...] = (
        lambda i: b"", lambda i: b"1", lambda i: b"w%d" % i, lambda i: b"%d" % (i * 10**30),
        lambda i: b"2020-01-%02d" % (i % 40), lambda i: b"True" if i % 2 else b"", lambda i: b"-0", lambda i: b"1,5",
        lambda i: b"1e%d" % (i * 9),
    )  # fmt: skip
    value = values[int(rng.integers(len(values)))]
    for i, line in enumerate(lines[1:]):
        if j < len(line):
            line[j] = value(i)
    return b"\n".join(b",".join(line) for line in lines)


CHANGES: tuple[Callable[[bytes, Rng], bytes], ...] = (flipped, _lines, _header, _inserted, _encoded, _short, _column)


def mangled_file(rng: Rng) -> str:
    """Write a file of some ending, altered once or more, and say its name."""
    kind = str(rng.choice(["csv", "csv", "csv", "parquet", "feather", "jsonl", "csv.gz"]))
    data = _written(kind)
    for _ in range(int(rng.integers(1, 4))):
        change = (
            CHANGES[int(rng.integers(len(CHANGES)))]
            if kind in ("csv", "jsonl")
            else (flipped, _short)[int(rng.integers(2))]
        )
        data = change(data, rng)
    ending = ENDINGS[int(rng.integers(len(ENDINGS)))] if rng.random() < 0.2 else kind
    name = f"rows.{ending}"
    Path(name).write_bytes(data)
    return name


@cache
def _model() -> dict[str, bytes]:
    """The files of a model folder."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.csv"
        scored(150).to_csv(rows, index=False)
        code, _, said = command(
            "train", str(rows), "--target", "hired", "--sensitive", "group", "--output", f"{folder}/m"
        )
        if code:
            raise Defect(said)
        return {path.name: path.read_bytes() for path in (Path(folder) / "m").iterdir()}


def command(*arguments: str) -> tuple[int, str, str]:
    """Run the command in this process; its code and what it said."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    return code, *(stream.buffer.getvalue().decode() if not stream.flush() else "" for stream in (out, err))  # type: ignore[return-value,func-returns-value]


def judge(before: set[str], allowed: set[str], result: tuple[int, str, str]) -> None:
    """What a command may do: succeed, or end with code 2, one line, and nothing written."""
    code, _, said = result
    left = {str(path) for path in Path().rglob("*")} - before
    if code not in (0, 2):
        raise Defect(f"code {code}: {said[-300:]}")
    if code == 2:
        lines = [line for line in said.splitlines() if line.startswith("fermi: ")]
        if len(lines) != 1 or not said.endswith(lines[0] + "\n") or "Traceback" in said:
            raise Defect(f"not one line: {said[-300:]!r}")
        if left:
            raise Defect(f"left behind: {sorted(left)}")
    elif any(not any(path == name or path.startswith(f"{name}/") for name in allowed) for path in left):
        raise Defect(f"left behind: {sorted(left)}")


def files(rng: Rng) -> None:
    """A command on a file that was altered."""
    name = mangled_file(rng)
    rows = ("--target", "hired", "--sensitive", "group")
    kind = str(rng.choice(["train", "audit", "check", "adjust", "predict", "stream"]))
    asked: dict[str, tuple[str, ...]] = {
        "train": ("train", name, *rows, "--output", "out"),
        "stream": ("train", ".", *rows, "--output", "out", "--passes", "3"),
        "audit": (
            "audit",
            name,
            *rows,
            "--prediction",
            str(rng.choice(["hired", "score", "p"])),
            "--output",
            "out.html",
        ),
        "check": ("check", name, *rows),
        "adjust": ("adjust", name, *rows, "--probability", "p", "--output", "out.csv"),
        "predict": ("predict", "model", name, "--output", "out.csv"),
    }
    if kind == "predict":
        Path("model").mkdir()
        for own, content in _model().items():
            (Path("model") / own).write_bytes(content)
    before = {str(path) for path in Path().rglob("*")}
    judge(before, {"out", "out.html", "out.csv"}, command(*asked[kind]))


def words(rng: Rng) -> None:
    """A command with options that are not what they should be."""
    scored(80).to_csv("rows.csv", index=False)
    values = (
        "",
        "x",
        "-1",
        "nan",
        "1e400",
        "0",
        "0.5",
        "hired",
        "group",
        "/",
        "no/such",
        "\x1b",
        "rows.csv",
        "1" * 400,
    )
    options = ("--target", "--sensitive", "--notion", "--lam", "--max-violation", "--test-size", "--seed", "--solver",
               "--attributes", "--min-ratio", "--bins", "--labels", "--ignore", "--weights")  # fmt: skip
    given = ["train", "rows.csv", "--target", "hired", "--sensitive", "group", "--output", "out"]
    for _ in range(int(rng.integers(1, 3))):
        given += [str(rng.choice(options)), str(rng.choice(values))]
    before = {str(path) for path in Path().rglob("*")}
    judge(before, {"out"}, command(*given))


FAMILIES: dict[str, Family] = {"files": files, "options": words}
