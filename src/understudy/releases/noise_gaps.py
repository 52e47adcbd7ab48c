"""Gaps that are noise: empty cells of columns in which no empty cell stands out.

A column that was not wholly declared may have gaps, so its empty cell is counted like any other
value, with noise. Where that count is below its own noise, the best guess is that there
are none, and sampled rows get a value instead of a few made-up gaps. Post-processing: a
release decides this from its measurements, and no row is read.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.models import Codes
from understudy.releases.evidence import Evidence
from understudy.schema import Column

MAX_GAP_SIGMAS = 2.0
"""Standard deviations of its noise up to which a count of empty cells is taken for
none.
"""

ColumnShares = dict[str, NDArray[np.float64]]
"""The release's own share of each code that is a value, by column."""


def gapless_columns(evidence: Evidence) -> ColumnShares:
    """The columns of which something was learned, and whose empty cells do not stand
    out of the noise.
    """
    schema = evidence.schema
    # A value put into a gap could break a rule, or differ within a unit.
    ruled = {name for rule in schema.rules for name in rule.columns}
    found: ColumnShares = {}
    for name in schema:
        if name in ruled or not _may_close_gaps(schema[name]):
            continue
        if _is_gap_noise(evidence, name):
            shares = np.where(schema.codecs[name].is_value, evidence.shares(name), 0.0)
            if shares.sum() > 0:
                found[name] = shares / shares.sum()
    return found


def _may_close_gaps(column: Column) -> bool:
    # Whoever declares all of a column knows whether it has gaps.
    is_learned = bool(column.learned) and column.nullable
    return is_learned and not column.is_lost and not column.constant


def _is_gap_noise(evidence: Evidence, name: str) -> bool:
    empty = evidence.schema.codecs[name].empty
    if empty is None:
        return False
    variance = float(evidence.least_squares.variance((name,))[empty])
    if not np.isfinite(variance):
        return False
    count = float(evidence.least_squares.marginal((name,))[empty])
    return bool(count <= MAX_GAP_SIGMAS * np.sqrt(variance))


def fill_gaps(
    batches: Iterator[Codes], evidence: Evidence, rng: Generator
) -> Iterator[Codes]:
    """The same rows, with a value drawn for each gap that is noise."""
    gapless = gapless_columns(evidence)
    for codes in batches:
        filled = dict(codes)
        for name, shares in gapless.items():
            gaps = codes[name] == evidence.schema.codecs[name].empty
            if gaps.any():
                drawn = rng.choice(len(shares), int(gaps.sum()), p=shares)
                filled[name] = codes[name].copy()
                filled[name][gaps] = drawn
        yield filled
