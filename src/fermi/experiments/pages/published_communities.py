"""The authors' own points of figure 5, upper row, as read out of their figure files.

Test error of labels within a bound on the soft violation of demographic parity, by the number of sensitive attributes.
Points of `mary` and of equal opportunity are not among them.
"""

from __future__ import annotations

ATTRIBUTES = (1, 2, 4, 6, 9, 12, 18)  # of their 18 points
ERRORS = {
    0.02: {
        "fermi": (0.3500, 0.3550, 0.3644, 0.3699, 0.3732, 0.3767, 0.3820),
        "baharlouei": (0.3500, 0.3560, 0.3672, 0.3737, 0.3772, 0.3797, 0.3860),
        "cho_kde": (0.3680, 0.3695, 0.3725, 0.3746, 0.3765, 0.3786, 0.3830),
    },
    0.03: {
        "fermi": (0.3340, 0.3355, 0.3384, 0.3409, 0.3439, 0.3458, 0.3600),
        "baharlouei": (0.3340, 0.3353, 0.3379, 0.3414, 0.3476, 0.3522, 0.3640),
        "cho_kde": (0.3380, 0.3387, 0.3402, 0.3417, 0.3439, 0.3460, 0.3630),
    },
    0.04: {
        "fermi": (0.3330, 0.3335, 0.3345, 0.3351, 0.3358, 0.3373, 0.3500),
        "baharlouei": (0.3330, 0.3338, 0.3353, 0.3368, 0.3391, 0.3408, 0.3550),
        "cho_kde": (0.3333, 0.3342, 0.3360, 0.3377, 0.3398, 0.3411, 0.3540),
    },
    0.05: {
        "fermi": (0.3300, 0.3310, 0.3329, 0.3345, 0.3363, 0.3377, 0.3450),
        "baharlouei": (0.3300, 0.3312, 0.3337, 0.3357, 0.3382, 0.3412, 0.3480),
        "cho_kde": (0.3340, 0.3343, 0.3350, 0.3361, 0.3382, 0.3407, 0.3469),
    },
}
