"""What the pages show of a run: its columns, its pairs, its numbers, and the command
that does the same.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import combinations, islice
from shlex import join as join_command

from understudy.findings import Finding
from understudy.releases import Release
from understudy.reports.chart import column_chart
from understudy.reports.column_shares import bin_widths
from understudy.reports.heatmap import pair_heatmap
from understudy.reports.report import trade_figure, trade_point
from understudy.studio.graph import mutual_information_bits
from understudy.studio.job import Job
from understudy.svg import shorten_text

MAX_STUDIO_HEATMAP_COLUMNS = 40
"""Columns whose pairs are drawn if the real rows were not read."""

MAX_PREVIEW_ROWS, MAX_PREVIEW_LETTERS = 10, 40
"""Synthetic rows that the page shows, and letters of a cell."""

COMPARED_FINDINGS = (
    "tvd_1",
    "tvd_2",
    "tvd_3",
    "match_risk",
    "attribute_inference",
    "membership_measurements",
)
"""The findings that stand side by side, by name."""


def equivalent_command(job: Job) -> str:
    """The command lines that do the same."""
    words = ["understudy", "synthesize", job.table, "--epsilon", job.epsilon]
    words += ["--synthesizer", job.synthesizer]
    if job.schema is not None:
        words += ["--schema", job.schema.name]
    if job.delta is not None:
        words += ["--delta", job.delta]
    for option, text in (("--analyst", job.analyst), ("--purpose", job.purpose)):
        if text:
            words += [option, text]
    if job.anyway:
        words.append("--anyway")
    words += ["--ledger", job.ledger.name, "-o", "synthetic.csv"]
    words += ["--release", "release.understudy"]
    lines = [join_command(words)]
    if job.look:
        lines.append(_evaluate_command(job))
    return "\n".join(lines)


def _evaluate_command(job: Job) -> str:
    """The command line that compares the synthetic table with the real one."""
    words = ["understudy", "evaluate", job.table, "synthetic.csv"]
    words += ["--release", "release.understudy", "--ledger", job.ledger.name]
    if not job.risk:
        words.append("--no-risk")
    if job.control is not None:
        words += ["--holdout", job.control.name]
    if job.target is not None:
        words += ["--target", job.target]
    return join_command([*words, "-o", "report.html"])


def preview_rows(job: Job) -> list[list[str]]:
    """The header and the first synthetic rows as the file has them; long cells cut."""
    # From the file, so that the page shows what is downloaded, escaped formulas too.
    with (job.folder / "synthetic.csv").open(newline="", encoding="utf-8") as file:
        lines = islice(csv.reader(file), 1 + MAX_PREVIEW_ROWS)
        return [
            [shorten_text(cell, MAX_PREVIEW_LETTERS) for cell in line] for line in lines
        ]


def column_charts(job: Job, release: Release) -> list[dict[str, str]]:
    """The chart of every column, over the real rows if they were read."""
    if job.report is not None:
        return [{"name": c.name, "figure": c.figure} for c in job.report.columns]
    charts = []
    for name in release.schema:
        shares = release.evidence.shares(name)
        labels = release.schema.codecs[name].labels()
        widths = bin_widths(release.schema.codecs[name])
        figure = column_chart(name, labels, shares, widths=widths)
        charts.append({"name": name, "figure": figure})
    return charts


def draw_heatmap(job: Job) -> str:
    """Mutual information, real above the diagonal and synthetic below; if the real rows
    were not read, synthetic alone.
    """
    if job.release is None:
        return ""
    names = list(job.release.schema)
    utility = None if job.report is None else job.report.utility
    if utility is not None and "mutual_information" in utility:
        synthetic, real = _pairs_by_side(utility["mutual_information"])
        return pair_heatmap(
            names,
            synthetic,
            real,
            title="mutual information: real above, synthetic below the diagonal",
            sides=("synthetic", "real"),
        )
    # Each pair is a marginal of the model, which takes a while for many columns.
    first = names[:MAX_STUDIO_HEATMAP_COLUMNS]
    evidence = job.release.evidence
    bits = {
        pair: mutual_information_bits(evidence.marginal(pair))
        for pair in combinations(first, 2)
    }
    return pair_heatmap(first, bits, title="mutual information of the synthetic rows")


def _pairs_by_side(
    finding: Finding,
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    """Mutual information of pairs in the synthetic rows, and in the real ones."""
    sides: dict[str, dict[tuple[str, str], float]] = {"synthetic": {}, "real": {}}
    for part in finding.parts:
        pair = part.columns[0], part.columns[1]
        for side, values in sides.items():
            value = part.facts.get(side)
            if isinstance(value, int | float):
                values[pair] = float(value)
    return sides["synthetic"], sides["real"]


def list_compared_findings(job: Job) -> list[tuple[str, str]]:
    """The findings that runs are compared by: a number, or why there is none."""
    lines = []
    for assessment in () if job.report is None else job.report.assessments:
        for finding in assessment:
            if finding.name in COMPARED_FINDINGS:
                value = finding.value
                text = finding.reason if value is None else f"{value:.3g}"
                lines.append((finding.title, text))
    return lines


def draw_trade_off(jobs: Sequence[Job]) -> str:
    """Risk against utility, one point for each run that has both."""
    points = []
    for job in jobs:
        if job.report is not None and job.report.utility is not None:
            utility, risk = job.report.utility, job.report.risk
            points.append(trade_point(job.synthesizer, utility, risk))
    return trade_figure([point for point in points if point is not None])
