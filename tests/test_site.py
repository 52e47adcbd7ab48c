"""The documentation site: complete, without warnings, and self-contained."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import understudy
from kit.scripts import ROOT, load_script

build_site = load_script("build_site")
sys.path.insert(0, str(ROOT / "docs" / "_site"))
import flowchart  # noqa: E402

CHARTS = [
    pytest.param(chart, id=f"{page.stem}")
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for chart in re.findall(r"```mermaid\n(.*?)```", page.read_text(), re.DOTALL)
]


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site") / "source"
    build_site.stage_pages(target)
    return target


def test_every_page_is_in_the_navigation_once(staged: Path) -> None:
    pages = [
        str(page.relative_to(staged).with_suffix(""))
        for page in [*staged.rglob("*.md"), *staged.rglob("*.ipynb")]
    ]
    listed = [
        name
        for block in re.findall(
            r"```\{toctree\}.*?\n\n(.*?)\n```",
            "".join(page.read_text() for page in staged.rglob("index.md")),
            re.DOTALL,
        )
        for name in block.split()
    ]
    beside = {f"gallery/{page.stem}": page.stem for page in staged.rglob("*.ipynb")}
    expected = [beside.get(name, name) for name in pages if name != "index"]
    assert sorted(listed) == sorted(expected)


def test_every_public_name_is_in_the_reference(staged: Path) -> None:
    page = (staged / "api.md").read_text()
    named = set(re.findall(r":: understudy\.(\w+)", page))
    assert named == set(understudy.__all__) - {"UnderstudyError"}


def test_links_out_of_the_folder_are_turned() -> None:
    text = "[a](../CHANGELOG.md) [b](../../SECURITY.md#how-to-report) [c](plan.md)"
    turned = build_site.turn_links(text, Path("synthesizers/aim.md"))
    assert turned == (
        "[a](../changelog.md) [b](../security.md#how-to-report) [c](plan.md)"
    )


@pytest.mark.parametrize("chart", CHARTS)
def test_the_charts_of_the_pages_are_drawn(chart: str) -> None:
    parsed = flowchart.parse_chart(chart)
    drawing = flowchart.draw_chart(parsed)
    assert drawing.count("<rect") == len(parsed.labels)
    assert drawing.count("marker-end") == len(parsed.edges)
    for label in parsed.labels.values():
        assert all(line.split()[0] in drawing for line in label)


def test_boxes_do_not_overlap() -> None:
    for parameter in CHARTS:
        (chart,) = parameter.values
        boxes = list(flowchart.place_boxes(flowchart.parse_chart(chart)).values())
        for number, first in enumerate(boxes):
            for second in boxes[number + 1 :]:
                beside = (
                    first.x + first.width <= second.x
                    or second.x + second.width <= first.x
                )
                above = (
                    first.y + first.height <= second.y
                    or second.y + second.height <= first.y
                )
                assert beside or above


@pytest.mark.parametrize(
    "text",
    ["sequenceDiagram\n a->>b: x", "graph LR\n a -.-> b", "graph LR\n a{x} --> b"],
)
def test_a_chart_that_cannot_be_drawn_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        flowchart.parse_chart(text)


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_loads_nothing_from_elsewhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = build_site.build_site(tmp_path / "site")
    assert code == 0, capfd.readouterr().err
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 40
    loading = re.compile(
        r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"(?:https?:)?//"
    )
    for page in pages:
        assert not loading.search(page.read_text()), page.name
    for sheet in (tmp_path / "site").rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", sheet.read_text())
    assert "marginal" in (tmp_path / "site" / "searchindex.js").read_text()


@pytest.mark.slow
def test_a_broken_link_fails_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stage = build_site.stage_pages

    def stage_broken(target: Path) -> None:
        stage(target)
        with (target / "plan.md").open("a") as page:
            page.write("\n[nowhere](no-such-page.md)\n")

    monkeypatch.setattr(build_site, "stage_pages", stage_broken)
    assert build_site.build_site(tmp_path / "site") != 0
    assert "no-such-page" in capfd.readouterr().err
