"""How the command ends on a signal: as on Ctrl-C, and where that cannot get through, all the same.

Python raises KeyboardInterrupt between two of its own instructions. Native code that does not come back, such as a
parser that runs in a circle, never gets there. A thread is told of signals by the interpreter's C code, waits a while
for the command to end, and ends the process if it has not.
"""

from __future__ import annotations

import _thread
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from fermi._files import discard_unfinished


class RequestMissedError(Exception):
    """A bound was missed, and --require was given: the command ends with code 3."""


_GRACE = 5.0  # seconds to clean up in, which Python's own way out does better
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def ending_on_signals() -> Iterator[None]:
    """End on these signals as on Ctrl-C, so that half-written files are removed; `nohup` is respected."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are for the main thread alone
        return
    numbers = {int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name)}  # Windows has not all
    for number in numbers:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    told, tells = socket.socketpair()
    tells.setblocking(False)
    over = threading.Event()
    before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    _forget_in_children()
    hook, sys.unraisablehook = sys.unraisablehook, _raise_again
    threading.Thread(target=_watch, args=(told, numbers, over), daemon=True).start()
    try:
        yield
    finally:
        over.set()
        sys.unraisablehook = hook
        signal.set_wakeup_fd(before)
        tells.close()  # which wakes the thread


def _raise_again(unraisable: Any) -> None:
    """Interrupt once more where an interruption came in a `__del__`, which Python reports and forgets."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        again = threading.Timer(0.05, _thread.interrupt_main, (signal.SIGTERM,))  # now, it would come up in here
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(unraisable)


def _watch(told: socket.socket, numbers: set[int], over: threading.Event) -> None:
    with told:
        while received := told.recv(1):
            if received[0] in numbers and not over.wait(_GRACE):
                discard_unfinished()
                with suppress(OSError, ValueError):
                    print("fermi: interrupted", file=sys.stderr, flush=True)
                os._exit(1)


_told: list[bool] = []


def _forget_in_children() -> None:
    """A process that is forked off has the same socket: what ends it must not end this one."""
    if not _told and hasattr(os, "register_at_fork"):
        _told.append(True)
        os.register_at_fork(after_in_child=_forget)


def _forget() -> None:
    with suppress(ValueError):  # not in the main thread
        signal.set_wakeup_fd(-1)
