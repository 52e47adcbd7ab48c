"""A report: one self-contained page about a release, and its JSON twin.

The page loads nothing and runs one short script, which its own content policy names by
digest. Every name and label in it is somebody else's text and is escaped by the
template. A report that was built with real rows says so at the top.
"""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from understudy.atomic import write_file_atomically
from understudy.findings import Assessment, Fact, Finding
from understudy.releases import CardEntry, MarginalVerdict, Release
from understudy.releases.card.rendering import STATISTICS_TITLES, statistics_cells
from understudy.releases.explanation.picture import draw_gains
from understudy.releases.explanation.rendering import (
    EXPLANATION_COLUMN_TITLES,
    explanation_table,
)
from understudy.releases.summary import list_degenerate_columns, spending_by_question
from understudy.reports.bars import scale_bar
from understudy.reports.column_shares import ColumnShares, bin_widths, normalise_counts
from understudy.reports.groups import groups_of
from understudy.reports.page_template import load_page_template, read_asset
from understudy.reports.pairs import pair_figures, worst_tables
from understudy.reports.registry import registry_facts
from understudy.reports.scatter import scatter_chart
from understudy.svg import Markup
from understudy.version import PACKAGE_VERSION as PACKAGE_VERSION
from understudy.workflow.column_summary import SUMMARY_LEVELS, ColumnSummary
from understudy.workflow.evaluation import Evaluation

REPORT_FORMAT, REPORT_FORMAT_VERSION = "understudy report", 1

MAX_ROUNDING_RESIDUE = 1e-12
"""Numbers below this are rounding errors, and are shown as 0."""

MAX_OPEN_SUMMARIES = 24
"""Columns whose summaries stand open; those of further columns are folded."""

HEADLINE_FINDINGS = ("tvd_1", "tvd_2", "match_risk", "membership_measurements")
"""What a reader wants to know first: error of columns and pairs, and two risks."""

MAX_LISTED_PARTS = 40
"""Parts of a finding that a page lists, the farthest from good first; the twin has all.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """Everything a page shows. `trade` holds, for each release compared, its name, its
    error and its risk.

    >>> shares = normalise_counts([4, 6])
    >>> sex = ColumnShares(name="sex", labels=("F", "M"), synthetic=shares)
    >>> report = Report(title="<b>", columns=(sex,))
    >>> "<h1>&lt;b&gt;</h1>" in report.to_html(), report.internal
    (True, False)
    """

    title: str
    release: Release | None = None
    columns: tuple[ColumnShares, ...] = ()
    summaries: tuple[ColumnSummary, ...] = ()
    utility: Assessment | None = None
    risk: Assessment | None = None
    trade: tuple[tuple[str, float, float], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        found: Evaluation,
        *,
        others: Sequence[tuple[str, Evaluation]] = (),
        name: str = "",
    ) -> Report:
        """The report of an evaluation; `others` are evaluations of further releases,
        for the picture of risk against utility.

        `name` is what the first is called there.
        """
        columns = tuple(
            ColumnShares(
                name=each.column,
                labels=each.labels,
                synthetic=normalise_counts(each.synthetic),
                real=normalise_counts(each.real),
                widths=bin_widths(found.schema.codecs[each.column]),
            )
            for each in found.distributions
        )
        own_name = f"{name} (this page)" if name else "this page"
        # One point alone shows no trade-off.
        compared = [(own_name, found), *others] if others else []
        points = [
            trade_point(label, evaluation.utility, evaluation.risk)
            for label, evaluation in compared
        ]
        return cls(
            title=f"{found.title}: a release and the rows behind it",
            release=found.release,
            columns=columns,
            summaries=found.summaries,
            utility=found.utility,
            risk=found.risk,
            trade=tuple(point for point in points if point is not None),
            left_out=found.left_out,
            facts=found.facts,
        )

    @classmethod
    def of_release(
        cls, release: Release, *, title: str = "A synthetic table"
    ) -> Report:
        """The part that may be published: from the release alone, no real row read."""
        columns = []
        # The release's own marginals, no sample: a page made twice is the same.
        for name in release.schema:
            columns.append(
                ColumnShares(
                    name=name,
                    labels=release.schema.codecs[name].labels(),
                    synthetic=release.evidence.shares(name),
                    widths=bin_widths(release.schema.codecs[name]),
                )
            )
        return cls(
            title=title,
            release=release,
            columns=tuple(columns),
        )

    @property
    def internal(self) -> bool:
        """Whether real rows were read for it."""
        shows_real = any(column.real is not None for column in self.columns)
        assessed = self.utility is not None or self.risk is not None
        return assessed or shows_real or bool(self.summaries)

    @property
    def assessments(self) -> tuple[Assessment, ...]:
        """Those that were made."""
        return tuple(a for a in (self.utility, self.risk) if a is not None)

    @property
    def not_computed(self) -> list[tuple[str, str]]:
        """Everything without a number, with the reason."""
        missing = [(f'column "{name}"', reason) for name, reason in self.left_out]
        for assessment in self.assessments:
            missing += assessment.not_computed
        return missing

    def to_html(self) -> str:
        """The page."""
        script = read_asset("filter.js")
        # The page's policy allows this one script by its digest, and no other.
        digest = base64.b64encode(sha256(script.encode()).digest()).decode()
        pairs = pair_figures(self.utility, [column.name for column in self.columns])
        return load_page_template("report.html").render(
            title=self.title,
            internal=self.internal,
            style=Markup(read_asset("style.css")),
            script=Markup(script),
            script_hash=digest,
            columns=self.columns,
            summaries=self.summaries,
            levels=[f"{100 * level:.0f} %" for level in SUMMARY_LEVELS],
            most_summaries=MAX_OPEN_SUMMARIES,
            headlines=self._headline_findings(),
            pairs=pairs,
            worst=worst_tables(self.utility),
            assessments=self.assessments,
            most=MAX_LISTED_PARTS,
            groups=groups_of(self.risk),
            trade=trade_figure(self.trade),
            missing=self.not_computed,
            contents=self._table_of_contents(paired=bool(pairs)),
            draw_bar=_draw_finding_bar,
            list_facts=_list_finding_facts,
            number=_format_number,
            version=PACKAGE_VERSION,
            **self._release_values(),
        )

    def _headline_findings(self) -> list[Finding]:
        """The findings that the summary repeats, those that were computed."""
        found = [finding for a in self.assessments for finding in a]
        named = {finding.name: finding for finding in found if finding.is_computed}
        return [named[name] for name in HEADLINE_FINDINGS if name in named]

    def _release_values(self) -> dict[str, object]:
        """What the page says of the release itself; nothing if there is none."""
        if self.release is None:
            return {
                "release": None,
                "meaning": None,
                "spent": [],
                "card": [],
                "statistics": [],
                "silent": [],
                "card_sentence": "",
                "verdicts": [],
                "piles": (),
                "explanation": None,
            }
        card = list(self.release.card)
        return {
            "release": self.release,
            "meaning": self.release.guarantee.meaning,
            "spent": spending_by_question(self.release.statement),
            "card": sorted(card, key=lambda e: (len(e.clique), e.error or 0.0)),
            "statistics": [
                statistics_cells(column)
                for column in self.release.card.statistics.values()
            ],
            "statistics_titles": STATISTICS_TITLES,
            "silent": [entry for entry in card if entry.error is None],
            "card_sentence": self.release.card.sentence(),
            "verdicts": _count_verdicts(card),
            "explanation": _explain_release(self.release),
            "piles": list_degenerate_columns(self.release),
        }

    def to_dict(self) -> dict[str, Fact]:
        """The twin: the same numbers for a program."""
        marking = "from the release alone"
        if self.internal:
            marking = "internal: reads real data"
        return {
            "format": REPORT_FORMAT,
            "version": REPORT_FORMAT_VERSION,
            "title": self.title,
            "marking": marking,
            "facts": dict(self.facts),
            "columns": [column.to_dict() for column in self.columns],
            "summary": [summary.to_dict() for summary in self.summaries],
            "utility": None if self.utility is None else self.utility.to_dict(),
            "risk": None if self.risk is None else self.risk.to_dict(),
            "left_out": [
                {"column": name, "reason": reason} for name, reason in self.left_out
            ],
            "trade": [
                {"name": name, "error": error, "risk": risk}
                for name, error, risk in self.trade
            ],
            **({} if self.release is None else _release_facts(self.release)),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page (`.html`) and its twin beside it (`.json`); each appears whole
        or not at all.

        Where real rows were read for them, only their owner may read them.
        """
        where = Path(path)
        # Both are made before either is written.
        page = self.to_html().encode()
        twin = json.dumps(
            self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False
        ).encode()
        for target, data in ((where, page), (where.with_suffix(".json"), twin)):
            with write_file_atomically(target, private=self.internal) as draft:
                draft.write_bytes(data)

    def _repr_html_(self) -> str:
        """In a notebook: a frame of its own, so that neither page touches the other."""
        # The attribute is quoted, so only these two characters could end it.
        inside = self.to_html().replace("&", "&amp;").replace('"', "&quot;")
        return (
            '<iframe sandbox="allow-scripts" style="width:100%;height:40rem;border:0"'
            f' srcdoc="{inside}"></iframe>'
        )

    def _table_of_contents(self, *, paired: bool) -> list[tuple[str, str]]:
        """The sections there are: the id of each, and its heading."""
        listed = []
        if self.release is not None or self.assessments:
            listed.append(("summary", "Summary"))
        if self.release is not None:
            listed += [
                ("guarantee", "Guarantee"),
                ("account", "Account"),
                ("card", "Card"),
            ]
            if len(self.release.explanation):
                listed.append(("explanation", "Explanation"))
        if self.columns:
            listed.append(("columns", "Columns"))
        if paired:
            listed.append(("pairs", "Pairs"))
        listed += [(a.subject, a.subject.capitalize()) for a in self.assessments]
        if self.trade:
            listed.append(("trade", "Risk against utility"))
        if self.not_computed:
            listed.append(("missing", "Not computed"))
        return listed


def trade_figure(points: Sequence[tuple[str, float, float]]) -> str:
    """Risk against utility, one point for each release; empty if there is none."""
    if not points:
        return ""
    return scatter_chart(
        points,
        x="error: share of rows in a wrong cell, pairs",
        y="match risk on quasi-identifiers",
        title="risk against utility",
    )


def trade_point(
    name: str, utility: Assessment, risk: Assessment | None
) -> tuple[str, float, float] | None:
    """A release by its error in pairs and its match risk; None if one of them is
    missing.
    """
    # A table of one column has no pairs.
    error = utility["tvd_2" if "tvd_2" in utility else "tvd_1"].value
    if risk is None or "match_risk" not in risk:
        return None
    match_risk = risk["match_risk"].value
    if error is None or match_risk is None:
        return None
    return name, error, match_risk


def _count_verdicts(card: Sequence[CardEntry]) -> list[tuple[str, int]]:
    """How many tables have each verdict, from good to none, of those that occur."""
    counted = Counter(entry.verdict for entry in card)
    return [(kind.value, counted[kind]) for kind in MarginalVerdict if counted[kind]]


def _explain_release(release: Release) -> dict[str, object] | None:
    """Why each marginal was measured, or was not; None if nothing was recorded."""
    explanation = release.explanation
    if not len(explanation):
        return None
    rows, rest = explanation_table(explanation.decisions, explanation.left_out)
    return {
        "sentence": explanation.sentence(),
        "figure": draw_gains(explanation.decisions),
        "titles": EXPLANATION_COLUMN_TITLES,
        "rows": rows,
        "rest": rest,
    }


def _release_facts(release: Release) -> dict[str, Fact]:
    """What the twin says of the release itself."""
    promise, meaning = release.guarantee, release.guarantee.meaning
    return {
        "guarantee": {
            "sentence": promise.sentence(),
            "details": list(promise.details()),
        },
        "meaning": None if meaning is None else dict(meaning.to_dict()),
        # The card's own numbers are numpy's; JSON has none of them.
        "card": json.loads(json.dumps(release.card.to_dict())),
        "piles": list(list_degenerate_columns(release)),
        "explanation": json.loads(json.dumps(release.explanation.to_dict())),
        "registry": registry_facts(release),
    }


def _draw_finding_bar(finding: Finding) -> str:
    if finding.value is None:
        return ""
    return scale_bar(finding.value, finding.best, finding.worst, finding.baseline)


def _list_finding_facts(finding: Finding) -> str:
    """Its further numbers on one line, but for those that stand in its row already."""
    in_row = {"low", "high", "control"}
    words = [
        f"{name.replace('_', ' ')}: {_format_number(fact)}"
        for name, fact in finding.facts.items()
        if isinstance(fact, str | int | float) and name not in in_row
    ]
    return "; ".join(words)


def _format_number(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return "" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return "0" if abs(value) < MAX_ROUNDING_RESIDUE else f"{value:.4g}"
