"""A page in a browser: what tests ask of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fermi.records import ReportRecord
from fermi.report import write

Page = Any  # playwright may be absent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]
PATIENCE = 60_000  # milliseconds: on a machine that is busy with other things a page may take long


class Opened:
    """A page in the browser, with all that it said and asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        self.ears: dict[str, Callable[[Any], None]] = {
            "console": lambda message: self.said.append(message.text),
            "pageerror": lambda error: self.said.append(str(error)),
            "dialog": self.refuse,
            "request": lambda request: self.asked.append(request.url),
        }
        for event, ear in self.ears.items():
            page.on(event, ear)

    def leave(self) -> None:
        """Empty the tab for the next page; what this one may still say is not the next one's."""
        self.page.goto("about:blank")
        for event, ear in self.ears.items():
            self.page.remove_listener(event, ear)

    def refuse(self, dialog: Any) -> None:
        self.said.append(dialog.message)
        dialog.dismiss()

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).inner_text())

    def chosen(self, model: int) -> None:
        """Wait until the page shows a model."""
        self.page.wait_for_function(f"document.getElementById('slider').value == '{model}'")

    def mark(self, name: str, chart: str = "tradeoff") -> tuple[float, float]:
        """Where a chart has drawn a model."""
        box = self.page.locator(f'#{chart} [role="graphics-symbol"][aria-label^="{name}"]').first.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


class Tabs:
    """A tab of the browser for each kind of screen, and a file for each record: a new window takes longest."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.browser, self.folder = browser, folder
        self.tabs: dict[bool, Page] = {}
        self.files: list[tuple[ReportRecord, Path]] = []

    def tab(self, *, phone: bool) -> Page:
        """As new: its mouse in the corner, its media those of a screen."""
        if phone not in self.tabs:
            self.tabs[phone] = self.browser.new_page(is_mobile=phone, has_touch=phone)
            self.tabs[phone].set_default_timeout(PATIENCE)
        self.tabs[phone].mouse.move(0, 0)
        self.tabs[phone].emulate_media(media="null", color_scheme="light")
        return self.tabs[phone]

    def file(self, record: ReportRecord) -> Path:
        for known, file in self.files:
            if known is record:
                return file
        self.files.append((record, write(record, self.folder / f"page{len(self.files)}.html")))
        return self.files[-1][1]


Opener = Callable[..., Opened]
