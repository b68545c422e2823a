"""How a fit goes, whatever it is that trains: the problem, its objective, the search for λ, checkpoints and warnings.

`estimator` is the one `fit`; `contract` says what a room that trains (linear, torch, boosting) must bring.
"""
