"""The kinds of model that the command trains, each as JSON and arrays: nothing in a model folder can be executed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.inputs.arguments import chosen
from fermi.inputs.features import natural_labels
from fermi.linear.classifier import FermiClassifier
from fermi.notions import Notion

KINDS = ("linear", "boosting", "mlp")


def make(
    kind: str,
    fairness: str | Notion,
    *,
    lam: float = 1.0,
    max_violation: float | None = None,
    attributes: str,
    seed: int,
) -> Any:
    """Make an estimator of one kind, which takes a matrix of numbers."""
    options: dict[str, Any] = {
        "fairness": fairness,
        "lam": lam,
        "max_violation": max_violation,
        "attributes": attributes,
        "random_state": seed,
    }
    match chosen("--model", kind, KINDS):
        case "linear":
            return FermiClassifier(**options)
        case "boosting":
            from fermi.boosting import FermiBoostingClassifier

            return FermiBoostingClassifier(**options)
        case _:
            from fermi.torch import FermiNet, models

            return FermiNet(models.mlp, **options)


def dump(kind: str, model: Any) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Take a fitted model apart into facts for JSON and arrays."""
    match kind:
        case "linear":
            return {}, {"coef": model.coef_, "intercept": model.intercept_}
        case "boosting":
            return {"booster": model.booster_.model_to_string()}, {}
        case _:
            arrays = {name: value.detach().cpu().numpy() for name, value in model.module_.state_dict().items()}
            return {}, arrays


def restore(kind: str, facts: dict[str, Any], arrays: dict[str, Floats], classes: Sequence[Any], width: int) -> Any:
    """Put a model together again from what `dump` gave: it predicts the same."""
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
