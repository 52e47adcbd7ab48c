"""The plan: what a run would ask, pay and miss by, before anything is spent and without
a row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import median
from time import perf_counter

from understudy.accounting.advice import advise_on_budget
from understudy.accounting.budget import DEFAULT_DELTA, Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.interpretation import BudgetInterpretation, interpret_budget
from understudy.accounting.neighbours import Neighbours
from understudy.curator.discovery.learned_bins import MAX_LONE_COLUMN_BINS
from understudy.curator.discovery.shares import needs_bins
from understudy.curator.simulation.dry_run import (
    ASSUMED_RANGE,
    ASSUMED_VALUES,
    open_dry_run,
)
from understudy.errors import Refused
from understudy.measurements import Centring, Clique, Measurement, Measurements
from understudy.models.estimates.noise_moments import (
    MEAN_ABS_NORMAL,
    cell_variance,
    noise_size,
)
from understudy.schema import Categorical, Column, Schema, UndeclaredColumn
from understudy.synthesizers import Progress, Synthesizer, ignore_progress, make
from understudy.synthesizers.workload import check_targets, parse_targets
from understudy.workflow.forecast import Forecast, forecast_run
from understudy.workflow.open import member_of
from understudy.workflow.plan_text import plan_html, plan_lines, plan_summary
from understudy.workflow.precision import KnownMarginal, known_marginals
from understudy.workflow.synthesize import (
    DEFAULT_SYNTHESIZER,
    discover_and_measure,
    filter_for,
    refuse_dropping,
    refuse_early,
)

_EPSILON_TENTHS = (10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82)
"""The values of ε that are tried, in tenths, within each power of ten: each a fifth
above the last.
"""

DISCOVERY_QUESTIONS = frozenset({"types", "values", "bounds", "bins"})
"""What the curator calls the questions of discovery."""


@dataclass(frozen=True, kw_only=True)
class PlannedMarginal:
    """One marginal a run would measure: its cells, the standard deviation and mean size
    of the noise on each, and its share of the run.

    One that is looked at several times, or in several ways, stands here once, with the
    noise in rows that is left when all answers are taken together; None where they do
    not tell everything of it.
    """

    clique: Clique
    cells: int
    deviation: float | None
    size: float | None
    share: Fraction


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run would do.

    `expected` of a marginal is the total variation distance that noise alone is
    expected to cause, told once the number of rows is said; so is `forecast`.
    `marginals` are what is asked for; `known` are the columns and pairs, and larger
    marginals among those, of which the answers tell everything. Of both the noise is
    what is left when all answers are taken together: what the card of the release will
    state.

    >>> from understudy.schema import Boolean
    >>> made = plan(Schema(columns=(Boolean(name="smoker"),)), epsilon=1, rows=1000)
    >>> made.cells, f"{made.expected(made.marginals[0]):.3f}"
    (3, '0.007')
    """

    synthesizer: str
    budget: Budget
    accounting: Accounting
    amount: Fraction
    discovery: Fraction
    stages: tuple[tuple[str, Fraction], ...]
    marginals: tuple[PlannedMarginal, ...]
    known: tuple[KnownMarginal, ...]
    assumed: tuple[str, ...]
    warnings: tuple[str, ...]
    rows: int | None
    forecast: Forecast | None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    accuracy: float | None = None
    """What was asked for, where ε was found for it."""

    @property
    def cells(self) -> int:
        """Cells that get noise."""
        return sum(m.cells for m in self.marginals)

    @property
    def has_pairs(self) -> bool:
        """Whether there are pairs to speak of: more than one column is measured."""
        return len({name for m in self.marginals for name in m.clique}) > 1

    @property
    def meaning(self) -> BudgetInterpretation:
        """What the budget means for one person."""
        return interpret_budget(
            self.budget,
            accounting=self.accounting,
            amount=self.amount,
            thresholds=self.budget.delta,
            neighbours=self.neighbours,
        )

    def lines(self) -> list[str]:
        """The plan in words, as the command line prints it."""
        return plan_lines(self)

    def __str__(self) -> str:
        return "\n".join(plan_lines(self))

    def __repr__(self) -> str:
        return "\n".join(plan_summary(self))

    def _repr_html_(self) -> str:
        return plan_html(self)

    def expected(self, marginal: PlannedMarginal | KnownMarginal) -> float | None:
        """Expected total variation distance from noise alone: half of E|noise| summed
        over the cells, per row.
        """
        if not self.rows or marginal.size is None:
            return None
        return min(1.0, 0.5 * marginal.cells * marginal.size / self.rows)

    @property
    def noise(self) -> float | None:
        """The median of that over the columns and pairs the run would know, all its
        answers taken together.
        """
        return self.noise_of()

    def noise_of(self, columns: int | None = None) -> float | None:
        """The same for columns (1) or pairs (2) alone, and for larger marginals that
        are measured. None where no such table is, or the number of rows is not said.
        """
        found = [e for e in map(self.expected, self._told(columns)) if e is not None]
        return median(found) if found else None

    def _told(self, columns: int | None) -> list[KnownMarginal] | list[PlannedMarginal]:
        if columns is None or columns < 3:
            inside = [
                m
                for m in self.known
                if len(m.clique) < 3 and columns in (None, len(m.clique))
            ]
            if inside or columns is not None:
                return inside
        return [m for m in self.marginals if columns in (None, len(m.clique))]

    @property
    def basis(self) -> tuple[str, ...]:
        """What forecasts rest on that a run may find otherwise, a sentence each."""
        if not self.rows:
            return ()
        said = [f"the table has about {self.rows:,} rows"]
        if self.has_pairs:
            said.append(
                "which tables a run measures depends on the rows: here on as many"
                " imagined ones, whose columns depend on each other about as much as"
                " those of a survey; where they depend less, fewer pairs are measured"
            )
        return (
            *said,
            *(
                ["this machine is as busy then as it was now"]
                if self.forecast is not None
                else []
            ),
        )

    def group(self, columns: int = 1) -> int | None:
        """The smallest group that survives the noise in tables of so many columns: one
        of this size is told from an empty one 19 times in 20, and an empty one from it;
        None where no such table is measured.

        >>> from understudy.schema import Boolean
        >>> plan(Schema(columns=(Boolean(name="smoker"),)), epsilon=1, rows=1000).group()
        19
        """
        found = [m.deviation for m in self._told(columns) if m.deviation is not None]
        return math.ceil(2 * 1.645 * median(found)) if found else None


def plan(
    schema: Schema | str | Path,
    *,
    epsilon: object,
    delta: object = None,
    rows: int | None = None,
    synthesizer: str | Synthesizer = DEFAULT_SYNTHESIZER,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    accounting: Accounting | str | None = None,
    workload: str | Sequence[str] = (),
    outlook: bool = True,
    progress: Progress = ignore_progress,
) -> Plan:
    """What `synthesize` with the same arguments would ask and pay; no data touched,
    nothing spent.

    With `rows`, the run is rehearsed on as many imagined rows: what it would choose to
    measure, how long it would take here, how much memory, and how far off it was;
    without `outlook` only the first of these. A real table will differ; its noise will
    not.

    >>> from understudy.schema import Boolean
    >>> plan(Schema(columns=(Boolean(name="smoker"),)), epsilon=1, rows=1000).marginals[0].cells
    3
    """
    method = synthesizer if isinstance(synthesizer, Synthesizer) else make(synthesizer)
    described = schema if isinstance(schema, Schema) else Schema.load(schema)
    budget = Budget.of(epsilon, DEFAULT_DELTA if delta is None else delta)
    relation = member_of(Neighbours, neighbours, "neighbour relation")
    filter = filter_for(
        budget,
        described,
        method,
        member_of(Accounting, accounting, "accounting") if accounting else None,
    )
    refuse_early(described, method, filter, budget.epsilon)
    method.check_neighbours(relation)
    refuse_dropping(described, relation)
    wanted = parse_targets(workload)
    check_targets(wanted, described)
    known_rows = rows if rows is not None else described.rows
    custody = open_dry_run(
        described,
        filter,
        epsilon=budget.epsilon,
        neighbours=relation,
        people=known_rows or 0,
    )
    began = perf_counter()
    measured = (
        discover_and_measure(custody, method, progress, wanted=wanted)
        if method.reads_rows
        else Measurements()
    )
    took = perf_counter() - began
    charged: dict[str, Fraction] = {}
    for asked, cost in custody.charges:
        charged[asked] = charged.get(asked, Fraction(0)) + cost.amount / filter.total
    told = known_marginals(custody.schema, measured)
    made = None
    if known_rows and outlook:
        made = forecast_run(
            custody.schema, method, measured, rows=known_rows, measuring=took
        )[0]
    return Plan(
        synthesizer=method.name,
        budget=budget,
        accounting=filter.accounting,
        amount=filter.total,
        discovery=sum(
            (share for asked, share in charged.items() if asked in DISCOVERY_QUESTIONS),
            Fraction(0),
        ),
        stages=tuple(charged.items()),
        marginals=_planned_marginals(measured, told, filter.total),
        known=told,
        assumed=tuple(
            f"{c.name}: {_describe_assumption(c)}"
            for c in map(described.__getitem__, described)
            if not c.is_closed or needs_bins(c)
        ),
        warnings=(
            *advise_on_budget(budget, rows=known_rows),
            *(
                _advise_smaller_noise(method, described, budget, relation)
                if accounting is None
                else ()
            ),
        ),
        rows=known_rows,
        forecast=made,
        neighbours=relation,
    )


def _advise_smaller_noise(
    method: Synthesizer, schema: Schema, budget: Budget, neighbours: Neighbours
) -> Iterator[str]:
    """That another noise would be smaller, and what it costs."""
    if method.smallest_noise(schema, budget, neighbours) is not budget.accounting:
        guess = 100 / (1 + math.exp(-float(budget.epsilon)))
        yield (
            "Columns are few: with --delta 0 noise would be smaller at the same ε. It"
            " hides a person less: whoever tries to tell whether somebody is in the"
            f" table would guess right up to {guess:.3g} times in 100. The card's"
            " bounds allow more for Laplace noise: those of columns are often wider"
            " there."
        )


def epsilon_for(
    schema: Schema | str | Path,
    *,
    accuracy: float,
    rows: int,
    delta: object = None,
    synthesizer: str | Synthesizer = DEFAULT_SYNTHESIZER,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    accounting: Accounting | str | None = None,
    workload: str | Sequence[str] = (),
) -> Plan:
    """The plan with the smallest ε, to two figures, whose columns and pairs noise alone
    moves by `accuracy` or less in the median.

    >>> from understudy.schema import Boolean
    >>> made = epsilon_for(Schema(columns=(Boolean(name="smoker"),)), accuracy=0.01, rows=1000)
    >>> float(made.budget.epsilon) < 1, made.noise <= 0.01
    (True, True)
    """
    if not 0 < accuracy < 1:
        raise Refused(
            "An accuracy is a share of the rows between 0 and 1, such as 0.02. Nothing"
            " was spent"
        )

    def plan_at(exponent: int, outlook: bool = False) -> Plan:
        step = Fraction(
            _EPSILON_TENTHS[exponent % len(_EPSILON_TENTHS)], 10
        ) * Fraction(10) ** (exponent // len(_EPSILON_TENTHS))
        return plan(
            schema,
            epsilon=step,
            delta=delta,
            rows=rows,
            synthesizer=synthesizer,
            neighbours=neighbours,
            accounting=accounting,
            workload=workload,
            outlook=outlook,
        )

    def is_accurate(found: Plan) -> bool:
        return found.noise is None or found.noise <= accuracy

    # From ε = 1 in strides of half a power of ten up, or down, until it is between two;
    # a rehearsal takes longer the larger ε is.
    stride, least, most = (
        len(_EPSILON_TENTHS) // 2,
        -3 * len(_EPSILON_TENTHS),
        2 * len(_EPSILON_TENTHS),
    )
    high = 0
    if is_accurate(plan_at(high)):
        while high > least and is_accurate(plan_at(high - stride)):
            high -= stride
    else:
        high += stride
        while not is_accurate(found := plan_at(high)):
            if high >= most:
                raise Refused(
                    f"Not even ε = {float(found.budget.epsilon):g} brings noise below"
                    f" {accuracy:g} with {rows:,} rows. Release fewer columns, or ask"
                    " for less. Nothing was spent"
                )
            high += stride
    low = high - stride
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_accurate(plan_at(middle)) else (middle, high)
    # What a rehearsal chooses depends on its noise, so the one with the outlook may
    # need a little more.
    found = plan_at(high, outlook=True)
    while not is_accurate(found):
        high += 1
        found = plan_at(high, outlook=True)
    return replace(found, accuracy=accuracy)


def _planned_marginals(
    measured: Measurements, told: Sequence[KnownMarginal], total: Fraction
) -> tuple[PlannedMarginal, ...]:
    """Every marginal once, however often and by whatever map it is asked for."""
    looks: dict[Clique, list[Measurement]] = {}
    for m in measured:
        looks.setdefault(m.clique, []).append(m)
    noise = {(frozenset(k.clique), k.cells): (k.deviation, k.size) for k in told}
    found = []
    for clique, some in looks.items():
        finest = max(some, key=lambda m: (m.values.size, m.plain))
        cells = finest.values.size
        share = sum((m.cost.amount for m in some), Fraction(0)) / total
        deviation, size = noise.get((frozenset(clique), cells)) or _own_noise(
            finest, some
        )
        found.append(
            PlannedMarginal(
                clique=clique, cells=cells, deviation=deviation, size=size, share=share
            )
        )
    return tuple(found)


def _own_noise(
    look: Measurement, looks: Sequence[Measurement]
) -> tuple[float, float] | tuple[None, None]:
    """The noise left on counts, such as those of coarser bins, by the looks alone that
    asked for the same; a residual has none.
    """
    if any(isinstance(axis, Centring) for axis in look.maps):
        return None, None
    same = [m for m in looks if m.maps == look.maps]
    deviation = 1 / math.sqrt(sum(1 / cell_variance(m) for m in same))
    return deviation, min(
        MEAN_ABS_NORMAL * deviation, *(noise_size(m.law, m.scale) for m in same)
    )


def _describe_assumption(column: Column) -> str:
    if column.is_closed:
        return f"at most {MAX_LONE_COLUMN_BINS} bins, as many as noise allows"
    if isinstance(column, Categorical | UndeclaredColumn):
        return f"{ASSUMED_VALUES} values"
    return f"bounds {ASSUMED_RANGE:,} steps apart"
