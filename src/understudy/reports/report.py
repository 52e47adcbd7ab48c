"""A report: one self-contained page about a release, and its JSON twin.

The page loads nothing and runs one short script, which its own content policy names by
digest. Every name and label in it is somebody else's text and is escaped by the
template. A report that was built with real rows says so at the top.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import numpy as np
from jinja2 import Environment, StrictUndefined, Template
from numpy.typing import NDArray

from understudy.atomic import write_file_atomically
from understudy.findings import Assessment, Fact, Finding
from understudy.releases import Release
from understudy.releases.summary import list_degenerate_columns, spending_by_question
from understudy.reports.chart import column_chart, scale_bar, scatter_chart
from understudy.reports.groups import groups_of
from understudy.reports.pairs import pair_figures, worst_tables
from understudy.reports.registry import registry_facts
from understudy.version import PACKAGE_VERSION as PACKAGE_VERSION
from understudy.workflow.evaluate import Evaluation

REPORT_FORMAT, REPORT_FORMAT_VERSION = "understudy report", 1

MAX_ROUNDING_RESIDUE = 1e-12
"""What is smaller is what rounding left of nothing."""

MAX_LISTED_PARTS = 40
"""Parts of a finding that a page lists, the farthest from good first; the twin has all.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnShares:
    """One column as a page draws it: the share of rows of each code, synthetic and,
    where they were read, real.
    """

    name: str
    labels: tuple[str, ...]
    synthetic: NDArray[np.float64]
    real: NDArray[np.float64] | None = None

    @property
    def distance(self) -> float | None:
        """The share of rows in a wrong bar."""
        return (
            None
            if self.real is None
            else float(np.abs(self.real - self.synthetic).sum() / 2)
        )

    @property
    def drawn(self) -> str:
        """The chart."""
        return column_chart(self.name, self.labels, self.synthetic, self.real)


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """Everything a page shows. `trade` holds, for each release compared, its name, its
    error and its risk.

    >>> made = Report(title="<b>", columns=(ColumnShares(name="sex", labels=("F", "M"), synthetic=np.array([0.4, 0.6])),))
    >>> "<h1>&lt;b&gt;</h1>" in made.to_html(), made.internal
    (True, False)
    """

    title: str
    release: Release | None = None
    columns: tuple[ColumnShares, ...] = ()
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
                synthetic=_normalise_counts(each.synthetic),
                real=_normalise_counts(each.real),
            )
            for each in found.distributions
        )
        named = [(f"{name} (this page)" if name else "this page", found), *others]
        points = (
            [trade_point(label, one.utility, one.risk) for label, one in named]
            if others
            else []
        )
        return cls(
            title=f"{found.title}: a release and the rows behind it",
            release=found.release,
            columns=columns,
            utility=found.utility,
            risk=found.risk,
            trade=tuple(p for p in points if p is not None),
            left_out=found.left_out,
            facts=found.facts,
        )

    @classmethod
    def of_release(
        cls, release: Release, *, title: str = "A synthetic table"
    ) -> Report:
        """The part that may be published: from the release alone, no real row read."""
        columns = []
        for name in release.schema:
            columns.append(
                ColumnShares(
                    name=name,
                    labels=release.schema.codecs[name].labels(),
                    synthetic=release.evidence.shares(name),
                )
            )
        return cls(title=title, release=release, columns=tuple(columns))

    @property
    def internal(self) -> bool:
        """Whether real rows were read for it."""
        return (
            self.utility is not None
            or self.risk is not None
            or any(c.real is not None for c in self.columns)
        )

    @property
    def assessments(self) -> tuple[Assessment, ...]:
        """Those that were made."""
        return tuple(a for a in (self.utility, self.risk) if a is not None)

    @property
    def not_computed(self) -> list[tuple[str, str]]:
        """Everything without a number, with the reason."""
        columns = [(f'column "{name}"', reason) for name, reason in self.left_out]
        return columns + [line for a in self.assessments for line in a.not_computed]

    def to_html(self) -> str:
        """The page."""
        script = _read_asset("filter.js")
        digest = base64.b64encode(sha256(script.encode()).digest()).decode()
        card = list(self.release.card) if self.release is not None else []
        pairs = pair_figures(self.utility, [c.name for c in self.columns])
        return _page_template().render(
            title=self.title,
            internal=self.internal,
            style=_read_asset("style.css"),
            script=script,
            script_hash=digest,
            release=self.release,
            meaning=None if self.release is None else self.release.guarantee.meaning,
            spent=(
                []
                if self.release is None
                else spending_by_question(self.release.statement)
            ),
            card=sorted(card, key=lambda e: (len(e.clique), e.error or 0.0)),
            silent=[e for e in card if e.error is None],
            card_sentence="" if self.release is None else self.release.card.sentence(),
            piles=(
                () if self.release is None else list_degenerate_columns(self.release)
            ),
            columns=self.columns,
            pairs=pairs,
            worst=worst_tables(self.utility),
            assessments=self.assessments,
            most=MAX_LISTED_PARTS,
            groups=groups_of(self.risk),
            trade=trade_figure(self.trade),
            missing=self.not_computed,
            contents=self._table_of_contents(paired=bool(pairs)),
            bar=_finding_bar,
            told=_finding_facts,
            number=_format_number,
            version=PACKAGE_VERSION,
        )

    def to_dict(self) -> dict[str, Fact]:
        """The twin: the same numbers for a program."""
        release = self.release
        columns: list[Fact] = [
            {
                "name": c.name,
                "labels": list(c.labels),
                "synthetic": [float(x) for x in c.synthetic],
                "real": None if c.real is None else [float(x) for x in c.real],
                "distance": c.distance,
            }
            for c in self.columns
        ]
        found: dict[str, Fact] = {
            "format": REPORT_FORMAT,
            "version": REPORT_FORMAT_VERSION,
            "title": self.title,
            "marking": (
                "internal: reads real data"
                if self.internal
                else "from the release alone"
            ),
            "facts": dict(self.facts),
            "columns": columns,
            "utility": None if self.utility is None else self.utility.to_dict(),
            "risk": None if self.risk is None else self.risk.to_dict(),
            "left_out": [
                {"column": name, "reason": reason} for name, reason in self.left_out
            ],
            "trade": [{"name": n, "error": e, "risk": r} for n, e, r in self.trade],
        }
        if release is not None:
            said = release.guarantee.meaning
            details: list[Fact] = list(release.guarantee.details())
            found["guarantee"] = {
                "sentence": release.guarantee.sentence(),
                "details": details,
            }
            found["meaning"] = None if said is None else dict(said.to_dict())
            found["card"] = json.loads(json.dumps(release.card.to_dict()))
            found["piles"] = list(list_degenerate_columns(release))
            found["registry"] = registry_facts(release)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page (`.html`) and its twin beside it (`.json`); each appears whole
        or not at all.

        Where real rows were read for them, only their owner may read them.
        """
        where = Path(path)
        page = self.to_html().encode()
        twin = json.dumps(
            self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False
        ).encode()
        for target, data in ((where, page), (where.with_suffix(".json"), twin)):
            with write_file_atomically(target, private=self.internal) as draft:
                draft.write_bytes(data)

    def _repr_html_(self) -> str:
        """In a notebook: a frame of its own, so that neither page touches the other."""
        inside = self.to_html().replace("&", "&amp;").replace('"', "&quot;")
        return (
            '<iframe sandbox="allow-scripts" style="width:100%;height:40rem;border:0"'
            f' srcdoc="{inside}"></iframe>'
        )

    def _table_of_contents(self, *, paired: bool) -> list[tuple[str, str]]:
        listed = []
        if self.release is not None:
            listed += [
                ("guarantee", "Guarantee"),
                ("account", "Account"),
                ("card", "Card"),
            ]
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
    """Risk against utility, one point for each release; nothing where there is none."""
    return (
        scatter_chart(
            points,
            x="error: share of rows in a wrong cell, pairs",
            y="match risk on quasi-identifiers",
            title="risk against utility",
        )
        if points
        else ""
    )


def _normalise_counts(counts: Sequence[float]) -> NDArray[np.float64]:
    found = np.asarray(counts, np.float64)
    return found / max(float(found.sum()), 1.0)


def trade_point(
    name: str, utility: Assessment, risk: Assessment | None
) -> tuple[str, float, float] | None:
    """A release by its error in pairs and its match risk; None where one of them is
    missing.
    """
    error = utility["tvd_2" if "tvd_2" in utility else "tvd_1"].value
    found = (
        risk["match_risk"].value if risk is not None and "match_risk" in risk else None
    )
    return None if error is None or found is None else (name, error, found)


def _finding_bar(finding: Finding) -> str:
    return (
        ""
        if finding.value is None
        else scale_bar(finding.value, finding.best, finding.worst, finding.baseline)
    )


def _finding_facts(finding: Finding) -> str:
    """Its further numbers on one line, but for those that stand in its row already."""
    shown = {"low", "high", "control"}
    facts = [
        (k, v)
        for k, v in finding.facts.items()
        if isinstance(v, str | int | float) and k not in shown
    ]
    return "; ".join(
        f"{name.replace('_', ' ')}: {_format_number(value)}" for name, value in facts
    )


def _format_number(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return "" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return "0" if abs(value) < MAX_ROUNDING_RESIDUE else f"{value:.4g}"


def _read_asset(name: str) -> str:
    return (files("understudy.reports") / "templates" / name).read_text(
        encoding="utf-8"
    )


@cache
def _page_template() -> Template:
    return Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True
    ).from_string(_read_asset("report.html"))
