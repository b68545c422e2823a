"""Loops over rows, compiled by numba, and how they use threads. Loads numba; knows nothing of fairness.

A loop that belongs to one room alone stands there (`linear/solvers`, `boosting`) and uses the decorators of `jit`.
"""
