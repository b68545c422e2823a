"""Figure 11: COMPAS, German and Adult with pre- and post-processing rivals, equalized odds."""

from __future__ import annotations

from fermi.experiments.figures._tradeoffs import three_datasets

FIGURE = three_datasets(11, "equalized_odds")
