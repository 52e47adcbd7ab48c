"""Header lines that are none: a CSV file without one would publish its first row as the
names of its columns.

Names are public, so where no schema declares them, one that reads like a cell stops the
file. No message repeats it. Two things that look like cells are names all the same: a
run of years beside words (`country`, `1960`, `1961`, `1962`), and the empty name of the
row numbers that data frames write.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from understudy.schema.columns.cell import parse_moment, parse_number

HEADER_NUMBER_PATTERN = re.compile(r"[-+]?[$€£¥]? ?\d+([.,'’]\d+)* ?[%$€£¥]?")
HEADER_DATE_PATTERN = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}([ T].*)?")

HEADER_YEAR_PATTERN = re.compile(r"1[5-9]\d\d|20\d\d")

MIN_YEAR_RUN_NAMES = 3
"""Years in a row that make names of them: one or two may well be somebody's, born in
the one and married in the other.
"""

YEAR_STEPS = (1, 2, 5, 10)
"""Years between the columns of a table of years."""

INDEX_NAME = "index"
INDEX_NOTE = "row numbers without a name"
"""What is said of a first column whose name is empty, as data frames write theirs."""


def name_unnamed_index(names: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """The names with one for row numbers that have none, and that name; None where
    there is no such column. It is the first of several whose name is empty.

    >>> name_unnamed_index(["", "age"]), name_unnamed_index(["age", ""])
    ((('index', 'age'), 'index'), (('age', ''), None))
    """
    if len(names) < 2 or names[0] or not all(names[1:]):
        return tuple(names), None
    name = INDEX_NAME
    while name in names:
        name += "_"
    return (name, *names[1:]), name


def find_header_oddity(names: Sequence[str]) -> str | None:
    """What speaks against these being names, if anything does.

    >>> find_header_oddity(["M", "1,5"]), find_header_oddity(["29.2.2024"])
    ('name 2 is a number', 'name 1 is a date')
    >>> find_header_oddity(["age", "income 2024"]) is None
    True
    >>> find_header_oddity(["land", "1960", "1970"])
    'name 2 is a number'
    >>> find_header_oddity(["land", "1960", "1970", "1980"]) is None
    True
    """
    years = _find_year_run(names)
    for position, name in enumerate(names, start=1):
        if position in years:
            continue
        if parse_moment(name) is not None or HEADER_DATE_PATTERN.fullmatch(name):
            return f"name {position} is a date"
        if parse_number(name) is not None or HEADER_NUMBER_PATTERN.fullmatch(name):
            return f"name {position} is a number"
    return None


def _find_year_run(names: Sequence[str]) -> range:
    """The positions of all years among the names, where they stand side by side at one
    distance and there are words beside them; else none.
    """
    positions = [
        position
        for position, name in enumerate(names, start=1)
        if HEADER_YEAR_PATTERN.fullmatch(name)
    ]
    none = range(0)
    if not MIN_YEAR_RUN_NAMES <= len(positions) < len(names):
        return none
    run = range(positions[0], positions[-1] + 1)
    years = [int(names[position - 1]) for position in positions]
    steps = {later - earlier for earlier, later in pairwise(years)}
    is_regular = len(steps) == 1 and abs(min(steps)) in YEAR_STEPS
    return run if len(run) == len(positions) and is_regular else none
