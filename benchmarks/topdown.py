"""A made country, released as a census: error by level, geounits per minute, memory.

    python benchmarks/topdown.py --persons 100000 --rho 1

States, counties, tracts and blocks; block sizes are lognormal, and a person is one of
2,016 cells as in the redistricting file of 2020 (8 kinds of home × voting age × Hispanic
× 63 sets of races), drawn from tracts that differ. The shares of levels and queries are
like those of production. Printed for each method and level: the mean absolute error of
a unit's total and the mean L1 distance of its detail.

  gls        least squares over all levels, then non-negative fits
  topdown    each unit from its own answers, then the same fits
  bottom-up  blocks alone get the whole budget, negative counts become 0, and all else
             is their sum
"""

from __future__ import annotations

import argparse
import resource
import time
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.censuses.design import CensusDesign
from understudy.censuses.expected_error import plan_scale
from understudy.censuses.lattice import sum_to_marginal
from understudy.censuses.level_measurement import LevelMeasurement
from understudy.censuses.release import estimate_census
from understudy.noise import draw_noise
from understudy.schema import Categorical, Schema

SHAPE = (8, 2, 2, 63)
CELLS = 2016
BLOCK_PERSONS = 45
"""Mean persons in a block; there were 331 million in 8 million blocks in 2020."""

TRACT_BLOCKS, COUNTY_TRACTS, STATE_COUNTIES = 25, 5, 6
COUNTRY_BLOCKS = 8_000_000
PLAN = {
    "levels": {"nation": 2, "state": 27, "county": 9, "tract": 23, "block": 39},
    "queries": {
        "total": 3,
        "home": 1,
        "adult * hispanic * race": 3,
        "detail": 3,
    },
}
Tables = list[NDArray[np.int64]]


def make_design(blocks: int) -> CensusDesign:
    """A country of about so many blocks."""
    tracts = max(1, blocks // TRACT_BLOCKS)
    tree: dict[str, dict[str, dict[str, list[str]]]] = {}
    for tract in range(tracts):
        county = tract // COUNTY_TRACTS
        state = county // STATE_COUNTIES
        counties = tree.setdefault(f"s{state}", {})
        tracts_of = counties.setdefault(f"c{county % STATE_COUNTIES}", {})
        tracts_of[f"t{tract % COUNTY_TRACTS}"] = [f"b{b}" for b in range(TRACT_BLOCKS)]
    people = {"home": 8, "adult": 2, "hispanic": 2, "race": 63}
    places = {
        "state": [*tree],
        "county": [f"c{i}" for i in range(STATE_COUNTIES)],
        "tract": [f"t{i}" for i in range(COUNTY_TRACTS)],
        "block": [f"b{i}" for i in range(TRACT_BLOCKS)],
    }
    columns = {
        **places,
        **{name: [f"{name}{i}" for i in range(n)] for name, n in people.items()},
    }
    schema = Schema(
        columns=tuple(
            Categorical(name=name, values=tuple(values), nullable=False)
            for name, values in columns.items()
        )
    )
    geography = {"columns": list(places), "tree": tree}
    return CensusDesign.of(schema, {"hierarchy": geography, "plan": PLAN})


def draw_blocks(design: CensusDesign, rng: np.random.Generator) -> NDArray[np.int64]:
    """The true table of every block."""
    blocks = design.hierarchy.count_units(4)
    sizes = rng.lognormal(np.log(BLOCK_PERSONS) - 0.5, 1.0, blocks)
    shares = rng.dirichlet(np.full(CELLS, 0.02))
    tables = np.zeros((blocks, CELLS), np.int64)
    mixture = shares
    for block in range(blocks):
        if block % TRACT_BLOCKS == 0:
            mixture = rng.dirichlet(40 * shares + 1e-6)
        tables[block] = rng.multinomial(rng.poisson(sizes[block]), mixture)
    return tables.reshape(blocks, *SHAPE)


def add_up(design: CensusDesign, blocks: NDArray[np.int64]) -> Tables:
    """The tables of all levels, the nation first."""
    tables = [blocks]
    for level in range(3, -1, -1):
        tables.insert(0, design.hierarchy.sum_children(level, tables[0]))
    return tables


def measure(
    design: CensusDesign, truth: Tables, rho: Fraction
) -> list[LevelMeasurement]:
    """Every query of every level with exact noise."""
    measured = []
    for level, query, share in design.plan.steps():
        scale = plan_scale(share * rho, Neighbours.REPLACE)
        table = truth[design.hierarchy.levels.index(level)]
        exact = sum_to_marginal(table, (0, 1, 2, 3), design.axes(query))
        noise = draw_noise(Law.DISCRETE_GAUSSIAN, scale, exact.shape)
        measured.append(LevelMeasurement(level, query, exact + noise, float(scale)))
    return measured


def sum_bottom_up(design: CensusDesign, truth: Tables, rho: Fraction) -> Tables:
    """Noisy blocks without negative counts, added up."""
    scale = plan_scale(rho, Neighbours.REPLACE)
    noise = draw_noise(Law.DISCRETE_GAUSSIAN, scale, truth[-1].shape)
    return add_up(design, np.maximum(truth[-1] + noise, 0))


def print_errors(
    design: CensusDesign, name: str, tables: Tables, truth: Tables
) -> None:
    for level, found, true in zip(design.hierarchy.levels, tables, truth, strict=True):
        error = (found - true).reshape(len(true), -1)
        total, detail = (
            np.abs(error.sum(axis=1)).mean(),
            np.abs(error).sum(axis=1).mean(),
        )
        print(f"{name:10} {level:8} {len(true):7,} {total:12.1f} {detail:12.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--persons", type=int, default=100_000)
    parser.add_argument("--rho", type=Fraction, default=Fraction(1))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    design = make_design(chosen.persons // BLOCK_PERSONS)
    truth = add_up(design, draw_blocks(design, np.random.default_rng(chosen.seed)))
    units = design.hierarchy.unit_count
    print(
        f"{truth[0].sum():,} persons, {units:,} geounits, {CELLS:,} cells, ρ = {chosen.rho}"
    )
    start = time.perf_counter()
    measured = tuple(measure(design, truth, chosen.rho))
    print(f"measured in {time.perf_counter() - start:.1f} s")
    print("method     level      units  total error    detail L1")
    for method in ("gls", "topdown"):
        start, used = time.perf_counter(), time.process_time()
        made = estimate_census(
            design, measured, {}, method=method, workers=chosen.workers
        )
        wall, used = time.perf_counter() - start, time.process_time() - used
        print_errors(design, method, list(made.fitted.tables), truth)
        speed = units / used * 60
        hours = COUNTRY_BLOCKS / speed / 60
        print(
            f"{method}: {wall:.1f} s, {speed:,.0f} geounits a processor minute;"
            f" {COUNTRY_BLOCKS:,} blocks would take {hours:.1f} processor hours;"
            f" {made.fitted.stopped_fits} of {made.fitted.fits} fits were stopped"
        )
    print_errors(design, "bottom-up", sum_bottom_up(design, truth, chosen.rho), truth)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:,.0f} MB")


if __name__ == "__main__":
    main()
