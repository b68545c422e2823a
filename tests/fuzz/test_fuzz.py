"""A share of the cases of `python -m tests.fuzz`, by fixed seeds: one sentence, or a result that is one."""

from __future__ import annotations

import pytest

from tests.fuzz.__main__ import FAMILIES
from tests.fuzz.attempt import attempt

EXTRAS = {"boosted": "lightgbm", "network": "torch", "regularizer": "torch", "checkpoints": "torch"}
EXTRAS |= {"extreme boosted": "lightgbm", "extreme network": "torch", "folders": "torch", "boosters": "lightgbm"}
FEW, MANY = 2, 6  # cases of a family: where one takes a tenth of a second and more, and where it takes less
DEAR = ("labels", "curve", "files", "options", "checkpoints", "audit", "extreme labels")


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_not_as_it_should_be_is_one_sentence(name: str) -> None:
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name], reason=f"the extra with {EXTRAS[name]} is not installed")
        pytest.importorskip("lightgbm", reason="the extra with lightgbm is not installed")
    findings = {}
    for seed in range(FEW if name in DEAR else MANY):
        if found := attempt(name, FAMILIES[name], seed):
            findings[seed] = found
    assert not findings


def test_a_finding_is_told() -> None:
    """What is anything but a sentence of ours is found."""
    from fermi.errors import FermiError

    def family(error: Exception) -> object:
        def fails(rng: object) -> None:
            raise error

        return fails

    assert attempt("x", family(FermiError("`a` is 3; expected 4.")), 0) is None  # type: ignore[arg-type]
    assert "no sentence" in str(attempt("x", family(FermiError("two\nlines.")), 0))  # type: ignore[arg-type]
    assert "KeyError" in str(attempt("x", family(KeyError("a")), 0))  # type: ignore[arg-type]
    assert "RuntimeWarning" in str(attempt("x", family(RuntimeWarning("a")), 0))  # type: ignore[arg-type]
