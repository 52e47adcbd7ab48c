"""Numbers as a country spells them, where the owner of a CSV file declares it: a decimal
comma, and separators of thousands.

A cell that is such a number as a whole is respelled with a point and without
separators, by itself; any other cell stays as it is. So no row changes how another is
read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from understudy.errors import TableError
from understudy.tables.sql import quoting

DECIMAL_MARKS = (".", ",")
THOUSANDS_MARKS = (",", ".", "'", "’", "_", " ")
THOUSANDS_SPACES = " \u00a0\u202f"
"""What a space between thousands may be: plain, no-break or narrow no-break."""


@dataclass(frozen=True)
class NumberSpelling:
    """The decimal mark of a file's numbers, and what separates their thousands: the
    empty text for nothing.
    """

    decimal: str = "."
    thousands: str = ""

    @property
    def pattern(self) -> str:
        """What a number looks like in this spelling, as a regular expression."""
        whole = "[0-9]+"
        if self.thousands:
            separator = "[" + "".join(map(re.escape, self._separators)) + "]"
            whole += f"|[0-9]{{1,3}}({separator}[0-9]{{3}})+"
        point = re.escape(self.decimal)
        digits = f"(({whole})({point}[0-9]*)?|{point}[0-9]+)"
        return rf"[ \t]*[-+]?{digits}([eE][-+]?[0-9]+)?[ \t]*"

    @property
    def _separators(self) -> str:
        return THOUSANDS_SPACES if self.thousands == " " else self.thousands

    def respelled_sql(self, cell: str) -> str:
        """The text of a cell, respelled where it is a number in this spelling."""
        plain = cell
        for mark in self._separators:
            plain = f"replace({plain}, {quoting.text_literal(mark)}, '')"
        if self.decimal != ".":
            plain = f"replace({plain}, {quoting.text_literal(self.decimal)}, '.')"
        pattern = quoting.text_literal(self.pattern)
        return (
            f"CASE WHEN regexp_full_match({cell}, {pattern}) THEN {plain}"
            f" ELSE {cell} END"
        )


def spelling_of(decimal: str | None, thousands: str | None) -> NumberSpelling | None:
    """The spelling that is declared; None where numbers are spelled as usual."""
    if decimal is None and thousands is None:
        return None
    spelling = NumberSpelling(decimal or ".", thousands or "")
    if spelling.decimal not in DECIMAL_MARKS:
        raise TableError("a decimal mark is , or a point. Nothing was read")
    if thousands is not None and thousands not in THOUSANDS_MARKS:
        raise TableError(
            "thousands are separated by one of , . ' _ or a space. Nothing was read"
        )
    if spelling.decimal == spelling.thousands:
        raise TableError(
            "the decimal mark and the separator of thousands are the same. Declare the"
            " other too: --decimal , --thousands . Nothing was read"
        )
    return spelling
