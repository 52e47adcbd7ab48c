"""The rules of a schema file, read and written: conditions, lists of combinations, and
maps from one column to another.
"""

from __future__ import annotations

from typing import Any

from understudy.errors import SchemaError
from understudy.schema.predicates.ast import Predicate
from understudy.schema.predicates.parser import parse_predicate
from understudy.schema.predicates.rules import (
    AllowedCombinations,
    AlwaysRule,
    FunctionalDependency,
    NeverRule,
    Rule,
)
from understudy.schema.yaml.keys import LEARN_WORD, RULE_KEYS
from understudy.schema.yaml.nodes import DocumentNode, DocumentSource
from understudy.schema.yaml.section import Section

# A rule is known by its keys alone, beside `name` and `learned`.
_RULE_KIND_BY_KEYS = {
    ("always",): "always",
    ("impossible",): "impossible",
    ("allowed", "columns"): "allowed",
    ("from", "map", "to"): "map",
    ("from", "to"): "map",
}


def read_condition(node: DocumentNode, source: DocumentSource, where: str) -> Predicate:
    """A condition; an error names its line."""
    if node.text is None:
        raise source.error(
            node.line,
            f"{where}: a condition must be a text such as age < 15 and married = true",
        )
    try:
        return parse_predicate(node.text)
    except SchemaError as error:
        raise source.error(node.line, f"{where}: {error}") from None


def read_rules(file: Section) -> list[tuple[int | None, Rule]]:
    """The rules of a file, each with its line."""
    node = file.get("rules")
    if node is None:
        return []
    if node.items is None:
        raise file.error("rules", f"`rules` must be a list, not {node.kind}")
    return [(item.line, _read_rule(item, file.source)) for item in node.items]


def _read_rule(node: DocumentNode, source: DocumentSource) -> Rule:
    # A text alone is a condition that always holds.
    if node.entries is None:
        return AlwaysRule(predicate=read_condition(node, source, "rules"))
    section = Section(node, source, "rules: ", "it")
    section.check_keys(RULE_KEYS)
    try:
        return _read_rule_section(section)
    except SchemaError as error:
        # An error about the text of the rule has its line already.
        if str(error).startswith(source.name):
            raise
        line = section.line_of_message(str(error))
        raise source.error(line, f"rules: {error}") from None


def _read_rule_section(section: Section) -> Rule:
    name = section.text("name") or ""
    keys = set(section.entries) - {"name", "learned"}
    match _RULE_KIND_BY_KEYS.get(tuple(sorted(keys))):
        case "always":
            predicate = _read_condition_key(section, "always")
            return AlwaysRule(name=name, predicate=predicate)
        case "impossible":
            predicate = _read_condition_key(section, "impossible")
            return NeverRule(name=name, predicate=predicate)
        case "allowed":
            return AllowedCombinations(
                name=name,
                names=section.texts("columns") or (),
                combinations=_read_combinations(section),
            )
        case "map":
            return _read_map(name, section)
    raise section.error(
        None,
        "a rule is a condition (`always` or `impossible`), `columns` with `allowed`, or"
        " `from` and `to` with `map`",
    )


def _read_condition_key(section: Section, key: str) -> Predicate:
    condition = section.get(key)
    if condition is None:
        raise section.error(key, f"`{key}` must be a condition")
    return read_condition(condition, section.source, "rules")


def _read_combinations(section: Section) -> tuple[tuple[str, ...], ...]:
    node = section.get("allowed")
    items = () if node is None else node.items
    if node is None or items is None or any(item.items is None for item in items):
        raise section.error(
            "allowed",
            "`allowed` must be a list of lists such as [[north, 1], [south, 2]]",
        )
    combinations = []
    for item in items:
        values = item.items or ()
        if any(value.text is None for value in values):
            raise section.source.error(
                item.line, "rules: `allowed` must list single values"
            )
        combinations.append(tuple(value.written for value in values))
    return tuple(combinations)


def _read_map(name: str, section: Section) -> FunctionalDependency:
    source = section.text("from")
    target = section.text("to")
    if source is None or target is None:
        raise section.error("from", "`from` and `to` must each name a column")
    learned = bool(section.flag("learned"))
    node = section.get("map")
    if node is None or node.text == LEARN_WORD:
        return FunctionalDependency(name=name, source=source, target=target)
    if node.entries is None or any(entry.node.text is None for entry in node.entries):
        raise section.error(
            "map",
            "`map` must give one value for each value, as in {Bern: BE, Biel: BE}, or"
            " the word learn",
        )
    pairs = {entry.key: entry.node.written for entry in node.entries}
    return FunctionalDependency(
        name=name, source=source, target=target, map=pairs, learned=learned
    )


def rule_to_plain(rule: Rule) -> str | dict[str, Any]:
    """A rule under the keys of a schema file; a condition without a name is its text
    alone.

    >>> rule_to_plain(AlwaysRule(predicate=parse_predicate("start <= end")))
    'start <= end'
    """
    if isinstance(rule, AlwaysRule) and not rule.name:
        return str(rule.predicate)
    plain: dict[str, Any] = {"name": rule.name} if rule.name else {}
    match rule:
        case AlwaysRule(predicate=predicate):
            return plain | {"always": str(predicate)}
        case NeverRule(predicate=predicate):
            return plain | {"impossible": str(predicate)}
        case AllowedCombinations(names=names, combinations=combinations):
            allowed = [list(values) for values in combinations]
            return plain | {"columns": list(names), "allowed": allowed}
        case FunctionalDependency(
            source=source, target=target, map=pairs, learned=learned
        ):
            plain |= {
                "from": source,
                "to": target,
                "map": LEARN_WORD if pairs is None else dict(pairs),
            }
            return plain | {"learned": True} if learned else plain
    raise TypeError(f"{type(rule).__name__} is no rule")
