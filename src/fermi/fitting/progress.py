"""A progress bar on a terminal, nothing elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Progress:
    """Shows where a fit stands: `record` takes the solver's records, `say` a line of text."""

    def __init__(self, wanted: bool) -> None:
        self._bar: Any = None
        if wanted:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            console = Console(stderr=True)
            if console.is_terminal or console.is_jupyter:
                columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
                self._bar = Bar(*columns, console=console, transient=True)
                self._task = self._bar.add_task("training", total=None)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str) -> None:
        """Replace the text of the bar."""
        if self._bar is not None:
            self._bar.update(self._task, description=text)

    def record(self, entry: dict[str, float]) -> None:
        """Show the objective after some steps."""
        self.say(f"step {int(entry['step']):,}: objective {entry['objective']:.5f}, ERMI {entry['ermi']:.2e}")
