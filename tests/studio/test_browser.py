"""The studio as a person uses it, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from kit.studio.markup import HOSTILE
from kit.studio.server import Place, people
from understudy.accounting.budget import Budget
from understudy.accounting.ledger import Ledger
from understudy.releases import Release
from understudy.schema import Schema
from understudy.studio.redirect import RedirectPage

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
PATIENCE = 120_000
"""Milliseconds; a loaded machine is slow, and this is no benchmark."""


@pytest.fixture
def page(browser: Browser, place: Place) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": 1200, "height": 900}, accept_downloads=True
    )
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    context.add_cookies(
        [
            {
                "name": f"understudy_studio_{place.port}",
                "value": place.session,
                "url": place.url,
                "httpOnly": True,
                "sameSite": "Strict",
            }
        ]
    )
    opened = context.new_page()
    troubles: list[str] = []
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.on(
        "console",
        lambda m: (
            troubles.append(m.text)
            if m.type == "error" and "400" not in m.text
            else None
        ),
    )
    opened.goto(place.url)
    yield opened
    context.close()
    assert troubles == []


def plan_of(page: Page, place: Place, table: str, synthesizer: str) -> None:
    page.goto(f"{place.url}/t/{table}/plan")
    page.select_option("#synthesizer", synthesizer)
    # Tables here are small, and most have no schema.
    page.check("#anyway")


def compared(page: Page) -> None:
    """Wait for the comparison with the real rows, and show it."""
    page.locator("#fresh:visible, #findings").first.wait_for()
    if page.locator("#fresh").is_visible():
        page.click("#fresh")
    expect(page.locator("#findings")).to_be_visible()


def test_the_address_opens_the_studio_once(browser: Browser, place: Place) -> None:
    line = ""
    while "token=" not in line:
        line = place.said.readline()
    address = line.strip()
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    # Clicked in a page, as in a terminal that runs in a browser.
    page.set_content(f'<a href="{address}">the studio</a>')
    page.click("a")
    page.wait_for_url(f"{place.url}/")
    assert page.locator("h1").inner_text() == "Choose a table"
    assert page.evaluate("document.cookie") == ""
    kept = context.cookies()
    assert [(c["name"], c["httpOnly"], c["sameSite"]) for c in kept] == [
        (f"understudy_studio_{place.port}", True, "Strict")
    ]
    assert address.rpartition("=")[2] not in {c["value"] for c in kept}
    again = browser.new_context().new_page()
    again.goto(address)
    assert "was used already" in again.inner_text("body")
    # A page of another server on this machine gets neither the page nor a frame of it.
    page.route(
        "http://127.0.0.1:1/",
        lambda route: route.fulfill(
            content_type="text/html", body="<p>another server</p>"
        ),
    )
    page.goto("http://127.0.0.1:1/")
    taken = page.evaluate(
        """async (url) => {
            const frame = document.createElement("iframe");
            frame.src = url;
            document.body.append(frame);
            await new Promise((done) => { frame.onload = done; setTimeout(done, 3000); });
            let inside = "";
            try { inside = frame.contentDocument.body.innerText; } catch { inside = ""; }
            const fetched = await fetch(url, { credentials: "include" }).then((a) => a.text()).catch(() => "");
            return inside + fetched;
        }""",
        place.url,
    )
    assert "Choose" not in taken
    context.close()
    again.context.close()


def test_a_page_on_the_disk_leads_into_the_studio(
    browser: Browser, place: Place, tmp_path: Path
) -> None:
    line = ""
    while "token=" not in line:
        line = place.said.readline()
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    with RedirectPage(tmp_path) as redirect:
        page.goto(redirect.write(line.strip()))
        page.wait_for_url(f"{place.url}/")
    assert page.locator("h1").inner_text() == "Choose a table"
    assert [c["sameSite"] for c in context.cookies()] == ["Strict"]
    context.close()


def test_the_whole_path(page: Page, place: Place, tmp_path: Path) -> None:
    page.set_input_files("input[name=table]", people(tmp_path / "visits.csv"))
    page.click("text=Upload")
    page.wait_for_url("**/t/visits.csv")
    # Override what was inferred.
    row = page.locator("tr[data-name=town]")
    row.locator(".values").fill("x\ny\nz")
    row.locator(".role").select_option("quasi_identifier")
    page.locator("tr[data-name=age] .min").fill("0")
    page.locator("tr[data-name=age] .max").fill("99")
    page.fill("#impossible", "age < 21 and smoker = true")
    page.click("text=Keep and plan")
    page.wait_for_url("**/plan")
    # A cap, then a plan that follows the sliders.
    page.fill("#open-account input[name=epsilon]", "1.5")
    page.click("text=Set the cap")
    expect(page.locator("#account")).to_contain_text("of 1.5")
    expect(page.locator("#total")).to_contain_text("ε = 1 of the 1.5 that is left")
    page.select_option("#synthesizer", "mst")
    expect(page.locator("#marginals tbody tr").first).to_be_visible()
    expect(page.locator("#meaning")).to_contain_text("times in 100")
    page.fill("#analyst", "Ada")
    page.fill("#purpose", "a course")
    page.click("#run")
    page.wait_for_url("**/run/*")
    expect(page.locator("#charts > li")).to_have_count(4)
    expect(page.locator("#account")).to_contain_text("spent ε = 1 of 1.5")
    compared(page)
    expect(page.locator("#findings")).to_contain_text("Match risk on quasi-identifiers")
    expect(page.locator("#findings")).to_contain_text("it needs a holdout")
    # The membership attack stands beside the guarantee's bound on it.
    attack = page.locator("#findings tr", has_text="everything else known")
    value, _, _, bound = attack.locator("td").all_inner_texts()[1:]
    assert 0.45 < float(value) < float(bound) + 0.02 < 0.7
    expect(page.locator("#network circle")).to_have_count(4)
    page.select_option("#second", "town")
    page.click("text=Draw")
    expect(page.locator("#drawn rect").first).to_be_visible()
    expect(page.locator("#command")).to_contain_text("understudy synthesize visits.csv")
    expect(page.locator("#pays-again")).to_contain_text("spends ε = 1 again")
    # What the terminal would say: stages, what is public and what was learned.
    expect(page.locator("#stages")).to_contain_text("measuring")
    expect(page.locator("#notes")).to_contain_text("Public by your declaration")
    with page.expect_download() as got:
        page.click("text=Release file")
    saved = tmp_path / "got.understudy"
    got.value.save_as(saved)
    assert Release.load(saved).guarantee.epsilon == 1
    with page.expect_download() as got:
        page.click("text=Synthetic rows")
    got.value.save_as(tmp_path / "rows.csv")
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert lines[0] == "age,sex,town,smoker"
    shown = page.locator("#preview tr").all_inner_texts()
    assert [line.split("\t") for line in shown] == [
        line.split(",") for line in lines[:11]
    ]
    # One sheet to sign, with the digest of the very file that was downloaded.
    expect(page.locator("#command")).to_contain_text("--purpose 'a course'")
    expect(page.locator("#signoff input[name=analyst]")).to_have_value("Ada")
    page.fill("#signoff input[name=until]", "2099-12-31")
    with page.expect_popup() as opened:
        page.click("text=Sign-off page")
    sheet = opened.value
    digest = sha256((tmp_path / "rows.csv").read_bytes()).hexdigest()
    expect(sheet.locator("body")).to_contain_text(digest)
    expect(sheet.locator("body")).to_contain_text("a course")
    expect(sheet.locator("body")).to_contain_text("ε = 0.50, δ =")
    assert sheet.pdf(format="A4").count(b"/Type /Page\n") == 1
    sheet.close()
    with page.expect_download() as got:
        page.click("#signoff >> text=as JSON")
    got.value.save_as(tmp_path / "sheet.json")
    twin = json.loads((tmp_path / "sheet.json").read_text())
    assert twin["files"][1]["sha256"] == digest
    # The budget is exhausted: refused before it starts, and nothing spent.
    page.goto(f"{place.url}/t/visits.csv/plan")
    page.click("#run")
    expect(page.locator("#error")).to_contain_text("only 0.5 is left")
    # The plan that the page asks for by itself comes later, and leaves the refusal
    # where it is.
    expect(page.locator("#marginals tbody tr").first).to_be_visible()
    expect(page.locator("#error")).to_contain_text("only 0.5 is left")
    page.reload()
    expect(page.locator("#account")).to_contain_text("spent ε = 1 of 1.5")


def test_a_refusal_shows_the_account(page: Page, place: Place) -> None:
    told = people(place.folder / "told.csv")
    with Ledger.create(
        place.folder / "told.csv.ledger", dataset="told", cap=Budget.of("0.5")
    ) as book:
        book.reserve(Budget.of("0.2", "1e-10"), event="earlier")
    # What the owner said cannot be read: the table's own account stands on the page all
    # the same.
    (place.folder / "told.csv.yaml").write_text("columns: [")
    page.goto(f"{place.url}/t/told.csv/plan")
    expect(page.locator("h1")).to_have_text("This cannot be done")
    expect(page.locator("#account")).to_contain_text("told.csv spent ε = 0.2 of 0.5")
    # No table it could be about: every table's account.
    for path in ("/run/none", "/t/none.csv"):
        page.goto(f"{place.url}{path}")
        expect(page.locator("h1")).to_have_text("This cannot be done")
        row = page.locator("#tables tr", has_text="told.csv")
        expect(row).to_contain_text("ε = 0.2")
        expect(row).to_contain_text("0.5")
    # A ledger that cannot be read is said to be so, and keeps no page from showing.
    ledger = place.folder / "told.csv.ledger"
    kept = ledger.read_bytes()
    ledger.write_bytes(b"no ledger")
    page.goto(f"{place.url}/t/told.csv")
    expect(page.locator("#tables tr", has_text="told.csv")).to_contain_text(
        "its ledger cannot be read"
    )
    ledger.write_bytes(kept)
    told.unlink()
    ledger.unlink()  # left behind, it would look like that of a table that was renamed


def test_what_a_run_would_overdraw_is_refused_and_shown(
    page: Page, place: Place
) -> None:
    people(place.folder / "tight.csv")
    with Ledger.create(
        place.folder / "tight.csv.ledger", dataset="tight", cap=Budget.of(1, "1e-12")
    ):
        pass
    plan_of(page, place, "tight.csv", "independent")
    expect(page.locator("#account")).to_contain_text("spent ε = 0 of 1")
    page.click("#run")  # its δ would be more than there is
    expect(page.locator("#error")).to_contain_text(
        "would cost δ = 1e-09 and only 1e-12 is left"
    )
    expect(page.locator("#account")).to_contain_text("spent ε = 0 of 1")
    page.fill("#delta", "1e-12")
    page.uncheck("#look")
    page.click("#run")
    page.wait_for_url("**/run/*")
    expect(page.locator("#charts > li")).to_have_count(4)
    expect(page.locator("#account")).to_contain_text("spent ε = 1 of 1")


def test_a_run_goes_on_through_a_reload_and_its_report_opens(
    page: Page, place: Place
) -> None:
    plan_of(page, place, "people.csv", "independent")
    page.click("#run")
    page.wait_for_url("**/run/*")
    page.reload()
    expect(page.locator("#charts > li")).to_have_count(4)
    compared(page)
    href = page.locator("text=Report with the real rows").get_attribute("href")
    page.goto(f"{place.url}{href}")
    expect(page.locator("text=Internal: reads real data.")).to_be_visible()
    page.click("#card-table > summary")
    page.fill("input[data-filters=card-rows]", "age")
    expect(page.locator("#card-rows-count")).to_contain_text("shown")


def test_a_run_can_be_stopped_and_what_it_reserved_stays_spent(
    page: Page, place: Place
) -> None:
    rng = np.random.default_rng(0)
    wide = place.folder / "wide.csv"
    names = [f"c{i}" for i in range(50)]
    rows = rng.integers(0, 6, (1000, 50))
    wide.write_text(
        "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n"
    )
    plan_of(page, place, "wide.csv", "aim")
    page.click("#run")
    page.wait_for_url("**/run/*")
    expect(page.locator("#spent")).to_contain_text("% of the run's budget spent")
    page.click("#cancel")
    expect(page.locator("#message")).to_contain_text("Stopped.")
    expect(page.locator("#stage")).to_have_text("cancelled")
    expect(page.locator("#account")).to_contain_text("spent ε = 1")
    left = [p.name for p in (place.folder / "wide.csv.runs").rglob("*") if p.is_file()]
    assert left == [], "nothing is left half-written"
    # Fifty columns can be searched.
    page.goto(f"{place.url}/t/wide.csv")
    page.fill("#find", "c49")
    expect(page.locator("#columns tbody tr:visible")).to_have_count(1)


HANDLERS = "[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes]).filter((a) => a.name.startsWith('on')).length"


def harmless(page: Page) -> None:
    """Nothing of the table became markup: no handler, no picture, no script but the
    page's own.
    """
    assert page.evaluate("window.hacked") is None
    assert (
        page.locator("img, iframe, object, embed, foreignObject, parsererror").count()
        == 0
    )
    assert page.evaluate(HANDLERS) == 0
    assert (
        page.evaluate(
            "[...document.scripts].filter((s) => !s.src && s.type !== 'application/json').length"
        )
        <= 1
    )
    page.evaluate(
        "for (const e of document.querySelectorAll('svg *')) e.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))"
    )
    assert page.evaluate("window.hacked") is None


def test_names_and_labels_are_text_on_every_page(page: Page, place: Place) -> None:
    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    names, labels = HOSTILE[:4], HOSTILE[:6]
    lines = [",".join(cell(name) for name in names)]
    lines += [",".join(cell(labels[(i + j) % 6]) for j in range(4)) for i in range(150)]
    (place.folder / "hostile.csv").write_text("\n".join(lines) + "\n")
    page.goto(f"{place.url}/t/hostile.csv?fresh=1&public=1")
    expect(page.locator("#columns")).to_contain_text(names[0])
    harmless(page)
    page.click("text=Keep and plan")
    page.wait_for_url("**/plan")
    expect(page.locator("#marginals tbody")).to_contain_text("<img src=x")
    harmless(page)
    page.select_option("#synthesizer", "mst")
    page.click("#run")
    page.wait_for_url("**/run/*")
    expect(page.locator("#charts > li")).to_have_count(4)
    compared(page)
    page.select_option("#second", names[1])
    page.click("text=Draw")
    expect(page.locator("#drawn svg")).to_be_visible()
    harmless(page)
    run = page.url.rpartition("/")[2]
    page.goto(f"{place.url}/compare?runs={run}")
    expect(page.locator("#trade svg")).to_be_visible()
    harmless(page)
    for kind in ("report", "public"):
        page.goto(f"{place.url}/run/{run}/file/{kind}?show=1")
        expect(page.locator("#column-list svg")).to_have_count(4)
        assert names[2] in page.inner_text("#column-list")
        harmless(page)


def test_four_modes_side_by_side(page: Page, place: Place) -> None:
    (place.folder / "modes.csv").write_text((place.folder / "people.csv").read_text())
    page.goto(f"{place.url}/t/modes.csv?fresh=1&public=1")
    page.click("text=Keep and plan")
    page.wait_for_url("**/plan")
    page.select_option("#target", "smoker")
    page.fill("#epsilon", "0.7")
    # Three of the four read rows: the total is said, and agreed to.
    page.click("#modes")
    expect(page.locator("#agree")).to_contain_text("3 times ε = 0.7, ε = 2.1 in all.")
    page.click("#agree-no")
    expect(page.locator("#agree")).to_be_hidden()
    assert not (place.folder / "modes.csv.ledger").exists()
    page.click("#modes")
    page.click("#agree-yes")
    page.wait_for_url("**/compare?runs=*")
    sides = page.locator("#sides > section")
    for mode in ("random", "independent", "privbayes"):
        expect(
            page.locator("#sides h2", has_text=re.compile(f"^{mode}$"))
        ).to_be_visible()
    expect(page.locator("#sides .state", has_text=re.compile("^done"))).to_have_count(
        sides.count()
    )
    expect(page.locator("#sides svg").first).to_be_visible()
    expect(page.locator("#trade circle")).to_have_count(sides.count())
    # The default says why it measured what it did.
    page.locator("#sides section", has_text="adaptive").get_by_text("All of it").click()
    expect(page.locator("#explanation svg")).to_be_visible()


def test_a_label_with_commas_stays_one_label(page: Page, place: Place) -> None:
    """Adding a label leaves the others as they are, commas and all."""
    lines = [
        "job,age",
        *('"cook, chef",30' if i % 2 else "smith,40" for i in range(60)),
    ]
    (place.folder / "jobs.csv").write_text("\n".join(lines) + "\n")
    page.goto(f"{place.url}/t/jobs.csv?fresh=1&public=1")
    values = page.locator("tr[data-name=job] .values")
    expect(values).to_have_value("cook, chef\nsmith")
    values.fill("cook, chef\nsmith\nmiller, baker")
    page.click("text=Keep and plan")
    page.wait_for_url("**/plan")
    kept = Schema.load(place.folder / "jobs.csv.yaml")["job"]
    assert kept.values == ("cook, chef", "smith", "miller, baker")


def test_a_bound_that_is_no_number_is_refused_and_seen(
    page: Page, place: Place
) -> None:
    """It is not quietly learned from the rows, and the refusal is not under the header."""
    people(place.folder / "bounds.csv")
    page.set_viewport_size({"width": 1200, "height": 400})
    page.goto(f"{place.url}/t/bounds.csv?fresh=1")
    page.fill("tr[data-name=age] .min", "O")
    page.fill("tr[data-name=age] .max", "99")
    page.click("text=Keep and plan")
    expect(page.locator("#error")).to_contain_text("`min` must be a whole number")
    header = page.locator("header").bounding_box()
    error = page.locator("#error").bounding_box()
    assert header is not None
    assert error is not None
    assert error["y"] >= header["y"] + header["height"]
    assert error["y"] + error["height"] <= 400
    assert not (place.folder / "bounds.csv.yaml").exists()


def test_the_privacy_unit_is_said_on_the_page(page: Page, place: Place) -> None:
    lines = ["patient,ward", *(f"p{i // 3},{'ab'[i % 2]}" for i in range(120))]
    (place.folder / "wards.csv").write_text("\n".join(lines) + "\n")
    page.goto(f"{place.url}/t/wards.csv?fresh=1&public=1")
    page.select_option("#unit-id", "patient")
    page.fill("#unit-rows", "4")
    page.click("text=Keep and plan")
    page.wait_for_url("**/plan")
    expect(page.locator("#unit")).to_contain_text(
        "every patient, with at most 4 rows of each"
    )
    unit = Schema.load(place.folder / "wards.csv.yaml").unit
    assert (unit.id, unit.max_rows) == ("patient", 4)
    # And back to rows.
    page.goto(f"{place.url}/t/wards.csv")
    expect(page.locator("#unit-rows")).to_have_value("4")
    page.select_option("#unit-id", "")
    page.fill("#unit-rows", "1")
    page.click("text=Keep and plan")
    page.wait_for_url("**/plan")
    expect(page.locator("#unit")).to_contain_text("protects every row")


def test_epsilon_is_a_number_that_the_slider_writes(page: Page, place: Place) -> None:
    page.goto(f"{place.url}/t/people.csv/plan")
    page.locator("#epsilon-slider").fill("50")
    expect(page.locator("#epsilon")).to_have_value("3.2")
    expect(page.locator("#total")).to_contain_text("One run spends ε = 3.2")
    page.select_option("#synthesizer", "random")
    expect(page.locator("#total")).to_contain_text("spends nothing")
    page.fill("#epsilon", "0.123")
    expect(page.locator("#epsilon-slider")).to_have_value("-90")
    page.fill("#epsilon", "one")
    page.click("#run")
    expect(page.locator("#error")).to_contain_text("ε must be a number above 0")
    page.click("#modes")
    expect(page.locator("#error")).to_contain_text("ε must be a number above 0")
    expect(page.locator("#agree")).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone_and_follow_the_light(
    page: Page, place: Place, scheme: str
) -> None:
    """No page is wider than a phone, and words stand out from their paper by at least
    4.5 to 1 in both colour schemes.
    """
    people(place.folder / "phone.csv")
    page.emulate_media(color_scheme=scheme)
    plan_of(page, place, "phone.csv", "independent")
    page.uncheck("#look")
    page.click("#run")
    page.wait_for_url("**/run/*")
    expect(page.locator("#preview")).to_be_visible()
    run = page.url
    page.set_viewport_size({"width": 375, "height": 700})
    pages = (
        f"{place.url}/",
        f"{place.url}/t/phone.csv",
        f"{place.url}/t/phone.csv/plan",
    )
    for address in (*pages, run, f"{place.url}/t/none.csv"):
        page.goto(address)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 375, address
        for selector in ("body", ".soft", "a", "button, .button", ".error, .banner"):
            for contrast in page.evaluate(CONTRASTS, selector):
                assert contrast >= 4.5, (address, selector)


CONTRASTS = """(selector) => {
    const luminance = (colour) => {
        const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => {
            const share = part / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = (element) => {
        for (let each = element; each; each = each.parentElement) {
            const colour = getComputedStyle(each).backgroundColor;
            if (!colour.endsWith(", 0)")) return colour;
        }
        return "rgb(255, 255, 255)";
    };
    const shown = [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility());
    return shown.map((each) => {
        const [low, high] = [luminance(getComputedStyle(each).color), luminance(paper(each))].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    });
}"""
"""Contrast of the words of every element that is shown, by the web's accessibility
guidelines.
"""


def test_rules_that_rows_suggest_are_declared_where_they_are_ticked(
    page: Page, place: Place
) -> None:
    rows = [f"{i % 50},{i % 50 + i % 7},{i % 50}" for i in range(300)]
    path = place.folder / "stays.csv"
    path.write_text("\n".join(["came,left,arrived", *rows]) + "\n")
    page.goto(f"{place.url}/t/stays.csv")
    offered = page.locator("#suggested .rule")
    expect(offered).to_have_count(2)
    page.get_by_label("came <= left").check()
    page.click("text=Keep and plan")
    page.wait_for_url("**/plan")
    kept = Schema.load(place.folder / "stays.csv.yaml").rules
    assert [str(rule) for rule in kept] == ["came <= left"]
    # The owner has decided: nothing is suggested again.
    page.goto(f"{place.url}/t/stays.csv")
    expect(offered).to_have_count(0)
