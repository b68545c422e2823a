"""A bound kept by labels: what is said of it, what is audited, what the page tells of the rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fermi import parity_difference
from fermi.decisions.figures import Figures
from fermi.decisions.group_models import CellModel, LinearCells
from fermi.decisions.rule import Rule
from fermi.errors import FermiError
from fermi.fitting.label_stage import AdjustedLabels
from fermi.tables.asked import Asked, how_labels_keep
from fermi.tables.rules import AVERAGE, charges
from fermi.tables.task import Prepared, Task, prepare
from fermi.tables.training import Trained, train
from tests.tables.samples import people


def ready(**options: Any) -> Prepared:
    return prepare(people(2000), Task("hired", ("group",), **options))


def trained(rows: Prepared, asked: Asked, **options: Any) -> Trained:
    return train(rows, "linear", asked=asked, source="people.csv", **options)


def test_audits_are_about_the_labels_that_are_given() -> None:
    rows = ready()
    found = trained(rows, Asked(max_violation=0.05), decision="labels")
    model, point = found.saved.model, found.record.points[1]
    labels = model.predict(rows.test.X)
    assert (labels != model.classes_[model.predict_proba(rows.test.X).argmax(axis=1)]).any(), "or this tests nothing"
    audit = point.splits["test"]
    assert audit.error is not None
    assert audit.error.value == pytest.approx((labels != rows.test.y).mean())
    assert audit.measure("parity_difference").value == pytest.approx(parity_difference(labels, rows.test.s))
    soft = parity_difference(model.predict_proba(rows.test.X), rows.test.s, classes=rows.classes)
    assert audit.measure("parity_difference", soft=True).value == pytest.approx(soft)
    assert (point.adjusted, point.label) == (True, "λ = 1, adjusted labels")
    assert (found.record.points[0].adjusted, found.record.points[0].label) == (False, "λ = 0")


def test_the_reason_tells_how_a_bound_is_kept() -> None:
    rows = ready()
    by_lam = trained(rows, Asked(max_violation=0.1), decision="argmax")
    assert by_lam.held_out is not None
    assert by_lam.record.reason.startswith(f"λ = {by_lam.saved.lam:.4g} is the smallest found whose violation is at mo")
    assert f"{by_lam.held_out.violation:.4f} on held-out training rows" in by_lam.record.reason
    assert by_lam.record.rule == ()
    by_labels = trained(rows, Asked(max_violation=0.05), decision="labels")
    figures = by_labels.held_out
    assert figures is not None
    assert figures.violation <= 0.05
    for words in (
        "Labels are the most probable class after a charge for the groups",
        "They keep a gap between groups of at most 0.05.",
        f"the gap is {figures.violation:.4f} (standard error {figures.standard_error:.4f}); no two groups differ",
        "The probabilities are those of λ = 1.",
    ):
        assert words in by_labels.record.reason
    assert trained(rows, Asked(), lam=3.0).record.reason == "λ = 3 was asked for."
    assert len(trained(rows, Asked(), lam=0.0).record.points) == 1


def test_what_labels_alone_can_keep() -> None:
    rows = ready()
    found = trained(rows, Asked(min_ratio=0.8, max_rate=0.3))
    assert found.held_out is not None
    assert found.held_out.ratio >= 0.8
    assert found.held_out.rate <= 0.3
    assert found.saved.lam == 0.0
    assert found.saved.model.decision_ == "labels"
    assert "a ratio of two groups’ rates of “yes” of at least 0.8 and a rate of “yes” of at most 0.3" in (
        found.record.reason
    )
    assert trained(rows, Asked(min_ratio=0.8), lam=2.0).saved.lam == 2.0


def test_labels_that_need_no_charge_are_the_model_s_own() -> None:
    found = trained(ready(), Asked(max_violation=1.0), decision="labels")
    assert "Labels are the most probable class, without any charge." in found.record.reason
    assert (found.saved.model.decision_, found.record.rule, found.record.points[1].adjusted) == ("argmax", (), False)


def test_a_bound_that_is_not_kept_is_said() -> None:
    figures = Figures(0.2, 0.01, 0.13, 0.02, 0.05, 0.7, 0.4)
    words = how_labels_keep(Asked(0.02, slack=1.0), figures, "yes", "such rows", kept=False, charged=True)
    assert words.startswith("No labels kept a gap between groups of at most 0.02, each rate with 1 standard error of")
    assert words.endswith("the gap is 0.1300 (standard error 0.0200); two groups differ by 0.0500 more than sampling "
                          "error explains (2 standard errors).")  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"min_ratio": 1.5}, "`min_ratio` is 1.5; expected a number from 0 to 1"),
        ({"max_violation": -0.1}, "`max_violation` is -0.1"),
        ({"slack": 1.0}, "`slack` is 1 without `max_violation`, `min_ratio` or `min_rate`"),
        ({"slack": -1.0, "min_ratio": 0.8}, "`slack` is -1.0"),
        ({"confidence": 0.4, "min_ratio": 0.8}, "`confidence` is 0.4"),
    ],
)
def test_what_cannot_be_asked(asked: dict[str, float], words: str) -> None:
    with pytest.raises(FermiError, match=words):
        Asked(**asked)


def rule(psi: list[list[float]], mean: list[float], coef: list[list[float]]) -> AdjustedLabels:
    kinds = np.arange(len(psi))
    cells = LinearCells(np.array(coef), np.zeros(len(coef)), kinds)
    return AdjustedLabels(
        Rule(np.array(psi), np.array(mean), np.array([0.0, 0.01])), (CellModel(cells, kinds, len(psi)),)
    )


def test_charges_are_what_a_row_pays_when_it_is_likelier_of_a_group() -> None:
    X = np.random.default_rng(0).normal(size=(500, 2)) * [1.0, 10.0]
    labels = rule([[0.0, 0.3], [0.0, -0.1], [0.0, 0.2]], [0.5, 0.3, 0.2], [[0.0, 0.0], [1.0, 0.0], [0.2, 0.05]])
    found = charges(labels, ["a", "b", "c"], [""], ["no", "yes"], ["u", "v"], X)
    assert [charge.group for charge in found] == ["a", "b", "c", AVERAGE]
    assert [set(charge.charges) for charge in found] == [{"yes"}] * 4, "the first of two classes is never charged"
    F = np.array([[0.5, 0.5]])

    def pays(q: list[float]) -> float:
        return 0.5 - float(labels.rule.scores(F, np.array([q]))[0, 1])

    assert found[3].charges["yes"] == pytest.approx(pays([0.5, 0.3, 0.2]))
    more = 0.1  # likelier of the first group, and less of the others in proportion
    there = pays([0.5 + more, 0.3 - more * 0.6, 0.2 - more * 0.4])
    assert found[0].charges["yes"] * more == pytest.approx(there - pays([0.5, 0.3, 0.2]))
    spread = X.std(axis=0)
    assert [name for name, _ in found[1].features] == ["u", "v"]
    odds = [0.9 * spread[0], -0.025 * spread[1]]  # against the mean of the others
    assert [moved for _, moved in found[1].features] == pytest.approx(odds)
    assert found[0].likely == pytest.approx(labels.group_models[0].probabilities(X)[:, 0].mean())


def test_charges_of_two_groups_mirror_each_other_and_stay_within_a_condition() -> None:
    X = np.random.default_rng(0).normal(size=(100, 1))
    psi, coef = [[0.0, 0.1], [0.0, -0.1], [0.0, 0.0], [0.0, 0.0]], [[1.0], [-1.0], [3.0], [3.0]]
    labels = rule(psi, [0.25] * 4, coef)
    found = charges(labels, ["a", "b"], ["y=0", "y=1"], ["no", "yes"], ["u"], X)
    assert [(c.group, c.condition) for c in found[:-1]] == [("a", "y=0"), ("b", "y=0"), ("a", "y=1"), ("b", "y=1")]
    assert [c.charges["yes"] for c in found[:-1]] == pytest.approx([0.8, -0.8, 0.0, 0.0])
    assert [len(c.features) for c in found[:-1]] == [1, 1, 0, 0], "what tells the condition does not tell the group"
