"""A run with more skips than expected fails, with workers and without; an example without its extra skips."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import skips

pytest_plugins = ["pytester"]

WORKERS = [pytest.param([], id="one process"), pytest.param(["-p", "xdist", "-n", "2"], id="workers")]


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A suite of its own with one test that skips, one module that does, and one test expected to fail."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take seconds to load
    pytester.makeconftest(Path(skips.__file__).read_text(encoding="utf-8"))
    pytester.makepyfile(
        test_some="""
            import pytest

            def test_runs(): pass

            def test_waits(): pytest.skip("no data here")

            @pytest.mark.xfail
            def test_is_known_to_fail(): assert False
        """,
        test_module="""
            import pytest

            pytest.importorskip("no_such_package", reason="needs an extra")

            def test_never_runs(): pass
        """,
    )
    return pytester


@pytest.mark.parametrize("workers", WORKERS)
def test_as_many_skips_as_expected(suite: pytest.Pytester, workers: list[str]) -> None:
    done = suite.runpytest("--most-skips", "2", *workers)
    assert done.ret == pytest.ExitCode.OK
    done.stdout.no_fnmatch_line("*more skips than expected*")


@pytest.mark.parametrize("workers", WORKERS)
def test_one_skip_too_many_fails_and_is_named(suite: pytest.Pytester, workers: list[str]) -> None:
    done = suite.runpytest("--most-skips", "1", *workers)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.assert_outcomes(passed=1, skipped=2, xfailed=1)
    done.stdout.fnmatch_lines(
        [
            "*more skips than expected*",
            "2 skipped, at most 1 expected:",
            "test_module.py: *needs an extra*",
            "test_some.py::test_waits: *no data here*",
        ]
    )


def test_a_failure_stays_a_failure(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_broken="def test_fails(): assert False")
    done = suite.runpytest("--most-skips", "2")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.no_fnmatch_line("*more skips than expected*")


def test_without_the_option_nothing_is_counted(suite: pytest.Pytester) -> None:
    assert suite.runpytest().ret == pytest.ExitCode.OK


def test_an_example_skips_without_its_extra_and_fails_otherwise(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        lacking="""
            def needs_an_extra():
                '''
                >>> from fermi.errors import MissingExtraError
                >>> raise MissingExtraError("This needs `no_such_package`.")
                '''

            def fails():
                '''
                >>> 1 / 0
                '''
        """
    )
    done = suite.runpytest("--doctest-modules", "-rs", "lacking.py")
    done.assert_outcomes(skipped=1, failed=1)
    done.stdout.fnmatch_lines(["SKIPPED*This needs `no_such_package`."])
