"""Header lines that are none: a CSV file without one would publish its first row as the
names of its columns.

Names are public, so where no schema declares them, one that reads like a cell stops the
file. No message repeats it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from understudy.schema.columns.cell import parse_moment, parse_number

HEADER_NUMBER_PATTERN = re.compile(r"[-+]?[$€£¥]? ?\d+([.,'’]\d+)* ?[%$€£¥]?")
HEADER_DATE_PATTERN = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}([ T].*)?")


def find_header_oddity(names: Iterable[str]) -> str | None:
    """What speaks against these being names, if anything does.

    >>> find_header_oddity(["M", "1,5"]), find_header_oddity(["29.2.2024"])
    ('name 2 is a number', 'name 1 is a date')
    >>> find_header_oddity(["age", "income 2024"]) is None
    True
    """
    for position, name in enumerate(names, start=1):
        if parse_moment(name) is not None or HEADER_DATE_PATTERN.fullmatch(name):
            return f"name {position} is a date"
        if parse_number(name) is not None or HEADER_NUMBER_PATTERN.fullmatch(name):
            return f"name {position} is a number"
    return None
