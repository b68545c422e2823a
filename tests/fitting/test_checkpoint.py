"""Interrupted fits go on, and held-out rows stop them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fermi
from fermi import FermiClassifier
from fermi.fitting.checkpoint import Checkpoint


def rows(n: int = 2000) -> tuple[Any, Any, Any]:
    data = fermi.datasets.synthetic(n, 3, 3, bias=0.9, rated=False).numeric()
    return data.X_train.to_numpy(), data.y_train.to_numpy(), data.s_train["group"].to_numpy().astype(object)


def interrupted(monkeypatch: pytest.MonkeyPatch, model: FermiClassifier, after: int) -> None:
    """Fit, and press Ctrl-C after so many records."""
    original, calls = Checkpoint.save, []

    def save(self: Checkpoint, *state: Any) -> None:
        original(self, *state)
        calls.append(state[2])
        if len(calls) == after:
            raise KeyboardInterrupt

    X, y, s = rows()
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", save)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y, sensitive_features=s)


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 1},
        {"batch_size": 50, "eta_theta": lambda step: 0.1 / step**0.5},
        {"solver": "lbfgs"},
        {"solver": "sreda"},
    ],
)
def test_an_interrupted_fit_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    X, y, s = rows()
    file = tmp_path / "fit.npz"
    options = {**options, "lam": 3.0, "random_state": 5}
    whole = FermiClassifier(**options).fit(X, y, sensitive_features=s)
    model = FermiClassifier(**options, checkpoint=file)
    interrupted(monkeypatch, model, after=3)
    assert not hasattr(model, "coef_")
    assert file.exists()
    model.fit(X, y, sensitive_features=s)
    assert not file.exists()
    assert list(tmp_path.iterdir()) == []
    if "batch_size" in options:
        assert model.coef_ == pytest.approx(whole.coef_, rel=1e-9, abs=1e-12)
        assert model.dual_ == pytest.approx(whole.dual_, rel=1e-9, abs=1e-12)
        assert len(model.history_) == len(whole.history_) - 3
    else:
        assert abs(model.n_iter_ - whole.n_iter_) < 0.7 * whole.n_iter_  # the passes before count
        assert model.history_[-1]["objective"] == pytest.approx(whole.history_[-1]["objective"], rel=1e-4)
        assert model.history_[0]["objective"] < whole.history_[0]["objective"]


def test_a_file_of_another_fit_or_of_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, s = rows()
    file = tmp_path / "fit.npz"
    model = FermiClassifier(lam=3.0, batch_size=50, random_state=5, checkpoint=file)
    interrupted(monkeypatch, model, after=1)
    for other in (model.set_params(lam=4.0), model.set_params(lam=3.0)):
        with pytest.raises(fermi.FermiError, match="belongs to a fit with other data or options: delete it"):
            other.fit(X + (other.lam == 3.0), y, sensitive_features=s)
    for damaged in (b"nothing of the kind", b"", file.read_bytes()[:200]):
        file.write_bytes(damaged)
        with pytest.raises(fermi.FermiError, match="is no checkpoint, or damaged: delete it"):
            model.fit(X, y, sensitive_features=s)
    with pytest.raises(fermi.FermiError, match="whose folder does not exist"):
        FermiClassifier(checkpoint=tmp_path / "no" / "fit.npz").fit(X, y, sensitive_features=s)


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
