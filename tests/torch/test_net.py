"""`FermiNet`: rows of any kind, interrupted fits, options do what they say, mistakes get one sentence."""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import fermi
from fermi.fitting.problem import Source, read_problem
from fermi.torch import FermiNet, models
from fermi.torch._saved import SavedRun
from fermi.torch._trainer import _Alone
from fermi.torch.feed import Feed
from tests.torch.samples import table

pytestmark = pytest.mark.usefixtures("one_thread")


# A few steps on a few rows do not settle, and say so.
short = pytest.mark.filterwarnings("ignore:The adversary W has not settled")


def fitted(**options: Any) -> FermiNet:
    X, y, s = table()
    net = FermiNet(**{"module": models.logistic, "max_epochs": 3, "random_state": 0, "lr": 0.02, **options})
    return net.fit(X, y, sensitive_features=s)


@pytest.mark.slow
@short
def test_the_bound_on_the_violation_is_searched_for() -> None:
    data = fermi.datasets.synthetic(4000, 2, 2, bias=0.9, rated=False).numeric()
    net = FermiNet(models.logistic, max_violation=0.06, max_epochs=4, lr=0.02, random_state=0)
    net.fit(data.X_train, data.y_train, sensitive_features=data.s_train)
    assert net.lam_ > 0.0
    assert fermi.parity_difference(net.predict(data.X_test), data.s_test) < 0.12
    assert net.lam_path_[0]["violation"] > 0.15


@short
def test_a_seed_repeats_a_fit_and_the_global_state_stays() -> None:
    state = torch.get_rng_state()
    module = functools.partial(models.mlp, hidden=(4,))
    one, same, other = (fitted(module=module, random_state=seed) for seed in (0, 0, 1))
    X, _, _ = table()
    assert np.array_equal(one.predict_proba(X), same.predict_proba(X))
    assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))
    assert torch.equal(state, torch.get_rng_state())


@short
def test_a_given_module_is_not_changed_and_clones_and_pickles() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(5, 4), nn.Dropout(0.5), nn.ReLU(), nn.Linear(4, 3))
    before = [p.clone() for p in module.parameters()]
    net = fitted(module=module)
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))
    X, y, s = table()
    again = clone(net).fit(X, y, sensitive_features=s)
    assert np.array_equal(again.predict(X), net.predict(X))
    assert np.array_equal(pickle.loads(pickle.dumps(net)).predict(X), net.predict(X))
    assert np.array_equal(net.classes_[net.decision_function(X).argmax(1)], net.predict(X))


@pytest.mark.slow
@short
@pytest.mark.filterwarnings("ignore:Every training row is predicted as", "ignore:After 1 passes the loss is")
def test_rows_come_as_tables_images_texts_and_sparse() -> None:
    X, y, s = table(300)
    rng = np.random.default_rng(0)
    images, words = rng.random((300, 1, 28, 28), dtype=np.float32), rng.integers(0, 50, (300, 40))
    cases: list[tuple[Any, Any]] = [
        (models.lenet5(3, channels=1), images),
        (models.lenet5(3, channels=1), torch.tensor(images)),
        (models.TextCNN(50, 3, length=40), words),
        (models.logistic, csr_matrix(X)),
        (models.logistic, torch.tensor(X)),
        (models.logistic, words),
    ]
    for module, rows in cases:
        net = FermiNet(module, max_epochs=1, random_state=0).fit(rows, y, sensitive_features=s)
        assert net.predict_proba(rows).shape == (300, 3)
        assert net.predict_proba(rows).sum(axis=1) == pytest.approx(1.0)
    with pytest.raises(fermi.FermiError, match="`X` has rows of shape \\(40, 2\\); expected \\(40,\\), as in fit"):
        net.predict(np.zeros((3, 40, 2)))


@pytest.mark.parametrize("writeable", [False, True])
def test_rows_may_be_read_only_or_reversed_and_are_not_changed(*, writeable: bool) -> None:
    X = table()[0].astype(np.float32)
    X.flags.writeable = writeable
    feed = Feed(models.logistic(5, 3), torch.device("cpu"))
    for rows in (X, X[::2], X[::-1], X[::-1][:1], np.asfortranarray(X)):
        fed = feed(rows).numpy()
        assert np.array_equal(fed, rows)
        assert not np.shares_memory(fed, rows)


@short
def test_rows_held_out_stop_training_and_the_best_epoch_counts() -> None:
    X, y, s = table(200)
    judges = table(200, seed=5)
    net = FermiNet(functools.partial(models.mlp, hidden=(64,)), max_epochs=200, patience=3, lr=0.02, random_state=0)
    net.fit(X, y, sensitive_features=s, eval_set=judges)
    values = [entry["held_out_objective"] for entry in net.history_]
    assert len(values) == net.n_iter_ < 200
    assert np.argmin(values) == len(values) - 4
    logits = np.log(net.predict_proba(judges[0]))
    loss = -np.mean(logits[np.arange(200), np.searchsorted(net.classes_, judges[1])])
    found = loss + fermi.ermi(net.predict_proba(judges[0]), judges[2])
    assert found == pytest.approx(min(values), rel=1e-5)


class Interrupted(Exception):
    pass


class Bomb(nn.Linear):
    """Fails at a call, once."""

    fuse = 10**9

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        Bomb.fuse -= 1
        if Bomb.fuse == 0:
            raise Interrupted
        return super().forward(x)


@short
def test_an_interrupted_fit_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    X, y, s = table()
    file = tmp_path / "net.pt"
    options: dict[str, Any] = {"module": Bomb, "max_epochs": 6, "random_state": 0, "checkpoint": file}
    options["optimizer"] = functools.partial(torch.optim.SGD, momentum=0.9)
    whole = FermiNet(**options).fit(X, y, sensitive_features=s, eval_set=(X, y, s))
    assert not file.exists()
    Bomb.fuse = 90
    net = FermiNet(**options)
    with pytest.raises(Interrupted):
        net.fit(X, y, sensitive_features=s, eval_set=(X, y, s))
    assert file.exists()
    assert not hasattr(net, "module_")
    other = X.copy()
    other[-1] += 1.0
    for changed, rows in (({"lam": 2.0}, X), ({"random_state": 1}, X), ({"class_weight": "balanced"}, X), ({}, other)):
        with pytest.raises(fermi.FermiError, match="belongs to a fit with other data or options"):
            clone(net).set_params(**changed).fit(rows, y, sensitive_features=s, eval_set=(X, y, s))
    net.fit(X, y, sensitive_features=s, eval_set=(X, y, s))
    assert np.array_equal(net.predict_proba(X), whole.predict_proba(X))
    assert [entry["epoch"] for entry in net.history_] == [1, 2, 3, 4, 5, 6]
    file.write_bytes(b"no checkpoint")
    with pytest.raises(fermi.FermiError, match="is no checkpoint, or damaged: delete it"):
        net.fit(X, y, sensitive_features=s)


@short
@pytest.mark.filterwarnings("ignore:After . passes the loss is")
def test_a_checkpoint_that_is_not_as_it_was_written_is_refused(tmp_path: Path) -> None:
    X, y, s = table(200)
    file = tmp_path / "net.pt"
    options: dict[str, Any] = {"max_epochs": 3, "batch_size": 50, "random_state": 0, "checkpoint": file}
    Bomb.fuse = 15  # some way into the second pass
    net = FermiNet(Bomb, **options)
    with pytest.raises(Interrupted):
        net.fit(X, y, sensitive_features=s)
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    flipped = [whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :] for at in rng.integers(len(whole), size=40)]
    for damaged in (*(whole[:at] for at in rng.integers(len(whole), size=20)), *flipped):
        file.write_bytes(damaged)
        with pytest.raises(fermi.FermiError, match="is no checkpoint, or damaged: delete it"):
            net.fit(X, y, sensitive_features=s)
    changes: list[Callable[[Any], Any]] = [
        lambda state: state.update(epoch=7),
        lambda state: state.update(step="many"),
        lambda state: state.update(shares=state["shares"][:, :1]),
        lambda state: state.pop("history"),
        lambda state: state["history"][0].update(loss="x"),
        lambda state: state["history"].pop(),
        lambda state: state.update(best=[1.0]),
        lambda state: state.update(best=float("nan")),
        lambda state: state["states"].pop(),
        lambda state: state["states"][0].update({k: v[:1] for k, v in state["states"][0].items()}),
        lambda state: state["states"][0].update({k: v * np.nan for k, v in state["states"][0].items()}),
        lambda state: state["optimizer"]["state"][0].update(exp_avg=torch.zeros(3)),
        lambda state: state["optimizer"]["param_groups"][0].update(lr=[1]),
        lambda state: state["optimizer"]["param_groups"][0].update(betas=(0.9, "x")),
        lambda state: state["optimizer"]["param_groups"][0].pop("eps"),
        lambda state: state.update(best_states=[{}, {}]),
        lambda state: state.update(order="{}"),
        lambda state: state.update(random=torch.zeros(5)),
    ]
    for change in changes:  # by somebody who knows how it is sealed
        state = torch.load(io.BytesIO(whole), weights_only=True)
        change(state)
        content = io.BytesIO()
        torch.save(state, content)
        SavedRun(file, "")._write(content.getvalue())
        with pytest.raises(fermi.FermiError, match="is no checkpoint, or damaged: delete it"):
            net.fit(X, y, sensitive_features=s)
    SavedRun(file, "")._write(whole[: whole.rindex(b"\nfermi checkpoint")])
    swapped = X.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    with pytest.raises(fermi.FermiError, match="belongs to a fit with other data or options"):
        net.fit(swapped, y, sensitive_features=s)
    net.fit(X, y, sensitive_features=s)


@short
@pytest.mark.filterwarnings("ignore:After . passes the loss is")
def test_options_reach_what_they_are_for() -> None:
    net = fitted(lam=20.0, radius=0.5)
    assert np.linalg.norm(net.dual_) <= 0.5 + 1e-6
    frozen = fitted(optimizer=lambda p, lr: torch.optim.SGD([{"params": p, "lr": 0.0}], lr=lr), lam=0.0, random_state=1)
    losses = [entry["loss"] for entry in frozen.history_]
    assert max(losses) - min(losses) < 1e-6  # the user's own rate of 0 counts
    X, y, s = table(200)
    images = np.zeros((200, 2, 4, 4), dtype=np.float32)
    images[:, 0, 0] = X[:, :4]
    net = FermiNet(models.mlp, max_epochs=20, lr=0.01, random_state=0).fit(images, y, sensitive_features=s)
    assert net.module_.get_submodule("1").weight.shape == (300, 32)
    shared = nn.Linear(5, 3)
    before = shared.weight.detach().clone()
    FermiNet(lambda d, m: shared, max_epochs=2, lr=0.02, random_state=0).fit(X, y, sensitive_features=s)
    assert torch.equal(before, shared.weight)


def test_the_best_epoch_is_judged_by_the_objective_that_was_trained() -> None:
    X, y, s = table(400)
    net = FermiNet(models.logistic, class_weight={"two": 5.0}, max_epochs=4, lr=0.02, random_state=0)
    net.fit(X, y, sensitive_features=s, eval_set=(X, y, s))
    for entry in net.history_:
        assert entry["held_out_objective"] == pytest.approx(entry["objective"], rel=1e-9)


@short
@pytest.mark.filterwarnings("ignore:After . passes the loss is")
def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    X, y, s = table(300)
    Bomb.fuse = 10**9
    net = FermiNet(Bomb, max_epochs=3, lr=0.02, random_state=0).fit(X, y, sensitive_features=s)
    before = net.predict_proba(X)
    Bomb.fuse = 5
    with pytest.raises(Interrupted):
        net.fit(X[:, :3], y, sensitive_features=s)
    assert np.array_equal(net.predict_proba(X), before)
    net.fit((10 * X[:, :4]).astype(int), y, sensitive_features=s)
    assert net.predict((10 * X[:, :4]).astype(int)).shape == (300,)
    with pytest.raises(fermi.FermiError, match="`X` has rows of shape \\(4, 1\\); expected \\(4,\\), as in fit"):
        net.predict(X[:, :4, None])


def test_the_adversary_that_stays_behind_is_reported() -> None:
    with pytest.warns(ConvergenceWarning, match="The adversary W has not settled after 3 passes"):
        fitted(lam=5.0, lr_w=1e-6)


def test_features_in_wild_units_are_reported_in_the_users_line() -> None:
    X, y, s = table(300)
    with pytest.warns(ConvergenceWarning, match="above 1.1 of equal probabilities: standardise the features") as caught:
        FermiNet(models.logistic, max_epochs=1, random_state=0).fit(1e4 * X, y, sensitive_features=s)
    assert {warning.filename for warning in caught} == {__file__}


def test_in_a_pipeline_without_groups_it_warns() -> None:
    X, y, _ = table()
    with pytest.warns(fermi.errors.UnfairTrainingWarning) as caught:
        make_pipeline(StandardScaler(), FermiNet(models.logistic, max_epochs=3, lr=0.02)).fit(X, y)
    assert len(caught) == 1


@short
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"module": "mlp"}, "`module` is 'mlp'; expected a torch module, or a function that makes one"),
        ({"module": lambda d: None}, "`module` cannot make a network"),
        ({"module": lambda d, m: None}, "`module` has made None; expected a torch module"),
        ({"module": nn.Linear(5, 2)}, "`module` returns the shape \\(1500, 2\\) for 1500 rows; expected \\(1500, 3\\)"),
        ({"module": nn.Linear(4, 3)}, "`module` fails on rows of shape \\(5,\\) \\(mat1 and mat2 shapes"),
        ({"optimizer": "adm"}, "`optimizer` is 'adm'; expected one of 'adam', 'adamw', 'sgd', or a class"),
        ({"lr": 0.0}, "`lr` is 0.0; expected a positive number"),
        ({"lr_w": "fast"}, "`lr_w` is 'fast'; expected a positive number or 'auto'"),
        ({"schedule": "cosine"}, "`schedule` is 'cosine'; expected one of 'linear', 'constant'"),
        ({"batch_size": 0}, "`batch_size` is 0; expected a whole number of at least 1"),
        ({"max_epochs": 1.5}, "`max_epochs` is 1.5; expected a whole number"),
        ({"patience": 0}, "`patience` is 0"),
        ({"radius": -1}, "`radius` is -1; expected a positive number or None"),
        ({"module": nn.Linear(5, 3).requires_grad_(False)}, "`module` has no parameters to train"),
        ({"optimizer": torch.optim.LBFGS}, "`optimizer` has made LBFGS; expected one that steps by gradients alone"),
        ({"optimizer": object}, r"`optimizer` cannot be made as object\(parameters, lr=.* no arguments\); expected a"),
        ({"device": -(2**63) - 1}, "`device` is -9223372036854775809; expected 'auto', 'cpu'"),
        ({"checkpoint": "."}, "`checkpoint` is '.', a folder"),
        ({"checkpoint": "a.pt", "max_violation": 0.1}, "`checkpoint` is given with `max_violation`"),
        ({"device": "gpu"}, "`device` is 'gpu'; expected 'auto', 'cpu'"),
        ({"fairness": "equalised_odds"}, "`fairness` is 'equalised_odds'; expected one of"),
        ({"lam": -1}, "`lam` is -1"),
        ({"lr": 1e30}, "Training diverged: choose a smaller `lr`"),
        ({"checkpoint": "/no/such/folder/file"}, "`checkpoint` is '/no/such/folder/file', whose folder does not exist"),
    ],
)
def test_bad_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(fermi.FermiError, match=words):
        fitted(**options)


@short
@pytest.mark.parametrize("weights", ["balanced", {"three": 30.0}])
def test_conditions_count_by_their_weights(weights: Any) -> None:
    X, y, s = table(300)
    notion, s = fermi.EqualizedOdds(weights), np.where(X[:, 4] > 1.0, None, s)
    classes, target = np.unique(y, return_inverse=True)
    problem = read_problem(Source(X, y, s, None), X, y, target, classes.tolist(), None, notion, "intersection")
    logits = np.random.default_rng(0).standard_normal((300, 3))
    fair = problem.objective(5.0)
    regularizer = _Alone.of(problem, problem.attributes[0], 5.0, None)
    regularizer.W.data.copy_(torch.tensor(fair.optimal_duals(logits)[0]))
    rows = (torch.tensor(column) for column in (logits, problem.attributes[0].codes, problem.conditions))
    assert regularizer(*rows).item() == pytest.approx(5.0 * fair.evaluate(logits).ermi, rel=1e-5)
    one, other = (fitted(fairness=chosen, lam=5.0, max_epochs=1) for chosen in (notion, "equalized_odds"))
    assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_a_rate_that_single_precision_does_not_hold_is_refused() -> None:
    rows = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    cases: list[dict[str, Any]] = [{"lr": 1e300}, {"lr_w": 1e39}]
    for options in cases:
        with pytest.raises(fermi.FermiError, match=r"`lr(_w)?` is 1e\+(300|39); expected a positive number"):
            FermiNet(models.logistic, **options).fit(*rows, sensitive_features=[0, 1, 1, 0])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("lam", [1e-300, 1e-40])
def test_the_smallest_lambda_is_as_none(lam: float) -> None:
    """The rate of W is one over λ, which single precision would not hold."""
    X, y, s = table(100)
    found, plain = (
        FermiNet(models.logistic, lam=given, max_epochs=2, random_state=0, device="cpu").fit(X, y, sensitive_features=s)
        for given in (lam, 0.0)
    )
    assert np.isfinite(found.predict_proba(X)).all()
    np.testing.assert_allclose(found.predict_proba(X), plain.predict_proba(X), atol=0.05)
