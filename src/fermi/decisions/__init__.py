"""From probabilities to labels: the most accurate labels whose rates are within limits, whatever model made them.

`program` is the convex stage, `newton` solves it, `requirements` turns what a user asks for into its constraints,
`stage` corrects it by the true groups of the rows in `judged` (`corrections`, `polish`), `rule` is what predicts,
`group_models` tells groups from features, and `figures` and `certificate` say what labels reach. Nothing here
knows an estimator.
"""
