"""Numbers as a country spells them: a decimal comma, and separators of thousands.

A text that is such a number as a whole is respelled with a point and without
separators; any other text stays as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from understudy.schema.columns.cell import CELL_BLANKS

DECIMAL_MARKS = (".", ",")
THOUSANDS_MARKS = (",", ".", "'", "’", "_", " ")
THOUSANDS_SPACES = " \u00a0\u202f"
"""What a space between thousands may be: plain, no-break or narrow no-break."""


@dataclass(frozen=True)
class NumberSpelling:
    """The decimal mark of numbers, and what separates their thousands: the empty text
    for nothing.
    """

    decimal: str = "."
    thousands: str = ""

    def find_problem(self) -> str | None:
        """Why no number is spelled so; None if numbers are."""
        if self.decimal not in DECIMAL_MARKS:
            return "a decimal mark is , or a point"
        if self.thousands and self.thousands not in THOUSANDS_MARKS:
            return "thousands are separated by one of , . ' _ or a space"
        if self.decimal == self.thousands:
            return (
                "the decimal mark and the separator of thousands are the same. Declare"
                " the other too: --decimal , --thousands ."
            )
        return None

    @property
    def is_plain(self) -> bool:
        """Whether numbers are spelled as 1234.5."""
        return self == NumberSpelling()

    @property
    def pattern(self) -> str:
        """What a number looks like in this spelling, as a regular expression."""
        whole = "[0-9]+"
        if self.thousands:
            separator = "[" + "".join(map(re.escape, self.separators)) + "]"
            whole += f"|[0-9]{{1,3}}({separator}[0-9]{{3}})+"
        point = re.escape(self.decimal)
        digits = f"(({whole})({point}[0-9]*)?|{point}[0-9]+)"
        return rf"[ \t]*[-+]?{digits}([eE][-+]?[0-9]+)?[ \t]*"

    @property
    def separators(self) -> str:
        """The characters that may stand between thousands."""
        return THOUSANDS_SPACES if self.thousands == " " else self.thousands

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.ASCII)

    def to_plain(self, text: str) -> str:
        """A number as it is spelled everywhere.

        >>> NumberSpelling(",", ".").to_plain("1.234,5"), NumberSpelling(",").to_plain("a,b")
        ('1234.5', 'a,b')
        """
        if not self._regex.fullmatch(text):
            return text
        # A blank around a number may also be a separator of thousands.
        plain = text.strip(CELL_BLANKS)
        for mark in self.separators:
            plain = plain.replace(mark, "")
        return plain.replace(self.decimal, ".")

    def write(self, plain: str) -> str:
        """A plain number in this spelling.

        >>> NumberSpelling(",", ".").write("-1234567.50")
        '-1.234.567,50'
        """
        whole, point, places = plain.partition(".")
        sign = "-" if whole.startswith("-") else ""
        digits = whole.removeprefix("-")
        if not digits.isdigit():
            return plain.replace(".", self.decimal)  # 1e-05 has no thousands
        grouped = f"{int(digits):,}".replace(",", self.thousands)
        return sign + grouped + point.replace(".", self.decimal) + places
