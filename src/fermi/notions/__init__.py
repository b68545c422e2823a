"""What must be independent of the group: the paper's (Z, 𝒵)-fairness (its appendix B).

Nothing else in the package knows what equalized odds is.
"""

from fermi.notions._column import ConditionalParity as ConditionalParity
from fermi.notions._named import DemographicParity as DemographicParity
from fermi.notions._named import EqualizedOdds as EqualizedOdds
from fermi.notions._named import EqualOpportunity as EqualOpportunity
from fermi.notions._named import as_notion as as_notion
from fermi.notions._notion import Notion as Notion
