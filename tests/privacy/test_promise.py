"""The promise of a whole run, recomputed: what the noise in a release would cost, from
returned minus exact counts on every cell.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from pathlib import Path

import numpy as np
import pandas
import pytest

from kit.privacy.audit import ALPHA, alike, goodness, recomputed
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.sensitivity import marginal_sensitivity
from understudy.curator import MechanismContext
from understudy.releases import Release
from understudy.schema import Categorical, Schema
from understudy.workflow.synthesize import synthesize


def schema_of(*sizes: int) -> Schema:
    """Categorical columns of so many values."""
    return Schema(
        columns=tuple(
            Categorical(name=f"c{i}", values=tuple(map(str, range(n))), nullable=False)
            for i, n in enumerate(sizes)
        )
    )


def exact(
    frame: pandas.DataFrame, release: Release, clique: tuple[str, ...]
) -> np.ndarray:
    """The counts behind a marginal, by pandas."""
    counts = np.zeros(release.schema.sizes(clique), np.int64)
    if not clique:
        return np.array(len(frame))
    for values, times in frame.groupby(list(clique)).size().items():
        counts[
            tuple(int(v) for v in (values if isinstance(values, tuple) else (values,)))
        ] = times
    return counts


def amount(loss: float, accounting: Accounting) -> float:
    """A loss as what adds up."""
    return loss * loss if accounting is Accounting.GDP else loss


def check(
    folder: Path,
    method: str,
    relation: Neighbours,
    accounting: Accounting,
    sizes: tuple[int, ...],
) -> None:
    """Not below what was claimed with less noise; not far above it with more; the
    stated law, on empty cells too; no noise twice.
    """
    rng = np.random.default_rng(0)
    schema = schema_of(*sizes)
    frame = pandas.DataFrame(
        {
            f"c{i}": rng.integers(0, n // 2, 1000).astype(str)
            for i, n in enumerate(sizes)
        }
    )
    frame.to_csv(folder / "people.csv", index=False)
    delta = 0 if accounting is Accounting.PURE else "1e-6"
    release = synthesize(
        folder / "people.csv",
        schema,
        epsilon=3,
        delta=delta,
        accounting=accounting,
        neighbours=relation,
        synthesizer=method,
    )
    low = high = 0.0
    noises = []
    for measured in release.measurements:
        noise = measured.values - exact(frame, release, measured.clique)
        if not measured.scale:
            assert relation is Neighbours.REPLACE
            assert not noise.any()  # the public number of rows
            continue
        moves = marginal_sensitivity(measured.maps, relation)
        found = recomputed(
            noise,
            measured.law,
            l1=float(moves.l1),
            l2=sqrt(moves.l2_squared),
            cost=measured.cost,
            alpha=ALPHA / 4,
        )
        low, high = (
            low + amount(found.low, accounting),
            high + amount(found.high, accounting),
        )
        empty = exact(frame, release, measured.clique) == 0
        if not measured.clique:
            continue  # the number of rows, of which no cell is empty
        assert empty.any()
        for part in (noise[empty], noise[~empty]):
            assert goodness(part, measured.law, measured.scale) > ALPHA
        noises.append(noise)
    promised = float(release.guarantee.amount)
    assert low <= promised
    assert high >= promised * 0.99
    assert low >= promised * 0.8
    assert all(
        alike(a.ravel()[:500], b.ravel()[:500]) > ALPHA
        for i, a in enumerate(noises)
        for b in noises[:i]
    )


CASES = [
    ("independent", Neighbours.ADD_REMOVE, Accounting.GDP, (6000, 5000)),
    ("independent", Neighbours.REPLACE, Accounting.PURE, (12000, 11000)),
    ("independent", Neighbours.ADD_REMOVE, Accounting.ZCDP, (6000, 5000)),
    ("histogram", Neighbours.ADD_REMOVE, Accounting.PURE, (120, 110)),
    ("histogram", Neighbours.REPLACE, Accounting.ZCDP, (120, 110)),
    ("histogram", Neighbours.REPLACE, Accounting.GDP, (120, 110)),
]


@pytest.mark.parametrize(
    ("method", "relation", "accounting", "sizes"),
    CASES,
    ids=lambda v: str(v) if isinstance(v, str) else "",
)
def test_a_run_loses_what_its_release_promises(
    method, relation, accounting, sizes, tmp_path
):
    check(tmp_path, method, relation, accounting, sizes)


def test_a_run_with_less_noise_does_not_pass(tmp_path, monkeypatch):
    """Ten percent less than was paid for, on every cell."""
    original = MechanismContext.add_noise
    monkeypatch.setattr(
        MechanismContext,
        "add_noise",
        lambda self, e, scale: original(self, e, scale * Fraction(9, 10)),
    )
    with pytest.raises(AssertionError):
        check(tmp_path, *CASES[2])


def test_a_run_that_leaves_empty_cells_alone_does_not_pass(tmp_path, monkeypatch):
    original = MechanismContext.add_noise
    monkeypatch.setattr(
        MechanismContext,
        "add_noise",
        lambda self, e, scale: np.where(e > 0, original(self, e, scale), 0),
    )
    with pytest.raises(AssertionError):
        check(tmp_path, *CASES[2])


@pytest.mark.parametrize("cells", [1, 3, 12, 100])
def test_few_cells_raise_no_alarm(cells):
    """The recomputed loss is an interval that holds for any number of cells: never an
    alarm here.
    """
    rng = np.random.default_rng(0)
    cost = Cost(Accounting.GDP, Fraction(1, 16))
    found = [
        recomputed(
            np.rint(rng.normal(0, 4, cells)).astype(np.int64),
            Law.ROUNDED_GAUSSIAN,
            l1=1,
            l2=1,
            cost=cost,
        )
        for _ in range(200)
    ]
    assert not any(one.violated or one.wasted for one in found)


@pytest.mark.parametrize(
    ("scale", "violated", "wasted"),
    [(3, True, False), (4, False, False), (5, False, True)],
)
def test_the_recomputed_loss_has_teeth(scale, violated, wasted):
    rng = np.random.default_rng(0)
    noise = np.rint(rng.normal(0, scale, 10_000)).astype(np.int64)
    found = recomputed(
        noise,
        Law.ROUNDED_GAUSSIAN,
        l1=1,
        l2=1,
        cost=Cost(Accounting.GDP, Fraction(1, 16)),
    )
    assert (found.violated, found.wasted) == (violated, wasted)
