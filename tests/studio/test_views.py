"""Figures of the studio with names and labels that want to be markup: read back as a
browser reads them, they are text.
"""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import understudy as us
from kit.studio.jobs import job_of
from kit.studio.markup import HOSTILE
from understudy.releases import Release
from understudy.reports.evaluate import evaluate
from understudy.reports.report import trade_figure
from understudy.schema import Categorical, Schema
from understudy.studio.graph import draw_network, find_measured_pairs
from understudy.studio.marginal import draw_marginal
from understudy.studio.views import (
    column_charts,
    draw_heatmap,
    draw_trade_off,
    equivalent_command,
    list_compared_findings,
    preview_rows,
)


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame({name: rng.choice(HOSTILE, 300) for name in HOSTILE})


@pytest.fixture(scope="module")
def release(rows: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Release:
    schema = Schema(
        columns=tuple(
            Categorical(name=n, values=HOSTILE, nullable=False) for n in HOSTILE
        )
    )
    ledger = tmp_path_factory.mktemp("views") / "l"
    return us.synthesize(
        rows, schema, epsilon=5, synthesizer="mst", ledger=ledger, seed=1
    )


class Reader(HTMLParser):
    """Tags and handlers as a browser would find them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text += data


ALLOWED = {"svg", "title", "rect", "line", "text", "circle", "g", "path"}


def read(figure: str) -> Reader:
    """Both ways a page takes a figure: as XML by the studio's script, and as part of a
    page by the template.
    """
    ElementTree.fromstring(figure)
    seen = Reader(figure)
    assert seen.tags <= ALLOWED, seen.tags - ALLOWED
    return seen


def test_every_figure_is_text_and_shapes(
    rows: pl.DataFrame, release: Release, tmp_path
) -> None:
    job = job_of(tmp_path)
    job.release = release
    figures = [c["figure"] for c in column_charts(job, release)]
    figures += [
        draw_heatmap(job),
        draw_network(list(release.schema), find_measured_pairs(release)),
    ]
    figures += [draw_marginal(release, [a]) for a in HOSTILE] + [
        draw_marginal(release, [a, HOSTILE[0]]) for a in HOSTILE[1:]
    ]
    job.report = evaluate(
        rows, release.sample(kind="polars", seed=2), release=release, risk=False
    )
    figures += [c["figure"] for c in column_charts(job, release)] + [draw_heatmap(job)]
    figures.append(trade_figure([(name, 0.1, 0.2) for name in HOSTILE]))
    said = "".join(read(figure).text for figure in figures)
    for name in HOSTILE[:7]:
        assert name in said, "shown as it is"
    assert draw_trade_off([job]) == "", "no risk, no point"
    assert [title for title, _ in list_compared_findings(job)][:1] == [
        "Columns, total variation"
    ]


def test_a_command_can_be_typed_whatever_the_table_is_called(tmp_path) -> None:
    import shlex

    job = job_of(tmp_path, control=tmp_path / "b c.csv")
    job.table = "a'; rm -rf ~ #.csv"
    first, second = (shlex.split(line) for line in equivalent_command(job).splitlines())
    assert first[2] == second[2] == job.table
    assert second[second.index("--holdout") + 1] == "b c.csv"


def test_the_first_rows_are_those_of_the_file(tmp_path) -> None:
    job = job_of(tmp_path, look=False)
    job.run()
    with (job.folder / "synthetic.csv").open() as file:
        lines = [line.rstrip("\n").split(",") for line in file]
    assert preview_rows(job) == lines[:11]
    (job.folder / "synthetic.csv").write_text('a\n"x, ""y""\nz' + "w" * 99 + '"\n')
    assert preview_rows(job) == [["a"], ['x, "y"\nz' + "w" * 31 + "…"]]
