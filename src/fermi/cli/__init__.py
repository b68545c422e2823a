"""The command `fermi`: parse, call one function, print.

Exit codes: 0 success, 2 a user's mistake (one line on stderr), 3 a bound missed under --require, 1 anything else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from fermi.cli import _given as _given  # which adds its commands to the app
from fermi.cli import _pairs as _pairs
from fermi.cli._app import app
from fermi.cli._ending import RequestMissedError, ending_on_signals
from fermi.cli._flags import in_options
from fermi.errors import FermiError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    with ending_on_signals():
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = app(args=arguments, prog_name="fermi", standalone_mode=False)
        sys.stdout.flush()
    except RequestMissedError as missed:
        return _fail(str(missed), 3)
    except FermiError as error:
        return _fail(in_options(str(error)), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", 1)
    except BrokenPipeError:
        # The reader has left (`fermi demo | head`): say nothing, and keep Python from flushing into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # a full disk, say
        return _fail(str(error), 1)
    except Exception as error:
        if _broken_into(error):
            return _fail("interrupted", 1)
        # Usage errors are click's, which some versions of typer carry inside: known by what they can do.
        if not hasattr(error, "format_message"):
            raise
        return _fail(error.format_message() or "a command is missing", 2) if str(error) else 0
    if code == 130:  # typer's word for Ctrl-C
        return _fail("interrupted", 1)
    return int(code or 0)


def _broken_into(error: BaseException) -> bool:
    """Whether an error came up while an interruption was on its way out, as from a compiler that was left half done."""
    before = error.__context__
    return before is not None and (isinstance(before, KeyboardInterrupt) or _broken_into(before))


def _fail(message: str, code: int) -> int:
    from fermi.cli._console import printable

    print(f"fermi: {printable(' '.join(message.split()))}", file=sys.stderr)
    return code
