"""Numbers and lists as a person reads them, in a terminal, a pipe and a notebook alike."""

from __future__ import annotations

from collections.abc import Sequence


def align_columns(
    rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> list[str]:
    """Rows of cells as lines whose columns line up; the columns in `right` end alike.

    >>> align_columns([["age", "9"], ["children", "10"]], right=[1])
    ['age        9', 'children  10']
    """
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(w) if i in right else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def join_words(words: Sequence[str]) -> str:
    """Words as a sentence lists them.

    >>> join_words(["data"]), join_words(["workload", "data", "budget"])
    ('data', 'workload, data and budget')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


MAX_NAMED_COLUMNS = 8
"""Columns that a line names at most."""


def join_first_names(names: Sequence[str]) -> str:
    """Names, the first few of many.

    >>> join_first_names(["age", "sex"]), join_first_names("abcdefghij")
    ('age, sex', 'a, b, c, d, e, f, g, h and 2 more')
    """
    shown = ", ".join(names[:MAX_NAMED_COLUMNS])
    rest = len(names) - MAX_NAMED_COLUMNS
    return f"{shown} and {rest} more" if rest > 0 else shown


def format_percent(share: float) -> str:
    """A share of the budget as a person reads it.

    >>> format_percent(0.2), format_percent(0.004)
    ('20 %', '0.4 %')
    """
    return (
        f"{100 * share:.0f} %"
        if share >= 0.01 or share == 0
        else f"{100 * share:.1g} %"
    )


def format_count(count: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun.

    >>> format_count(1, "row"), format_count(2310, "cell"), format_count(2, "list of values", "lists of values")
    ('1 row', '2,310 cells', '2 lists of values')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
