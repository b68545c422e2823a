"""Figure 10: COMPAS, German and Adult with pre- and post-processing rivals, demographic parity."""

from __future__ import annotations

from fermi.experiments._tradeoffs import three_datasets

FIGURE = three_datasets(10, "demographic_parity")
