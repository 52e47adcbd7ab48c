"""One column as a report shows it: shares of rows by value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.findings import Fact
from understudy.reports.chart import column_chart
from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.columns.codec import Codec
from understudy.svg import Markup


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnShares:
    """One column as a page draws it: the share of rows of each code, synthetic and,
    where they were read, real.
    """

    name: str
    labels: tuple[str, ...]
    synthetic: NDArray[np.float64]
    real: NDArray[np.float64] | None = None
    widths: tuple[float | None, ...] | None = None
    """The width of each code's bin, None for a code that is none; no bins, no widths."""

    @property
    def distance(self) -> float | None:
        """The share of rows in a wrong bar: total variation distance."""
        if self.real is None:
            return None
        # Every row that is missing in one bar is too many in another: hence the half.
        return float(np.abs(self.real - self.synthetic).sum() / 2)

    @property
    def figure(self) -> Markup:
        """The chart."""
        return column_chart(
            self.name, self.labels, self.synthetic, self.real, self.widths
        )

    def to_dict(self) -> dict[str, Fact]:
        """For a program."""
        real: list[Fact] | None = None
        if self.real is not None:
            real = [float(share) for share in self.real]
        return {
            "name": self.name,
            "labels": list(self.labels),
            "synthetic": [float(share) for share in self.synthetic],
            "real": real,
            "distance": self.distance,
        }


def bin_widths(codec: Codec) -> tuple[float | None, ...] | None:
    """The width of each code's bin in lattice points, None for codes that are no bins;
    None in all if no code holds several values.

    >>> from understudy.schema import Integer, codec_of
    >>> bin_widths(codec_of(Integer(name="age", min=0, max=90, bins=(0, 18, 91))))
    (18.0, 73.0, None)
    """
    if not isinstance(codec.bins, BinEdges) or not codec.is_binned:
        return None
    widths = [float(end - start) for start, end in pairwise(codec.bins.edges)]
    return (*widths, *[None] * (codec.size - len(widths)))


def normalise_counts(counts: Sequence[float]) -> NDArray[np.float64]:
    """Counts as shares of their sum."""
    numbers = np.asarray(counts, np.float64)
    return numbers / max(float(numbers.sum()), 1.0)
