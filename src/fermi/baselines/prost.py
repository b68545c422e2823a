"""MinDiff (Prost, Qian, Chen, Chi, Chen and Beutel 2019): match the groups' distributions of scores.

The penalty is the squared maximum mean discrepancy between the two groups' scores p(ŷ = 1), under a Gaussian kernel.
The paper takes it among the rows with one label, for equal opportunity; among all rows it serves demographic parity,
and the mean over both labels equalized odds. `strength` is its weight. A batch in which a group is missing gives no
penalty, and the pairs of a row with itself bias the rest, the more the smaller the batch.
"""

from __future__ import annotations

import functools

import numpy as np
import torch
from numpy.polynomial import chebyshev
from torch import Tensor, nn

from fermi.baselines.common.networks import TorchBaseline, WithinConditions, probabilities
from fermi.baselines.common.protocol import Capabilities, Rows

# Of the kernel, in probability. A narrower one mostly punishes spread in batches of hundreds.
_BANDWIDTH = 0.3
_DEGREE = 20  # of the polynomial that stands for the kernel: 1e-11 from it


class Prost(TorchBaseline):
    """A network with the discrepancy between two groups' scores in each batch as a penalty (MinDiff).

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`; `strength` sets the weight of the penalty, on a scale of equal factors.
    module, batch_size, steps, lr
        The network, the rows per step, the number of steps and Adam's rate, as in `TorchBaseline`.
    """

    capabilities = Capabilities(beyond_logistic=True, stochastic=True, unknown_attribute=True)
    weights = (0.1, 60.0)

    def _penalty(self, rows: Rows) -> nn.Module:
        return MeanDiscrepancy(rows)


class MeanDiscrepancy(WithinConditions):
    """A penalty on a batch: MMD² between two groups' scores, the mean kernel within groups less twice that across."""

    def within(self, logits: Tensor, s: Tensor, z: int) -> Tensor:
        """The discrepancy among the rows of one condition."""
        counts = torch.bincount(s, minlength=2)
        if not counts.all():
            return logits.sum((-2, -1)) * 0.0
        score = probabilities(logits)[..., 1]
        signs = ((2 * s - 1) / counts[s]).to(score.dtype)
        with torch.no_grad():
            mass, slope = mean_kernel(score, signs)
        value: Tensor = mass @ signs + 2.0 * (signs * slope * (score - score.detach())).sum(-1)
        return value


def mean_kernel(score: Tensor, signs: Tensor) -> tuple[Tensor, Tensor]:
    """The sums Σ_j sign_j k(x, x_j) and their derivatives at every score x, without the matrix of all pairs.

    On [0, 1] the kernel is a polynomial in both scores to nearly all digits, so the sums need no more of the scores
    than the sums of their Chebyshev polynomials.
    """
    terms = torch.empty(_DEGREE + 1, *score.shape, dtype=score.dtype, device=score.device)
    t = 2.0 * score - 1.0
    terms[0], terms[1] = 1.0, t
    for i in range(2, _DEGREE + 1):
        torch.addcmul(terms[i - 2].neg(), t, terms[i - 1], value=2.0, out=terms[i])
    both = kernel_of_sums().to(score) @ (terms @ signs).reshape(_DEGREE + 1, -1)  # degree · 2 × networks
    flat = terms.reshape(_DEGREE + 1, -1, score.shape[-1])
    mass, slope = torch.einsum("daw,awn->dwn", both.reshape(2, _DEGREE + 1, -1), flat).reshape(2, *score.shape)
    return mass, slope


@functools.cache
def kernel_of_sums() -> Tensor:
    """From sums of Chebyshev polynomials of 2x − 1: the coefficients of Σ k(x, x_j) and, below, of its derivative."""
    points = 0.5 + 0.5 * chebyshev.chebpts1(_DEGREE + 1)
    back = np.linalg.inv(chebyshev.chebvander(2.0 * points - 1.0, _DEGREE))
    sums = back @ np.exp(-0.5 * ((points[:, None] - points) / _BANDWIDTH) ** 2) @ back.T
    slopes = 2.0 * np.vstack([chebyshev.chebder(sums), np.zeros(_DEGREE + 1)])
    return torch.as_tensor(np.vstack([sums, slopes]))
