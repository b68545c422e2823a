"""`FermiClassifier`: multinomial logistic models, from rows in memory or in chunks.

Begin with `solvers/reference.py`, Algorithm 1 to read; `trainer` calls the solvers, `design` is the feature matrix.
"""
