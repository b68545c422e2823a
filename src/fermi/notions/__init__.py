"""What must be independent of the group: the paper's (Z, 𝒵)-fairness (its appendix B).

A notion turns labels into conditions, and says of itself what it is called and which rates of the groups show it.
Nothing else in the package knows what equalized odds is.
"""

from fermi.notions._column import ConditionalParity as ConditionalParity
from fermi.notions._named import NAMES as NAMES
from fermi.notions._named import OF_LABELS as OF_LABELS
from fermi.notions._named import DemographicParity as DemographicParity
from fermi.notions._named import EqualizedOdds as EqualizedOdds
from fermi.notions._named import EqualOpportunity as EqualOpportunity
from fermi.notions._named import as_notion as as_notion
from fermi.notions._notion import Notion as Notion
from fermi.notions._titles import notion_of as notion_of
from fermi.notions._weights import ConditionWeights as ConditionWeights
