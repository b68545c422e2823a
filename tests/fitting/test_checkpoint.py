"""Interrupted fits go on exactly as if nothing had happened, and held-out rows stop them."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fermi
from fermi import FermiClassifier
from fermi.fitting.checkpoint import Checkpoint
from fermi.linear.solvers import sgda
from fermi.linear.solvers.step_sizes import make_steps

DAMAGED = "is no checkpoint, or damaged: delete it"
OTHER = "belongs to a fit with other data or options: delete it"


def rows(n: int = 1000) -> tuple[Any, Any, Any]:
    data = fermi.datasets.synthetic(n, 3, 3, bias=0.9, rated=False).numeric()
    return data.X_train.to_numpy(), data.y_train.to_numpy(), data.s_train["group"].to_numpy().astype(object)


def interrupted(monkeypatch: pytest.MonkeyPatch, model: FermiClassifier, after: int, **given: Any) -> None:
    """Fit, and press Ctrl-C after so many checkpoints."""
    original, calls = Checkpoint.save, []

    def save(self: Checkpoint, *state: Any) -> None:
        original(self, *state)
        calls.append(1)
        if len(calls) == after:
            raise KeyboardInterrupt

    X, y, s = rows()
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", save)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y, sensitive_features=s, **given)


def told(model: FermiClassifier) -> list[dict[str, float]]:
    return [{name: value for name, value in entry.items() if name != "seconds"} for entry in model.history_]


def assert_same(one: FermiClassifier, other: FermiClassifier) -> None:
    """To the last bit."""
    for name in ("coef_", "intercept_", "dual_"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.n_iter_ == other.n_iter_
    assert told(one) == told(other)
    seconds = [entry["seconds"] for entry in one.history_]
    assert seconds == sorted(seconds)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("judged", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 1, "max_iter": 40},
        {"batch_size": 50, "max_iter": 40, "lam": 500.0},
        {"batch_size": 50, "max_iter": 40, "eta_theta": lambda step: 0.1 / step**0.5, "radius": 5.0},
        {"solver": "lbfgs"},
        {"solver": "newton"},
        {"solver": "sreda", "max_iter": 20},
        {"solver": "sreda", "lam": 200.0, "batch_size": 20, "max_iter": 20},
    ],
)
def test_an_interrupted_fit_ends_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], judged: bool
) -> None:
    X, y, s = rows()
    given = {"eval_set": (X[::3], y[::3], s[::3])} if judged else {}
    file = tmp_path / "fit.npz"
    options = {"lam": 3.0, "l2": 1e-6, "tol": 1e-12, "random_state": 5, **options}
    whole = FermiClassifier(**options).fit(X, y, sensitive_features=s, **given)
    model = FermiClassifier(**options, checkpoint=file)
    interrupted(monkeypatch, model, after=1 if "lbfgs" in options.values() else 2, **given)
    assert not hasattr(model, "coef_")
    assert file.exists()
    model.fit(X, y, sensitive_features=s, **given)
    assert_same(model, whole)
    assert list(tmp_path.iterdir()) == []


def test_iterations_without_a_hessian_are_saved_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, s = rows()
    monkeypatch.setattr("fermi.linear.solvers.lbfgs.fits", lambda task: False)
    monkeypatch.setattr("fermi.linear.solvers.lbfgs._SAVED", 5)
    options: dict[str, Any] = {"lam": 3.0, "solver": "lbfgs"}
    whole = FermiClassifier(**options, checkpoint=tmp_path / "whole.npz").fit(X, y, sensitive_features=s)
    model = FermiClassifier(**options, checkpoint=tmp_path / "fit.npz")
    interrupted(monkeypatch, model, after=2)
    assert_same(model.fit(X, y, sensitive_features=s), whole)


def test_smaller_steps_after_a_divergence_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, s = rows()
    file = tmp_path / "fit.npz"
    monkeypatch.setattr(sgda, "make_steps", lambda *given, **named: make_steps(*given, **named).scaled(1e3))
    options: dict[str, Any] = {"lam": 3.0, "batch_size": 50, "max_iter": 40, "random_state": 5}
    whole = FermiClassifier(**options).fit(X, y, sensitive_features=s)
    model = FermiClassifier(**options, checkpoint=file)
    interrupted(monkeypatch, model, after=2)
    assert altered(file, lambda arrays, facts: None)["restarts"] > 0
    assert_same(model.fit(X, y, sensitive_features=s), whole)


def altered(file: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> dict[str, Any]:
    """Change what a checkpoint holds, as somebody would who knows how it is written and sealed."""
    with np.load(file) as found:
        arrays = dict(found)
    note = json.loads(arrays.pop("note").tobytes())
    change(arrays, note["facts"])
    Checkpoint(file, note["mark"]).save({**arrays, **note["facts"]})
    facts: dict[str, Any] = note["facts"]
    return facts


CHANGES: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    "W of another shape": lambda arrays, facts: arrays.update(V=arrays["V"][:, :1]),
    "no norms": lambda arrays, facts: arrays.pop("norms"),
    "fewer weights": lambda arrays, facts: arrays.update(theta=arrays["theta"][:, :-1]),
    "NaN": lambda arrays, facts: arrays.update(b=np.full_like(arrays["b"], np.nan)),
    "other numbers": lambda arrays, facts: arrays.update(scale=arrays["scale"].astype(np.float32)),
    "whole numbers": lambda arrays, facts: arrays.update(scale=arrays["scale"].astype(np.int64)),
    "words": lambda arrays, facts: arrays.update(theta=arrays["theta"].astype(str)),
    "too many passes": lambda arrays, facts: facts.update(passes=41),
    "passes below zero": lambda arrays, facts: facts.update(passes=-1),
    "half a pass": lambda arrays, facts: facts.update(passes=1.5),
    "no passes": lambda arrays, facts: facts.pop("passes"),
    "too many steps": lambda arrays, facts: facts.update(taken=10**30),
    "a limit that is none": lambda arrays, facts: facts.update(limit="10"),
    "random numbers of another kind": lambda arrays, facts: facts["random"].update(bit_generator="MT19937"),
    "random numbers in words": lambda arrays, facts: facts.update(random="often"),
    "a history of words": lambda arrays, facts: facts.update(history=["once"]),
    "a best model without itself": lambda arrays, facts: arrays.pop("best_theta"),
    "patience of another kind": lambda arrays, facts: facts.update(waited=[1]),
    "a best W of another shape": lambda arrays, facts: arrays.update(best_dual0=arrays["best_dual0"][:, :1]),
}


def test_what_somebody_changed_in_a_checkpoint_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, s = rows()
    given = {"eval_set": (X, y, s)}
    file = tmp_path / "fit.npz"
    model = FermiClassifier(lam=3.0, batch_size=50, max_iter=40, random_state=5, checkpoint=file)
    interrupted(monkeypatch, model, after=2, **given)
    whole = file.read_bytes()
    for change in CHANGES.values():
        file.write_bytes(whole)
        altered(file, change)
        with pytest.raises(fermi.FermiError, match=DAMAGED):
            model.fit(X, y, sensitive_features=s, **given)
    file.write_bytes(whole)
    altered(file, lambda arrays, facts: None)
    model.fit(X, y, sensitive_features=s, **given)  # what was only written again is no other


def _without(name: str, arrays: dict[str, Any], facts: dict[str, Any]) -> None:
    (facts if name in facts else arrays).pop(name)


@pytest.mark.parametrize("options", [{"solver": "sreda"}, {"solver": "newton"}])
def test_other_solvers_look_at_their_state_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    X, y, s = rows()
    file = tmp_path / "fit.npz"
    model = FermiClassifier(lam=3.0, random_state=5, checkpoint=file, **options)
    interrupted(monkeypatch, model, after=2)
    whole = file.read_bytes()
    arrays = [name for name in np.load(file).files if name != "note"]
    facts = altered(file, lambda arrays, facts: None)
    for name in (*arrays, *facts):
        file.write_bytes(whole)
        change = partial(_without, name)
        altered(file, change)
        with pytest.raises(fermi.FermiError, match=DAMAGED):
            model.fit(X, y, sensitive_features=s)


def test_a_file_of_another_fit_or_of_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, s = rows()
    file = tmp_path / "fit.npz"
    model = FermiClassifier(lam=3.0, batch_size=50, max_iter=40, random_state=5, checkpoint=file)
    interrupted(monkeypatch, model, after=1)
    swapped = X.copy()
    first, second = (np.flatnonzero((y == y[0]) & (s == s[0]))[i] for i in (0, 1))
    swapped[[first, second]] = swapped[[second, first]]
    others: list[tuple[Any, dict[str, Any]]] = [
        (X, {"lam": 4.0}),
        (X + 1.0, {}),
        (swapped, {}),
        (X, {"random_state": 6}),
        (X, {"random_state": np.random.default_rng(6)}),
        (X, {"random_state": None}),
        (X, {"class_weight": {y[0]: 2.0}}),
        (X, {"batch_size": 51}),
    ]
    for features, options in others:
        other = FermiClassifier(**{**model.get_params(), **options})
        with pytest.raises(fermi.FermiError, match=OTHER):
            other.fit(features, y, sensitive_features=s)
    with pytest.raises(fermi.FermiError, match=OTHER):
        model.fit(X, y, sensitive_features=s, eval_set=(X, y, s))


def test_a_file_that_was_cut_short_or_has_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, s = rows()
    file = tmp_path / "fit.npz"
    model = FermiClassifier(lam=3.0, batch_size=50, max_iter=40, random_state=5, checkpoint=file)
    interrupted(monkeypatch, model, after=1)
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    flipped = []
    for at in rng.integers(len(whole), size=100):
        flipped.append(whole[:at] + bytes([whole[at] ^ 1 << int(rng.integers(8))]) + whole[at + 1 :])
    for damaged in (b"nothing of the kind", b"", *(whole[:at] for at in range(0, len(whole), 97)), *flipped):
        file.write_bytes(damaged)
        with pytest.raises(fermi.FermiError, match=DAMAGED):
            Checkpoint(file, "any").load()
    with pytest.raises(fermi.FermiError, match=DAMAGED):
        model.fit(X, y, sensitive_features=s)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    X, y, s = rows()
    file = tmp_path / "fit.npz"
    os.mkfifo(file)
    with pytest.raises(fermi.FermiError, match=DAMAGED):
        FermiClassifier(batch_size=50, checkpoint=file).fit(X, y, sensitive_features=s)


def test_names_that_cannot_be_files_are_refused_before_training(tmp_path: Path) -> None:
    X, y, s = rows()
    for name, words in (
        (tmp_path / "no" / "fit.npz", "whose folder does not exist; expected a file in an existing folder"),
        (tmp_path / ("x" * 300), r"no name for a file \(File name too long\); expected a file"),
        (tmp_path / "fit\0.npz", r"no name for a file \(embedded null byte\); expected a file"),
        (tmp_path / "a" / ("x" * 5000), r"no name for a file \(File name too long\); expected a file"),
    ):
        with pytest.raises(fermi.FermiError, match=words):
            FermiClassifier(batch_size=50, checkpoint=name).fit(X, y, sensitive_features=s)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    """Files may grow to 100 bytes, which the system refuses as it does on a full disk."""
    X, y, s = rows()
    model = FermiClassifier(batch_size=50, max_iter=40, checkpoint=tmp_path / "fit.npz")
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(fermi.FermiError, match=r"^'.*fit.npz' cannot be written: File too large\.$"):
            model.fit(X, y, sensitive_features=s)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_replaced_and_what_it_shows_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim, file = tmp_path / "victim", tmp_path / "fit.npz"
    for name in ("fit.npz.part", ".fit.npz.part", "fit.part"):
        (tmp_path / name).symlink_to(victim)
    file.symlink_to(victim)
    interrupted(monkeypatch, FermiClassifier(lam=3.0, batch_size=50, max_iter=40, checkpoint=file), after=2)
    assert not victim.exists()
    assert file.is_file()
    assert not file.is_symlink()


def test_held_out_rows_stop_a_fit_that_learns_the_training_rows_by_heart() -> None:
    rng = np.random.default_rng(0)
    X, Xt = rng.standard_normal((2, 120, 80))
    y, yt = ((part[:, 0] + 0.5 * rng.standard_normal(120) > 0).astype(int) for part in (X, Xt))
    s, st = rng.integers(0, 2, (2, 120))
    for options in ({"solver": "lbfgs"}, {"batch_size": 4, "max_iter": 200}, {"batch_size": 4}):
        free = FermiClassifier(l2=1e-6, random_state=0, **options).fit(X, y, sensitive_features=s)
        stopped = FermiClassifier(l2=1e-6, random_state=0, **options)
        stopped.fit(X, y, sensitive_features=s, eval_set=(Xt, yt, st))
        assert len(stopped.history_) < len(free.history_)
        losses = [-np.log(m.predict_proba(Xt)[np.arange(120), yt]).mean() for m in (stopped, free)]
        assert losses[0] < 0.7 * losses[1]
    with pytest.raises(fermi.FermiError, match="`eval_set` is no triple; expected \\(X, y, sensitive_features\\)"):
        free.fit(X, y, sensitive_features=s, eval_set=(Xt, yt))
    with pytest.raises(fermi.FermiError, match="`eval_set` holds 7; expected one of the classes 0, 1"):
        free.fit(X, y, sensitive_features=s, eval_set=(Xt, yt + 7, st))
