"""One browser for all tests of the page, with a tab for each kind of screen and a file for each record."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from fermi.records import ReportRecord
from tests.report.browsing import FLAGS, PATIENCE, Opened, Opener, Tabs


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser is driven with playwright")
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no chromium on the PATH: apt-get install chromium")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=found, args=FLAGS, timeout=PATIENCE)
        yield running
        running.close()


@pytest.fixture(scope="session")
def tabs(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Tabs:
    return Tabs(browser, tmp_path_factory.mktemp("pages"))


@pytest.fixture
def open_page(tabs: Tabs) -> Iterator[Opener]:
    made: list[Opened] = []

    def open_record(
        record: ReportRecord,
        width: int = 1200,
        *,
        phone: bool = False,
        color_scheme: str = "light",
        folded: bool = False,
    ) -> Opened:
        page = tabs.tab(phone=phone)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=color_scheme)
        opened = Opened(page)
        made.append(opened)
        page.goto(tabs.file(record).as_uri())
        if not folded:
            page.evaluate("document.querySelectorAll('details.section').forEach(each => { each.open = true; })")
        page.wait_for_function(
            "[...document.querySelectorAll('.chart')].every(c => !c.offsetParent || c.querySelector('svg'))"
        )
        return opened

    yield open_record
    for opened in made:
        opened.leave()
