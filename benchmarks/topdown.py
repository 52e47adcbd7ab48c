"""A made country, released as a census: error by level, geounits per minute, memory.

    python benchmarks/topdown.py --persons 100000 --rho 1 --repeats 20

With `--workers 2` parents are fitted by two processes; what the first process computes
itself is printed beside the processor seconds of all.

States, counties, tracts and blocks; block sizes are lognormal, and a person is one of
2,016 cells as in the redistricting file of 2020 (8 kinds of home × voting age × Hispanic
× 63 sets of races), drawn from tracts that differ. The shares of levels and queries are
like those of production. The number of persons is exact: replacing a row leaves it.

Printed for each method and level: the mean absolute error of a unit's total and the mean
L1 distance of its detail, over as many countries as `--repeats` says, with the standard
error of that mean; and what the others have more than the first method on the same
countries.

  gls        least squares over all levels, then non-negative fits
  topdown    each unit from its own answers, then the same fits
  bottom-up  blocks alone get the whole budget, negative counts become 0, and all else
             is their sum
  inf-tda    the package of that name, if it is asked for: pip install inf-tda
             'opendp<0.13' 'pandas<3', best in an environment of its own. It has the same
             ρ in equal parts on totals of states, counties, tracts and blocks and on the
             detail of blocks; `--plan even` shares the budget of the others like that
"""

from __future__ import annotations

import argparse
import math
import resource
import time
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.censuses.design import CensusDesign
from understudy.censuses.expected_error import plan_scale
from understudy.censuses.lattice import sum_to_marginal
from understudy.censuses.level_measurement import LevelMeasurement
from understudy.censuses.release import estimate_census
from understudy.censuses.workers.process_families import fit_on_processes
from understudy.noise import draw_noise
from understudy.schema import Categorical, Schema

SHAPE = (8, 2, 2, 63)
CELLS = 2016
BLOCK_PERSONS = 45
"""Mean persons in a block; there were 331 million in 8 million blocks in 2020."""

TRACT_BLOCKS, COUNTY_TRACTS, STATE_COUNTIES = 25, 5, 6
COUNTRY_BLOCKS = 8_000_000
PLANS: dict[str, dict[str, Any]] = {
    "production": {
        "levels": {"nation": 2, "state": 27, "county": 9, "tract": 23, "block": 39},
        "queries": {
            "total": 3,
            "home": 1,
            "adult * hispanic * race": 3,
            "detail": 3,
        },
    },
    # Equal parts for what inf-tda measures.
    "even": {
        "levels": {"state": 1, "county": 1, "tract": 1, "block": 2},
        "queries": {"total": 1, "block": {"total": 1, "detail": 1}},
    },
}
PEER_DELTA = 1e-9
"""δ of the peer's budget: any will do, for it is turned back into ρ."""

UNITS_AT_ONCE = 4_000
"""Units whose tables are held at once."""

Table = sparse.csr_array
Tables = list[sparse.csr_array]


def make_design(blocks: int, plan: str) -> CensusDesign:
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
    persons = {"level": "nation", "query": "total", "keep": "counts"}
    plain = {"hierarchy": geography, "plan": PLANS[plan], "invariants": [persons]}
    return CensusDesign.of(schema, plain)


def draw_blocks(design: CensusDesign, rng: np.random.Generator) -> Table:
    """The true table of every block, one row each."""
    blocks = design.hierarchy.count_units(4)
    sizes = rng.lognormal(np.log(BLOCK_PERSONS) - 0.5, 1.0, blocks)
    shares = rng.dirichlet(np.full(CELLS, 0.02))
    mixture = shares
    tables = []
    for block in range(blocks):
        if block % TRACT_BLOCKS == 0:
            mixture = rng.dirichlet(40 * shares + 1e-6)
        tables.append(
            sparse.csr_array(rng.multinomial(rng.poisson(sizes[block]), mixture))
        )
    return sparse.csr_array(sparse.vstack(tables))


def add_up(design: CensusDesign, blocks: Table) -> Tables:
    """The tables of all levels, the nation first."""
    tables = []
    leaves = np.arange(blocks.shape[0])
    for level in range(4):
        units = design.hierarchy.count_units(level)
        member = sparse.csr_array(
            (
                np.ones(len(leaves), np.int64),
                (design.hierarchy.ancestors(level), leaves),
            ),
            shape=(units, len(leaves)),
        )
        tables.append(sparse.csr_array(member @ blocks))
    return [*tables, blocks]


def cut_units(units: int) -> list[slice]:
    return [
        slice(i, min(i + UNITS_AT_ONCE, units)) for i in range(0, units, UNITS_AT_ONCE)
    ]


def take_units(table: Table, units: slice) -> NDArray[np.int64]:
    return table[units].toarray().reshape(-1, *SHAPE)


def measure(
    design: CensusDesign, truth: Tables, rho: Fraction
) -> list[LevelMeasurement]:
    """Every query of every level with exact noise."""
    measured = []
    for level, query, share in design.plan.steps():
        scale = plan_scale(share * rho, Neighbours.REPLACE)
        table = truth[design.hierarchy.levels.index(level)]
        sizes = design.schema.sizes(query)
        # As the curator keeps the answers of large levels.
        small = np.int64 if table.shape[0] < UNITS_AT_ONCE else np.int16
        values = np.empty((table.shape[0], *sizes), small)
        for units in cut_units(table.shape[0]):
            part = take_units(table, units)
            exact = sum_to_marginal(part, (0, 1, 2, 3), design.axes(query))
            values[units] = exact + draw_noise(
                Law.DISCRETE_GAUSSIAN, scale, exact.shape
            )
        measured.append(LevelMeasurement(level, query, values, float(scale)))
    return measured


def sum_bottom_up(design: CensusDesign, truth: Tables, rho: Fraction) -> list[Any]:
    """Noisy blocks without negative counts, added up."""
    scale = plan_scale(rho, Neighbours.REPLACE)
    parts = []
    for units in cut_units(truth[-1].shape[0]):
        exact = truth[-1][units].toarray()
        noise = draw_noise(Law.DISCRETE_GAUSSIAN, scale, exact.shape)
        parts.append(sparse.csr_array(np.maximum(exact + noise, 0)))
    return add_up(design, sparse.csr_array(sparse.vstack(parts)))


def release_with_inf_tda(design: CensusDesign, truth: Tables, rho: Fraction) -> Tables:
    """The tables of the package inf-tda, whose budget is an ε and δ that it turns into
    this ρ.
    """
    try:
        import pandas as pd
        from InfTDA import inf_tda
        from opendp.typing import set_default_int_type
    except ImportError:
        raise SystemExit(
            "inf-tda is not installed: pip install inf-tda 'opendp<0.13' 'pandas<3'"
        ) from None
    # pandas adds up in 64 bits.
    set_default_int_type("i64")
    blocks = truth[-1].shape[0]
    units = [design.hierarchy.ancestors(level) for level in range(1, 5)]
    index = pd.MultiIndex.from_arrays(
        [*(np.repeat(unit, CELLS) for unit in units), np.tile(np.arange(CELLS), blocks)]
    )
    persons = pd.Series(truth[-1].toarray().ravel(), index=index)
    nats = -math.log(PEER_DELTA)
    epsilon = float(rho) + 2 * math.sqrt(float(rho) * nats)
    released = inf_tda(persons, (epsilon, PEER_DELTA), contribution=1)
    places = released.index.get_level_values(3), released.index.get_level_values(4)
    table = sparse.csr_array((released.to_numpy(), places), shape=(blocks, CELLS))
    return add_up(design, table)


def find_errors(tables: Any, truth: Tables) -> NDArray[np.float64]:
    """By level the mean absolute error of totals, and the mean L1 distance of detail."""
    errors = np.zeros((len(truth), 2))
    for level, (found, true) in enumerate(zip(tables, truth, strict=True)):
        for units in cut_units(true.shape[0]):
            part = found[units]
            dense = part.toarray() if sparse.issparse(part) else part
            error = dense.reshape(len(dense), -1) - true[units].toarray()
            errors[level] += np.abs(error.sum(axis=1)).sum(), np.abs(error).sum()
        errors[level] /= true.shape[0]
    return errors


def count_processor_seconds() -> tuple[float, float]:
    """Of this process, and with those that it started and that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    alone = time.process_time()
    return alone, alone + ended.ru_utime + ended.ru_stime


def release_country(
    method: str,
    design: CensusDesign,
    measured: tuple[LevelMeasurement, ...],
    truth: Tables,
    rho: Fraction,
    workers: int,
) -> NDArray[np.float64]:
    """The errors of one method on one country."""
    start, used = time.perf_counter(), count_processor_seconds()
    done = ""
    if method == "bottom-up":
        tables: Any = sum_bottom_up(design, truth, rho)
    elif method == "inf-tda":
        tables = release_with_inf_tda(design, truth, rho)
    else:
        exact = {0: np.array([truth[0].sum()])}
        with fit_on_processes(workers) if workers > 1 else nullcontext(map) as fit:
            fitted = estimate_census(
                design, measured, exact, method=method, map_families=fit
            ).fitted
        tables = fitted.tables
        done = f"; {fitted.stopped_fits} of {fitted.fits} fits were stopped"
    wall = time.perf_counter() - start
    alone, used = np.subtract(count_processor_seconds(), used)
    units = design.hierarchy.unit_count
    speed = units / used * 60
    hours = COUNTRY_BLOCKS / speed / 60
    print(
        f"{method}: {wall:.1f} s, {used:.1f} processor s ({alone:.1f} in the first"
        f" process), {speed:,.0f} geounits a processor minute; {COUNTRY_BLOCKS:,} blocks would take {hours:.1f} processor"
        f" hours{done}"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:,.0f} MB, {1024 * peak / units:.1f} KB a geounit")
    return find_errors(tables, truth)


def print_errors(design: CensusDesign, errors: dict[str, list[Any]]) -> None:
    """Means over countries with their standard errors, and what each has more on the same
    countries than the first method.
    """
    name_of_first = next(iter(errors))
    first = np.array(errors[name_of_first])
    print(
        "method     level          total error              detail L1  more than first"
    )
    for method, listed in errors.items():
        found = np.array(listed)
        for level, name in enumerate(design.hierarchy.levels):
            words = [describe_mean(found[:, level, i]) for i in range(2)]
            apart = [describe_mean((found - first)[:, level, i]) for i in range(2)]
            more = "" if method == name_of_first else f"{apart[0]}, {apart[1]}"
            print(f"{method:10} {name:8} {words[0]:>17} {words[1]:>22}  {more}")


def describe_mean(values: NDArray[np.float64]) -> str:
    """A mean and its standard error, where there is more than one value."""
    if len(values) == 1:
        return f"{values[0]:,.3f}"
    error = values.std(ddof=1) / math.sqrt(len(values))
    return f"{values.mean():,.3f} ± {error:,.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--persons", type=float, default=1e5)
    parser.add_argument("--rho", type=Fraction, default=Fraction(1))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--plan", choices=PLANS, default="production")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--methods", nargs="*", default=["gls", "topdown", "bottom-up"])
    chosen = parser.parse_args()
    design = make_design(int(chosen.persons) // BLOCK_PERSONS, chosen.plan)
    errors: dict[str, list[Any]] = {method: [] for method in chosen.methods}
    for repeat in range(chosen.repeats):
        rng = np.random.default_rng(chosen.seed + repeat)
        truth = add_up(design, draw_blocks(design, rng))
        print(
            f"{truth[0].sum():,} persons, {design.hierarchy.unit_count:,} geounits,"
            f" {CELLS:,} cells, ρ = {chosen.rho}"
        )
        used = time.process_time()
        measured = tuple(measure(design, truth, chosen.rho))
        print(f"measuring: {time.process_time() - used:.1f} processor seconds")
        for method, of_method in errors.items():
            of_method.append(
                release_country(
                    method, design, measured, truth, chosen.rho, chosen.workers
                )
            )
    print_errors(design, errors)


if __name__ == "__main__":
    main()
