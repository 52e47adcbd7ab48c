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
from understudy.releases.output.batches import batch_sizes, batch_slices
from understudy.schema import Lattice, Schema
from understudy.schema.columns.cell import to_plain_cell
from understudy.schema.columns.codec import Codec
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
    pins: dict[str, int] | None = None
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
    return RowBatches(batches, count)


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
    codecs = release.schema.codecs
    fixed, pins = _encode_given(release.schema, given)
    estimated = _expected_rows(release, model, fixed, pins) if rows is None else 0
    count = _row_count(release, rows, estimated)

    def repeat_given(size: int) -> Codes:
        return {
            name: np.full(size, code, codecs[name].dtype)
            for name, code in fixed.items()
        }

    batches = (
        model.complete(repeat_given(size), rng) for size in batch_sizes(count, most)
    )
    return RowBatches(batches, count, pins)


def _expected_rows(
    release: ReleaseContents,
    model: PortableModel,
    fixed: Mapping[str, int],
    pins: Mapping[str, int],
) -> int:
    """The model's estimate of the number of rows with these codes and, inside bins that
    hold several points, with these points.
    """
    clique = tuple(fixed)
    # The product is taken in floating point because it may exceed 64 bits.
    cells = np.prod(release.schema.sizes(clique), dtype=np.float64)
    if cells > _MAX_GIVEN_CELLS:
        raise Refused(
            "Too many columns are given to say how many rows match. Say how many rows"
            " you want."
        )
    # The model counts codes; inside a bin the density gives the share of one point.
    expected = float(model.marginal(clique)[tuple(fixed.values())])
    densities = release.evidence.bin_densities
    for name, index in pins.items():
        if name in densities:
            expected *= densities[name].share(fixed[name], index)
    return max(0, round(expected))


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


def _encode_given(
    schema: Schema, given: Mapping[str, object]
) -> tuple[dict[str, int], dict[str, int]]:
    """The code of every given value, and the lattice point it stays at if its code is a
    bin of several points.
    """
    codes: dict[str, int] = {}
    pins: dict[str, int] = {}
    for name, value in given.items():
        if name not in schema:
            raise Refused(
                f'column "{name}" takes no part in this release, so it cannot be given.'
                " Nothing was sampled."
            )
        codec = schema.codecs[name]
        if not codec.has_own_code(value):
            raise Refused(
                f'column "{name}": the given value is not in its domain. Nothing was'
                " sampled."
            )
        codes[name] = codec.code(value)
        point = _lattice_point(codec, codes[name], value)
        if point is not None:
            pins[name] = point
    return codes, pins


def _lattice_point(codec: Codec, code: int, value: object) -> int | None:
    """Where a value lies on its column's lattice; None if it has no place there, as
    missing has none.
    """
    column = codec.column
    if not isinstance(column, Lattice) or code >= len(codec.bins):
        return None
    cell = to_plain_cell(value)
    return column.index_of(column.parse(cell) if isinstance(cell, str) else cell)
