"""What a report draws of pairs of columns: the error of their tables, and dependence
before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.findings import Assessment, Finding, FindingPart
from understudy.reports.heatmap import MAX_PAIR_HEATMAP_COLUMNS, pair_heatmap
from understudy.svg import Markup

MAX_PHONE_COLUMNS = 10
"""Columns whose squares can be read when they are shrunk to a phone's width."""

MAX_WORST_TABLES = 12
"""Tables in the list of the worst."""

BOTH_HALVES_NOTE = (
    "Above the diagonal the real rows, below it the synthetic ones: the same picture on"
    " both sides is what to look for."
)

DEPENDENCE_CHANGE_NOTE = (
    "Blue: columns go together more closely than in the real rows; orange: less."
    " White is what to look for."
)
CORRELATION_CHANGE_NOTE = (
    "Blue: the synthetic correlation is higher; orange: it is lower. White is what to"
    " look for."
)


@dataclass(frozen=True)
class PairFigure:
    """One heatmap with its title and how to read it; a `wide` one is scrolled on a
    phone rather than shrunk.
    """

    title: str
    note: str
    svg: Markup
    wide: bool = False

    @classmethod
    def of(cls, title: str, note: str, names: Sequence[str], svg: Markup) -> PairFigure:
        """A figure of these columns; its note says which of them, if not all."""
        if len(names) > MAX_PAIR_HEATMAP_COLUMNS:
            note += (
                f" Of {len(names):,} columns, the {MAX_PAIR_HEATMAP_COLUMNS} with the"
                " largest values."
            )
        return cls(title, note, svg, len(names) > MAX_PHONE_COLUMNS)


def pair_figures(utility: Assessment | None, names: Sequence[str]) -> list[PairFigure]:
    """Distances of pairs, correlations and mutual information, whichever were computed.

    >>> part = FindingPart(
    ...     name="a × b",
    ...     columns=("a", "b"),
    ...     value=0.1,
    ...     facts={"real": 0.6, "synthetic": 0.5},
    ... )
    >>> found = Assessment(
    ...     subject="utility",
    ...     findings=(
    ...         Finding(name="correlation", title="Correlations", value=0.1, parts=(part,)),
    ...     ),
    ... )
    >>> [figure.title for figure in pair_figures(found, ["a", "b"])]
    ['Correlations, before and after', 'Correlations, synthetic less real']
    """
    # Findings that could not be computed are listed elsewhere, with their reason.
    if utility is None or len(names) < 2:
        return []
    found = {finding.name: finding for finding in utility if finding.is_computed}
    figures: list[PairFigure] = []
    if "tvd_2" in found:
        values = _pair_values(found["tvd_2"], lambda part: part.value)
        note = (
            "Share of rows in a wrong cell of each table of two columns; darker is"
            " worse. Point at a square for its number."
        )
        svg = pair_heatmap(names, values, title="distance of pairs")
        figures.append(PairFigure.of("Distance of pairs", note, names, svg))
    if "correlation" in found:
        figures += _dependence_figures(
            found["correlation"], "Correlations", names, signed=True
        )
    if "mutual_information" in found:
        figures += _dependence_figures(
            found["mutual_information"], "Mutual information", names, signed=False
        )
    return figures


def worst_tables(utility: Assessment | None) -> list[FindingPart]:
    """The tables of two and three columns with the largest distance."""
    if utility is None:
        return []
    # Columns alone are shown with their charts.
    parts: list[FindingPart] = []
    for name in ("tvd_2", "tvd_3"):
        if name in utility:
            parts += utility[name].worst_parts(MAX_WORST_TABLES)
    return sorted(parts, key=lambda part: -(part.value or 0.0))[:MAX_WORST_TABLES]


def _dependence_figures(
    finding: Finding, title: str, names: Sequence[str], *, signed: bool
) -> list[PairFigure]:
    """Both tables in one square, and what changed in another."""
    real = _pair_values(finding, lambda part: part.facts.get("real"))
    synthetic = _pair_values(finding, lambda part: part.facts.get("synthetic"))
    changes = {pair: synthetic[pair] - real[pair] for pair in real if pair in synthetic}
    measured = {name for pair in [*real, *synthetic] for name in pair}
    shown = [name for name in names if name in measured]
    both = pair_heatmap(
        shown,
        synthetic,
        real,
        title=title.lower(),
        end=1.0 if signed else None,
        signed=signed,
        sides=("synthetic", "real"),
    )
    # Two colours even for what is never negative: dependence may be gained or lost.
    change_title = f"{title}, synthetic less real"
    change = pair_heatmap(
        shown, changes, title=change_title.lower(), signed=True, brief=True
    )
    both_note, change_note = BOTH_HALVES_NOTE, DEPENDENCE_CHANGE_NOTE
    if signed:
        both_note = f"{BOTH_HALVES_NOTE} Orange is negative."
        change_note = CORRELATION_CHANGE_NOTE
    return [
        PairFigure.of(f"{title}, before and after", both_note, shown, both),
        PairFigure.of(change_title, change_note, shown, change),
    ]


def _pair_values(
    finding: Finding, of: Callable[[FindingPart], object]
) -> dict[tuple[str, str], float]:
    """One number of each part that is about two columns and has it."""
    values = {}
    for part in finding.parts:
        value = of(part)
        if len(part.columns) == 2 and isinstance(value, int | float):
            values[part.columns[0], part.columns[1]] = float(value)
    return values
