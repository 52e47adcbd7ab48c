"""The card: which questions a release answers well, from what was released alone. Free
of charge.

For each marginal: whether everything about it was measured (supported), how noisy its
cells are, and a bound on the share of rows that the release puts in the wrong cell (the
total variation distance), which holds with 95 % confidence for any one marginal
(card/bounds.py). A marginal about which nothing was measured has no bound, and the card
says so rather than guess.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.models.estimates.noise_moments import min_noise_size
from understudy.models.uncertainty.intervals import BOUND_CONFIDENCE
from understudy.releases.card.bounds import error_share, marginal_error_bound
from understudy.releases.card.column_statistics import find_statistics
from understudy.releases.card.degenerate_columns import (
    DegenerateColumn,
    find_degenerate_columns,
)
from understudy.releases.card.entry import CardEntry
from understudy.releases.card.recoded_columns import recoding_lines
from understudy.releases.card.rendering import (
    card_html,
    card_lines,
    card_sentence,
    statistics_lines,
)
from understudy.releases.card.statistic_intervals import ColumnStatistics
from understudy.releases.evidence import Evidence

MAX_CARD_CELLS = 2_000_000
"""Cells of a marginal that the card gives a bound for."""

MAX_CARD_PAIRS = 500
"""Pairs that a card lists by itself: measured ones first."""


@dataclass(frozen=True, eq=False)
class Card:
    """Which questions a release answers well.

    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from understudy.accounting import Cost, Accounting, Law
    >>> from understudy.measurements import Identity, Measurement, Measurements
    >>> from understudy.schema import Boolean, Schema
    >>> columns = [Boolean(name=name, nullable=False) for name in ("smoker", "cough")]
    >>> schema = Schema(columns=tuple(columns))
    >>> values, cost = np.array([7000, 3000]), Cost(Accounting.GDP, Fraction(1, 10000))
    >>> noise = Law.ROUNDED_GAUSSIAN, Fraction(10), cost
    >>> counts = [Measurement((name,), (Identity(2),), values, *noise) for name in schema]
    >>> card = Card(Evidence(schema=schema, measurements=Measurements(tuple(counts))))
    >>> card.of(("smoker",)).verdict.value, card.of(("smoker", "cough")).verdict.value
    ('good', 'no bound')
    """

    evidence: Evidence

    @cached_property
    def degenerate_columns(self) -> dict[str, DegenerateColumn]:
        """The columns nearly all of whose rows fell into a catch-all value."""
        return find_degenerate_columns(self.evidence)

    @cached_property
    def statistics(self) -> dict[str, ColumnStatistics]:
        """Mean, standard deviation and quantiles of every column of numbers, each with
        its interval; none of a column that is lost.
        """
        statistics = {}
        for name in self.evidence.schema:
            if self._is_lost(name):
                continue
            described = find_statistics(self.evidence, name)
            if described is not None:
                statistics[name] = described
        return statistics

    def of(self, clique: Sequence[str]) -> CardEntry:
        """What can be said of the marginal over these columns."""
        names = tuple(clique)
        self._check_clique(names)
        evidence = self.evidence
        cells = math.prod(evidence.schema.sizes(names))
        unknown = CardEntry(names, False, cells, None, None)
        # A bound needs the whole table in memory, several times over.
        if cells > MAX_CARD_CELLS:
            return unknown
        bound = marginal_error_bound(evidence, names)
        if bound is None or not math.isfinite(bound.rows):
            return unknown
        noise = None
        if math.isfinite(bound.noise):
            smallest = min_noise_size(evidence.measurements, names, cells)
            # Noise on counts is whole: where it is small, the best look alone has less.
            noise = min(bound.noise, smallest)
        # No more than all rows can be in a wrong cell, whatever a loose bound says.
        error = min(error_share(bound, evidence), 1.0)
        is_lost = any(self._is_lost(name) for name in names)
        statistics = self.statistics.get(names[0]) if len(names) == 1 else None
        return CardEntry(
            names, bound.supported, cells, noise, error, is_lost, statistics
        )

    @cached_property
    def entries(self) -> tuple[CardEntry, ...]:
        """Every column, and the pairs: all of them or, if there are very many, measured
        ones first.
        """
        schema = self.evidence.schema
        # One more than are listed: enough to see that there are too many.
        pairs: list[Clique] = list(islice(combinations(schema, 2), MAX_CARD_PAIRS + 1))
        if len(pairs) > MAX_CARD_PAIRS:
            pairs = self._first_pairs()
        columns: list[Clique] = [(name,) for name in schema]
        return tuple(self.of(clique) for clique in [*columns, *pairs])

    def __iter__(self) -> Iterator[CardEntry]:
        return iter(self.entries)

    def sentence(self) -> str:
        """The card in one sentence: how many columns and pairs are answered how well,
        and which pair is least certain.
        """
        return card_sentence(self.entries)

    def lines(self) -> list[str]:
        """The card as text, worst last within columns and pairs, and the statistics of
        columns of numbers.
        """
        described = statistics_lines(list(self.statistics.values()))
        return [*card_lines(self.entries), *described]

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "confidence": BOUND_CONFIDENCE,
            "rows": self.evidence.rows,
            "entries": [entry.to_dict() for entry in self],
            "statistics": [column.to_dict() for column in self.statistics.values()],
        }

    def __repr__(self) -> str:
        return "\n".join([*self._paragraphs(), *self.lines()])

    def _repr_html_(self) -> str:
        return card_html(
            self.entries, self._paragraphs(), list(self.statistics.values())
        )

    def _paragraphs(self) -> list[str]:
        return [self.sentence(), *recoding_lines(self.evidence)]

    def _is_lost(self, name: str) -> bool:
        degenerate = self.degenerate_columns.get(name)
        return degenerate is not None and degenerate.lost

    def _check_clique(self, names: Clique) -> None:
        for name in names:
            if name not in self.evidence.schema:
                raise Refused(
                    f'column "{name}" takes no part in this release, so the card says'
                    " nothing of it"
                )
        if len(set(names)) != len(names) or not names:
            raise Refused("A marginal is a list of columns, each once")

    def _first_pairs(self) -> list[Clique]:
        """Measured pairs, in the schema's order, then others: ten thousand columns have
        too many pairs to list and sort them all.
        """
        schema = self.evidence.schema
        order = schema.order
        measured = {
            tuple(sorted(pair, key=order.__getitem__))
            for measurement in self.evidence.measurements
            for pair in combinations(measurement.clique, 2)
        }

        def place(pair: Clique) -> tuple[int, int]:
            return order[pair[0]], order[pair[1]]

        first = heapq.nsmallest(MAX_CARD_PAIRS, measured, key=place)
        others = (pair for pair in combinations(schema, 2) if pair not in measured)
        return [*first, *islice(others, MAX_CARD_PAIRS - len(first))]
