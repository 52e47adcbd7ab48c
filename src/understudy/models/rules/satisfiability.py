"""Witnesses: a row that keeps every rule, found before anything is spent, or the rule
that no row can keep.

The search is the one that keeps rules in sampled rows
(models/rules/structural_zeros.py, models/rules/repair_values.py), on rows drawn evenly
from bins that are cut where the rules speak of a value. It ends with a row or without
one. A schema for which none is found is refused: rules so tight that a search over
thousands of rows meets no row at all would leave nothing to sample either.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from understudy.errors import Refused, SchemaError
from understudy.models.rules.repair_values import repair_broken_values
from understudy.models.rules.structural_zeros import keep_possible
from understudy.schema import (
    Column,
    DecodedCells,
    Lattice,
    NeverRule,
    Predicate,
    Rule,
    Schema,
)
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    In,
    InCombinations,
    IsMissing,
    Literal,
    Not,
    Or,
)
from understudy.schema.predicates.comparable import scale_step_of, scale_value_of
from understudy.schema.predicates.on_values import has_value

WITNESS_ROWS = 400
"""Rows that look for one that keeps every rule, at once."""

MAX_WITNESS_CUTS = 100
"""Values of a column that bins are cut at, at most."""

WITNESS_BINS = 12


def find_row(
    schema: Schema, *, filled: Collection[str] = ()
) -> Mapping[str, DecodedCells] | None:
    """One row of the columns that have rules, each rule kept and each of `filled` with
    a value; None where none is found.

    >>> from understudy.schema import Schema
    >>> page = "columns: {a: {type: integer, min: 0, max: 9}, b: {type: integer, min: 0, max: 9}}\\nrules: [a + b = 17, a < b]"
    >>> row = find_row(Schema.parse(page), filled=("a", "b"))
    >>> int(row["a"].index[0]), int(row["b"].index[0])
    (8, 9)
    """
    rules = (
        *schema.rules,
        *(NeverRule(predicate=IsMissing(ColumnName(name))) for name in filled),
    )
    ruled = set().union(filled, *(p.columns for p in schema.forbidden_predicates))
    columns = tuple(
        _cut_at_literals(schema[name], schema.forbidden_predicates)
        for name in schema
        if name in ruled
    )
    kept = tuple(rule for rule in rules if rule.columns <= ruled)
    trial = Schema(
        columns=columns,
        impossible=tuple(p for p in schema.impossible if p.columns <= ruled),
        rules=kept,
    )
    rng = np.random.default_rng(0)
    codes = {
        name: rng.integers(0, codec.size, WITNESS_ROWS).astype(codec.dtype)
        for name, codec in trial.codecs.items()
    }
    try:
        codes = keep_possible(trial, codes, WITNESS_ROWS, rng)
        rows = {name: trial.codecs[name].decode(codes[name], rng) for name in trial}
        made = repair_broken_values(
            trial,
            codes,
            rows,
            rng,
            redraw=lambda name, here: (
                trial.codecs[name].decode(codes[name][here], rng).index
            ),
        )
    except Refused:
        return None
    # A row without missing values says more.
    best = int(
        np.argmax(sum(has_value(cells).astype(np.int64) for cells in made.values()))
    )
    return {
        name: DecodedCells(cells.index[best : best + 1], cells.state[best : best + 1])
        for name, cells in made.items()
    }


def refuse_contradictions(schema: Schema) -> None:
    """Refuse a schema whose rules no row can keep, and say which rule it is. What is
    still to be learned is left alone.

    >>> from understudy.schema import Schema
    >>> page = "columns: {a: {type: integer, min: 5, max: 9}, b: {type: integer, min: 0, max: 3}}\\nrules: [a <= b]"
    >>> refuse_contradictions(Schema.parse(page))
    Traceback (most recent call last):
    understudy.errors.SchemaError: rule a <= b: no row can keep it. Loosen the rule, or the bounds of a, b. Nothing was spent
    """
    rules = [
        rule
        for rule in _all_rules(schema)
        if all(n in schema and schema[n].is_closed for n in rule.columns)
    ]
    if not rules or _find_filled(schema, rules) is not None:
        return
    for rule in rules:
        # A condition that never holds may be about missing cells alone; the others are
        # about values, and must leave some.
        if _find_filled(schema, [rule]) is None:
            where = ", ".join(sorted(rule.columns))
            raise SchemaError(
                f"rule {rule.title}: no row can keep it. Loosen the rule, or the bounds"
                f" of {where}. Nothing was spent"
            )
    if (
        len(rules) < 2
        or find_row(replace(schema, impossible=(), rules=tuple(rules))) is not None
    ):
        return
    # More rules leave fewer rows, so the first rule too many is found by halves.
    fine, broken = 1, len(rules)
    while broken - fine > 1:
        middle = (fine + broken) // 2
        if (
            find_row(replace(schema, impossible=(), rules=tuple(rules[:middle])))
            is None
        ):
            broken = middle
        else:
            fine = middle
    last = rules[broken - 1]
    others = [r.title for r in rules[: broken - 1]]
    raise SchemaError(
        f"rule {last.title}: no row can keep it together with {'; '.join(others)}."
        " Loosen one. Nothing was spent"
    )


def _find_filled(
    schema: Schema, rules: Sequence[Rule]
) -> Mapping[str, DecodedCells] | None:
    """A row that keeps these rules, with a value in every column of those that are
    about values.
    """
    filled = set().union(
        *(rule.columns for rule in rules if not isinstance(rule, NeverRule))
    )
    return find_row(
        replace(schema, impossible=(), rules=tuple(rules)), filled=sorted(filled)
    )


def drop_unsatisfiable_rules(schema: Schema) -> tuple[Schema, list[str]]:
    """The schema without the rules that what was learned leaves no row for, and their
    names: a paid run must not end in an error.

    A rule about declared columns alone was checked before anything was spent, and
    stays.
    """
    judged = [rule for rule in schema.rules if _is_learned_rule(schema, rule)]
    never = [
        p for p in schema.impossible if _is_learned_rule(schema, NeverRule(predicate=p))
    ]
    if not (judged or never) or find_row(schema) is not None:
        return schema, []
    kept = replace(
        schema,
        rules=tuple(rule for rule in schema.rules if rule not in judged),
        impossible=tuple(p for p in schema.impossible if p not in never),
    )
    return kept, [*(f"never {p}" for p in never), *(rule.title for rule in judged)]


def _is_learned_rule(schema: Schema, rule: Rule) -> bool:
    return any(schema[name].learned for name in rule.columns) or bool(
        getattr(rule, "learned", False)
    )


def _all_rules(schema: Schema) -> list[Rule]:
    return [
        *(NeverRule(predicate=predicate) for predicate in schema.impossible),
        *schema.rules,
    ]


def _cut_at_literals(column: Column, predicates: Collection[Predicate]) -> Column:
    """The column with bins that begin where a rule speaks of a value, so that every
    such rule is decided by the bin.
    """
    column = replace(column, constant=False)  # one row has nobody to agree with
    if not isinstance(column, Lattice) or column.low is None or column.high is None:
        return column
    low, high = column.low, column.high
    pieces = min(WITNESS_BINS, high - low + 1)
    edges = {low + (high - low + 1) * i // pieces for i in range(pieces + 1)}
    for literal in list(_literals_about(column.name, predicates))[:MAX_WITNESS_CUTS]:
        found = scale_value_of(column, literal)
        if isinstance(found, Fraction):
            place = math.floor(found / scale_step_of(column))
            edges |= {edge for edge in (place, place + 1) if low < edge <= high}
    return replace(column, bins=tuple(sorted(edges)), grain=())


def _literals_about(name: str, predicates: Collection[Predicate]) -> Iterator[Literal]:
    for predicate in predicates:
        match predicate:
            case And(left, right) | Or(left, right) | IfThen(left, right):
                yield from _literals_about(name, (left, right))
            case Not(part):
                yield from _literals_about(name, (part,))
            case ColumnComparison(ColumnName(column), _, Literal() as literal) if (
                column == name
            ):
                yield literal
            case In(ColumnName(column), values) if column == name:
                yield from values
            case InCombinations(names, rows) if ColumnName(name) in names:
                yield from (row[names.index(ColumnName(name))] for row in rows)
