"""Tables whose columns follow each other in a chain, and whole runs on them."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

from kit.models.build import schema_of
from kit.privacy.audit import recomputed
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import price
from understudy.accounting.sensitivity import marginal_sensitivity
from understudy.releases import Release
from understudy.schema import Integer, Schema
from understudy.synthesizers import Synthesizer
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

RUNS = itertools.count()


def chain(sizes, rows=2_000, *, seed=0, keep=0.9) -> tuple[Schema, pa.Table]:
    """Columns c0, c1, …: each repeats the one before (as far as its size goes) with
    probability `keep`.
    """
    rng = np.random.default_rng(seed)
    schema = Schema(
        columns=tuple(
            Integer(name=f"c{i}", min=0, max=n - 1, nullable=False)
            for i, n in enumerate(sizes)
        )
    )
    codes = {}
    for i, n in enumerate(sizes):
        own = rng.integers(0, n, rows)
        codes[f"c{i}"] = (
            np.where(rng.random(rows) < keep, codes[f"c{i - 1}"] % n, own) if i else own
        )
    return schema, pa.table(
        {name: pa.array(column.astype(np.int64)) for name, column in codes.items()}
    )


def chain_of_labels(columns=6, rows=3000, size=3, seed=1):
    """Each column follows the one before it in four of five rows; all of it made up."""
    draw = np.random.default_rng(seed)
    codes = [draw.integers(0, size, rows)]
    for _ in range(columns - 1):
        codes.append(
            np.where(draw.random(rows) < 0.8, codes[-1], draw.integers(0, size, rows))
        )
    schema = schema_of(*[size] * columns)
    return schema, {
        name: [f"{name}{code}" for code in column]
        for name, column in zip(schema, codes, strict=True)
    }


def ran(
    folder: Path,
    synthesizer: Synthesizer,
    schema: Schema,
    rows: pa.Table,
    *,
    epsilon="1",
    delta="1e-9",
    neighbours=Neighbours.ADD_REMOVE,
    accounting=None,
    workload=(),
) -> tuple[Release, list[str]]:
    """A whole run, and the stages it told of."""
    told: list[str] = []
    release = synthesize(
        rows,
        schema,
        epsilon=epsilon,
        delta=delta,
        synthesizer=synthesizer,
        ledger=folder / f"{next(RUNS)}.ledger",
        run=RunOptions(dataset="chain"),
        neighbours=neighbours,
        accounting=accounting,
        workload=workload,
        seed=1,
        progress=lambda stage, _: told.append(stage),
    )
    return release, told


MODES = [("0", None), ("1e-9", None), ("1e-9", Accounting.ZCDP)]
"""A pure, a GDP and a zCDP run."""


def prices_add_up(release: Release, neighbours: Neighbours) -> None:
    """Every answer's price, computed again from its map and its noise, is what it
    claims; together they are what was spent, at most all.
    """
    measured = Fraction(0)
    for m in release.measurements:
        again = price(
            m.law, m.scale, marginal_sensitivity(m.maps, neighbours), m.cost.accounting
        ).amount
        assert again <= m.cost.amount
        measured += again
    steps = release.statement.steps
    chosen = sum(
        (step.cost.amount for step in steps if step.asked != "marginals"), Fraction(0)
    )
    assert measured + chosen == sum(step.cost.amount for step in steps)
    assert Fraction(99, 100) <= sum(step.share for step in steps) <= 1


def pair_error(release: Release, rows: pa.Table, clique) -> float:
    """Total variation distance between the model's marginal and the rows'."""
    sizes = release.schema.sizes(clique)
    code = np.ravel_multi_index([rows[name].to_numpy() for name in clique], sizes)
    truth = np.bincount(code, minlength=int(np.prod(sizes))).reshape(sizes) / len(code)
    found = release.model.marginal(clique)
    return float(np.abs(found / max(found.sum(), 1e-9) - truth).sum()) / 2


def lost(
    release: Release, rows: pa.Table, neighbours: Neighbours, *, mutant: str = ""
) -> bool:
    """Whether some answer's noise, returned minus exact counts, would lose more than
    was paid for it.

    Mutants: "spare" leaves cells that are exactly zero without noise, "halve" halves
    all of it.
    """
    for m in release.measurements:
        if m.values.size < 100 or not m.scale:
            continue  # too few numbers to tell
        sizes = release.schema.sizes(m.clique)
        code = np.ravel_multi_index([rows[name].to_numpy() for name in m.clique], sizes)
        exact = np.bincount(code, minlength=int(np.prod(sizes))).reshape(sizes)
        for axis, map_ in enumerate(m.maps):
            exact = np.moveaxis(
                np.tensordot(map_.matrix(), exact, axes=(1, axis)), 0, axis
            )
        noise = m.values - exact
        if mutant == "spare":
            noise = np.where(exact == 0, 0, noise)
        elif mutant == "halve":
            noise = np.rint(noise / 2).astype(np.int64)
        moved = marginal_sensitivity(m.maps, neighbours)
        if recomputed(
            noise,
            m.law,
            l1=float(moved.l1),
            l2=float(moved.l2_squared) ** 0.5,
            cost=m.cost,
        ).violated:
            return True
    return False


def audited(folder: Path, synthesizer: Synthesizer, sizes, *, rows=300) -> None:
    """Real noise passes under both relations and in every accounting; noise on some
    cells only, or half of it, does not.
    """
    schema, table = chain(sizes, rows=rows)
    for neighbours in Neighbours:
        for delta, accounting in MODES:
            release, _ = ran(
                folder,
                synthesizer,
                schema,
                table,
                delta=delta,
                accounting=accounting,
                neighbours=neighbours,
            )
            assert not lost(release, table, neighbours)
            assert lost(release, table, neighbours, mutant="halve")
            assert lost(release, table, neighbours, mutant="spare")
