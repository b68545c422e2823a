"""What a user should know of labels that were chosen: groups too small, requirements missed, one label for all."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fermi.decisions.fragile import hanging_groups, said_of_hanging
from fermi.errors import ConstantPredictionWarning, FragileLabelsWarning, SmallGroupWarning, listed
from fermi.labels.choosing import Chosen
from fermi.labels.training import TrainedLabels

_FEW = 30  # rows of a group, below which its rate says next to nothing


def caution(trained: TrainedLabels, chosen: Chosen, *, level: int) -> None:
    """Warn of what is odd about labels; `level` is where the warning points to, as in `warnings.warn`."""
    choice = chosen.choice
    small = trained.small_groups(_FEW)
    if small and choice.asked.slack == 0.0:
        warnings.warn(
            f"{len(small)} of {len(trained.problem.groups)} groups have fewer than {_FEW} rows within a condition "
            f"({listed(small, limit=4)}): their rates say next to nothing, and keeping them within a bound pays "
            "for noise; `slack=1` allows each rate one standard error more.",
            SmallGroupWarning,
            stacklevel=level,
        )
    hanging = hanging_groups(
        trained.stage.rows, choice.rule, [attribute.labels for attribute in trained.problem.attributes]
    )
    if hanging and chosen.reached and chosen.upper_limit is None:  # a certificate is of the final models
        warnings.warn(said_of_hanging(hanging), FragileLabelsWarning, stacklevel=level)
    if not chosen.reached:
        warnings.warn(chosen.shortfall, ConvergenceWarning, stacklevel=level)
    if len(np.unique(choice.labels)) == 1 and len(np.unique(trained.stage.own_labels)) > 1:
        label = trained.classes.tolist()[choice.labels[0]]
        kept = "keeps what was asked, and predicts" if chosen.reached else "predicts"
        warnings.warn(
            f"Every held-out row gets the label {label!r}: that {kept} nothing. A looser bound or `slack=1` keeps "
            "labels apart.",
            ConstantPredictionWarning,
            stacklevel=level,
        )
