"""Synthetic rows of a release, as codes in batches: how many, with which columns given.

Rows are drawn in batches so that memory does not grow with their number. All of it
reads the release alone, so it may be repeated and seeded freely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.models import Codes, ConditionalModel, PortableModel
from understudy.releases.contents import ReleaseContents
from understudy.releases.given import (
    GivenColumn,
    draw_given_codes,
    encode_given,
    weigh_cells,
)
from understudy.releases.noise_gaps import fill_gaps
from understudy.releases.output.batches import batch_sizes, batch_slices
from understudy.releases.output.frames.decoding import PointSpans
from understudy.text import format_count

SAMPLE_BATCH_ROWS = 1 << 22
"""Rows sampled at a time, so that memory does not grow with the number of rows."""

MAX_SAMPLE_ROWS = 10**12
"""Rows sampled at most: more fill any disk."""

MAX_UNASKED_CELLS = 2 * 10**9
"""Rows times columns that are sampled if the caller names no number: 100 million rows
of 20 columns, 10 GB of CSV or of memory. A release of a few kilobytes may estimate any
number of rows, which its user need not know.
"""

_MAX_GIVEN_CELLS = 10_000_000
"""Cells of the marginal over the given columns, from which matching rows are counted."""


@dataclass(frozen=True)
class RowBatches:
    """Rows of codes, batch by batch, and how many there will be in all."""

    batches: Iterator[Codes]
    count: int
    pins: dict[str, PointSpans] | None = None
    """The lattice points that given columns stay at; None if no column is given."""


def check_rows(rows: int | None) -> None:
    """Refuse what is no number of rows, or one that no disk holds."""
    if rows is None:
        return
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 0:
        raise Refused(
            "The number of rows is a whole number from 0 up. Nothing was sampled."
        )
    if rows > MAX_SAMPLE_ROWS:
        raise Refused(
            f"At most {MAX_SAMPLE_ROWS:,} rows are sampled at once. Nothing was"
            " sampled."
        )


def refuse_unasked_rows(rows: int, columns: int) -> None:
    """Refuse to sample the number of rows that a release or a schema says, if it would
    fill a memory or a disk and the caller named no number.

    >>> refuse_unasked_rows(10**15, 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    understudy.errors.Refused: About 1e+15 rows of 3 columns are too many unasked: say how many ...
    """
    if rows * columns > MAX_UNASKED_CELLS:
        raise Refused(
            f"About {float(rows):.3g} rows of {format_count(columns, 'column')} are too"
            " many unasked: say how many (rows=, --rows). Nothing was sampled."
        )


def seeded_generator(seed: int | None) -> Generator:
    """The generator of a seed; without one, of the system's entropy."""
    if seed is None:
        return np.random.default_rng()
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise Refused("A seed is a whole number from 0 up. Nothing was sampled.")
    return np.random.default_rng(int(seed))


def draw_batches(
    release: ReleaseContents,
    rows: int | None,
    given: Mapping[str, object],
    rng: Generator,
    *,
    max_batch_rows: int | None = None,
) -> RowBatches:
    """Rows of a release; `rows` defaults to its estimate, `given` fixes columns."""
    most = max_batch_rows or SAMPLE_BATCH_ROWS
    check_rows(rows)
    if release.microdata is not None:
        codes = _choose_rows(release, release.microdata, rows, given, rng)
        count = len(next(iter(codes.values())))
        return RowBatches(batch_slices(codes, count, most), count)
    model = release.model
    if model is None:
        raise Refused(
            "This release holds tables, not a model, so it has no rows to give. Use"
            " tables() instead."
        )
    if given:
        return _complete_given(release, model, rows, given, rng, most)
    count = _row_count(release, rows, release.rows)
    batches = (model.sample(size, rng) for size in batch_sizes(count, most))
    return RowBatches(fill_gaps(batches, release.evidence, rng), count)


def _row_count(release: ReleaseContents, rows: int | None, estimated: int) -> int:
    """The number of rows that was asked for, or the estimated one."""
    if rows is not None:
        return int(rows)
    refuse_unasked_rows(estimated, len(release.schema))
    return estimated


def _complete_given(
    release: ReleaseContents,
    model: PortableModel,
    rows: int | None,
    given: Mapping[str, object],
    rng: Generator,
    most: int,
) -> RowBatches:
    """Rows in which some columns are fixed; the others follow their distribution given
    those.
    """
    if not isinstance(model, ConditionalModel):
        raise Refused(
            "This release's model cannot fix columns to values. Sample without `given`"
            " and select rows."
        )
    densities = release.evidence.bin_densities
    columns = encode_given(release.schema, given, densities)
    has_several = any(column.only_code is None for column in columns.values())
    expected = np.zeros(0)
    if rows is None or has_several:
        expected = _expected_counts(release, model, columns)
    count = _row_count(release, rows, max(0, round(float(expected.sum()))))
    if has_several and not expected.any():
        # The model expects no such row: given values are then equally likely.
        expected = weigh_cells(columns, np.ones(expected.shape))
    codecs = release.schema.codecs

    def complete_rows(size: int) -> Codes:
        drawn = draw_given_codes(columns, expected, codecs, size, rng)
        return model.complete(drawn, rng)

    batches = (complete_rows(size) for size in batch_sizes(count, most))
    pins = {name: column.spans for name, column in columns.items() if column.spans}
    return RowBatches(batches, count, pins)


def _expected_counts(
    release: ReleaseContents,
    model: PortableModel,
    columns: Mapping[str, GivenColumn],
) -> NDArray[np.float64]:
    """The model's expected counts over the given columns, of the rows that match."""
    clique = tuple(columns)
    # The product is taken in floating point because it may exceed 64 bits.
    cells = np.prod(release.schema.sizes(clique), dtype=np.float64)
    if cells > _MAX_GIVEN_CELLS:
        raise Refused(
            "Too many columns are given to say how many rows match. Say how many rows"
            " you want, and one value of each column."
        )
    return weigh_cells(columns, model.marginal(clique))


def _choose_rows(
    release: ReleaseContents,
    microdata: Mapping[str, NDArray[np.integer]],
    rows: int | None,
    given: Mapping[str, object],
    rng: Generator,
) -> Codes:
    """Rows of one fixed table: all of them, or some drawn without replacement."""
    if given:
        raise Refused(
            "This release is one fixed table: no column can be given. Sample it and"
            " select rows."
        )
    if rows is None:
        return dict(microdata)
    if rows > release.rows:
        raise Refused(
            f"This release is one fixed table of {release.rows} rows and has no more to"
            " give."
        )
    # Sorted, so that rows keep the order of the table.
    chosen = np.sort(rng.choice(release.rows, int(rows), replace=False))
    return {name: codes[chosen] for name, codes in microdata.items()}
