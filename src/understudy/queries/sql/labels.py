"""Functions of labels: LEFT(diagnosis, 1), UPPER(ward), STARTS_WITH(diagnosis, 'I').

The labels of a column are listed in the schema, so that a function of them is a public
table: what is compared, or grouped by, are the labels themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from understudy.queries.sql.literals import column_name, number_of, skip_brackets
from understudy.queries.sql.refusals import refuse_node
from understudy.schema import Categorical, Schema
from understudy.schema.predicates.ast import (
    And,
    ColumnName,
    In,
    IsMissing,
    Literal,
    Predicate,
)

LABEL_NODES = frozenset({"Left", "Right", "Substring", "Upper", "Lower", "Trim"})
"""Functions that make a text of a label."""

LABEL_TESTS = frozenset({"StartsWith", "EndsWith", "Contains"})
"""Conditions on a label."""


@dataclass(frozen=True)
class LabelTexts:
    """What a function makes of each label of a column."""

    column: Categorical
    text_of: dict[str, str]
    is_text: ClassVar[bool] = True

    def where(self, is_met: Callable[[str], bool]) -> Predicate:
        """The condition that a row has a label of whose text this is true."""
        name = ColumnName(self.column.name)
        labels = [label for label, text in self.text_of.items() if is_met(text)]
        if labels:
            return self._is_one_of(labels)
        # A list holds at least one value: no row is missing and not missing.
        return And(IsMissing(name), IsMissing(name, negated=True))

    def list_texts(self) -> dict[str, Predicate]:
        """Every text, with the condition that a row has it."""
        labels: dict[str, list[str]] = {}
        for label, text in self.text_of.items():
            labels.setdefault(text, []).append(label)
        return {text: self._is_one_of(labels[text]) for text in labels}

    def _is_one_of(self, labels: Sequence[str]) -> Predicate:
        return In(ColumnName(self.column.name), tuple(map(Literal, labels)))


def read_labels(node: Any, schema: Schema) -> LabelTexts | None:
    """What a column of listed labels, or a function of one, says of each label; None for
    any other expression.
    """
    node = skip_brackets(node)
    kind = type(node).__name__
    if kind == "Column":
        name = column_name(node).casefold()
        for column in schema.columns:
            is_listed = isinstance(column, Categorical) and column.other is None
            if is_listed and column.name.casefold() == name:
                assert isinstance(column, Categorical)
                return LabelTexts(column, {v: v for v in column.values or ()})
        return None
    if kind not in LABEL_NODES:
        return None
    inner = read_labels(node.this, schema)
    if inner is None or not inner.text_of:
        raise refuse_node(node)
    change = _read_change(node, kind)
    texts = {label: change(text) for label, text in inner.text_of.items()}
    return LabelTexts(inner.column, texts)


def read_label_test(node: Any, schema: Schema, *, negated: bool) -> Predicate:
    """STARTS_WITH(x, 'I') and the like as a condition on the column."""
    found, part = read_labels(node.this, schema), node.expression
    if found is None or not found.text_of or not is_text(part):
        raise refuse_node(node)
    wanted = str(part.this)
    tests: dict[str, Callable[[str], bool]] = {
        "StartsWith": lambda text: text.startswith(wanted),
        "EndsWith": lambda text: text.endswith(wanted),
        "Contains": lambda text: wanted in text,
    }
    is_met = tests[type(node).__name__]
    return found.where(lambda text: is_met(text) != negated)


def is_text(node: Any) -> bool:
    """Whether a node is a text in quotes."""
    return type(node).__name__ == "Literal" and bool(node.args.get("is_string"))


def _read_change(node: Any, kind: str) -> Callable[[str], str]:
    match kind:
        case "Upper":
            return _change_letters(str.upper)
        case "Lower":
            return _change_letters(str.lower)
        case "Trim":
            return lambda text: text.strip(" ")
        case "Substring":
            first = _count_of(node.args.get("start"), node)
            length = node.args.get("length")
            if first < 1:
                raise refuse_node(node)
            end = None if length is None else first - 1 + _count_of(length, node)
            return lambda text: text[first - 1 : end]
    count = _count_of(node.expression, node)
    if kind == "Left":
        return lambda text: text[:count]
    return lambda text: text[max(len(text) - count, 0) :]


def _change_letters(change: Callable[[str], str]) -> Callable[[str], str]:
    """Letter by letter, as databases do: one letter never becomes two."""

    def change_text(text: str) -> str:
        changed = [change(letter) for letter in text]
        pairs = zip(text, changed, strict=True)
        return "".join(new if len(new) == 1 else old for old, new in pairs)

    return change_text


def _count_of(node: Any, whole: Any) -> int:
    """A number of letters."""
    number = number_of(node) if node is not None else None
    if number is None or number.denominator != 1 or not 0 <= number <= 10_000:
        raise refuse_node(whole)
    return int(number)
