"""What a report draws of pairs of columns: how far their tables are off, and how
columns go together before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.findings import Assessment, Finding, FindingPart
from understudy.reports.heatmap import MAX_PAIR_HEATMAP_COLUMNS, pair_heatmap

MAX_PHONE_COLUMNS = 10
"""Columns whose squares can be read when they are shrunk to a phone's width."""

MAX_WORST_TABLES = 12
"""Tables in the list of the worst."""

BOTH_HALVES_NOTE = (
    "Above the diagonal the real rows, below it the synthetic ones: the same picture on"
    " both sides is what to look for."
)


@dataclass(frozen=True)
class PairFigure:
    """One picture with what it is called and how to read it; a `wide` one is scrolled
    on a phone rather than shrunk.
    """

    title: str
    note: str
    drawn: str
    wide: bool = False


def pair_figures(utility: Assessment | None, names: Sequence[str]) -> list[PairFigure]:
    """Distances of pairs, correlations and mutual information, whichever were computed.

    >>> part = FindingPart(name="a × b", columns=("a", "b"), value=0.1, facts={"real": 0.6, "synthetic": 0.5})
    >>> found = Assessment(subject="utility", findings=(Finding(name="correlation", title="Correlations", value=0.1, parts=(part,)),))
    >>> [figure.title for figure in pair_figures(found, ["a", "b"])]
    ['Correlations, before and after', 'Correlations, synthetic less real']
    """
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
        figures.append(
            PairFigure(
                "Distance of pairs",
                _note_with_limit(note, names),
                pair_heatmap(names, values, title="distance of pairs"),
                len(names) > MAX_PHONE_COLUMNS,
            )
        )
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
    parts = [
        p
        for name in ("tvd_2", "tvd_3")
        if name in utility
        for p in utility[name].worst_parts(MAX_WORST_TABLES)
    ]
    return sorted(parts, key=lambda p: -(p.value or 0.0))[:MAX_WORST_TABLES]


def _dependence_figures(
    finding: Finding, title: str, names: Sequence[str], *, signed: bool
) -> list[PairFigure]:
    """Both tables in one square, and what changed in another."""
    real = _pair_values(finding, lambda part: part.facts.get("real"))
    made = _pair_values(finding, lambda part: part.facts.get("synthetic"))
    lost = {pair: made[pair] - real[pair] for pair in real if pair in made}
    known = {name for pair in [*real, *made] for name in pair}
    shown = [name for name in names if name in known]
    said = f"{BOTH_HALVES_NOTE} Orange is negative." if signed else BOTH_HALVES_NOTE
    change = (
        "Blue: columns go together more closely than in the real rows; orange: less."
        " White is what to look for."
    )
    if signed:
        change = (
            "Blue: the synthetic correlation is higher; orange: it is lower. White is"
            " what to look for."
        )
    sides = ("synthetic", "real")
    return [
        PairFigure(
            f"{title}, before and after",
            _note_with_limit(said, shown),
            pair_heatmap(
                shown,
                made,
                real,
                title=title.lower(),
                end=1.0 if signed else None,
                signed=signed,
                sides=sides,
            ),
            len(shown) > MAX_PHONE_COLUMNS,
        ),
        PairFigure(
            f"{title}, synthetic less real",
            _note_with_limit(change, shown),
            pair_heatmap(
                shown,
                lost,
                title=f"{title.lower()}, synthetic less real",
                signed=True,
                brief=True,
            ),
            len(shown) > MAX_PHONE_COLUMNS,
        ),
    ]


def _note_with_limit(note: str, names: Sequence[str]) -> str:
    return (
        note
        if len(names) <= MAX_PAIR_HEATMAP_COLUMNS
        else (
            f"{note} Of {len(names):,} columns, the {MAX_PAIR_HEATMAP_COLUMNS} with the"
            " largest values."
        )
    )


def _pair_values(
    finding: Finding, of: Callable[[FindingPart], object]
) -> dict[tuple[str, str], float]:
    found = {}
    for part in finding.parts:
        value = of(part)
        if len(part.columns) == 2 and isinstance(value, int | float):
            found[part.columns[0], part.columns[1]] = float(value)
    return found
