"""Audits of predictions by group: rates, measures and calibration, with intervals."""

from fermi.auditing._audit import audit as audit
from fermi.auditing._by_column import audited_groups as audited_groups
from fermi.auditing._by_column import audits_by_column as audits_by_column
from fermi.auditing._comparison import Comparison as Comparison
from fermi.auditing._comparison import compare as compare
from fermi.auditing._following import follow as follow
from fermi.auditing._judged import judged as judged
from fermi.auditing._rates import SMALL as SMALL
from fermi.auditing._records import DifferenceRecord as DifferenceRecord
from fermi.auditing._records import PeriodRecord as PeriodRecord
from fermi.auditing._result import Audit as Audit
from fermi.auditing._running import RunningAudit as RunningAudit
from fermi.auditing._use import usefulness as usefulness
