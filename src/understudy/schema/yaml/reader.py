"""From a document tree to a schema: every key is known, every value has its kind, every
error names its line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from understudy.errors import SchemaError
from understudy.schema.columns.base import Column
from understudy.schema.predicates.ast import Predicate
from understudy.schema.predicates.rules import BrokenRowPolicy
from understudy.schema.schema import Schema, check_impossible, check_rule
from understudy.schema.unit import ROW_UNIT, Unit
from understudy.schema.yaml.column_reader import read_columns
from understudy.schema.yaml.keys import (
    SCHEMA_FILE_KEYS,
    SCHEMA_FILE_VERSION,
    UNIT_KEYS,
)
from understudy.schema.yaml.nodes import DocumentNode, DocumentSource
from understudy.schema.yaml.rules_io import read_condition, read_rules
from understudy.schema.yaml.section import Section

Condition = TypeVar("Condition")


def read_schema(root: DocumentNode, source: DocumentSource) -> Schema:
    """The schema that a tree describes."""
    file = Section(root, source, "", "the file")
    file.check_keys(SCHEMA_FILE_KEYS)
    _check_version(file)
    if file.get("columns") is None:
        raise source.error(
            None, "no columns. Write `columns:` and describe each column"
        )
    columns = read_columns(file)
    unit = _read_unit(file)
    rows = file.whole("rows")
    impossible = _read_impossible(file)
    # Columns and unit are checked alone first, then each condition against them, so
    # that an error names the line it is about.
    with file.locate_errors():
        schema = Schema(columns=tuple(columns), unit=unit, rows=rows)
    _check_conditions(impossible, check_impossible, schema, source)
    rules = read_rules(file)
    _check_conditions(rules, check_rule, schema, source)
    broken = file.choice("broken", tuple(BrokenRowPolicy)) or BrokenRowPolicy.KEEP
    count_broken = bool(file.flag("count_broken"))
    with file.locate_errors():
        return replace(
            schema,
            impossible=tuple(predicate for _, predicate in impossible),
            rules=tuple(rule for _, rule in rules),
            broken=BrokenRowPolicy(broken),
            count_broken=count_broken,
        )


def _check_version(file: Section) -> None:
    version = file.whole("version")
    if version not in (None, SCHEMA_FILE_VERSION):
        raise file.error(
            "version",
            f"version {version} is not known here; this program reads version"
            f" {SCHEMA_FILE_VERSION}",
        )


def _check_conditions(
    conditions: Sequence[tuple[int | None, Condition]],
    check: Callable[[Condition, Mapping[str, Column]], None],
    schema: Schema,
    source: DocumentSource,
) -> None:
    """Check each condition against the columns; an error names its line."""
    for line, condition in conditions:
        try:
            check(condition, schema.by_name)
        except SchemaError as error:
            raise source.error(line, str(error)) from None


def _read_unit(file: Section) -> Unit:
    node = file.get("unit")
    if node is None or node.text == "row":
        return ROW_UNIT
    section = Section(node, file.source, "unit: ", "it")
    section.check_keys(UNIT_KEYS)
    fields: dict[str, Any] = {
        "id": section.text("id"),
        "max_rows": section.whole("max_rows"),
        "sizes": section.whole_numbers(
            "sizes",
            "`sizes` must be whole numbers: how many have 1, 2, … max_rows rows",
        ),
        "learned": section.flag("learned"),
    }
    # The class has the defaults of what is not stated.
    stated = {key: value for key, value in fields.items() if value is not None}
    with section.locate_errors():
        return Unit(**stated)


def _read_impossible(file: Section) -> list[tuple[int | None, Predicate]]:
    node = file.get("impossible")
    if node is None:
        return []
    if node.items is None:
        raise file.error(
            "impossible", f"`impossible` must be a list of conditions, not {node.kind}"
        )
    return [
        (item.line, read_condition(item, file.source, "impossible"))
        for item in node.items
    ]
