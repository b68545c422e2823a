"""The constants of the convergence theorem (appendix D), as published and as corrected: docs/theory.md derives each.

Numbers in, numbers out. D is the radius of the ball that holds W, β the smoothness of F(θ, W) in both together, μ its
strong concavity in W, κ = β/μ, σ² the variance of one row's gradient. The published constants are for one W; where a
notion has several conditions, or there are several terms, W stands for all of them together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """The constants of assumption 1: how the loss and the probabilities 𝓕 depend on θ."""

    G: float  # the loss is G-Lipschitz
    beta_loss: float  # and β_ℓ-smooth
    L: float  # 𝓕 is L-Lipschitz
    b: float  # and b-smooth


@dataclass(frozen=True)
class Setting:
    """What the theorem needs to know of the data and the problem.

    Attributes
    ----------
    lam : float
        λ.
    n_groups, n_classes : int
        k and m; k is the largest of several terms.
    n_terms, n_blocks, sum_groups : int
        The number of terms, of matrices W (a condition of a term), and of groups of all terms.
    p_y_min, p_zy_min : float
        The least p(ŷ|z), and the least p(z)·p(ŷ|z). They are the same without conditions.
    p_s_min : float
        The least p(s|z) of the groups that occur.
    sampling : float
        The largest weight of a row in a mean over all rows: 1 where all count alike.
    gap : float
        Δ_Φ, a bound on Φ(θ⁰) − inf Φ.
    """

    lam: float
    n_groups: int
    n_classes: int
    n_terms: int
    n_blocks: int
    sum_groups: int
    p_y_min: float
    p_zy_min: float
    p_s_min: float
    sampling: float
    gap: float


@dataclass(frozen=True)
class Constants:
    """The constants of the theorem, and the step sizes, batch size and iterations that follow from them.

    Attributes
    ----------
    p_y_min, p_s_min : float
        The least probability of a class, and of a group.
    radius : float
        D, of the ball that holds all W.
    beta, mu, kappa : float
        Smoothness, strong concavity in W, and their ratio.
    sigma2 : float
        Bound on the variance of one row's gradient.
    eta_theta, eta_w : float
        The step sizes.
    batch_size, iterations : int
        With which E‖∇Φ‖ ≤ ε is sure.
    floor : float
        The E‖∇Φ‖ that is sure after many steps with the batch size asked about, whatever ε.
    """

    p_y_min: float
    p_s_min: float
    radius: float
    beta: float
    mu: float
    kappa: float
    sigma2: float
    eta_theta: float
    eta_w: float
    batch_size: int
    iterations: int
    floor: float


def linear_model(square: float, n_logits: int, curvature: float = 0.0) -> Model:
    """The constants of a softmax of a linear map of rows with ‖x‖² = `square`; `curvature` is that of the penalty.

    The Jacobian of softmax is a covariance of one-hot vectors, at most 1/2, and its derivative their third cumulant:
    at most that of a variable with two values √2 apart, (√2)³/(6√3). One logit alone has the sigmoid's 1/4 and 1/(6√3),
    times √2 for the two probabilities.
    """
    norm = math.sqrt(square)
    if n_logits == 1:
        return Model(norm, square / 4 + curvature, math.sqrt(2) / 4 * norm, math.sqrt(2 / 3) / 6 * square)
    return Model(math.sqrt(2) * norm, square / 2 + curvature, norm / 2, math.sqrt(2 / 3) / 3 * square)


def least_probability(norm: float, theta_radius: float, n_classes: int) -> float:
    """A lower bound of all softmax probabilities of a row, 1/(1 + (m−1)·e^spread), where ‖θ‖ ≤ `theta_radius`."""
    spread = theta_radius * norm * (1.0 if n_classes == 2 else math.sqrt(2))
    least = math.exp(-spread)
    return least / (least + n_classes - 1)


def published_radius(s: Setting) -> float:
    """The radius of W's ball as published, D = 2/(p_ŷ^min √p_S^min), for each W."""
    return math.sqrt(s.n_blocks) * 2 / (s.p_y_min * math.sqrt(s.p_s_min))


def corrected_radius(s: Setting) -> float:
    """The radius of W's ball as corrected: ‖W*‖² ≤ (1 + D_R)/p_ŷ^min ≤ min(k, m)/p_ŷ^min, for each W."""
    return math.sqrt(s.n_blocks * min(s.n_groups, s.n_classes) / s.p_y_min)


def published_beta(s: Setting, model: Model, D: float) -> float:
    """The smoothness as published, β = 2(β_ℓ + 2λDmb(D + 1/√p) + 2 + 8L(D + 1/√p)), p = p_S^min."""
    reach = D + 1 / math.sqrt(s.p_s_min)
    return 2 * (model.beta_loss + 2 * s.lam * D * s.n_classes * model.b * reach + 2 + 8 * model.L * reach)


def corrected_blocks(s: Setting, model: Model, D: float) -> tuple[float, float, float]:
    """Bounds on the norms of the θ block, the cross block and the W block of the Hessian of F, for t terms.

    β_ℓ + λb(D² + 2√t·D),  2λL(D + √t),  2λ. The model's constants may be means over the rows of the worst group.
    """
    root = math.sqrt(s.n_terms)
    in_theta = model.beta_loss + s.lam * model.b * D * (D + 2 * root)
    return in_theta, 2 * s.lam * model.L * (D + root), 2 * s.lam


def corrected_beta(s: Setting, model: Model, D: float) -> float:
    """The smoothness as corrected: the norm of [[a, c], [c, w]], where a, c and w bound the blocks of the Hessian."""
    a, c, w = corrected_blocks(s, model, D)
    return (a + w) / 2 + math.hypot((a - w) / 2, c)


def strong_concavity(s: Setting) -> float:
    """The strong concavity in W, μ = 2λ p_ŷ^min, as ∇²_WW = −2λ p(z)·P̂_ŷ|z. The paper has it right."""
    return 2 * s.lam * s.p_zy_min


def published_variance(s: Setting, model: Model, D: float) -> float:
    """The variance as published, σ² = 16λ²(D² + 1) + 4G² + 32λ²D²L²(1 + mk/p_S^min)."""
    spread = 1 + s.n_classes * s.n_groups / s.p_s_min
    return 16 * s.lam**2 * (D**2 + 1) + 4 * model.G**2 + 32 * s.lam**2 * D**2 * model.L**2 * spread


def corrected_variances(s: Setting, model: Model, D: float) -> tuple[float, float]:
    """The variances of one row's gradients in θ and in W as corrected.

    q(G + λL(D² + 2√t·D))² and 4qλ²(D + √k)², with k groups of all terms together and q the largest row weight.
    """
    slope = model.G + s.lam * model.L * D * (D + 2 * math.sqrt(s.n_terms))
    return s.sampling * slope**2, 4 * s.sampling * s.lam**2 * (D + math.sqrt(s.sum_groups)) ** 2


def published(s: Setting, model: Model, *, epsilon: float, batch: int) -> Constants:
    """The constants of the theorem as printed. Θ and 𝒪 hide constants, which are taken to be one here."""
    D = published_radius(s)
    beta, mu, sigma2 = published_beta(s, model, D), strong_concavity(s), published_variance(s, model, D)
    kappa = beta / mu
    work = kappa**2 * beta * s.gap + kappa * beta**2 * D**2
    return Constants(
        p_y_min=s.p_y_min,
        p_s_min=s.p_s_min,
        radius=D,
        beta=beta,
        mu=mu,
        kappa=kappa,
        sigma2=sigma2,
        eta_theta=1 / (kappa**2 * beta),
        eta_w=1 / beta,
        batch_size=math.ceil(max(1.0, kappa * sigma2 / epsilon**2)),
        iterations=math.ceil(work / epsilon**2),
        floor=math.sqrt(kappa * sigma2 / batch),
    )


def corrected(s: Setting, model: Model, *, epsilon: float, batch: int) -> Constants:
    """The constants of the theorem that hold, those of Θ and 𝒪 included.

    Under η_θ = 1/(16(κ+1)²β) and η_w = 1/β the mean of E‖∇Φ‖² over T steps with batches of M rows is at most
    (34(κ+1)²βΔ + 3κβ²D²)/T + 5κσ²/M; half of ε² goes to each.
    """
    D = corrected_radius(s)
    beta, mu, sigma2 = corrected_beta(s, model, D), strong_concavity(s), sum(corrected_variances(s, model, D))
    kappa = beta / mu
    work = 34 * (kappa + 1) ** 2 * beta * s.gap + 3 * kappa * beta**2 * D**2
    return Constants(
        p_y_min=s.p_y_min,
        p_s_min=s.p_s_min,
        radius=D,
        beta=beta,
        mu=mu,
        kappa=kappa,
        sigma2=sigma2,
        eta_theta=1 / (16 * (kappa + 1) ** 2 * beta),
        eta_w=1 / beta,
        batch_size=math.ceil(max(1.0, 10 * kappa * sigma2 / epsilon**2)),
        iterations=math.ceil(2 * work / epsilon**2),
        floor=math.sqrt(5 * kappa * sigma2 / batch),
    )
