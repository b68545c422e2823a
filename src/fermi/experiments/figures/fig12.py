"""Figure 12: COMPAS, German and Adult with pre- and post-processing rivals, equal opportunity."""

from __future__ import annotations

from fermi.experiments.figures._tradeoffs import three_datasets

FIGURE = three_datasets(12, "equal_opportunity")
