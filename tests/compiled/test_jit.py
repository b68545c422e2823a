"""Compiled functions where numba differs from the release that we know."""

from __future__ import annotations

import io
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numba
import pytest

from fermi.compiled import jit

STRANGERS = [
    pytest.param(SimpleNamespace(), id="no cache"),
    pytest.param(SimpleNamespace(_cache=SimpleNamespace()), id="a cache without its file"),
    pytest.param(SimpleNamespace(_cache=SimpleNamespace(_cache_file=SimpleNamespace())), id="a file without its stamp"),
]


def twice(x: float) -> float:
    return 2 * x


def thrice(x: Any) -> Any:
    return 3 * x


def is_kept_on_disk(function: Any) -> bool:
    return hasattr(function._cache, "_cache_file")


def test_machine_code_is_kept_on_disk() -> None:
    assert is_kept_on_disk(jit.compiled(twice))


@pytest.mark.parametrize("stranger", STRANGERS)
def test_another_numba_never_runs_stale_code(stranger: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the stamp cannot be set, a cache would know sources by one file's time: there is none then."""

    def njit(*, cache: bool = False, **options: Any) -> Callable[..., Any]:
        return (lambda _: stranger) if cache else numba.njit(**options)

    monkeypatch.setattr(jit, "numba", SimpleNamespace(njit=njit))
    compiled: Any = jit.compiled(twice)
    assert compiled is not stranger
    assert not is_kept_on_disk(compiled)
    assert compiled(21.0) == 42.0
    assert compiled.signatures  # machine code did it


class Terminal(io.StringIO):
    """What stands for a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_a_person_at_a_terminal_is_told_once_that_code_is_compiled(
    stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = stream()
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setattr(thrice, "__module__", "fermi.compiled.test")
    monkeypatch.setattr(jit.NOTICE, "told", False)
    compiled: Any = numba.njit(thrice)
    assert [compiled(2), compiled(2.0)] == [6, 6.0]
    assert written.getvalue().count("compiling once") == (stream is Terminal)
