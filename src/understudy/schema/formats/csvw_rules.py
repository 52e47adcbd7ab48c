"""What csvw-eo says about columns together: dependencies between rows' values, and
lists of combinations.
"""

from __future__ import annotations

from typing import Any

from understudy.schema.formats.draft import ExportSection, SchemaDraft, TrackedSection
from understudy.schema.predicates.ast import ColumnComparison, ColumnName, Operator
from understudy.schema.predicates.parser import parse_predicate
from understudy.schema.yaml.nodes import DocumentNode


def read_dependencies(
    words: TrackedSection, name: str, draft: SchemaDraft
) -> list[str]:
    """Read a column's dependencies into rules; the columns for each value of which it
    is the same in all rows.
    """
    fixed: list[str] = []
    for node in words.listed("rowDependencies"):
        with TrackedSection(node, draft, words.where, "a dependency") as one:
            on = one.text("dependsOn")
            kind = one.text("dependencyType")
            if on is None or kind is None:
                raise one.error(
                    None, "a dependency needs `dependsOn` and `dependencyType`"
                )
            if kind == "bigger":
                draft.rules.append(
                    str(
                        ColumnComparison(
                            ColumnName(on), Operator.AT_MOST, ColumnName(name)
                        )
                    )
                )
            elif kind == "fixedPerEntity":
                fixed.append(on)
            elif kind == "mapping":
                _read_value_map(one, on, name, draft)
            elif kind != "no_dependency":
                one.note(
                    "a `dependencyType` is not known, and the dependency is left out"
                )
    return fixed


def _read_value_map(
    one: TrackedSection, on: str, name: str, draft: SchemaDraft
) -> None:
    table = one.within("valueMap")
    if table is None:
        draft.rules.append({"from": on, "to": name, "map": "learn"})
        return
    found = {key: table.texts(key) or () for key in table.entries}
    single = {key: values[0] for key, values in found.items() if len(values) == 1}
    if single:
        draft.rules.append({"from": on, "to": name, "map": single})
    if len(single) < len(found):
        one.note(
            "`valueMap` gives several values for some keys; only those with one became"
            " a rule"
        )


def read_groups(nodes: tuple[DocumentNode, ...], draft: SchemaDraft) -> None:
    """Read groups of columns whose combinations are all listed into rules."""
    for node in nodes:
        with TrackedSection(node, draft, "additionalInformation: ", "a group") as group:
            group.skip_keys(
                "@type",
                "maxLength",
                "maxGroupsPerUnit",
                "maxContributions",
                "maxNumPartitions",
                "invariantPublicKeys",
            )
            names = group.texts("columnsInGroup") or ()
            rows = [
                _read_combination(item, names, draft)
                for item in group.listed("keyValues")
            ]
            if (
                group.flag("exhaustiveKeys")
                and len(names) > 1
                and rows
                and all(row is not None for row in rows)
            ):
                draft.rules.append({"columns": list(names), "allowed": rows})
            else:
                group.note(
                    f"the keys of a group of {len(names)} columns are not a full list,"
                    " and are left out"
                )


def _read_combination(
    node: DocumentNode, names: tuple[str, ...], draft: SchemaDraft
) -> list[str] | None:
    row = TrackedSection(node, draft, "additionalInformation: ", "a key")
    values: list[str] = []
    for name in names:
        at = row.get(name)
        value = (
            at
            if at is None or at.entries is None
            else TrackedSection(at, draft).get("partitionValue")
        )
        if value is None or value.text is None:
            return None
        values.append(value.written)
    return values


def export_dependencies(file: ExportSection) -> dict[str, list[dict[str, Any]]]:
    """The rules that csvw-eo can say, under the column that depends; the others stay on
    the page, to be noted.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    rest = []
    for rule in file.words.pop("rules", []):
        match rule:
            case {"from": source, "to": target, "map": dict() as table}:
                values = {key: [value] for key, value in table.items()}
                words = {
                    "dependsOn": source,
                    "dependencyType": "mapping",
                    "valueMap": values,
                }
                found.setdefault(target, []).append(words)
            case str() if (sides := _columns_of_order(rule)) is not None:
                found.setdefault(sides[1], []).append(
                    {"dependsOn": sides[0], "dependencyType": "bigger"}
                )
            case _:
                rest.append(rule)
    if rest:
        file.words["rules"] = rest
    return found


def _columns_of_order(rule: str) -> tuple[str, str] | None:
    """The two columns of `a <= b`; None for any other condition."""
    match parse_predicate(rule):
        case ColumnComparison(left, operator, ColumnName() as right) if (
            operator is Operator.AT_MOST
        ):
            return left.column, right.column
        case ColumnComparison(left, operator, ColumnName() as right) if (
            operator is Operator.AT_LEAST
        ):
            return right.column, left.column
    return None
