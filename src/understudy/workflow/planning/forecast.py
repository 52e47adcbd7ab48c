"""How long a run would take, how much memory, and how far off it might be: forecast
from a dry run on simulated rows, on this machine.

The dry run has taken the real curator and the real synthesizer through a simulated
population of the stated size, so its measurements are there to be timed: fitted once,
sampled a little, and those rows counted as real ones would be. What grows with rows is
scaled up to all of them. No real row takes part, and nothing is assumed about the
machine.
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
"""Simulated rows that are sampled, written and counted to learn this machine's pace."""

MAX_FORECAST_CELLS = 1 << 22
"""Cells of a pair of columns up to which the imagined rows are compared on it."""

MAX_FORECAST_PAIRS = 120
"""Pairs over which the dry run's own error is averaged."""

RESIDENT_BYTES = 230 * 2**20
"""Bytes that the interpreter and its libraries take before any work."""

REAL_TABLE_SLOWDOWN = 1.4
"""Measuring and fitting a real table take this many times as long as in the dry run:
real tables are less regular, and their fit takes more passes.
"""

MODEL_CELL_BYTES, ROW_CODE_BYTES, WRITTEN_VALUE_BYTES = 120, 3, 16
"""Bytes at the peak: for each cell of the model while it is fitted, for each code of a
row, for each value written out.
"""

SMALLEST_TOTAL = 1e-300
"""Divisor in the place of 0, where a model holds no rows."""


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Time and memory of a run on this machine, and the error of a dry run.

    `seconds` by stage; `memory` in bytes at the peak. The mean error of pairs depends on
    how strongly columns depend on each other: it is `least` if they are independent, so
    that only the noise on single columns matters, and `error` in the dry run, whose
    columns depend on each other strongly. `independent` is the error of the dry run if
    every column were modelled alone.
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
    """Fit the measurements of a dry run that took `measuring` seconds, time a small
    sample, and compare with the simulated population; also the model.
    """
    rng = np.random.default_rng(0)
    began = time.perf_counter()
    model = method.estimate(schema, measured, rng)
    fitting = time.perf_counter() - began
    sampling, counting = _time_rows(schema, model, measured, rows=rows, rng=rng)
    error, independent = _mean_pair_distances(Population(schema, rows), model)
    # A dry run may come out better than noise alone suggests: never promise more.
    least = min(_independent_distance(schema, measured, rows), error)
    forecast = Forecast(
        seconds={
            "counting": counting,
            "measuring": REAL_TABLE_SLOWDOWN * measuring,
            "fitting": REAL_TABLE_SLOWDOWN * fitting,
            "sampling": sampling,
        },
        memory=_peak_bytes(schema, model, measured, rows),
        least=least,
        error=error,
        independent=independent,
    )
    return forecast, model


def _time_rows(
    schema: Schema,
    model: PortableModel,
    measured: Measurements,
    *,
    rows: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Seconds to sample and write all rows, and to read and count them, from the pace
    of a few.
    """
    timed_rows = max(1, min(rows, MAX_PACE_ROWS))
    growth = rows / timed_rows
    began = time.perf_counter()
    codes = model.sample(timed_rows, rng)
    frame = to_frame(schema, codes, kind="duckdb", rng=rng)
    sampling = (time.perf_counter() - began) * growth
    began = time.perf_counter()
    source = open_table(frame)
    opening = time.perf_counter() - began  # the same for any number of rows
    began = time.perf_counter()
    # Simulated rows have no keys of people.
    table = Table(source, schema.with_row_units())
    table.encode()
    table.counts([m.clique for m in measured])
    counting = opening + (time.perf_counter() - began) * growth
    return sampling, counting


def _peak_bytes(
    schema: Schema, model: PortableModel, measured: Measurements, rows: int
) -> int:
    """Memory at the peak of a run."""
    _, arrays = model.to_parts()
    model_cells = sum(array.size for array in arrays.values())
    measured_cells = sum(m.values.size for m in measured)
    row_bytes = len(schema) * (ROW_CODE_BYTES + WRITTEN_VALUE_BYTES)
    cell_bytes = MODEL_CELL_BYTES * (model_cells + measured_cells)
    return RESIDENT_BYTES + cell_bytes + rows * row_bytes


def _independent_distance(schema: Schema, measured: Measurements, rows: int) -> float:
    """Mean distance of pairs whose columns are independent: what noise does to the two
    columns, which add up at most.
    """
    pooled = PooledResiduals.of(schema, measured)
    distances = []
    for name, cells in schema.column_sizes.items():
        size = MEAN_ABS_NORMAL * float(np.sqrt(pooled.variance((name,))).mean())
        # Discrete noise much narrower than a row is mostly zero.
        size = min(size, min_noise_size(measured, (name,), cells))
        distances.append(min(cells / 2 * size / rows, 1.0))
    # The distances of two columns add up at most; a table may have only one.
    columns = min(len(distances), 2)
    return min(1.0, columns * float(np.mean(distances)))


def _mean_pair_distances(
    people: Population, model: PortableModel
) -> tuple[float, float]:
    """Mean total variation distance over pairs: of the model, and of the product of the
    columns.
    """
    names = list(people.schema)
    sizes = people.schema.column_sizes
    # A table of two columns of 100,000 codes has 10 billion cells.
    cliques: list[Clique] = [
        (one, two)
        for one, two in combinations(names, 2)
        if sizes[one] * sizes[two] <= MAX_FORECAST_CELLS
    ]
    if not cliques:
        cliques = [(name,) for name in names]
    # A sample of pairs, spread over the schema: all would take as long as a run.
    step = max(1, len(cliques) // MAX_FORECAST_PAIRS)
    errors, independent = [], []
    for clique in cliques[::step]:
        counts = people.counts(clique).astype(np.float64)
        shares = counts / max(float(counts.sum()), 1.0)
        modelled = model.marginal(clique)
        modelled = modelled / max(float(modelled.sum()), SMALLEST_TOTAL)
        errors.append(np.abs(modelled - shares).sum() / 2)
        if len(clique) == 2:
            product = np.outer(shares.sum(axis=1), shares.sum(axis=0))
            independent.append(np.abs(shares - product).sum() / 2)
    mean_independent = float(np.mean(independent)) if independent else 0.0
    return float(np.mean(errors)), mean_independent
