"""Take the pictures of the studio and the report that the docs show, from a real run on the demo's survey, in a real browser.

python scripts/screenshots.py docs/images
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from understudy.cli.demo import write_survey

PATIENCE = 300_000


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_survey(Path(folder) / "fair.csv")
        command = [sys.executable, "-c", "from understudy.cli import main; main()", "studio", folder, "--no-browser"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        said = ""
        while "token=" not in said:
            said += process.stdout.readline()
        url = re.search(r"http\S+token=\S+", said)
        assert url is not None
        try:
            take(url[0], target)
        finally:
            process.terminate()
            process.wait(20)


def take(url: str, target: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1180, "height": 860})
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(url)
        page.click("text=fair.csv")
        page.wait_for_url("**/t/fair.csv")
        page.screenshot(path=target / "studio-describe.png")
        page.click("text=Keep and plan")
        page.wait_for_url("**/plan")
        page.fill("#open-account input[name=epsilon]", "3")
        page.click("text=Set the cap")
        page.wait_for_selector("#account meter")
        page.fill("#rows", "6366")
        page.wait_for_selector("#marginals tbody tr")
        page.wait_for_function("document.getElementById('planning').textContent === ''")
        page.screenshot(path=target / "studio-plan.png")
        page.click("#run")
        page.wait_for_selector("#charts > li")
        page.screenshot(path=target / "studio-run.png")
        page.locator("h2", has_text="Mutual information").scroll_into_view_if_needed()
        page.evaluate("document.querySelector('#network').scrollIntoView({block: 'center'})")
        page.screenshot(path=target / "studio-inspect.png")
        report = page.locator("text=Report with the real rows").get_attribute("href")
        page.goto(url.split("/?")[0] + str(report))
        page.wait_for_selector("#columns")
        page.screenshot(path=target / "report.png")
        page.evaluate("document.querySelector('#columns').scrollIntoView()")
        page.screenshot(path=target / "report-columns.png")
        page.set_viewport_size({"width": 390, "height": 780})
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=target / "report-phone.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
