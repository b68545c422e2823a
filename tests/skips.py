"""What skips: examples whose extra is missing, and the option `--most-skips N`, with which more skips than N fail."""

from __future__ import annotations

import doctest
from collections.abc import Generator

import pytest

from fermi.errors import MissingExtraError


def pytest_addoption(parser: pytest.Parser) -> None:
    what = "fail if more tests, or modules of tests, skip than this"
    parser.addoption("--most-skips", type=int, default=None, metavar="N", help=what)


def pytest_configure(config: pytest.Config) -> None:
    most = config.getoption("--most-skips")
    # Workers of xdist run tests; the process that started them receives all reports, and counts.
    if most is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkipLimit(most), "most-skips")
    config.pluginmanager.register(ExamplesOfExtras(), "examples-of-extras")


class ExamplesOfExtras:
    """An example in a docstring has no place to say which extra it needs: without it, it skips as tests do."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        try:
            return (yield)
        except doctest.UnexpectedException as failure:
            if isinstance(failure.exc_info[1], MissingExtraError):
                pytest.skip(str(failure.exc_info[1]))
            raise


class SkipLimit:
    """Counts what skips in one run."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.skipped: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A test that is expected to fail is reported as skipped, too; it ran.
        if report.skipped and not hasattr(report, "wasxfail"):
            self._add(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._add(report)

    def _add(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        self.skipped[report.nodeid] = reason

    @property
    def exceeded(self) -> bool:
        return len(self.skipped) > self.most

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.exceeded and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.exceeded:
            return
        terminalreporter.section("more skips than expected", red=True)
        terminalreporter.line(f"{len(self.skipped)} skipped, at most {self.most} expected:")
        for place, reason in sorted(self.skipped.items()):
            terminalreporter.line(f"{place}: {reason}")
