"""The mathematics, written once. Letters are the paper's; rows are groups, columns are classes.

=====  ==========================================  ======================================
letter word                                        where
=====  ==========================================  ======================================
Ŷ, F   prediction, its probabilities (n × m)       section 2
S      group, one of k                             section 2
Z, 𝒵   condition, its values that count            appendix B, definition of (Z, 𝒵)-fairness
P      joint law of (S, Ŷ) given z (k × m)         transposed from the paper's P̂_{ŷ,s}
p_s    law of S given z, the row sums of P         P̂_s
p_y    law of Ŷ given z, the column sums of P      P̂_ŷ
D_R    exponential Rényi mutual information        equation (ERMI)
W      dual matrix (k × m), one per condition      proposition 1
ρ_R    Rényi (maximal) correlation                 appendix C, equation (RC)
I_α    Rényi mutual information of order α         appendix C, equation (RMI)
L_q    L_q fairness violation                      appendix C, equation (Lq)
=====  ==========================================  ======================================

The functions here take a law P: non-negative, summing to one. Groups and classes of weight zero contribute nothing.
"""
