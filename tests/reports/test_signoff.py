"""The sign-off: every value in the twin, one sheet of A4 on paper."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

from playwright.sync_api import Browser, Page

from kit.releases.builders import release as make_release
from kit.studio.markup import HOSTILE
from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.ledger import Ledger
from understudy.models import ProductModel
from understudy.releases import Guarantee, Release
from understudy.reports.signoff import SignOffAccount, sign_off
from understudy.schema import Categorical, Integer, Schema
from understudy.version import PACKAGE_VERSION

LONG_WORD = "Donaudampfschifffahrtsgesellschaft" * 12


def count_pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def wide_release() -> Release:
    """Three hundred columns whose names and labels are as long as they come."""
    labels = tuple(f"{LONG_WORD}{i}" for i in range(30))
    schema = Schema(
        columns=(
            *(Integer(name=f"{i}{LONG_WORD}", min=-1000, max=1000) for i in range(150)),
            *(Categorical(name=f"c{i}{LONG_WORD}", values=labels) for i in range(150)),
        )
    )  # fmt: skip
    promise = Guarantee(
        epsilon=Fraction(1, 3),
        delta=Fraction(1, 10**9),
        accounting=Accounting.GDP,
        amount=Fraction(1, 1000),
        unit=LONG_WORD,
        max_rows=12,
        invariants=(LONG_WORD, LONG_WORD),
        public=(LONG_WORD, LONG_WORD, LONG_WORD),
        learned=(LONG_WORD,),
    )
    model = ProductModel.uniform(schema, total=10.0)
    return Release(guarantee=promise, schema=schema, model=model)


def open_sheet(browser: Browser, html: str) -> Page:
    page = browser.new_context(offline=True).new_page()
    page.set_content(html)
    return page


def test_the_fullest_sheet_prints_on_one_page(browser: Browser, tmp_path: Path) -> None:
    files = []
    for i in range(30):
        path = tmp_path / f"{i}{LONG_WORD[:200]}.csv"
        path.write_text(str(i))
        files.append(path)
    sheet = sign_off(
        wide_release(),
        files,
        analyst=LONG_WORD,
        purpose=f"{LONG_WORD} " * 30,
        until="2099-12-31",
        approvers=[LONG_WORD] * 5,
    )
    page = open_sheet(browser, sheet.to_html())
    assert count_pages(page.pdf(format="A4", prefer_css_page_size=True)) == 1
    # A page of A4 between its margins: nothing lies beyond its edges.
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 1040})
    assert page.evaluate("document.documentElement.scrollWidth") <= 688
    assert page.evaluate("document.body.getBoundingClientRect().height") <= 1000
    twin = sheet.to_dict()
    assert len(twin["columns"]) == 300
    assert len(twin["files"]) == 30
    assert twin["columns"][-1]["values"] == [f"{LONG_WORD}{i}" for i in range(30)]
    page.context.close()


def test_the_check_of_pages_has_teeth(browser: Browser) -> None:
    """The same sheet without its limits needs more than one page."""
    html = sign_off(wide_release()).to_html()
    longer = html.replace("</main>", "<p>more</p>" * 120 + "</main>")
    page = open_sheet(browser, longer)
    assert count_pages(page.pdf(format="A4", prefer_css_page_size=True)) > 1
    page.context.close()


def test_names_and_labels_are_text(browser: Browser) -> None:
    schema = Schema(
        columns=tuple(Categorical(name=name, values=tuple(HOSTILE)) for name in HOSTILE)
    )
    model = ProductModel.uniform(schema, total=4.0)
    made = Release(guarantee=Guarantee.without_data(), schema=schema, model=model)
    html = sign_off(made, purpose=HOSTILE[0], analyst=HOSTILE[1]).to_html()
    page = open_sheet(browser, html)
    assert page.locator("img, iframe, object, embed, script").count() == 0
    assert page.evaluate("window.hacked") is None
    page.context.close()


def test_the_sheet_says_what_was_declared_and_what_was_learned() -> None:
    schema = Schema(
        columns=(
            Integer(name="age", min=18, max=90, learned=("bins",)),
            Integer(name="income", min=0, max=4095, learned=("bounds",)),
            Categorical(name="sex", values=("F", "M")),
        )
    )
    model = ProductModel.uniform(schema, total=4.0)
    made = Release(guarantee=Guarantee.without_data(), schema=schema, model=model)
    facts = sign_off(made).to_dict()
    assert facts["software"] == f"understudy-dp {PACKAGE_VERSION}"
    columns = facts["columns"]
    assert [(c["name"], c["source"], c["min"], c["max"]) for c in columns] == [
        ("age", "declared", "18", "90"),
        ("income", "learned", "0", "4095"),
        ("sex", "declared", None, None),
    ]
    html = sign_off(made).to_html()
    assert "<b>age</b> <span>18 to 90</span>" in html
    assert "<b>income</b> ◦ <span>0 to 4095</span>" in html
    assert "<b>sex</b> <span>F, M</span>" in html


def test_the_account_says_what_is_left(tmp_path: Path) -> None:
    cap = Budget.of(3, "1e-6")
    with Ledger.create(tmp_path / "l", dataset="people", cap=cap) as ledger:
        ledger.reserve(Budget.of("0.5", "1e-9"), event="synthesize", run_id="r1")
        account = SignOffAccount.of(ledger)
    assert account.lines() == [
        ("spent", "ε = 0.50, δ = 1e-9"),
        ("allowed", "ε = 3.00, δ = 1e-6"),
        ("left", "ε = 2.50, δ = 9.99e-7"),
    ]
    assert account.to_dict()["left"] == {"epsilon": "5/2", "delta": "999/1000000000"}


def test_analyst_and_purpose_come_from_the_run(tmp_path: Path) -> None:
    made = make_release()
    with Ledger.create(tmp_path / "l", dataset="people") as ledger:
        budget = Budget.of(made.statement.epsilon, made.statement.delta)
        run = made.statement.run
        ledger.reserve(budget, event="synthesize", analyst="Ada", run_id=run)
    assert sign_off(made, ledger=tmp_path / "l").analyst == "Ada"
    assert sign_off(made, ledger=tmp_path / "l", analyst="Bob").analyst == "Bob"
