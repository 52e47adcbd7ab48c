"""What the pages show of a run: its columns, its pairs, its numbers, and the command
that does the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from understudy.releases import Release
from understudy.reports.chart import column_chart
from understudy.reports.heatmap import pair_heatmap
from understudy.reports.report import trade_figure, trade_point
from understudy.studio.graph import mutual_information_bits
from understudy.studio.job import Job

MAX_STUDIO_HEATMAP_COLUMNS = 40
"""Columns whose pairs are drawn where nobody compared them with the real rows."""

COMPARED_FINDINGS = (
    "tvd_1",
    "tvd_2",
    "tvd_3",
    "match_risk",
    "attribute_inference",
    "membership_measurements",
)
"""The findings that stand side by side."""


def equivalent_command(job: Job) -> str:
    """The command line that does the same."""
    words = [
        "understudy",
        "synthesize",
        job.table,
        "--epsilon",
        job.epsilon,
        "--synthesizer",
        job.synthesizer,
    ]
    if job.schema is not None:
        words += ["--schema", job.schema.name]
    if job.delta is not None:
        words += ["--delta", job.delta]
    words += [
        "--ledger",
        job.ledger.name,
        "-o",
        "synthetic.csv",
        "--release",
        "release.understudy",
    ]
    lines = [" ".join(quote(word) for word in words)]
    if job.look:
        words = [
            "understudy",
            "evaluate",
            job.table,
            "synthetic.csv",
            "--release",
            "release.understudy",
        ]
        words += ["--ledger", job.ledger.name] + ([] if job.risk else ["--no-risk"])
        words += [] if job.control is None else ["--holdout", job.control.name]
        words += [] if job.target is None else ["--target", job.target]
        lines.append(" ".join(quote(word) for word in [*words, "-o", "report.html"]))
    return "\n".join(lines)


def column_charts(job: Job, made: Release) -> list[dict[str, str]]:
    """The chart of every column, over the real rows where they were read."""
    if job.report is not None:
        return [{"name": c.name, "drawn": c.drawn} for c in job.report.columns]
    found = []
    for name in made.schema:
        shares = made.evidence.shares(name)
        found.append(
            {
                "name": name,
                "drawn": column_chart(name, made.schema.codecs[name].labels(), shares),
            }
        )
    return found


def draw_heatmap(job: Job) -> str:
    """Mutual information, real above the diagonal and synthetic below; without a look
    at the real rows, synthetic alone.
    """
    if job.release is None:
        return ""
    names = list(job.release.schema)
    if (
        job.report is not None
        and job.report.utility is not None
        and "mutual_information" in job.report.utility
    ):
        parts = job.report.utility["mutual_information"].parts
        sides: list[dict[tuple[str, str], float]] = [{}, {}]
        for part in parts:
            for side, which in zip(sides, ("synthetic", "real"), strict=True):
                value = part.facts.get(which)
                if isinstance(value, int | float):
                    side[part.columns[0], part.columns[1]] = float(value)
        told = "mutual information: real above, synthetic below the diagonal"
        return pair_heatmap(
            names, sides[0], sides[1], title=told, sides=("synthetic", "real")
        )
    few = names[:MAX_STUDIO_HEATMAP_COLUMNS]
    made = {
        (a, b): mutual_information_bits(job.release.evidence.marginal((a, b)))
        for i, a in enumerate(few)
        for b in few[:i]
    }
    return pair_heatmap(few, made, title="mutual information of the synthetic rows")


def list_compared_findings(job: Job) -> list[tuple[str, str]]:
    """The findings that runs are compared by: a number, or why there is none."""
    found = (
        []
        if job.report is None
        else [
            f for a in job.report.assessments for f in a if f.name in COMPARED_FINDINGS
        ]
    )
    return [(f.title, f.reason if f.value is None else f"{f.value:.3g}") for f in found]


def draw_trade_off(jobs: Sequence[Job]) -> str:
    """Risk against utility, one point for each run that has both."""
    points = [
        trade_point(job.synthesizer, job.report.utility, job.report.risk)
        for job in jobs
        if job.report is not None and job.report.utility is not None
    ]
    return trade_figure([p for p in points if p is not None])
