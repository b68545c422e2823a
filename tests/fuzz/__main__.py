"""Try many cases: ``python -m tests.fuzz --cases 20000 --seed 1``, or one: ``--only files --seed 17 --cases 1``.

Cases run in processes of their own, so that one that crashes or never ends is a finding like any other. A finding is
printed with the family and the seed that make it again; the code is 1 if there is any.
"""

from __future__ import annotations

import argparse
import faulthandler
import subprocess
import sys
from collections import Counter

from tests.fuzz import calls, checkpoints, extremes, files, folders
from tests.fuzz.attempt import LIMIT, Family, attempt

FAMILIES: dict[str, Family] = {
    **calls.FAMILIES, **extremes.FAMILIES, **files.FAMILIES, **folders.FAMILIES, **checkpoints.FAMILIES,
}  # fmt: skip
CHUNK = 100  # cases of one process


def work(name: str, first: int, count: int) -> None:
    """Try cases in this process, and print what comes of each."""
    faulthandler.enable()
    for seed in range(first, first + count):
        print(f"begin {seed}", flush=True)
        found = attempt(name, FAMILIES[name], seed)
        if found:
            print(f"found {seed} {found}".replace("\n", " ").encode(errors="backslashreplace").decode(), flush=True)


def watch(name: str, first: int, count: int) -> list[tuple[int, str]]:
    """Let another process try cases; one that ends it is a finding, and the next one goes on."""
    command = [
        sys.executable,
        "-m",
        "tests.fuzz",
        "--work",
        "--only",
        name,
        "--seed",
        str(first),
        "--cases",
        str(count),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 + LIMIT + 10 * count, check=False)
        out, how = done.stdout, f"the process ended with {done.returncode}: {done.stderr[-400:]}"
        whole = done.returncode == 0
    except subprocess.TimeoutExpired as late:
        out, how, whole = (late.stdout or b"").decode(), "no end in native code", False
    lines = [line.split(" ", 2) for line in out.splitlines()]
    found = [(int(line[1]), line[2]) for line in lines if line[0] == "found"]
    if whole:
        return found
    last = max((int(line[1]) for line in lines if line[0] == "begin"), default=first)
    rest = first + count - last - 1
    return [*found, (last, how), *(watch(name, last + 1, rest) if rest else [])]


def main() -> int:
    """Read the arguments and try the cases, each family its share."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="of all families together")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--only", choices=list(FAMILIES), nargs="+", help="these families alone")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = given.only or list(FAMILIES)
    if given.work:
        work(names[0], given.seed, given.cases)
        return 0
    each, total = max(given.cases // len(names), 1), Counter[str]()
    for name in names:
        for first in range(given.seed, given.seed + each, CHUNK):
            for seed, found in watch(name, first, min(CHUNK, given.seed + each - first)):
                total[name] += 1
                print(f"{name}, seed {seed}: {found}", flush=True)
        print(f"{name}: {each} cases, {total[name]} findings", flush=True)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
