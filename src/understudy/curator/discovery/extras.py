"""What a schema may ask to have learned beyond its columns: how many rows each unit
has, how many rows break a rule, days of the week, and which value goes with which.

Why it is private. Each answer is a histogram of whole numbers plus exact noise, scaled
to how far one unit can move it:

Rows per unit. A histogram of units by how many rows they have, from 1 to max_rows. A
unit lies in one cell of it, so adding or removing a unit moves one cell by 1, whatever
max_rows is; exchanging one moves two cells by 1 each, or one where it has no row that
counts. So the L1 distance is 1 (add/remove) or 2 (replace), the squared L2 distance the
same.

Broken rows. One number: how many rows break a rule, counted after each unit is bounded
and before any row is dropped. A unit has at most max_rows of them, so the number moves
by at most max_rows under either relation.

Days of the week. A histogram of seven cells; a row lies in one of them at most, so it
is priced as any histogram of rows.

Maps. The noisy marginal of two columns, priced like any other
(curator/mechanisms/marginals.py); each value then goes with the one it is most often
seen with, where that stands out of the noise. That choice looks at noisy counts alone.
The counts are not used again: the largest of many noisy counts is too large.

Sensitivities checked by brute force in tests/curator/discovery/test_extras.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Sensitivity
from understudy.accounting.expected_error import noise_deviation
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import price
from understudy.curator.context import MechanismContext
from understudy.curator.mechanisms import marginals
from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    FunctionalDependency,
    Schema,
)
from understudy.schema.columns.calendar import steps_per_day
from understudy.schema.columns.weekdays import weekday_counts
from understudy.schema.predicates.rules import MAX_LEARNED_MAP_CELLS

SIZES_SHARE = Fraction(1, 50)
"""Part of a run that counts rows per unit, where rows get generated keys."""

BROKEN_SHARE = Fraction(1, 100)
"""Part of a run that counts broken rows, where the schema asks for it."""

WEEKDAY_SHARE, WEEKDAYS_SHARE = Fraction(1, 100), Fraction(1, 20)
"""Part of a run that counts the days of the week of one column, where the schema asks
for it.
"""

MAP_SHARE, MAPS_SHARE = Fraction(1, 20), Fraction(1, 5)
"""Part of a run that learns one map, and that all of them may take together."""

MIN_MAP_SIGMAS = 2
"""Standard deviations above zero from which a count says which value goes with which.
"""


def needs_sizes(schema: Schema) -> bool:
    """Whether rows per unit have to be learned."""
    return (
        schema.unit.id is not None
        and schema.unit.id in schema.keys
        and not schema.unit.sizes
    )


def open_maps(schema: Schema) -> list[FunctionalDependency]:
    """The rules whose map is still to be learned, between columns that have labels."""

    def has_labels(name: str) -> bool:
        return name in schema and isinstance(schema[name], Categorical | Boolean)

    return [
        rule
        for rule in schema.rules
        if isinstance(rule, FunctionalDependency)
        and rule.map is None
        and all(has_labels(name) for name in rule.columns)
    ]


def sizes_sensitivity(neighbours: Neighbours) -> Sensitivity:
    """How far one unit moves the histogram of rows per unit."""
    moved = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    return Sensitivity(
        l1=Fraction(moved),
        l2_squared=Fraction(moved),
        l0=moved,
        linf=Fraction(1),
    )


def learn_unit_sizes(
    context: MechanismContext,
    schema: Schema,
    *,
    amount: Fraction,
) -> Schema:
    """The schema with how many units have 1, 2, … rows: noisy counts, none below zero."""
    noisy = _measure_histogram(
        context,
        "rows per unit",
        sizes_sensitivity(context.neighbours),
        amount,
        context.table.sizes,
    )[0]
    sizes = tuple(max(int(count), 0) for count in noisy)
    if not any(sizes):
        # Sampling needs one size at least that occurs.
        sizes = (1, *sizes[1:])
    return replace(schema, unit=replace(schema.unit, sizes=sizes, learned=True))


def count_broken_rows(
    context: MechanismContext, *, amount: Fraction
) -> tuple[int, float]:
    """The noisy number of rows that break a rule, and the standard deviation of its
    noise.
    """
    m = context.max_rows
    reach = Sensitivity(
        l1=Fraction(m),
        l2_squared=Fraction(m * m),
        l0=1,
        linf=Fraction(m),
    )
    noisy, scale = _measure_histogram(
        context,
        "broken rows",
        reach,
        amount,
        lambda: np.array([context.table.broken()], np.int64),
    )
    return int(noisy[0]), noise_deviation(context.law, scale)


def open_weekdays(schema: Schema) -> list[Date | Datetime]:
    """The columns whose days of the week are to be learned."""
    columns = [schema[name] for name in schema]
    return [c for c in columns if isinstance(c, Date | Datetime) and c.weekdays is None]


def learn_weekdays(
    context: MechanismContext,
    schema: Schema,
    column: Date | Datetime,
    *,
    amount: Fraction,
) -> Schema:
    """The schema with a column's days of the week: noisy counts, none below zero."""
    # Where a day is no multiple of the resolution, no lattice point is in one day.
    if steps_per_day(column) is None:
        return schema.with_column(replace(column, weekdays=()))
    noisy, _ = _measure_histogram(
        context,
        f"weekdays of {column.name}",
        context.unit_vector(),
        amount,
        lambda: weekday_counts(column, *context.table.lattice(column.name)),
    )
    counts = tuple(max(int(count), 0) for count in noisy)
    learned = (*column.learned, "weekdays")
    weekdays = counts if any(counts) else ()
    return schema.with_column(replace(column, weekdays=weekdays, learned=learned))


def _measure_histogram(
    context: MechanismContext,
    what: str,
    sensitivity: Sensitivity,
    amount: Fraction,
    count: Callable[[], NDArray[np.int64]],
) -> tuple[NDArray[np.int64], Fraction]:
    scale = context.scale(amount, sensitivity)
    cost = price(context.law, scale, sensitivity, context.accounting)
    request = {"mechanism": what, "law": context.law, "scale": scale}
    answer = context.payments.pay(
        request,
        cost,
        count,
        lambda exact: {"counts": context.add_noise(exact, scale)},
    )
    return answer["counts"].astype(np.int64, copy=False), scale


def learn_map(
    context: MechanismContext,
    schema: Schema,
    rule: FunctionalDependency,
    *,
    amount: Fraction,
) -> Schema:
    """The schema with a rule's map learned; values whose partner does not stand out of
    the noise stay unmapped.
    """
    clique = (rule.source, rule.target)
    # Declared lists as long are refused before the run; learned ones may turn out so.
    if math.prod(schema.sizes(clique)) > MAX_LEARNED_MAP_CELLS:
        return schema
    measured = marginals.measure_marginals(context, schema, [clique], amount=amount)[0]
    least = MIN_MAP_SIGMAS * noise_deviation(measured.law, measured.scale)
    source = schema.codecs[rule.source]
    target = schema.codecs[rule.target]
    # Bins come first among the codes: unlisted and missing cells are left out.
    counts = measured.values[: len(source.bins), : len(target.bins)]
    pairs = {}
    if counts.size:
        best = counts.argmax(axis=1)
        for code, label in enumerate(source.labels()[: len(source.bins)]):
            if counts[code, best[code]] > least:
                pairs[label] = target.labels()[best[code]]
    learned = replace(rule, map=pairs, learned=True)
    rules = tuple(learned if other is rule else other for other in schema.rules)
    return replace(schema, rules=rules)
