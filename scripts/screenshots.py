"""Take the pictures of the studio and the report that the docs show, from real runs in
a real browser.

    python scripts/screenshots.py docs/images [--data DIR]

The demo's survey is always there. With `--data`, the census extract of docs/acs.md
(acs-ma2019.csv and acs-data-dictionary.json in DIR) is taken through the studio too, a
fifth of its rows kept apart as a control for the attacks.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from understudy.cli.commands.demo import write_survey

PATIENCE = 1_800_000
"""Milliseconds; a busy machine takes its time."""

UNDERSTUDY = [sys.executable, "-c", "from understudy.cli import main; main()"]
WIDE, PHONE = {"width": 1180, "height": 860}, {"width": 390, "height": 780}


def main() -> None:
    """Both tables, one after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", type=Path)
    parser.add_argument(
        "--data", type=Path, help="where acs-ma2019.csv and its dictionary are"
    )
    parser.add_argument(
        "--only", choices=["demo", "acs"], help="one of the two tables alone"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.only != "acs":
            write_survey(Path(folder) / "fair.csv")
            with studio(Path(folder)) as (page, url):
                survey(page, url, given.target)
    if given.data is not None and given.only != "demo":
        with tempfile.TemporaryDirectory() as folder:
            extract(given.data, Path(folder))
            with studio(Path(folder)) as (page, url):
                census(page, url, given.target)


@contextmanager
def studio(folder: Path) -> Iterator[tuple[Page, str]]:
    """The studio as a person starts it, open in a browser."""
    process = subprocess.Popen(
        [*UNDERSTUDY, "studio", str(folder), "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = ""
    while "token=" not in said:
        said += process.stdout.readline()
    address = re.search(r"http\S+token=\S+", said)
    assert address is not None
    chromium = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(
                executable_path=chromium, args=["--no-sandbox"]
            )
            context = browser.new_context(viewport=WIDE)
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.goto(address[0])
            page.wait_for_selector("text=Choose a table")
            yield page, address[0].split("/?")[0]
            browser.close()
    finally:
        process.terminate()
        process.wait(20)


def extract(data: Path, folder: Path) -> None:
    """The census extract with its schema, and a fifth of its rows apart."""
    header, *rows = (data / "acs-ma2019.csv").read_text(encoding="utf-8").splitlines()
    apart = rows[::5]
    kept = [row for place, row in enumerate(rows) if place % 5]
    for name, part in (("acs.csv", kept), ("acs-apart.csv", apart)):
        (folder / name).write_text("\n".join([header, *part]) + "\n", encoding="utf-8")
    dictionary = data / "acs-data-dictionary.json"
    words = [
        "schema",
        "convert",
        str(dictionary),
        "--from",
        "nist",
        "-o",
        str(folder / "acs.csv.yaml"),
    ]
    subprocess.run(
        [*UNDERSTUDY, *words],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def survey(page: Page, url: str, target: Path) -> None:
    """The demo's survey, the whole way."""
    page.click("text=fair.csv")
    page.wait_for_url("**/t/fair.csv")
    page.screenshot(path=target / "studio-describe.png")
    page.click("text=Keep and plan")
    page.wait_for_url("**/plan")
    page.fill("#open-account input[name=epsilon]", "5")
    page.click("text=Set the cap")
    page.wait_for_selector("#account meter")
    planned(page, "6366")
    page.screenshot(path=target / "studio-plan.png")
    page.click("#run")
    ran(page)
    page.screenshot(path=target / "studio-run.png")
    at(page, "#kept", target / "studio-findings.png")
    at(page, "#network", target / "studio-inspect.png", block="center")
    open_report(page, url)
    page.screenshot(path=target / "report.png")
    for part in ("columns", "utility"):
        at(page, f"#{part}", target / f"report-{part}.png")
    page.set_viewport_size(PHONE)
    at(page, "#columns", target / "report-phone.png")
    page.set_viewport_size(WIDE)
    # The survey's codes are in its questionnaire; where everything is declared, the
    # mode that reads nothing runs too.
    page.goto(f"{url}/t/fair.csv?fresh=1&public=1")
    page.click("text=Keep and plan")
    page.wait_for_url("**/plan")
    planned(page, "6366")
    page.click("#modes")
    page.click("#agree-yes")
    page.wait_for_url("**/compare*")
    page.locator("#trade circle").nth(3).wait_for()
    page.screenshot(path=target / "studio-modes.png")


def census(page: Page, url: str, target: Path) -> None:
    """The census extract, with a control."""
    page.goto(f"{url}/t/acs.csv/plan")
    page.select_option("#control", "acs-apart.csv")
    planned(page, "6107")
    page.screenshot(path=target / "acs-studio-plan.png")
    page.click("#run")
    ran(page)
    at(page, "#kept", target / "acs-studio-findings.png")
    open_report(page, url)
    for part in ("columns", "pairs", "risk"):
        at(page, f"#{part}", target / f"acs-report-{part}.png")


def planned(page: Page, rows: str) -> None:
    """Wait for the plan of so many rows."""
    page.fill("#rows", rows)
    page.wait_for_selector("#marginals tbody tr")
    page.locator("#planning:empty").wait_for(state="attached")


def ran(page: Page) -> None:
    """Wait for a run and its comparison."""
    page.wait_for_url("**/run/*")
    page.locator("#fresh:visible, #findings").first.wait_for()
    if page.locator("#fresh").is_visible():
        page.click("#fresh")
    page.wait_for_selector("#findings")


def open_report(page: Page, url: str) -> None:
    """The report of the run that is shown."""
    href = page.locator("text=Report with the real rows").get_attribute("href")
    page.goto(f"{url}{href}")
    page.wait_for_selector("#columns")


def at(page: Page, selector: str, path: Path, block: str = "start") -> None:
    """A picture of the page where something stands."""
    page.evaluate(
        "([s, block]) => document.querySelector(s).scrollIntoView({block, behavior: 'instant'})",
        [selector, block],
    )
    page.screenshot(path=path)


if __name__ == "__main__":
    main()
