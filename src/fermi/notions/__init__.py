"""What must be independent of the group: the paper's (Z, 𝒵)-fairness (its appendix B).

A notion turns the labels into condition codes, one per value of 𝒵 and -1 for rows outside it. Nothing else in the
package knows what equalized odds is.
"""

from __future__ import annotations

from fermi.notions.kinds import ConditionalParity, DemographicParity, EqualizedOdds, EqualOpportunity, as_notion
from fermi.notions.notion import Notion

__all__ = ["ConditionalParity", "DemographicParity", "EqualOpportunity", "EqualizedOdds", "Notion", "as_notion"]
