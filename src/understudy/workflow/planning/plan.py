"""The plan: what a run would measure, its privacy cost and its expected error, before
anything is spent and without a row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from time import perf_counter

from understudy.accounting.advice import advise_on_budget
from understudy.accounting.budget import Budget, Number
from understudy.accounting.cost import Accounting, Cost
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
from understudy.measurements import Measurements
from understudy.releases.summary import DISCOVERY_STEPS, ROW_COUNT_STEP
from understudy.schema import Categorical, Column, Schema, UndeclaredColumn
from understudy.synthesizers import Progress, Synthesizer, ignore_progress
from understudy.workflow.measure import discover_and_measure
from understudy.workflow.model_targets import IntervalForecast, forecast_intervals
from understudy.workflow.open import member_of
from understudy.workflow.planning.epsilon_search import search_epsilon
from understudy.workflow.planning.forecast import Forecast, forecast_run
from understudy.workflow.planning.plan_text import (
    plan_facts,
    plan_html,
    plan_lines,
    plan_summary,
)
from understudy.workflow.planning.planned_marginals import (
    PlannedMarginal,
    plan_marginals,
)
from understudy.workflow.planning.precision import KnownMarginal, known_marginals
from understudy.workflow.preflight import (
    RunDesign,
    check_design,
    choose_synthesizer,
    parse_budget,
)
from understudy.workflow.small_tables import (
    RowCount,
    RowNeeds,
    describe_too_few,
    row_count_cost,
)
from understudy.workflow.synthesize import DEFAULT_SYNTHESIZER

ONE_SIDED_95_DEVIATIONS = 1.645
"""Standard deviations that a normal exceeds on one side 5 times in 100."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run would do.

    `marginals` are those it would measure; `known` are the columns and pairs, and
    larger marginals among those, that the answers determine in full. The noise of both
    is what is left when all answers are pooled: what the card of the release will
    state. `expected_distance`, `forecast` and `intervals` need the number of rows.

    >>> from understudy.schema import Boolean
    >>> made = plan(Schema(columns=(Boolean(name="smoker"),)), epsilon=1, rows=1000)
    >>> made.cells, f"{made.expected_distance(made.marginals[0]):.3f}"
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
    """The accuracy that ε was searched for; None where ε was given."""
    intervals: tuple[IntervalForecast, ...] = ()
    rows_to_learn: int | None = None
    """From how many rows on a value that has to be learned is found, 19 times in 20, in
    the median of the open columns; None where none is open.
    """

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

    def expected_distance(
        self, marginal: PlannedMarginal | KnownMarginal
    ) -> float | None:
        """Expected total variation distance from noise alone: half of E|noise| summed
        over the cells, per row. None where the number of rows is not given.
        """
        # Noise is in rows: as a share it needs their number.
        if not self.rows or marginal.size is None:
            return None
        return min(1.0, 0.5 * marginal.cells * marginal.size / self.rows)

    @property
    def noise(self) -> float | None:
        """The median expected distance of the columns and pairs the run would know, all
        its answers pooled.
        """
        return self.noise_of()

    def noise_of(self, columns: int | None = None) -> float | None:
        """The same for columns (1) or pairs (2) alone, and for larger marginals that
        are measured. None where there is no such marginal, or no number of rows.
        """
        distances = [
            distance
            for marginal in self._marginals_of(columns)
            if (distance := self.expected_distance(marginal)) is not None
        ]
        return median(distances) if distances else None

    def _marginals_of(
        self, columns: int | None
    ) -> Sequence[KnownMarginal | PlannedMarginal]:
        """The marginals with this number of columns, pooled up to pairs; all columns
        and pairs by default.
        """
        if columns is None:
            pooled = [m for m in self.known if len(m.clique) < 3]
            # Where only coarser bins are measured, no column or pair is known.
            return pooled or self.marginals
        if columns < 3:
            return [m for m in self.known if len(m.clique) == columns]
        return [m for m in self.marginals if len(m.clique) == columns]

    @property
    def basis(self) -> tuple[str, ...]:
        """What forecasts rest on that may be otherwise in a run, a sentence each."""
        if not self.rows:
            return ()
        basis = [f"the table has about {self.rows:,} rows"]
        if self.has_pairs:
            basis.append(
                "which marginals a run measures depends on the rows: here on simulated"
                " ones, whose columns depend on each other about as much as those of a"
                " survey; where they depend less, fewer pairs are measured"
            )
        if self.forecast is not None:
            basis.append("this machine is as busy then as it was now")
        return tuple(basis)

    def smallest_group(self, columns: int = 1) -> int | None:
        """The smallest group that survives the noise in marginals of that many columns:
        a group of this size is distinguished from an empty one 19 times in 20, and an
        empty one from it. None where no such marginal is known.

        >>> from understudy.schema import Boolean
        >>> schema = Schema(columns=(Boolean(name="smoker"),))
        >>> plan(schema, epsilon=1, rows=1000).smallest_group()
        19
        """
        deviations = [
            m.deviation for m in self._marginals_of(columns) if m.deviation is not None
        ]
        if not deviations:
            return None
        # Half of the way between 0 and the group: either is on its side 19 times in 20.
        return math.ceil(2 * ONE_SIDED_95_DEVIATIONS * median(deviations))

    def to_dict(self) -> dict[str, object]:
        """The plan for a program: plain values, numbers exact where they are."""
        return plan_facts(self)


def plan(
    schema: Schema | str | Path,
    *,
    epsilon: Number | None = None,
    accuracy: float | None = None,
    delta: Number | None = None,
    rows: int | None = None,
    synthesizer: str | Synthesizer = DEFAULT_SYNTHESIZER,
    options: Mapping[str, object] | None = None,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    accounting: Accounting | str | None = None,
    workload: str | Sequence[str] = (),
    outlook: bool = True,
    progress: Progress = ignore_progress,
) -> Plan:
    """What `synthesize` with the same arguments would measure and be charged. No data
    is read and nothing is spent.

    With `rows`, a dry run on that many simulated rows shows what the run would choose
    to measure, time and memory here, and how far off it was; without `outlook` only the
    first of these. A real table will differ; its noise will not. With `accuracy` in the
    place of `epsilon`, the plan has the smallest ε, to two figures, at which noise alone
    moves columns and pairs by at most this share of the rows in the median.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=(Boolean(name="smoker"),))
    >>> plan(schema, epsilon=1, rows=1000).marginals[0].cells
    3
    >>> cheap = plan(schema, accuracy=0.01, rows=1000)
    >>> float(cheap.budget.epsilon) < 1, cheap.noise <= 0.01
    (True, True)
    """
    method = choose_synthesizer(synthesizer, options)
    described = schema if isinstance(schema, Schema) else Schema.load(schema)
    relation = member_of(Neighbours, neighbours, "neighbour relation")
    known_rows = rows if rows is not None else described.rows

    def plan_at(epsilon: Number, *, outlook: bool) -> Plan:
        design = check_design(
            described,
            method,
            budget=parse_budget(epsilon, delta),
            neighbours=relation,
            accounting=accounting,
            workload=workload,
        )
        return _plan_design(design, known_rows, outlook=outlook, progress=progress)

    if accuracy is not None:
        _check_accuracy(accuracy, epsilon, known_rows)
        return search_epsilon(plan_at, accuracy=accuracy)
    if epsilon is None:
        raise Refused("Give an ε or an accuracy. Nothing was spent")
    return plan_at(epsilon, outlook=outlook)


def _check_accuracy(accuracy: float, epsilon: Number | None, rows: int | None) -> None:
    if epsilon is not None:
        raise Refused("Give either an ε or an accuracy. Nothing was spent")
    if not 0 < accuracy < 1:
        raise Refused(
            "An accuracy is a share of the rows between 0 and 1, such as 0.02. Nothing"
            " was spent"
        )
    if not rows:
        raise Refused(
            "How far noise moves a table depends on its number of rows: give `rows`"
            " with an accuracy. Nothing was spent"
        )


def _plan_design(
    design: RunDesign, rows: int | None, *, outlook: bool, progress: Progress
) -> Plan:
    """The plan of a checked design, by a dry run of the real curator."""
    schema, method = design.schema, design.method
    needs = RowNeeds.of(design)
    # The real curator on simulated rows: what it charges is what a run charges.
    curator = open_dry_run(
        schema,
        design.filter,
        epsilon=design.main_budget.epsilon,
        neighbours=design.neighbours,
        people=rows or 0,
    )
    began = perf_counter()
    measured = Measurements()
    if method.reads_rows:
        measured = discover_and_measure(
            curator, method, progress, targets=design.targets
        )
    seconds = perf_counter() - began
    charges = [*_row_count_charge(design), *curator.charges]
    total = design.filter.total + sum(c.amount for _, c in _row_count_charge(design))
    shares: dict[str, Fraction] = {}
    for question, cost in charges:
        shares[question] = shares.get(question, Fraction(0)) + cost.amount / total
    discovery = [share for asked, share in shares.items() if asked in DISCOVERY_STEPS]
    known = known_marginals(curator.schema, measured)
    # Rows decide time and memory: without their number nothing can be forecast.
    forecast, intervals = None, tuple[IntervalForecast, ...]()
    if rows and outlook:
        intervals = forecast_intervals(curator.schema, measured, design.targets)
        forecast = forecast_run(
            curator.schema, method, measured, rows=rows, measuring=seconds
        )[0]
    return Plan(
        synthesizer=method.name,
        budget=design.budget,
        accounting=design.filter.accounting,
        amount=total,
        discovery=sum(discovery, Fraction(0)),
        stages=tuple(shares.items()),
        marginals=plan_marginals(measured, known, total),
        known=known,
        assumed=_list_assumptions(schema),
        warnings=_list_warnings(design, rows, needs),
        rows=rows,
        forecast=forecast,
        neighbours=design.neighbours,
        rows_to_learn=needs.typical or None,
        intervals=intervals,
    )


def _row_count_charge(design: RunDesign) -> list[tuple[str, Cost]]:
    """What counting the rows before all else is charged, where a run does."""
    if design.row_count is None:
        return []
    cost = row_count_cost(design.row_count, design.filter.accounting)
    return [(ROW_COUNT_STEP, cost)]


def _list_warnings(
    design: RunDesign, rows: int | None, needs: RowNeeds
) -> tuple[str, ...]:
    """That a run would stop early, advice on the budget, and on the accounting where
    none was asked for.
    """
    warnings = list(advise_on_budget(design.budget, rows=rows))
    if rows and needs.exceed(rows):
        reason = describe_too_few(needs, design.budget, RowCount(rows))
        warnings.insert(
            0, f"A run would stop once it knows the number of rows. {reason}"
        )
    # Whoever named an accounting has chosen: no advice on it.
    if design.accounting is None:
        warnings += _advise_smaller_noise(design)
    return tuple(warnings)


def _advise_smaller_noise(design: RunDesign) -> Iterator[str]:
    """That pure ε-DP would have smaller noise, and what it costs."""
    budget = design.budget
    best = design.method.smallest_noise(design.schema, budget, design.neighbours)
    if best is budget.accounting:
        return
    # The best guess of a single row at pure ε: e^ε / (1 + e^ε).
    guess = 100 / (1 + math.exp(-float(budget.epsilon)))
    yield (
        "Columns are few: with --delta 0 noise would be smaller at the same ε. It"
        " hides a person less: whoever tries to tell whether somebody is in the"
        f" table would guess right up to {guess:.3g} times in 100. The card's"
        " bounds allow more for Laplace noise: those of columns are often wider"
        " there."
    )


def _list_assumptions(schema: Schema) -> tuple[str, ...]:
    """What the plan assumes of columns that a run would learn."""
    return tuple(
        f"{name}: {_describe_assumption(schema[name])}"
        for name in schema
        if not schema[name].is_closed or needs_bins(schema[name])
    )


def _describe_assumption(column: Column) -> str:
    if column.is_closed:
        return f"at most {MAX_LONE_COLUMN_BINS} bins, as many as noise allows"
    if isinstance(column, Categorical | UndeclaredColumn):
        return f"{ASSUMED_VALUES} values"
    return f"bounds {ASSUMED_RANGE:,} steps apart"
