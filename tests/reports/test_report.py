"""The report: one file, true, escaped, self-contained, and marked for what it is."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import Refused
from understudy.releases import Release
from understudy.reports.evaluate import evaluate, publishable_report
from understudy.reports.report import Report
from understudy.schema import Categorical, Integer, Schema

NAME = "</style><script>alert(1)</script>"
LABEL = "<img src=x onerror=alert(2)>"
SCHEMA = Schema(
    columns=(
        Categorical(name=NAME, values=(LABEL, "b"), nullable=False),
        Integer(
            name="age", min=0, max=99, bins=tuple(range(0, 101, 10)), nullable=False
        ),
        Categorical(name="town", values=("x", "y"), nullable=False),
    )
)


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            NAME: rng.choice([LABEL, "b"], 600),
            "age": rng.integers(0, 100, 600),
            "town": rng.choice(["x", "y"], 600),
        }
    )


@pytest.fixture(scope="module")
def release(rows: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Release:
    ledger = tmp_path_factory.mktemp("report") / "people.ledger"
    return us.synthesize(
        rows, SCHEMA, epsilon=1, synthesizer="mst", ledger=ledger, seed=1
    )


@pytest.fixture(scope="module")
def report(rows: pl.DataFrame, release: Release) -> Report:
    return evaluate(
        rows,
        release.sample(kind="polars", seed=2),
        release=release,
        others=[release.sample(kind="polars")],
    )


class Reader(HTMLParser):
    """What a browser would see: tags, and everything that would be fetched."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), f"a handler on {tag}"
            if name in {"src", "srcset", "data", "action", "xlink:href"} or (
                tag == "link" and name == "href"
            ):
                self.fetched.append(f"{tag} {name}={value}")
            if name == "id" and value:
                self.ids.append(value)
            if tag == "a" and name == "href" and value:
                self.links.append(value)


def test_the_page_loads_nothing_and_runs_one_script(report: Report) -> None:
    page = report.to_html()
    seen = Reader(page)
    assert seen.fetched == []
    assert seen.tags.count("script") == 1
    assert "img" not in seen.tags
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert len(page) < 5_000_000


def test_names_and_labels_are_text(report: Report) -> None:
    page = report.to_html()
    assert NAME not in page
    assert LABEL not in page
    assert "&lt;script&gt;alert(1)" in page


def test_its_policy_names_the_script_it_runs(report: Report) -> None:
    import base64
    from hashlib import sha256

    page = report.to_html()
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert script is not None
    digest = base64.b64encode(sha256(script[1].encode()).digest()).decode()
    assert f"sha256-{digest}" in page


def test_every_entry_of_the_contents_leads_somewhere(report: Report) -> None:
    seen = Reader(report.to_html())
    assert {link[1:] for link in seen.links if link.startswith("#")} <= set(seen.ids)
    assert len(seen.ids) == len(set(seen.ids))
    for section in (
        "guarantee",
        "account",
        "card",
        "columns",
        "pairs",
        "utility",
        "risk",
        "trade",
        "missing",
    ):
        assert section in seen.ids


def test_it_says_that_it_reads_real_rows(report: Report, release: Release) -> None:
    assert "Internal: reads real data." in report.to_html()
    assert "does not cover" in report.to_html()
    assert "Internal" not in publishable_report(release).to_html()


def test_the_publishable_part_needs_no_rows_and_tells_none(
    rows: pl.DataFrame, release: Release
) -> None:
    made = publishable_report(release)
    page = made.to_html()
    assert not made.internal
    assert "real" not in {
        k for c in made.to_dict()["columns"] for k, v in c.items() if v is not None
    }
    seen = Reader(page)
    assert {"guarantee", "account", "card", "columns"} <= set(seen.ids)
    assert not {"utility", "risk", "pairs", "trade"} & set(seen.ids)
    with pytest.raises(Refused, match="give one"):
        publishable_report(None)


def test_the_twin_holds_the_same_numbers(report: Report, tmp_path: Path) -> None:
    report.save(tmp_path / "r.html")
    twin = json.loads((tmp_path / "r.json").read_text())
    assert twin["marking"] == "internal: reads real data"
    assert twin["guarantee"]["sentence"] in (tmp_path / "r.html").read_text()
    assert [c["name"] for c in twin["columns"]] == [NAME, "age", "town"]
    assert len(twin["trade"]) == 2
    assert twin["registry"]["privacy_loss"] == {"epsilon": 1.0, "delta": 1e-9}
    assert twin["registry"]["dp_flavor"].startswith("Gaussian")
    assert sum(twin["columns"][1]["real"]) == pytest.approx(1)


def test_what_was_not_computed_is_listed(report: Report) -> None:
    assert report.not_computed, "attacks without a holdout are among them"
    assert "it needs a holdout" in report.to_html()


def test_a_hundred_columns_can_be_searched_and_stay_small(tmp_path: Path) -> None:
    schema = Schema(
        columns=tuple(
            Integer(name=f"c{i}", min=0, max=20, nullable=False) for i in range(100)
        )
    )
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({f"c{i}": rng.integers(0, 21, 200) for i in range(100)})
    release = us.synthesize(
        frame, schema, epsilon=1, synthesizer="independent", ledger=tmp_path / "l"
    )
    page = publishable_report(release).to_html()
    assert page.count('data-filters="column-list"') == 1
    assert page.count("<li data-name=") >= 100
    assert len(page) < 5_000_000


def test_a_notebook_gets_a_frame_of_its_own(report: Report) -> None:
    shown = report._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts"')
    assert shown.count('"') == 6


def test_the_summary_comes_first_with_real_beside_synthetic(
    report: Report, rows: pl.DataFrame
) -> None:
    html = report.to_html()
    assert html.index('id="summary"') < html.index('id="guarantee"')
    (age,) = report.summaries
    assert age.real.mean == pytest.approx(rows["age"].mean())
    assert f"{age.real.mean:.4g}</td>" in html
    twin = report.to_dict()["summary"]
    assert twin == [age.to_dict()]


def test_the_explanation_stands_in_the_page_and_the_twin(
    rows: pl.DataFrame, tmp_path: Path
) -> None:
    made = us.synthesize(rows, SCHEMA, epsilon=1, ledger=tmp_path / "l")
    page = Report.of_release(made)
    html = page.to_html()
    assert "Explanation: what was measured, and why" in html
    assert made.explanation.sentence() in html
    assert "<script>alert(1)" not in html
    assert not page.internal
    told = page.to_dict()["explanation"]
    assert isinstance(told, dict)
    assert len(told["decisions"]) == len(made.explanation)


def test_a_page_without_real_rows_begins_with_the_statistics_of_the_card(
    report: Report, release: Release
) -> None:
    public = Report.of_release(release).to_html()
    assert public.index('id="card-statistics"') < public.index('id="guarantee"')
    assert public.count('id="card-statistics"') == 1
    internal = report.to_html()
    assert internal.index('id="card-statistics"') > internal.index('id="card"')
