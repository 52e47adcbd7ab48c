"""From a tree to a schema: every key known, every value of its kind, every error with
its line and column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

from understudy.errors import SchemaError
from understudy.schema.columns.base import Column, OutOfBoundsPolicy, Role
from understudy.schema.columns.calendar import (
    CALENDAR_UNITS,
    MAX_COLUMN_BINS,
    calendar_bins,
)
from understudy.schema.columns.cell import parse_date, parse_moment, parse_time
from understudy.schema.columns.code_layout import equal_bins
from understudy.schema.columns.lattice import Lattice
from understudy.schema.columns.numeric import Integer
from understudy.schema.columns.temporal import Date, Datetime, Time
from understudy.schema.predicates.ast import Predicate
from understudy.schema.predicates.rules import BrokenRowPolicy
from understudy.schema.schema import Schema, Unit, check_impossible, check_rule
from understudy.schema.yaml.keys import (
    COLUMN_CLASSES,
    COLUMN_KEYS,
    COLUMN_KEYS_BY_TYPE,
    COMMON_COLUMN_KEYS,
    LEARN_WORD,
    SCHEMA_FILE_KEYS,
    SCHEMA_FILE_VERSION,
    UNIT_KEYS,
    parse_fraction,
    parse_span,
)
from understudy.schema.yaml.nodes import (
    MAX_SCHEMA_FILE_NODES,
    DocumentEntry,
    DocumentNode,
    DocumentSource,
)
from understudy.schema.yaml.rules_io import read_condition, read_rules
from understudy.schema.yaml.section import Section

_MAX_DECLARED_DECIMALS = 18

MAX_SCHEMA_BINS = MAX_SCHEMA_FILE_NODES
"""Bins of all columns together: as many as a file could list one by one, 250 for each
of 2,000 columns. A single word makes 100,000.
"""


def read_schema(root: DocumentNode, source: DocumentSource) -> Schema:
    """The schema a tree describes."""
    file = Section(root, source, "", "the file")
    file.check_keys(SCHEMA_FILE_KEYS)
    version = file.whole("version")
    if version not in (None, SCHEMA_FILE_VERSION):
        raise file.error(
            "version",
            f"version {version} is not known here; this program reads version"
            f" {SCHEMA_FILE_VERSION}",
        )
    if file.get("columns") is None:
        raise source.error(
            None, "no columns. Write `columns:` and describe each column"
        )
    columns = _read_columns(file)
    unit = _read_unit(file)
    rows = file.whole("rows")
    impossible = _read_impossible(file)
    try:
        schema = Schema(columns=tuple(columns), unit=unit, rows=rows)
    except SchemaError as error:
        raise source.error(file.line_of(str(error)), str(error)) from None
    for line, predicate in impossible:
        try:
            check_impossible(predicate, schema.by_name)
        except SchemaError as error:
            raise source.error(line, str(error)) from None
    rules = read_rules(file)
    for line, rule in rules:
        try:
            check_rule(rule, schema.by_name)
        except SchemaError as error:
            raise source.error(line, str(error)) from None
    try:
        return replace(
            schema,
            impossible=tuple(predicate for _, predicate in impossible),
            rules=tuple(rule for _, rule in rules),
            broken=BrokenRowPolicy(
                file.choice("broken", tuple(BrokenRowPolicy)) or BrokenRowPolicy.KEEP
            ),
            count_broken=bool(file.flag("count_broken")),
        )
    except SchemaError as error:
        raise source.error(file.line_of(str(error)), str(error)) from None


def _read_columns(file: Section) -> list[Column]:
    """The columns; refused as soon as their bins are more than a schema may have."""
    columns, bins = [], 0
    for name, section in _column_sections(file):
        column = _read_column((name, section))
        columns.append(column)
        if isinstance(column, Lattice) and column.bins is not None:
            bins += len(column.bins) - 1
        if bins > MAX_SCHEMA_BINS:
            raise section.error(
                "bins",
                f"with it the columns have more than {MAX_SCHEMA_BINS:,} bins. Use"
                " fewer bins",
            )
    return columns


def _column_sections(file: Section) -> list[tuple[str, Section]]:
    """The columns, from a mapping of names or from a list of mappings with a `name`
    each.
    """
    node = file.get("columns")
    assert node is not None
    if node.entries is not None:
        return [
            (entry.key, _column_section(entry, file.source)) for entry in node.entries
        ]
    if node.items is None:
        raise file.error(
            "columns",
            f"`columns` must be a mapping of names to columns, not {node.kind}",
        )
    found = []
    for item in node.items:
        section = Section(item, file.source, "", "a column")
        name = section.text("name")
        if not name:
            raise section.error(
                "name", "a column has no name. Give every column a name"
            )
        entries = tuple(entry for entry in item.entries or () if entry.key != "name")
        entry = DocumentEntry(name, item.line, DocumentNode(item.line, entries=entries))
        found.append((name, _column_section(entry, file.source)))
    return found


def _column_section(entry: DocumentEntry, source: DocumentSource) -> Section:
    """A column's mapping; `age: integer` is short for `age: {type: integer}`, and
    nothing at all leaves everything to learn.
    """
    node = entry.node
    if node.kind == "nothing":
        node = DocumentNode(entry.line, entries=())
    elif node.text is not None:
        node = DocumentNode(
            entry.line, entries=(DocumentEntry("type", node.line, node),)
        )
    return Section(node, source, f'column "{entry.key}": ', "it")


def _read_column(named: tuple[str, Section]) -> Column:
    name, section = named
    section.check_keys(COLUMN_KEYS)
    kind = section.choice("type", tuple(COLUMN_CLASSES)) or LEARN_WORD
    for key in section.entries:
        if key not in COMMON_COLUMN_KEYS and key not in COLUMN_KEYS_BY_TYPE[kind]:
            needed = ", ".join(
                f"`{t}`" for t, keys in COLUMN_KEYS_BY_TYPE.items() if key in keys
            )
            problem = (
                f"`{key}` needs a `type`"
                if kind == LEARN_WORD
                else f"`{key}` does not belong to a {kind} column"
            )
            raise section.error(key, f"{problem}. It goes with type {needed}")
    fields: dict[str, Any] = {
        "role": _enum_or_none(Role, section.choice("role", tuple(Role))),
        "nullable": section.flag("nullable"),
        "missing": section.texts("missing"),
        "use": section.flag("use"),
        "learned": section.texts("learned"),
        "dtype": section.text("dtype"),
        "note": section.text("note"),
        "constant": section.flag("constant"),
    }
    maker = COLUMN_CLASSES[kind]
    if kind == "categorical":
        fields |= _read_categories(section)
    elif kind == "identifier":
        fields |= {"generate": section.flag("generate")}
    elif kind == "boolean":
        fields |= {"true": section.texts("true"), "false": section.texts("false")}
    elif issubclass(maker, Lattice):
        fields |= _read_lattice(maker, section)
    bins = fields.pop("bins", None)
    given = {key: value for key, value in fields.items() if value is not None}
    if given.get("weekdays") == LEARN_WORD:
        given["weekdays"] = None
    column = _make_column(lambda: maker(name=name, **given), section)
    if isinstance(column, Lattice) and bins is not None:
        edges = _read_bins(column, bins, section)
        pieces = _read_grain(edges[0], section)
        return _make_column(lambda: replace(column, bins=edges, grain=pieces), section)
    if section.get("grain") is not None:
        raise section.error(
            "grain", "`grain` goes with `bins`, as a run writes them. Leave it out"
        )
    return column


def _make_column(maker: Callable[[], Column], section: Section) -> Column:
    """A column, or its contradiction with the line of the key that is at fault."""
    try:
        return maker()
    except SchemaError as error:
        raise section.source.error(section.line_of(str(error)), str(error)) from None


def _enum_or_none(
    maker: type[Role] | type[OutOfBoundsPolicy], text: str | None
) -> Role | OutOfBoundsPolicy | None:
    return None if text is None else maker(text)


def _read_categories(section: Section) -> dict[str, Any]:
    values = section.texts("values")
    node = section.get("values")
    if node is not None and node.text == LEARN_WORD:
        values = None
    elif node is not None and node.items is None:
        raise section.error(
            "values", "`values` must be a list such as [F, M], or the word learn"
        )
    return {
        "values": values,
        "ordered": section.flag("ordered"),
        "other": section.text("other"),
        "levels": _read_levels(section, values or ()),
        "unfold": _read_unfold(section),
    }


def _read_unfold(section: Section) -> dict[str, int] | None:
    """A public list of values, or a table of values and whole weights."""
    node = section.get("unfold")
    if node is None:
        return None
    if node.entries is None:
        labels = section.texts("unfold") or ()
        if len(set(labels)) != len(labels):
            raise section.error("unfold", "a value is listed twice in `unfold`")
        return dict.fromkeys(labels, 1)
    weights = Section(node, section.source, section.where, "`unfold`")
    found = {}
    for entry in node.entries:
        text = weights.text(entry.key) or ""
        if not (text.isascii() and text.isdigit() and len(text) < 17):
            raise weights.error(
                entry.key,
                "weights in `unfold` must be whole numbers, as in {Basel: 178,"
                " Chur: 39}",
            )
        found[entry.key] = int(text)
    return found


def _read_levels(
    section: Section, values: tuple[str, ...]
) -> dict[str, tuple[str, ...]] | None:
    node = section.get("levels")
    if node is None:
        return None
    levels, listed = {}, frozenset(values)
    for entry in (
        Section(node, section.source, section.where, "`levels`").node.entries or ()
    ):
        groups = Section(
            entry.node, section.source, section.where, f'level "{entry.key}"'
        )
        found: dict[str, str] = {}
        for group in groups.entries:
            for value in groups.texts(group) or ():
                if value not in listed:
                    raise groups.error(
                        group,
                        f'level "{entry.key}" groups a value that is not listed in'
                        " `values`",
                    )
                if value in found:
                    raise groups.error(
                        group, f'level "{entry.key}" puts a value into two groups'
                    )
                found[value] = group
        if len(found) != len(values):
            raise section.source.error(
                entry.line,
                f'{section.where}level "{entry.key}" leaves a value without a group',
            )
        levels[entry.key] = tuple(found[value] for value in values)
    return levels


def _read_lattice(kind: type[Lattice], section: Section) -> dict[str, Any]:
    bounds = section.text("bounds")
    if bounds not in (None, LEARN_WORD):
        raise section.error(
            "bounds",
            "`bounds` takes the word learn only. Write `min` and `max` to declare them",
        )
    if (
        bounds is not None
        and section.get("min") is not None
        and section.get("max") is not None
    ):
        raise section.error(
            "bounds",
            "`bounds: learn` contradicts `min` and `max`. Remove one or the other",
        )
    if kind is Time and LEARN_WORD in (
        bounds,
        section.text("min"),
        section.text("max"),
    ):
        raise section.error(
            "bounds",
            "the bounds of a time are those of the day. Leave them out, or declare"
            " others",
        )
    fields: dict[str, Any] = {
        "min": _read_value(kind, section, "min"),
        "max": _read_value(kind, section, "max"),
        "outside": _enum_or_none(
            OutOfBoundsPolicy, section.choice("outside", tuple(OutOfBoundsPolicy))
        ),
        "bins": section.get("bins"),
    }
    if issubclass(kind, Integer):
        fields["step"] = section.whole("step")
    elif issubclass(kind, Datetime | Time):
        fields["resolution"] = _read_span(section)
        if kind is Datetime:
            fields |= {
                "zone": section.text("zone"),
                "weekdays": _read_weekdays(section),
            }
    elif issubclass(kind, Date):
        fields["weekdays"] = _read_weekdays(section)
    else:
        fields["step"] = _read_step(section)
    return fields


def _read_weekdays(section: Section) -> tuple[int, ...] | str | None:
    texts = section.texts("weekdays")
    if texts is None or texts == (LEARN_WORD,):
        return None if texts is None else LEARN_WORD
    if not all(text.isascii() and text.isdigit() and len(text) < 19 for text in texts):
        raise section.error(
            "weekdays",
            "`weekdays` must be seven whole weights from Monday to Sunday, or the word"
            " learn",
        )
    return tuple(map(int, texts))


def _read_span(section: Section) -> timedelta | None:
    text = section.text("resolution")
    if text is None:
        return None
    span = parse_span(text)
    if span is None:
        raise section.error(
            "resolution",
            "`resolution` must be a length of time such as 1s, 15min, 1h or 1day",
        )
    return span


def _read_step(section: Section) -> Fraction | None:
    decimals = section.whole("decimals")
    if decimals is None:
        return section.number("step")
    if section.get("step") is not None:
        raise section.error(
            "decimals", "`decimals` and `step` say the same twice. Keep one of them"
        )
    if not 0 <= decimals <= _MAX_DECLARED_DECIMALS:
        raise section.error(
            "decimals", f"`decimals` must be between 0 and {_MAX_DECLARED_DECIMALS}"
        )
    return Fraction(1, 10**decimals)


def _read_value(kind: type[Lattice], section: Section, key: str) -> object:
    """A bound, read by the column's type."""
    text = section.text(key)
    if text is None or text == LEARN_WORD:
        return None
    return _parse_value(kind, text, section, key)


def _parse_value(kind: type[Lattice], text: str, section: Section, key: str) -> object:
    if issubclass(kind, Date):
        found: object = parse_date(text)
        example = "a date such as 2024-12-31"
    elif issubclass(kind, Datetime):
        found = parse_moment(text)
        example = "a moment such as 2024-12-31 23:59"
    elif issubclass(kind, Time):
        found = parse_time(text)
        example = "a time of day such as 23:59"
    else:
        number = parse_fraction(text)
        whole = issubclass(kind, Integer)
        found = (
            None
            if number is None or (whole and number.denominator != 1)
            else int(number)
            if whole
            else number
        )
        example = "a whole number" if whole else "a number such as 12 or 0.5"
    if found is None:
        raise section.error(key, f"`{key}` must be {example}")
    return found


def _read_bins(
    column: Lattice, node: DocumentNode, section: Section
) -> tuple[int, ...]:
    """Bins from their number, or from where each begins."""
    low, high = column.low, column.high
    if low is None or high is None:
        raise section.error("bins", "`bins` need `min` and `max`")
    if node.items is None and node.text in CALENDAR_UNITS:
        try:
            return calendar_bins(column, node.text)
        except SchemaError as error:
            raise section.source.error(node.line, str(error)) from None
        except (ValueError, OverflowError):
            raise section.error(
                "bins",
                f"`bins: {node.text}` begins beyond the calendar. Narrow the bounds",
            ) from None
    if node.items is None:
        pieces = section.whole("bins")
        if pieces is None or not 1 <= pieces <= min(high - low + 1, MAX_COLUMN_BINS):
            raise section.error(
                "bins",
                "`bins` must be a list of where each bin begins, or a number of bins"
                " that is possible",
            )
        return equal_bins(low, high, pieces)
    values = [
        _parse_value(type(column), text, section, "bins")
        for text in section.texts("bins") or ()
    ]
    try:
        starts = [column.index_of(value) for value in values]
    except (ValueError, OverflowError):
        raise section.error("bins", "`bins` lies beyond the calendar") from None
    if not starts or starts[0] != low:
        raise section.error(
            "bins", "`bins` says where each bin begins, so the first must be min"
        )
    if any(a >= b for a, b in pairwise(starts)) or starts[-1] > high:
        raise section.error(
            "bins", "`bins` must rise from min, and the last must not lie beyond max"
        )
    return (*starts, high + 1)


def _read_grain(low: int, section: Section) -> tuple[tuple[int, int], ...]:
    """Grain as a run writes it: where each piece begins, in steps from min, and its
    weight, in turn.
    """
    texts = section.texts("grain") or ()
    if len(texts) % 2 or not all(
        text.isascii() and text.isdigit() and len(text) < 20 for text in texts
    ):
        raise section.error(
            "grain",
            "`grain` must be pairs of whole numbers, as a run writes them. Leave"
            " it out",
        )
    numbers = [int(text) for text in texts]
    return tuple(
        (low + start, weight)
        for start, weight in zip(numbers[::2], numbers[1::2], strict=True)
    )


def _read_unit(file: Section) -> Unit:
    node = file.get("unit")
    if node is None or node.text == "row":
        return Unit()
    section = Section(node, file.source, "unit: ", "it")
    section.check_keys(UNIT_KEYS)
    fields: Mapping[str, Any] = {
        "id": section.text("id"),
        "max_rows": section.whole("max_rows"),
        "sizes": _read_sizes(section),
        "learned": section.flag("learned"),
    }
    try:
        return Unit(
            **{key: value for key, value in fields.items() if value is not None}
        )
    except SchemaError as error:
        raise file.source.error(section.line_of(str(error)), str(error)) from None


def _read_sizes(section: Section) -> tuple[int, ...] | None:
    texts = section.texts("sizes")
    if texts is not None and not all(
        text.isascii() and text.isdigit() and len(text) < 19 for text in texts
    ):
        raise section.error(
            "sizes",
            "`sizes` must be whole numbers: how many have 1, 2, … max_rows rows",
        )
    return None if texts is None else tuple(map(int, texts))


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
