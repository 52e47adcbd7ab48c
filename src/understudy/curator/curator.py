"""The curator. Rows, noise and the account meet here and nowhere else.

A synthesizer sees this object only through its view (view.py), which answers what has a
price and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.neighbours import Neighbours
from understudy.curator.context import MechanismContext, TableProtocol
from understudy.curator.discovery import close, extras, rows_needed
from understudy.curator.mechanisms import (
    marginals,
    quantiles,
    select_cell,
    select_marginal,
    select_value,
    sparse_histogram,
    sums,
)
from understudy.curator.mechanisms.sums import Mean, Sum
from understudy.curator.moments import measure_moments
from understudy.errors import BudgetExceeded, Refused
from understudy.measurements import (
    AxisMap,
    Clique,
    Distance,
    Identity,
    Measurement,
    Measurements,
    MomentMeasurement,
)
from understudy.models.rules.satisfiability import drop_unsatisfiable_rules
from understudy.schema import Lattice, Schema
from understudy.schema.predicates.rules import BrokenRowPolicy
from understudy.toolbox.moments import MomentPlan


class Curator:
    """Answers questions that have a price. `share` is always an exact part of the
    budget handed over (`hand_over`).
    """

    def __init__(self, context: MechanismContext, schema: Schema) -> None:
        self._context = context
        self._schema = schema
        self._discovered = Measurements()
        self.notes: list[str] = []
        self._handed = context.payments.amount_left

    @property
    def schema(self) -> Schema:
        """The schema; closed once discovery is done."""
        return self._schema

    @property
    def neighbours(self) -> Neighbours:
        """The relation the guarantee is about."""
        return self._context.neighbours

    @property
    def accounting(self) -> Accounting:
        """How the run's privacy loss adds up."""
        return self._context.accounting

    @property
    def discovered_measurements(self) -> Measurements:
        """What discovery measured already; using it costs nothing."""
        return self._discovered

    @property
    def rows(self) -> int | None:
        """The number of rows where all neighbours agree on it. Else it is private."""
        return agreed_rows(self._context.table, self._schema, self._context.neighbours)

    @property
    def share_left(self) -> Fraction:
        """The share of what was handed over that is not spent yet."""
        if not self._handed:
            return Fraction(0)
        return self._context.payments.amount_left / self._handed

    @property
    def delta_left(self) -> Fraction:
        """What is left of the δ set aside for thresholds."""
        return self._context.payments.delta_left

    @property
    def charges(self) -> tuple[tuple[str, Cost], ...]:
        """What was asked and what it cost, in order: the statement of account."""
        return tuple(self._context.payments.charges)

    def discover(
        self,
        *,
        share: Fraction,
        delta: Fraction,
        progress: Callable[[str, float], None],
    ) -> Schema:
        """Close the schema: learn the types, values and bounds that were not declared,
        for `share` of what is left. Free where all is declared.
        """
        whole = self._context.payments.amount_left
        # By the share of what is left now, before discovery itself makes it less.
        closed = close.close_schema(
            self._context,
            self._schema,
            amount=share * whole,
            delta=delta,
            progress=progress,
        )
        self._schema = closed.schema
        self._discovered = self._discovered + closed.measurements
        # Rows encoded under the closed schema: they need not be read a second time.
        self._context = replace(self._context, table=closed.table)
        self._learn_extras(whole)
        return self._schema

    def rows_to_learn(self, *, delta: Fraction) -> dict[str, int]:
        """For each open column, from how many rows on discovery would find anything of
        it; by the noise alone, so that asking is free.
        """
        return rows_needed.rows_to_learn(
            self._context,
            self._schema,
            amount=self._context.payments.amount_left,
            delta=delta,
        )

    def _learn_extras(self, whole: Fraction) -> None:
        """Learn what the schema asks for beyond its columns; then set aside rules that
        no row under the learned domain can keep.
        """
        if self._schema.count_broken and self._schema.named_breaches:
            count, noise = extras.count_broken_rows(
                self._context, amount=whole * extras.BROKEN_SHARE
            )
            self.notes.append(
                f"that about {max(count, 0):,} rows break a rule (standard deviation"
                f" {noise:.3g})"
            )
        if extras.needs_sizes(self._schema):
            self._schema = extras.learn_unit_sizes(
                self._context,
                self._schema,
                amount=whole * extras.SIZES_SHARE,
            )
        days = list(extras.open_weekdays(self._schema))
        for column in days:
            # Each has its share; many of them together stay below the share of all.
            part = whole * min(extras.WEEKDAY_SHARE, extras.WEEKDAYS_SHARE / len(days))
            self._schema = extras.learn_weekdays(
                self._context,
                self._schema,
                column,
                amount=part,
            )
        maps = extras.open_maps(self._schema)
        for rule in maps:
            part = min(extras.MAP_SHARE, extras.MAPS_SHARE / len(maps))
            self._schema = extras.learn_map(
                self._context,
                self._schema,
                rule,
                amount=whole * part,
            )
        # By the schema alone, which is public now: this costs nothing.
        self._schema, aside = drop_unsatisfiable_rules(self._schema)
        self.notes += [
            f"that no row can keep the rule {title}, which was set aside"
            for title in aside
        ]
        self._context = replace(
            self._context, table=self._context.table.with_schema(self._schema)
        )

    def keep(self, measured: Measurements) -> None:
        """Let a synthesizer find these among what was measured already."""
        self._discovered = self._discovered + measured

    def hand_over(self) -> None:
        """From here on, shares are parts of what is left now."""
        self._handed = self._context.payments.amount_left

    def measure(
        self,
        cliques: Sequence[Clique],
        *,
        share: Fraction | int,
        weights: Sequence[float] | None = None,
        maps: Sequence[tuple[AxisMap, ...]] | None = None,
    ) -> Measurements:
        """Noisy marginals; the share is split by weight, equally by default."""
        return marginals.measure_marginals(
            self._context,
            self._schema,
            [tuple(c) for c in cliques],
            amount=self._amount_of_share(share),
            weights=weights,
            maps=maps,
        )

    def moments(self, plan: MomentPlan, *, share: Fraction | int) -> MomentMeasurement:
        """The noisy moments of a formula's columns."""
        return measure_moments(self._context, plan, self._amount_of_share(share))

    def count(self, *, share: Fraction | int) -> Measurement:
        """The noisy number of rows."""
        return self.measure([()], share=share)[0]

    def sum(self, column: str, *, share: Fraction | int, granularity: int = 1) -> Sum:
        """The noisy sum of a bounded column, clipped to its bounds; a multiple of
        `granularity` lattice steps.
        """
        return sums.measure_sum(
            self._context,
            self._lattice(column),
            amount=self._amount_of_share(share),
            granularity=granularity,
        )

    def mean(self, column: str, *, share: Fraction | int) -> Mean:
        """The noisy mean of a bounded column: half of the share for its sum, half for
        its count.
        """
        return sums.measure_mean(
            self._context,
            self._lattice(column),
            amount=self._amount_of_share(share),
        )

    def quantiles(
        self,
        column: str,
        alphas: Sequence[Fraction],
        *,
        share: Fraction | int,
    ) -> list[int]:
        """Lattice indices near the quantiles of a bounded column."""
        return quantiles.choose_quantiles(
            self._context,
            self._lattice(column),
            alphas,
            amount=self._amount_of_share(share),
        )

    def sparse(self, clique: Clique, *, share: Fraction | int) -> Measurements:
        """The cells of a large marginal that are safely above zero, with noisy counts;
        uses the δ set aside for thresholds.
        """
        cells = sparse_histogram.measure_sparse_cells(
            self._context,
            tuple(clique),
            amount=self._amount_of_share(share),
            delta=self._context.payments.delta_left,
            schema=self.schema,
        )
        return Measurements((), (cells,))

    def errors(
        self,
        estimates: Mapping[Clique, NDArray[np.float64]],
        *,
        share: Fraction | int,
        maps: Mapping[Clique, tuple[AxisMap, ...]] | None = None,
    ) -> dict[Clique, Distance]:
        """Noisy L1 distances between the true marginals and estimates of them; where a
        clique has `maps`, of coarser bins.
        """
        self._check_shapes(estimates, maps)
        return select_marginal.measure_distances(
            self._context,
            estimates,
            amount=self._amount_of_share(share),
            maps=maps,
        )

    def choose(
        self,
        estimates: Mapping[Clique, NDArray[np.float64]],
        *,
        share: Fraction | int,
        score: str = "l1",
        weights: Sequence[float] | None = None,
        penalties: Sequence[float] | None = None,
    ) -> Clique:
        """One clique, chosen privately by one of the curator's own scores."""
        self._check_shapes(estimates)
        return select_marginal.choose_clique(
            self._context,
            estimates,
            amount=self._amount_of_share(share),
            score=score,
            weights=weights,
            penalties=penalties,
            rows=self.rows,
        )

    def choose_cell(
        self, estimates: Mapping[Clique, NDArray[np.float64]], *, share: Fraction | int
    ) -> tuple[Clique, tuple[int, ...]]:
        """One cell of one clique, chosen privately by how far its count is from its
        estimate.
        """
        self._check_shapes(estimates)
        return select_cell.choose_cell(
            self._context,
            self._schema,
            estimates,
            amount=self._amount_of_share(share),
        )

    def choose_value(
        self,
        clique: Clique,
        weights: NDArray[np.int64],
        *,
        share: Fraction | int,
        base: NDArray[np.int64] | None = None,
    ) -> int:
        """The index of one public candidate, chosen privately by a linear score: one
        integer for each candidate and cell. The mode of a column is its identity
        matrix.
        """
        return select_value.choose_value(
            self._context,
            self._schema,
            tuple(clique),
            weights,
            amount=self._amount_of_share(share),
            base=base,
        )

    def _amount_of_share(self, share: Fraction | int) -> Fraction:
        # A float's rounding would make the sum of all shares exceed the budget.
        if isinstance(share, float) or not 0 < share <= 1:
            raise Refused(
                "A share is an exact fraction above 0 and at most 1. Nothing was spent"
            )
        # Of what was handed over, not of what is left: shares then add up to 1 in any
        # order.
        amount = share * self._handed
        if amount > self._context.payments.amount_left:
            raise BudgetExceeded(
                f"A share of {share} was asked for and only {float(self.share_left):.3g} is"
                " left in this run. It was not answered"
            )
        return amount

    def _check_shapes(
        self,
        estimates: Mapping[Clique, NDArray[np.float64]],
        maps: Mapping[Clique, tuple[AxisMap, ...]] | None = None,
    ) -> None:
        """Refuse before anything is paid what a score would refuse after."""
        for clique, estimate in estimates.items():
            sizes = self._schema.sizes(clique)
            # A schema is public by now, so its sizes are: comparing them reads no row.
            axes = (maps or {}).get(clique) or tuple(Identity(n) for n in sizes)
            fits = tuple(axis.size for axis in axes) == sizes
            if not fits or np.shape(estimate) != tuple(axis.out for axis in axes):
                raise Refused(
                    f"The estimate of {', '.join(clique)} has another shape than its"
                    " marginal. Nothing was spent"
                )

    def _lattice(self, column: str) -> Lattice:
        described = self._schema[column]
        if not isinstance(described, Lattice):
            raise Refused(
                f"{column}: only numbers, dates and times have sums and quantiles."
                " Nothing was spent"
            )
        return described


def agreed_rows(
    table: TableProtocol,
    schema: Schema,
    neighbours: Neighbours,
) -> int | None:
    """The number of rows where all neighbouring tables have the same: under replace,
    one row to the unit, none left out.
    """
    return table.rows() if has_agreed_rows(schema, neighbours) else None


def has_agreed_rows(schema: Schema, neighbours: Neighbours) -> bool:
    """Whether all neighbouring tables have the same number of rows."""
    # A replaced unit may have fewer rows, and a replaced row may be one that is dropped.
    whole = schema.unit.id is None and schema.broken is not BrokenRowPolicy.DROP
    return neighbours is Neighbours.REPLACE and whole
