"""The kinds of model that the command trains, each as JSON and arrays: nothing in a model folder can be executed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from fermi._archive import Archive
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
            text = model.booster_.model_to_string()
            return {"booster": text, "sha256": _digest(text)}, {}
        case _:
            arrays = {name: value.detach().cpu().numpy() for name, value in model.module_.state_dict().items()}
            return {}, arrays


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def restore(kind: str, facts: dict[str, Any], arrays: Archive, classes: Sequence[Any], width: int) -> Any:
    """Put a model together again from what `dump` gave: it predicts the same. `ValueError` says what does not fit."""
    model = _restore_plain(kind, facts, arrays, classes, width)
    adjusted = None
    if _LABELS in facts:
        adjusted = restore_labels(facts[_LABELS], arrays.under(f"{_LABELS}."), len(classes), width)
    model._decide_by(adjusted)
    return model


def _restore_plain(kind: str, facts: dict[str, Any], arrays: Archive, classes: Sequence[Any], width: int) -> Any:
    model = make(kind, "demographic_parity", attributes="intersection", seed=0)
    model.classes_, model.n_features_in_ = natural_labels(classes), width
    match kind:
        case "linear":
            logits = 1 if len(classes) == 2 else len(classes)
            model.coef_ = arrays.numbers("coef", (logits, width))
            model.intercept_ = arrays.numbers("intercept", (logits,))
        case "boosting":
            text = facts.get("booster")
            if not isinstance(text, str) or _digest(text) != facts.get("sha256"):
                raise ValueError("the booster is not the one that was written, by its digest")
            import lightgbm

            from fermi.boosting.tree_text import checked_text

            model.booster_ = lightgbm.Booster(model_str=checked_text(text, len(classes), width))
            model._library, model._columns = "lightgbm", None
        case _:
            import torch

            from fermi.torch import models

            model.module_ = models.mlp(width, len(classes))
            own = {name: value.numpy() for name, value in model.module_.state_dict().items()}
            found = {name: arrays.numbers(name, value.shape, value.dtype.kind) for name, value in own.items()}
            model.module_.load_state_dict({name: torch.from_numpy(value) for name, value in found.items()})
            model.module_.eval()
            model._row_shape = (width,)
    return model
