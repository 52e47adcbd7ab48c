"""Numbers and lists as text that a person reads, the same in a terminal, a pipe and a
notebook.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

MAX_ESTIMATE_PLACES = 8
"""Places beyond which a number is shorter with an exponent."""


def format_estimate(value: float, width: float) -> str:
    """An estimate to three digits of half the width of its interval: fewer hide where
    it ends, and more say nothing.

    >>> format_estimate(54321.98, 120.0), format_estimate(0.34657, 0.0577)
    ('54322', '0.3466')
    >>> format_estimate(1.5e-12, 1e-12), format_estimate(0.25, 0.0)
    ('1.5e-12', '0.25')
    """
    if not (math.isfinite(value) and math.isfinite(width) and width > 0):
        return f"{value:.4g}"
    places = max(2 - math.floor(math.log10(width)), 0)
    return f"{value:.{places}f}" if places <= MAX_ESTIMATE_PLACES else f"{value:.4g}"


def align_columns(
    rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> list[str]:
    """Rows of cells as lines with aligned columns; those in `right` are flush right.

    >>> align_columns([["age", "9"], ["children", "10"]], right=[1])
    ['age        9', 'children  10']
    """
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded = []
        for number, (cell, width) in enumerate(zip(row, widths, strict=True)):
            padded.append(cell.rjust(width) if number in right else cell.ljust(width))
        lines.append("  ".join(padded).rstrip())
    return lines


def join_words(words: Sequence[str]) -> str:
    """Words in a row as in a sentence, with `and` before the last.

    >>> join_words(["data"]), join_words(["workload", "data", "budget"])
    ('data', 'workload, data and budget')
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


# More names than this would fill several lines of a terminal.
MAX_NAMED_COLUMNS = 8


def join_first_names(names: Sequence[str]) -> str:
    """The first names of a list, and how many follow.

    >>> join_first_names(["age", "sex"]), join_first_names("abcdefghij")
    ('age, sex', 'a, b, c, d, e, f, g, h and 2 more')
    """
    shown = ", ".join(names[:MAX_NAMED_COLUMNS])
    rest = len(names) - MAX_NAMED_COLUMNS
    return f"{shown} and {rest} more" if rest > 0 else shown


def format_percent(share: float) -> str:
    """A share of the budget in percent.

    >>> format_percent(0.2), format_percent(0.004)
    ('20 %', '0.4 %')
    """
    # A small share must not look like nothing.
    if 0 < share < 0.01:
        return f"{100 * share:.1g} %"
    return f"{100 * share:.0f} %"


def format_count(count: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun.

    >>> format_count(1, "row"), format_count(2310, "cell"), format_count(2, "box", "boxes")
    ('1 row', '2,310 cells', '2 boxes')
    """
    if count != 1:
        noun = plural or f"{noun}s"
    return f"{count:,} {noun}"
