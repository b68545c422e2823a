"""The kinds of model that the command trains, each as JSON and arrays: nothing in a model folder can be executed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fermi.inputs.arguments import chosen
from fermi.inputs.features import natural_labels
from fermi.linear.classifier import FermiClassifier
from fermi.notions import Notion
from fermi.tables.saved_labels import dump_labels, restore_labels

_LABELS = "labels"
KINDS = ("linear", "boosting", "mlp")


def make(
    kind: str,
    fairness: str | Notion,
    *,
    lam: float = 1.0,
    max_violation: float | None = None,
    decision: str = "auto",
    attributes: str,
    seed: int,
) -> Any:
    """Make an estimator of one kind, which takes a matrix of numbers."""
    options: dict[str, Any] = {
        "fairness": fairness,
        "lam": lam,
        "max_violation": max_violation,
        "decision": decision,
        "attributes": attributes,
        "random_state": seed,
    }
    match chosen("kind", kind, KINDS):
        case "linear":
            return FermiClassifier(**options)
        case "boosting":
            from fermi.boosting import FermiBoostingClassifier

            return FermiBoostingClassifier(**options)
        case _:
            from fermi.torch import FermiNet, models

            return FermiNet(models.mlp, **options)


def dump(kind: str, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Take a fitted model apart into facts for JSON and arrays; those of its labels are under ``labels``."""
    facts, arrays = _dump_plain(kind, model)
    if model._adjusted is None:
        return facts, arrays
    about, more = dump_labels(model._adjusted)
    return facts | {_LABELS: about}, arrays | {f"{_LABELS}.{name}": array for name, array in more.items()}


def _dump_plain(kind: str, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    match kind:
        case "linear":
            return {}, {"coef": model.coef_, "intercept": model.intercept_}
        case "boosting":
            return {"booster": model.booster_.model_to_string()}, {}
        case _:
            arrays = {name: value.detach().cpu().numpy() for name, value in model.module_.state_dict().items()}
            return {}, arrays


def restore(kind: str, facts: dict[str, Any], arrays: dict[str, Any], classes: Sequence[Any], width: int) -> Any:
    """Put a model together again from what `dump` gave: it predicts the same."""
    mark = f"{_LABELS}."
    model = _restore_plain(kind, facts, {k: a for k, a in arrays.items() if not k.startswith(mark)}, classes, width)
    adjusted = None
    if _LABELS in facts:
        own = {name.removeprefix(mark): array for name, array in arrays.items() if name.startswith(mark)}
        adjusted = restore_labels(facts[_LABELS], own, len(classes), width)
    model._decide_by(adjusted)
    return model


def _restore_plain(kind: str, facts: dict[str, Any], arrays: dict[str, Any], classes: Sequence[Any], width: int) -> Any:
    model = make(kind, "demographic_parity", attributes="intersection", seed=0)
    model.classes_, model.n_features_in_ = natural_labels(classes), width
    match kind:
        case "linear":
            model.coef_, model.intercept_ = arrays["coef"], arrays["intercept"]
        case "boosting":
            import lightgbm

            model.booster_ = lightgbm.Booster(model_str=facts["booster"])
            model._library, model._columns = "lightgbm", None
        case _:
            import torch

            from fermi.torch import models

            model.module_ = models.mlp(width, len(classes))
            model.module_.load_state_dict({name: torch.from_numpy(np.array(a)) for name, a in arrays.items()})
            model.module_.eval()
            model._row_shape = (width,)
    return model
