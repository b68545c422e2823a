"""LinearPost (Xian and Zhao 2024): labels within a bound from the probabilities of a model that knows no fairness.

"A unified post-processing framework for group fairness in classification", arXiv:2405.04025. A label is the class with
the highest score, and a score is the model's probability minus a charge that is linear in how likely the row is of each
group and, where the notion looks at it, of each true class. Here it is the variant that is blind to the attribute: a
second model tells groups from the features, and `predict` needs no group. The model is logistic regression. The paper
finds the charges by a linear program; ours come from `FairLabels`, which solves the same problem by a smooth
approximation and corrects them on held-out rows by the true groups. `strength` lowers the bound on the gap from that of
the plain model on held-out rows to zero, in equal steps.
"""

from __future__ import annotations

from typing import Any

from fermi.baselines.common.label_stage import LabelStage
from fermi.baselines.common.linear_models import logistic_regression


class LinearPost(LabelStage):
    """Logistic regression whose labels, not its probabilities, are within a bound.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    slack : float
        As in `FairLabels`: how many standard errors of its rate each group may be farther off than the bound.
    """

    def _model(self, n: int, strength: float) -> Any:
        return logistic_regression(n)
