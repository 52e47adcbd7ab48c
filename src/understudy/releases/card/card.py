"""The card: which questions a release answers well, told from what was released alone.
Free of charge.

For each marginal: was everything about it measured (supported), how noisy are its
cells, and a bound on the share of rows that the release puts in the wrong cell (the
total variation distance), which holds 95 times in 100 for any one marginal. The
mathematics is in models/uncertainty/measured_bound.py and, for distances and for noise
that is not Gaussian, in models/uncertainty/intervals.py. A marginal about which nothing
was bought has no bound, and the card says so rather than guess.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from html import escape
from itertools import combinations, islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.law import Law
from understudy.errors import Refused
from understudy.measurements import Clique, EstimateDistance
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL, min_noise_size
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.model import RoundedModel
from understudy.models.uncertainty.intervals import (
    BOUND_CONFIDENCE,
    ErrorBound,
    distance_bound,
    supported_bound,
)
from understudy.models.uncertainty.measured_bound import measured_bound
from understudy.releases.card.degenerate_columns import (
    DegenerateColumn,
    find_degenerate_columns,
)
from understudy.releases.card.recoded_columns import recoding_lines

if TYPE_CHECKING:
    from understudy.releases.release import Release

MAX_GOOD_ERROR, MAX_USABLE_ERROR = 0.02, 0.10
"""Up to this share of rows in a wrong cell, at most, a marginal is called good, or
usable.
"""

MAX_CARD_CELLS = 2_000_000
"""Cells of a marginal that the card speaks of."""

MAX_CARD_PAIRS = 500
"""Pairs that a card lists of its own accord: those that were looked at first."""

NOTEBOOK_CARD_PAIRS = 20
"""Pairs that a notebook shows before the rest is folded."""

CARD_COLUMN_TITLES = ("marginal", "cells", "noise/cell", "error ≤", "verdict")

ROUNDING_ERROR_FACTOR = 1.1
"""How many times the error of rounding counts: cells of a column are off together, and
fractions of a row are not normal.
"""


class MarginalVerdict(StrEnum):
    """What a marginal of the release is good for."""

    GOOD = "good"
    USABLE = "usable"
    POOR = "poor"
    LOST = "lost"
    UNKNOWN = "no bound"


@dataclass(frozen=True)
class CardEntry:
    """What the card says of one marginal. `error` bounds the share of rows in a wrong
    cell; `noise` is in rows per cell.

    `noise` is None where the bound does not rest on it, but on a distance that was
    bought.
    """

    clique: Clique
    supported: bool
    cells: int
    noise: float | None
    error: float | None
    lost: bool = False

    @property
    def verdict(self) -> MarginalVerdict:
        """Good up to 2 % of the rows in a wrong cell, usable up to 10 %; lost where
        cells say nothing of what was in a column.
        """
        if self.error is None:
            return MarginalVerdict.UNKNOWN
        if self.lost:
            return MarginalVerdict.LOST
        return (
            MarginalVerdict.GOOD
            if self.error <= MAX_GOOD_ERROR
            else (
                MarginalVerdict.USABLE
                if self.error <= MAX_USABLE_ERROR
                else MarginalVerdict.POOR
            )
        )

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "clique": list(self.clique),
            "supported": self.supported,
            "cells": self.cells,
            "noise": self.noise,
            "error": self.error,
            "verdict": self.verdict.value,
        }


@dataclass(frozen=True, eq=False)
class Card:
    """Which questions a release answers well.

    >>> from fractions import Fraction
    >>> from understudy.accounting import Cost, Accounting, Law
    >>> from understudy.measurements import Identity, Measurement, Measurements
    >>> from understudy.models import ProductModel
    >>> from understudy.releases import Guarantee, Release
    >>> from understudy.schema import Boolean, Schema
    >>> schema = Schema(columns=tuple(Boolean(name=n, nullable=False) for n in ("smoker", "cough")))
    >>> cost, two = Cost(Accounting.GDP, Fraction(1, 10000)), Identity(2)
    >>> looks = [Measurement((n,), (two,), np.array([7000, 3000]), Law.ROUNDED_GAUSSIAN, Fraction(10), cost) for n in schema]
    >>> found = Measurements(tuple(looks))
    >>> promise = Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10**9), accounting=Accounting.GDP, amount=Fraction(33, 1000))
    >>> release = Release(guarantee=promise, schema=schema, measurements=found, model=ProductModel.from_measurements(schema, found))
    >>> card = Card(release)
    >>> card.of(("smoker",)).verdict.value, card.of(("smoker", "cough")).verdict.value
    ('good', 'no bound')
    """

    release: Release

    @cached_property
    def pooled(self) -> PooledResiduals:
        """Everything that was measured, by least squares."""
        return PooledResiduals.of(self.release.schema, self.release.measurements)

    @cached_property
    def rows(self) -> float:
        """The estimated number of rows that errors are shares of."""
        return max(self.pooled.total, 1.0)

    @cached_property
    def gaussian(self) -> bool:
        """Whether all noise is; the heavier tails of another law need a bound with room
        for them.
        """
        return all(m.law is not Law.DISCRETE_LAPLACE for m in self.release.measurements)

    @cached_property
    def degenerate_columns(self) -> dict[str, DegenerateColumn]:
        """The columns nearly all of whose rows lie where cells go that do not fit."""
        return find_degenerate_columns(self)

    def of(self, clique: Sequence[str]) -> CardEntry:
        """What can be said of the marginal over these columns."""
        names = tuple(clique)
        schema = self.release.schema
        for name in names:
            if name not in schema:
                raise Refused(
                    f'column "{name}" takes no part in this release, so the card says'
                    " nothing of it"
                )
        if len(set(names)) != len(names) or not names:
            raise Refused("A marginal is a list of columns, each once")
        cells = math.prod(schema.sizes(names))
        if cells > MAX_CARD_CELLS:
            return CardEntry(names, False, cells, None, None)
        bound = self.bound(names)
        if bound is None or not math.isfinite(bound.rows):
            return CardEntry(names, False, cells, None, None)
        noise = (
            min(bound.noise, min_noise_size(self.release.measurements, names, cells))
            if math.isfinite(bound.noise)
            else None
        )
        lost = any(
            name in self.degenerate_columns and self.degenerate_columns[name].lost
            for name in names
        )
        return CardEntry(
            names,
            bound.supported,
            cells,
            noise,
            min(bound.rows / (2 * self.rows), 1.0),
            lost,
        )

    def bound(self, clique: Clique) -> ErrorBound | None:
        """The bound that what was bought gives for a marginal of the release, and of
        the rows sampled from it.

        Where all of the marginal was measured and a distance was bought besides, there
        are two bounds. Each is asked to hold so often that both do together as often as
        promised; then the smaller one may be taken. Rows are whole, which adds what a
        sample of as many as the release has by default may be off.
        """
        supported, gap = self.pooled.known(clique), self.gap(clique)
        if not supported and gap is None:
            return None
        table = self.table(clique)
        sure = (
            (1 + BOUND_CONFIDENCE) / 2
            if supported and gap is not None
            else BOUND_CONFIDENCE
        )
        measured = measured_bound if self.gaussian else supported_bound
        found = (
            [measured(self.pooled, clique, table, confidence=sure)] if supported else []
        )
        if gap is not None:
            found.append(distance_bound(gap, table, confidence=sure))
        least = min(found, key=lambda bound: bound.rows)
        return replace(
            least, rows=least.rows + self.astray(clique), supported=supported
        )

    def gap(self, clique: Clique) -> EstimateDistance | None:
        """The last distance that was bought of a marginal, in this order of columns;
        None where none was.
        """
        for gap in reversed(self.release.measurements.gaps):
            named = gap.distance.clique
            if set(named) == set(clique):
                turned = gap.estimate.transpose([named.index(name) for name in clique])
                return replace(
                    gap, distance=replace(gap.distance, clique=clique), estimate=turned
                )
        return None

    def astray(self, clique: Clique) -> float:
        """How far, in rows, a sample may be from the release's own counts.

        Where rows are rounded from the model and nothing else, fractions of a row tell
        it. Elsewhere every cell that has a row is allowed one more or less, on both
        sides: an allowance, not a bound that is proved (docs/card.md says where it
        falls short).
        """
        model = self.release.model
        if model is None:
            return 0.0
        table = self.table(clique)
        variance = model.astray(clique) if isinstance(model, RoundedModel) else None
        if variance is None:
            return 2 * float(np.minimum(table, 1.0).sum())
        # A count that is never negative is off by no more than twice what it expects,
        # in the mean.
        mean = float(np.minimum(MEAN_ABS_NORMAL * np.sqrt(variance), 2 * table).sum())
        return ROUNDING_ERROR_FACTOR * (mean + 2 * math.sqrt(float(variance.sum())))

    def table(self, clique: Clique) -> NDArray[np.float64]:
        """The release's own counts over a clique; where it holds tables alone, the
        measurements made consistent.
        """
        release = self.release
        if release.model is not None:
            return release.model.marginal(clique)
        if release.microdata is not None:
            sizes = release.schema.sizes(clique)
            flat = np.ravel_multi_index(
                [release.microdata[name] for name in clique], sizes
            )
            return (
                np.bincount(flat, minlength=math.prod(sizes))
                .reshape(sizes)
                .astype(np.float64)
            )
        return np.maximum(self.pooled.marginal(clique), 0.0)

    @cached_property
    def entries(self) -> tuple[CardEntry, ...]:
        """Every column, and the pairs: all of them, or those that were looked at where
        there are very many.
        """
        schema = self.release.schema
        pairs: list[Clique] = list(islice(combinations(schema, 2), MAX_CARD_PAIRS + 1))
        if len(pairs) > MAX_CARD_PAIRS:
            pairs = self._first_pairs()
        return tuple(
            self.of(clique) for clique in [*((name,) for name in schema), *pairs]
        )

    def _first_pairs(self) -> list[Clique]:
        """Pairs that were looked at, in the schema's order, then others; ten thousand
        columns have too many pairs to list and sort.
        """
        schema = self.release.schema
        order = schema.order
        looked = {
            tuple(sorted(pair, key=order.__getitem__))
            for measurement in self.release.measurements
            for pair in combinations(measurement.clique, 2)
        }
        first = heapq.nsmallest(
            MAX_CARD_PAIRS, looked, key=lambda pair: (order[pair[0]], order[pair[1]])
        )
        others = (pair for pair in combinations(schema, 2) if pair not in looked)
        return [*first, *islice(others, MAX_CARD_PAIRS - len(first))]

    def __iter__(self) -> Iterator[CardEntry]:
        return iter(self.entries)

    def sentence(self) -> str:
        """The card in one sentence: how many columns and pairs are answered how well,
        and which pair least.
        """
        pairs = [e for e in self if len(e.clique) == 2]
        counts = {v: sum(e.verdict is v for e in pairs) for v in MarginalVerdict}
        said = ", ".join(f"{counts[v]} {v.value}" for v in MarginalVerdict if counts[v])
        ones = [e for e in self if len(e.clique) == 1]
        fine = sum(
            e.verdict in (MarginalVerdict.GOOD, MarginalVerdict.USABLE) for e in ones
        )
        every = math.comb(len(ones), 2)
        some = (
            f"{len(pairs)} pairs"
            if len(pairs) == every
            else f"{len(pairs)} of the {every:,} pairs"
        )
        text = f"{fine} of {len(ones)} columns are good or usable"
        if pairs:
            text += f"; of {some} {said}" if every > 1 else f"; their pair: {said[2:]}"
        worst = max(
            (e for e in pairs if e.error is not None),
            key=lambda e: e.error or 0.0,
            default=None,
        )
        if worst is not None and worst.error is not None and len(pairs) > 1:
            most = f"{100 * worst.error:.2g}" if worst.error < 0.995 else "100"
            text += (
                f"; least sure: {' × '.join(worst.clique)} (at most {most} % of rows in"
                " a wrong cell)"
            )
        return f"{text}."

    def lines(self) -> list[str]:
        """The card as text, worst last within columns and pairs."""
        rows = [CARD_COLUMN_TITLES, *self._cells()]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        return [
            "  ".join(
                cell.ljust(w) if i in (0, 4) else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "confidence": 0.95,
            "rows": self.rows,
            "entries": [e.to_dict() for e in self],
        }

    def __repr__(self) -> str:
        return "\n".join(
            [self.sentence(), *recoding_lines(self.release), *self.lines()]
        )

    def _repr_html_(self) -> str:
        lines = list(self._cells())
        shown = sum(len(e.clique) == 1 for e in self) + NOTEBOOK_CARD_PAIRS
        said = "".join(
            f"<p>{escape(line)}</p>"
            for line in (self.sentence(), *recoding_lines(self.release))
        )
        html = f"{said}{_html_table(lines[:shown])}"
        if len(lines) > shown:
            html += (
                f"<details><summary>{len(lines) - shown} more"
                f" pairs</summary>{_html_table(lines[shown:])}</details>"
            )
        return html

    def _cells(self) -> Iterator[tuple[str, ...]]:
        for e in sorted(
            self,
            key=lambda e: (len(e.clique), math.inf if e.error is None else e.error),
        ):
            noise = "" if e.noise is None else f"{e.noise:,.1f}"
            error = "" if e.error is None else f"{100 * e.error:.1f} %"
            yield " × ".join(e.clique), f"{e.cells:,}", noise, error, e.verdict.value


def _html_table(lines: Sequence[tuple[str, ...]]) -> str:
    """Lines of the card as HTML: words at the left, numbers at the right."""
    sides = ("left", "right", "right", "right", "left")
    rows = [
        "".join(
            f'<{kind} style="text-align: {side}">{escape(cell)}</{kind}>'
            for cell, side in zip(line, sides, strict=True)
        )
        for kind, line in [
            ("th", CARD_COLUMN_TITLES),
            *(("td", line) for line in lines),
        ]
    ]
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
