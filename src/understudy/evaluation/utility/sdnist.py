"""The k-marginal score as NIST's report tool SDNist computes it, overall and for each
group of rows.

SDNist (Task, Bhagat, Howarth, "SDNist: deidentified data report tool", NIST 2023) scores
500 · (2 − mean L1) over pairs of columns. What makes its figures its own:

- A number of more than 20 values is cut at 20 percentiles of the real rows, by the mean
  rank of ties; a missing cell is a value of its own.
- Its census excerpts have three columns apart: PUMA and INDP are in no pair, DENSITY is
  cut at logarithmic steps after its decimals were cut off. The code 501 of POVPIP, above
  all its numbers, is meant to stay apart, but is looked for as text where it is a number:
  it is ranked.
- A group's score is 1000 · (1 − mean L1), where L1 is taken over the cells of the group
  as shares of the whole, at most the group's share, and divided by it.

`kmarginal` beside it scores the cells of the schema, as a release counts them.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from understudy.evaluation.utility.kmarginal import score_of_distance
from understudy.findings import BetterDirection, Finding, FindingPart, Unavailable
from understudy.schema import Lattice
from understudy.schema.predicates.comparable import scale_step_of
from understudy.tables import Records

PERCENTILE_BINS = 20
MAX_SDNIST_ROWS = 1_000_000
"""Of larger tables this many rows are drawn."""

UNPAIRED_COLUMNS = ("PUMA", "INDP")
LOGARITHMIC_COLUMN = "DENSITY"

MAX_DENSE_CELLS = 2**22
"""Above this many cells only those that occur are counted."""

Codes = NDArray[np.int64]


def assess_sdnist(real: Records, synthetic: Records, group: str) -> Finding:
    """The score of all pairs of columns, and of each group of rows."""
    names = [
        name for name in real.schema if name != group and name not in UNPAIRED_COLUMNS
    ]
    if len(names) < 2:
        raise Unavailable("there are fewer than two columns beside the groups")
    codes = {name: code_columns(name, real, synthetic) for name in names}
    groups = _schema_codes(group, real, synthetic)
    share = _shares(groups[0], int(max(map(np.max, groups))) + 1)
    scored = np.flatnonzero(share)
    total = 0.0
    apart = np.zeros(len(scored))
    pairs = list(combinations(names, 2))
    for first, second in pairs:
        gaps = group_gaps(groups, codes[first], codes[second])
        # Cells of a pair and a group add up to no less than the pair's own.
        apart += np.minimum(gaps[scored], share[scored]) / share[scored]
        total += float(gaps.sum())
    # Labels of the schema name groups; a group that no real row is in has no score.
    labels = real.codec(group).labels()
    parts = tuple(
        FindingPart(
            name=labels[place], columns=(group,), value=float(1000 * (1 - mean))
        )
        for place, mean in zip(scored, apart / len(pairs), strict=True)
    )
    return Finding(
        name="sdnist",
        title=f"k-marginal score of SDNist, by {group}",
        family="marginals",
        value=score_of_distance(total / len(pairs)),
        better=BetterDirection.HIGHER,
        best=1000.0,
        worst=0.0,
        note="As NIST's report tool computes it; the parts are the groups' own scores.",
        parts=tuple(sorted(parts, key=lambda part: part.value or 0.0)),
        facts={"pairs": len(pairs), "rows": real.rows},
    )


def group_gaps(
    groups: tuple[Codes, Codes],
    first: tuple[Codes, Codes],
    second: tuple[Codes, Codes],
) -> NDArray[np.float64]:
    """Summed absolute differences of shares between two tables, by group."""
    sizes = [int(max(map(np.max, both))) + 1 for both in (groups, first, second)]
    cells = [(groups[i] * sizes[1] + first[i]) * sizes[2] + second[i] for i in range(2)]
    pair_cells = sizes[1] * sizes[2]
    if sizes[0] * pair_cells <= MAX_DENSE_CELLS:
        here, there = (_shares(each, sizes[0] * pair_cells) for each in cells)
        return np.asarray(
            np.abs(here - there).reshape(sizes[0], pair_cells).sum(axis=1)
        )
    occurring, places = np.unique(np.concatenate(cells), return_inverse=True)
    here = _shares(places[: len(cells[0])], len(occurring))
    there = _shares(places[len(cells[0]) :], len(occurring))
    gaps = np.bincount(
        occurring // pair_cells, weights=np.abs(here - there), minlength=sizes[0]
    )
    return np.asarray(gaps, np.float64)


def _shares(codes: Codes, size: int) -> NDArray[np.float64]:
    return np.bincount(codes, minlength=size) / max(len(codes), 1)


def code_columns(name: str, real: Records, synthetic: Records) -> tuple[Codes, Codes]:
    """A column of both tables in the codes that SDNist compares."""
    described = real.schema[name]
    if not isinstance(described, Lattice):
        return _schema_codes(name, real, synthetic)
    numbers, drawn = real.numbers(name), synthetic.numbers(name)
    known = numbers[~np.isnan(numbers)]
    if name == LOGARITHMIC_COLUMN and described.high is not None:
        cuts = density_cuts(described.high * float(scale_step_of(described)))
        numbers, drawn = np.trunc(numbers), np.trunc(drawn)
    elif len(np.unique(known)) > PERCENTILE_BINS:
        cuts = percentile_cuts(known)
    else:
        # Few values are labels: one that only the synthetic rows have is a value too.
        cuts = np.unique(np.concatenate([known, drawn[~np.isnan(drawn)]]))
    return _place_numbers(numbers, cuts), _place_numbers(drawn, cuts)


def _schema_codes(name: str, real: Records, synthetic: Records) -> tuple[Codes, Codes]:
    return real.codes[name].astype(np.int64), synthetic.codes[name].astype(np.int64)


def _place_numbers(
    numbers: NDArray[np.float64], cuts: NDArray[np.float64]
) -> NDArray[np.int64]:
    """The interval of each number, closed above; missing is the one after the last."""
    return np.where(
        np.isnan(numbers), len(cuts) + 1, np.searchsorted(cuts, numbers, side="left")
    ).astype(np.int64)


def percentile_cuts(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest number of each twentieth but the last, by the mean rank of ties.

    >>> percentile_cuts(np.arange(40.0))[:3].tolist()
    [0.0, 2.0, 4.0]
    >>> percentile_cuts(np.array([0.0] * 30 + [1.0] * 10)).tolist()
    [0.0]
    """
    ranks = rankdata(numbers) / max(len(numbers), 1)
    bins = np.minimum((PERCENTILE_BINS * ranks).astype(np.int64), PERCENTILE_BINS - 1)
    ends = [numbers[bins == place].max() for place in np.unique(bins)]
    return np.array(ends[:-1], np.float64)


def density_cuts(top: float) -> NDArray[np.float64]:
    """Persons a square mile: one interval up to 150, then steps of equal ratio."""
    steps = np.logspace(1, np.log10(top + 500), PERCENTILE_BINS + 1)
    return np.concatenate([[150.0], steps[8:-1]])
