"""Public bounds of a census as its design says them: numbers, numbers by unit and by
value, and lists of facilities.

A list of facilities (group quarters: nursing homes, prisons, halls) says how many of each
type there are in each unit. Somebody lives in every facility, and nobody in one that is
not there: a unit with n of a type has from n to n times `max_persons` persons of that
type, and none where n is 0. Types that the list does not name, such as houses, are free.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from understudy.censuses.controlled_rounding import UNBOUNDED_COUNT
from understudy.censuses.hierarchy import Hierarchy
from understudy.censuses.invariants import UnitBounds
from understudy.errors import SchemaError
from understudy.measurements import Clique
from understudy.schema import Schema

FACILITY_COUNT_COLUMN = "facilities"

MAX_BOUND_PERSONS = 2_000_000_000
"""Persons of a bound: more than any country has."""


def read_bound(plain: object, query: Clique, schema: Schema) -> UnitBounds:
    """A number of persons, or one for each unit, or one for each unit and value."""
    try:
        if not isinstance(plain, Mapping):
            return _read_count(plain)
        return {
            str(unit): _read_values(given, query, schema)
            if isinstance(given, Mapping)
            else _read_count(given)
            for unit, given in plain.items()
        }
    except (TypeError, ValueError):
        raise SchemaError(
            "census: `at_least` and `at_most` are whole numbers from 0 to"
            f" {MAX_BOUND_PERSONS:,}, for all units, by unit, or by unit and value"
        ) from None


def _read_values(
    given: Mapping[object, object], query: Clique, schema: Schema
) -> dict[int, int]:
    codes = _code_values(query, schema)
    unknown = [str(value) for value in given if str(value) not in codes]
    if unknown:
        raise SchemaError(f'census: "{unknown[0]}" is no value of column "{query[0]}"')
    return {codes[str(value)]: _read_count(count) for value, count in given.items()}


def _code_values(query: Clique, schema: Schema) -> dict[str, int]:
    """The code of each value of the one column that a bound is about."""
    if len(query) != 1:
        raise SchemaError(
            "census: bounds by value and facilities are about one column: `query: home`"
        )
    labels = schema.codecs[query[0]].labels()
    return {str(label): code for code, label in enumerate(labels)}


def _read_count(plain: object) -> int:
    count = int(str(plain))
    if not 0 <= count <= MAX_BOUND_PERSONS:
        raise ValueError("no number of persons")
    return count


def read_facilities(
    path: Path,
    level: str,
    query: Clique,
    hierarchy: Hierarchy,
    schema: Schema,
    max_persons: object = None,
) -> tuple[UnitBounds, UnitBounds]:
    """The least and most persons that a public list of facilities admits: a CSV file with
    the columns of the hierarchy down to `level`, the one of the query, and `facilities`.
    """
    codes = _code_values(query, schema)
    if level not in hierarchy.levels:
        raise SchemaError(f'census: "{level}" is no level of the hierarchy')
    depth = hierarchy.levels.index(level)
    places = hierarchy.columns[:depth]
    try:
        most = UNBOUNDED_COUNT if max_persons is None else _read_count(max_persons)
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [
                (
                    ("/".join(row[name] for name in places), codes[row[query[0]]]),
                    _read_count(row[FACILITY_COUNT_COLUMN]),
                )
                for row in csv.DictReader(file)
            ]
    except OSError as error:
        raise SchemaError(f"{path}: cannot be read ({error.strerror})") from None
    except (KeyError, TypeError, ValueError):
        raise SchemaError(
            f"{path}: needs {', '.join([*places, query[0], FACILITY_COUNT_COLUMN])} in"
            f' every line, with values of "{query[0]}" and whole numbers'
        ) from None
    listed = dict(lines)
    if len(listed) < len(lines):
        raise SchemaError(
            f"{path}: names a unit twice with one type. Write one line for both, with the"
            " number of all its facilities"
        )
    return _bound_facilities(listed, level, hierarchy, most)


def _bound_facilities(
    listed: Mapping[tuple[str, int], int], level: str, hierarchy: Hierarchy, most: int
) -> tuple[UnitBounds, UnitBounds]:
    types = {code for _, code in listed}
    lower: dict[str, dict[int, int]] = {}
    upper: dict[str, dict[int, int]] = {}
    units = ["/".join(p) for p in hierarchy.paths(hierarchy.levels.index(level))]
    # Units that are not in the hierarchy are named when the bounds are spread.
    for unit in dict.fromkeys([*units, *(unit for unit, _ in listed)]):
        counts = {code: listed.get((unit, code), 0) for code in types}
        lower[unit] = counts
        upper[unit] = {
            code: min(count * most, UNBOUNDED_COUNT) for code, count in counts.items()
        }
    return lower, upper
