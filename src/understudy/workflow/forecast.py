"""How long a run would take, how much memory, and how far off it might be: a dress
rehearsal on imagined rows, on this machine.

The rehearsal has walked the real curator through the real synthesizer on an imagined
population of the stated size, so its model is there to be timed: fitted once, sampled a
little, and those rows counted as real ones would be. What grows with rows is scaled up
to all of them. No real row takes part, and no assumption about the machine.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from understudy.curator.simulation.population import Population
from understudy.measurements import Clique, Measurements
from understudy.models import PortableModel
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL, min_noise_size
from understudy.models.estimates.residuals import PooledResiduals
from understudy.releases.output.frames import to_frame
from understudy.schema import Schema
from understudy.synthesizers import Synthesizer
from understudy.tables import Table, open_table

MAX_PACE_ROWS = 20_000
"""Imagined rows that are sampled, written and counted to learn this machine's pace."""

MAX_FORECAST_PAIRS = 120
"""Pairs over which the rehearsal's own error is averaged."""

RESIDENT_BYTES = 230 * 2**20
"""Bytes that the interpreter and its libraries take before any work."""

REAL_TABLE_SLOWDOWN = 1.4
"""Times as long as in the rehearsal that measuring and fitting take: real tables are
less regular, and a fit of them takes more passes.
"""

MODEL_CELL_BYTES, ROW_CODE_BYTES, WRITTEN_VALUE_BYTES = 120, 3, 16
"""Bytes at the peak: for each cell of the model while it is fitted, for each code of a
row, for each value written out.
"""


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a run would take on this machine, and what an imagined one missed by.

    `seconds` by stage; `memory` in bytes at the peak. How far pairs are off in the mean
    depends on how much columns depend on each other: `least` if they do not at all, so
    that only the noise on single columns matters, `error` in the imagined run, whose
    columns depend on each other much. `independent` is what the imagined run would be
    off by if every column stood alone.
    """

    seconds: dict[str, float]
    memory: int
    least: float
    error: float
    independent: float

    @property
    def total_seconds(self) -> float:
        """The whole run."""
        return sum(self.seconds.values())


def forecast_run(
    schema: Schema,
    method: Synthesizer,
    measured: Measurements,
    *,
    rows: int,
    measuring: float,
) -> tuple[Forecast, PortableModel]:
    """Fit the rehearsed measurements, try the pace, and compare with the imagined
    population.
    """
    rng = np.random.default_rng(0)
    began = time.perf_counter()
    model = method.estimate(schema, measured, rng)
    fitting = time.perf_counter() - began
    some = max(1, min(rows, MAX_PACE_ROWS))
    began = time.perf_counter()
    codes = model.sample(some, rng)
    frame = to_frame(schema, codes, kind="duckdb", rng=rng)
    sampling = (time.perf_counter() - began) * rows / some
    began = time.perf_counter()
    source = open_table(frame)
    opening = time.perf_counter() - began
    began = time.perf_counter()
    # Keys of people are no part of a rehearsal.
    table = Table(source, schema.with_row_units())
    table.encode()
    table.counts([m.clique for m in measured])
    counting = opening + (time.perf_counter() - began) * rows / some
    error, independent = _mean_pair_distances(Population(schema, rows), model)
    least = min(_independent_distance(schema, measured, rows), error)
    cells = sum(array.size for array in model.to_parts()[1].values()) + sum(
        m.values.size for m in measured
    )
    return (
        Forecast(
            seconds={
                "counting": counting,
                "measuring": REAL_TABLE_SLOWDOWN * measuring,
                "fitting": REAL_TABLE_SLOWDOWN * fitting,
                "sampling": sampling,
            },
            memory=RESIDENT_BYTES
            + MODEL_CELL_BYTES * cells
            + rows * len(schema) * (ROW_CODE_BYTES + WRITTEN_VALUE_BYTES),
            least=least,
            error=error,
            independent=independent,
        ),
        model,
    )


def _independent_distance(schema: Schema, measured: Measurements, rows: int) -> float:
    """Mean distance of pairs whose columns are independent: what noise does to the two
    columns, which add up at most.
    """
    pooled = PooledResiduals.of(schema, measured)
    off = []
    for name, cells in schema.column_sizes.items():
        size = MEAN_ABS_NORMAL * float(np.sqrt(pooled.variance((name,))).mean())
        off.append(
            min(
                cells / 2 * min(size, min_noise_size(measured, (name,), cells)) / rows,
                1.0,
            )
        )
    return min(1.0, min(len(off), 2) * float(np.mean(off)))


def _mean_pair_distances(
    people: Population, model: PortableModel
) -> tuple[float, float]:
    """Mean total variation distance over pairs: of the model, and of the product of the
    columns.
    """
    names = list(people.schema)
    cliques: list[Clique] = list(combinations(names, 2)) or [(name,) for name in names]
    step = max(1, len(cliques) // MAX_FORECAST_PAIRS)
    off, alone = [], []
    for clique in cliques[::step]:
        true = people.counts(clique).astype(np.float64)
        rows = max(float(true.sum()), 1.0)
        found = model.marginal(clique)
        off.append(
            np.abs(found / max(float(found.sum()), 1e-300) - true / rows).sum() / 2
        )
        if len(clique) == 2:
            product = np.outer(true.sum(axis=1), true.sum(axis=0)) / rows**2
            alone.append(np.abs(true / rows - product).sum() / 2)
    return float(np.mean(off)), float(np.mean(alone)) if alone else 0.0
