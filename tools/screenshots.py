"""Pictures of the report for the eye: `python tools/screenshots.py --into FOLDER`, with playwright and chromium.

Verdicts met, missed and not to be told; 2, 8 and 120 groups; a curve and an audit; a phone, the dark, paper.
Made-up files go through the command itself, so that the pictures are of what users get. Pages on paper are kept as PDF,
and as pictures where `pypdfium2` is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

from fermi.cli import main as fermi

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]
TASK = ("--target", "outcome", "--sensitive", "branch", "--favourable", "approved")


def applicants(n: int, groups: int, lean: float, *, small: int = 0, seed: int = 0) -> pd.DataFrame:
    """Made-up applicants of branches whose scores differ by about `lean`; the last `small` branches are tiny."""
    rng = np.random.default_rng(seed)
    share = np.r_[rng.dirichlet(np.full(groups - small, 2.0)) + 0.2 / groups, np.full(small, 8.0 / n)]
    branch = rng.choice(groups, n, p=share / share.sum())
    shift = lean * np.linspace(-1.0, 1.0, groups)[rng.permutation(groups)]
    score, history = rng.normal(size=(2, n))
    score += shift[branch]
    good = score + 0.7 * history + rng.normal(size=n) > 0.3
    return pd.DataFrame(
        {
            "branch": [f"Branch {i + 1:03d}" for i in branch],
            "score": score.round(3),
            "history": history.round(3),
            "amount": rng.lognormal(9.0, 0.6, n).round(0),
            "decided": np.where(score + 0.4 * shift[branch] > 0.2, "approved", "denied"),
            "outcome": np.where(good, "approved", "denied"),
        }
    )


def pages(folder: Path) -> dict[str, Path]:
    """The pages, by what they show."""

    def made(name: str, frame: pd.DataFrame, command: str, *options: str) -> Path:
        file, output = folder / f"{name}.csv", folder / name
        frame.to_csv(file, index=False)
        more: tuple[str, ...] = ("--ignore", "decided", "--drop-sensitive")
        if command == "audit":
            output, more = folder / f"{name}.html", ("--prediction", "decided")
        with contextlib.redirect_stdout(io.StringIO()):
            code = fermi([command, str(file), *TASK, *more, *options, "--output", str(output)])
        if code:
            raise SystemExit(f"fermi {command} ended with {code} on {name}")
        return output if command == "audit" else output / "report.html"

    eight = applicants(16_000, 8, 0.6, small=2)
    # Labels are chosen up to the bound: what is met with room to spare is met by rows of a later, kinder year.
    applicants(12_000, 2, 0.15, seed=1).to_csv(folder / "later.csv", index=False)
    later = ("--test", str(folder / "later.csv"))
    by_odds = ("--notion", "equalized_odds")
    return {
        "met, 2 groups": made("two", applicants(40_000, 2, 0.5), "train", "--max-violation", "0.1", *later),
        "missed, audit of 8 groups": made("eight", eight, "audit", "--max-violation", "0.1"),
        "undecided, 8 groups": made("odds", eight, "train", "--max-violation", "0.05", *by_odds),
        "120 groups": made("many", applicants(30_000, 120, 0.8, small=6), "train", "--max-violation", "0.1"),
        "curve, 8 groups": made("curve", eight, "tradeoff", "--max-violation", "0.1"),
        "nothing asked": made("plain", applicants(4_000, 2, 0.5), "train", "--lam", "1"),
    }


def opened(page: Any, file: Path, **media: Any) -> Any:
    """A page with all its charts drawn."""
    page.emulate_media(media=media.get("media", "screen"), color_scheme=media.get("scheme", "light"))
    page.goto(file.as_uri())
    page.wait_for_function(
        "[...document.querySelectorAll('.chart')].every(c => !c.offsetParent || c.querySelector('svg'))"
    )
    return page


def unfold(page: Any) -> None:
    """Open everything that is folded, and wait for its charts."""
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    page.wait_for_timeout(700)


def on_paper(page: Any, name: str, into: Path) -> None:
    """Keep a page as PDF, and the PDF as pictures."""
    file = into / f"{name}, paper.pdf"
    page.pdf(path=file, format="A4")
    try:
        import pypdfium2
    except ImportError:
        print(f"{file} is kept as PDF alone: pypdfium2 is not installed")
        return
    for i, sheet in enumerate(pypdfium2.PdfDocument(file)):
        sheet.render(scale=1.3).to_pil().save(into / f"{name}, paper {i + 1}.png")


def shoot(found: dict[str, Path], into: Path) -> None:
    """Take the pictures."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        wide = browser.new_page(viewport={"width": 1200, "height": 900})
        phone = browser.new_page(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
        for page in (wide, phone):
            page.set_default_timeout(180_000)  # a busy machine draws charts slowly
        for name, file in found.items():
            opened(wide, file).screenshot(path=into / f"{name}.png", full_page=True)
            opened(phone, file).screenshot(path=into / f"{name}, phone.png", full_page=True)
        for name in ("met, 2 groups", "curve, 8 groups"):
            opened(wide, found[name], scheme="dark").screenshot(path=into / f"{name}, dark.png", full_page=True)
            on_paper(opened(wide, found[name], media="print"), name, into)
        for name in ("undecided, 8 groups", "120 groups"):
            unfold(opened(wide, found[name]))
            wide.screenshot(path=into / f"{name}, unfolded.png", full_page=True)
        unfold(opened(phone, found["undecided, 8 groups"]))
        phone.screenshot(path=into / "undecided, 8 groups, phone, unfolded.png", full_page=True)
        browser.close()


def main() -> None:
    """Make the pages, and keep their pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--into", required=True, type=Path, help="the folder for the pictures")
    into = parser.parse_args().into
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        shoot(pages(Path(folder)), into)
    print(f"{len(list(into.glob('*.png')))} pictures in {into}")


if __name__ == "__main__":
    main()
