"""What csvw-eo says about several columns: dependencies between their values, and lists
of combinations.
"""

from __future__ import annotations

from typing import Any

from understudy.schema.formats.draft import ExportSection, SchemaDraft, TrackedSection
from understudy.schema.predicates.ast import ColumnComparison, ColumnName, Operator
from understudy.schema.predicates.parser import parse_predicate
from understudy.schema.yaml.keys import LEARN_WORD
from understudy.schema.yaml.nodes import DocumentNode

# Bounds on contributions to groups of values; a schema bounds rows per unit alone.
CSVW_CONTRIBUTION_KEYS = (
    "maxLength",
    "maxGroupsPerUnit",
    "maxContributions",
    "maxNumPartitions",
    "invariantPublicKeys",
)


def read_dependencies(
    words: TrackedSection, name: str, draft: SchemaDraft
) -> list[str]:
    """Read a column's dependencies into rules, and return the columns that it is fixed
    for: rows with the same value there have the same value here.
    """
    fixed_for: list[str] = []
    for node in words.items_of("rowDependencies"):
        with TrackedSection(node, draft, words.where, "a dependency") as dependency:
            source = dependency.text("dependsOn")
            kind = dependency.text("dependencyType")
            if source is None or kind is None:
                raise dependency.error(
                    None, "a dependency needs `dependsOn` and `dependencyType`"
                )
            match kind:
                case "bigger":
                    sides = ColumnName(source), Operator.AT_MOST, ColumnName(name)
                    draft.rules.append(str(ColumnComparison(*sides)))
                case "fixedPerEntity":
                    fixed_for.append(source)
                case "mapping":
                    _read_value_map(dependency, source, name, draft)
                case "no_dependency":
                    pass
                case _:
                    dependency.note(
                        "a `dependencyType` is not known, and the dependency is left"
                        " out"
                    )
    return fixed_for


def _read_value_map(
    dependency: TrackedSection, source: str, target: str, draft: SchemaDraft
) -> None:
    table = dependency.within("valueMap")
    if table is None:
        draft.rules.append({"from": source, "to": target, "map": LEARN_WORD})
        return
    targets = {key: table.texts(key) or () for key in table.entries}
    # A rule maps a value to one other; csvw-eo may allow several.
    single = {key: values[0] for key, values in targets.items() if len(values) == 1}
    if single:
        draft.rules.append({"from": source, "to": target, "map": single})
    if len(single) < len(targets):
        dependency.note(
            "`valueMap` gives several values for some keys; only those with one became"
            " a rule"
        )


def read_groups(nodes: tuple[DocumentNode, ...], draft: SchemaDraft) -> None:
    """Read groups of columns whose combinations are all listed into rules."""
    for node in nodes:
        with TrackedSection(node, draft, "additionalInformation: ", "a group") as group:
            group.skip_keys("@type", *CSVW_CONTRIBUTION_KEYS)
            names = group.texts("columnsInGroup") or ()
            items = group.items_of("keyValues")
            rows = [_read_combination(item, names, draft) for item in items]
            exhaustive = group.flag("exhaustiveKeys")
            complete = bool(rows) and None not in rows
            # Only a full list rules other combinations out.
            if exhaustive and complete and len(names) > 1:
                draft.rules.append({"columns": list(names), "allowed": rows})
            else:
                group.note(
                    f"the keys of a group of {len(names)} columns are not a full list,"
                    " and are left out"
                )


def _read_combination(
    node: DocumentNode, names: tuple[str, ...], draft: SchemaDraft
) -> list[str] | None:
    """The value of each column; None if one of them is a range."""
    row = TrackedSection(node, draft, "additionalInformation: ", "a key")
    values: list[str] = []
    for name in names:
        value = row.get(name)
        if value is not None and value.entries is not None:
            value = TrackedSection(value, draft).get("partitionValue")
        if value is None or value.text is None:
            return None
        values.append(value.written)
    return values


def export_dependencies(file: ExportSection) -> dict[str, list[dict[str, Any]]]:
    """The rules that csvw-eo can express, under the column that depends; the others stay
    in the file's section, where they are noted as left out.
    """
    dependencies: dict[str, list[dict[str, Any]]] = {}
    inexpressible = []
    for rule in file.words.pop("rules", []):
        match rule:
            case {"from": source, "to": target, "map": dict() as table}:
                words = {
                    "dependsOn": source,
                    "dependencyType": "mapping",
                    "valueMap": {key: [value] for key, value in table.items()},
                }
                dependencies.setdefault(target, []).append(words)
            case str() if (sides := _columns_of_order(rule)) is not None:
                smaller, larger = sides
                words = {"dependsOn": smaller, "dependencyType": "bigger"}
                dependencies.setdefault(larger, []).append(words)
            case _:
                inexpressible.append(rule)
    if inexpressible:
        file.words["rules"] = inexpressible
    return dependencies


def _columns_of_order(rule: str) -> tuple[str, str] | None:
    """The smaller and the larger column of `a <= b` or `b >= a`; None for any other
    condition.
    """
    match parse_predicate(rule):
        case ColumnComparison(left, Operator.AT_MOST, ColumnName() as right):
            return left.column, right.column
        case ColumnComparison(left, Operator.AT_LEAST, ColumnName() as right):
            return right.column, left.column
    return None
