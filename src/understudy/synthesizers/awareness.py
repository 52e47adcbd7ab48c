"""What each algorithm adapts to: Table 2 of McKenna, Mullins, Sheldon, Miklau, "AIM: an
adaptive and iterative mechanism for differentially private synthetic data", 2022, as
data, and the synthesizers of this package in the same terms.
"""

from __future__ import annotations

from dataclasses import dataclass

from understudy.synthesizers.base import Awareness, Synthesizer


@dataclass(frozen=True)
class AwarenessRow:
    """One line: an algorithm, what it adapts to, when it was published, and how it is
    run here.
    """

    title: str
    aware: Awareness
    year: int | None = None
    name: str | None = None
    """The synthesizer of this package with exactly these flags."""
    run_as: str | None = None
    """What to ask for here; None where this package has no such algorithm."""


def _awareness_row(
    title: str,
    year: int | None,
    marks: str,
    name: str | None = None,
    run_as: str | None = None,
) -> AwarenessRow:
    aware = Awareness(
        workload="w" in marks,
        data="d" in marks,
        budget="b" in marks,
        efficiency="e" in marks,
    )
    return AwarenessRow(title, aware, year, name, run_as or name)


PUBLISHED_AWARENESS = (
    _awareness_row("Independent", None, "e", "independent"),
    # Here gaussian and mwem_pgm leave out what one model cannot hold, so that they are
    # efficiency-aware too and have a line of their own below.
    _awareness_row("Gaussian", None, "w", run_as="gaussian"),
    _awareness_row("PrivBayes", 2014, "dbe", "privbayes"),
    # Residuals are the optimal strategy for marginals that HDMM searches for.
    _awareness_row("HDMM+PGM", 2019, "w", run_as="residual"),
    _awareness_row("PrivBayes+PGM", 2019, "dbe", run_as="privbayes, pgm=true"),
    _awareness_row("MWEM+PGM", 2019, "wd", run_as="mwem_pgm"),
    _awareness_row("PrivSyn", 2020, "dbe", "privsyn"),
    _awareness_row("MST", 2021, "de", "mst"),
    _awareness_row("RAP", 2021, "wde"),
    _awareness_row("GEM", 2021, "wde"),
    _awareness_row("PrivMRF", 2021, "dbe", "privmrf"),
    _awareness_row("AIM", 2022, "wdbe", "aim"),
)
"""The published table, line by line."""


def awareness_rows(
    synthesizers: dict[str, type[Synthesizer]],
) -> tuple[AwarenessRow, ...]:
    """The published lines, then those of this package that the table does not have.

    >>> from understudy.synthesizers import SYNTHESIZER_CLASSES
    >>> named = {row.name for row in awareness_rows(SYNTHESIZER_CLASSES) if row.name}
    >>> named == set(SYNTHESIZER_CLASSES)
    True
    """
    listed = {row.name for row in PUBLISHED_AWARENESS}
    own = (
        AwarenessRow(cls.name.capitalize(), cls.aware, None, name, name)
        for name, cls in synthesizers.items()
        if name not in listed
    )
    return (*PUBLISHED_AWARENESS, *own)
