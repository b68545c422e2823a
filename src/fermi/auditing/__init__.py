"""Audits of predictions by group: rates, measures and calibration, with intervals."""

from fermi.auditing._audit import audit as audit
from fermi.auditing._audit import audited_groups as audited_groups
from fermi.auditing._audit import audits_by_column as audits_by_column
from fermi.auditing._result import Audit as Audit
from fermi.auditing._running import RunningAudit as RunningAudit
