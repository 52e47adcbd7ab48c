"""JOIN with a public table that the custodian gave: an inner join by its key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from understudy.errors import Refused
from understudy.queries.lookups import PublicTable
from understudy.queries.sql.literals import column_name
from understudy.queries.sql.refusals import refuse_node


def read_join(join: Any, public: Sequence[PublicTable]) -> str:
    """The name of the public table that is joined."""
    table = join.this
    if type(table).__name__ != "Table" or type(table.this).__name__ != "Identifier":
        raise refuse_node(join)
    name = str(table.this.this).casefold()
    found = [each for each in public if each.name.casefold() == name]
    if not found or str(join.args.get("kind") or "INNER").upper() != "INNER":
        raise refuse_node(join)
    key = found[0].key.casefold()
    if [each.casefold() for each in _joined_columns(join)] not in ([key], [key, key]):
        raise Refused(
            f"SQL: public table {found[0].name} is joined by its key: JOIN … USING"
            f" ({found[0].key}). Nothing was spent"
        )
    return found[0].name


def _joined_columns(join: Any) -> list[str]:
    using, on = join.args.get("using"), join.args.get("on")
    if using:
        return [str(getattr(each, "this", "")) for each in using]
    if type(on).__name__ != "EQ":
        raise refuse_node(join)
    return [column_name(on.this), column_name(on.expression)]
