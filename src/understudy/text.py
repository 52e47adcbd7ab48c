"""Numbers and lists as a person reads them, in a terminal, a pipe and a notebook alike."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Rows of cells as lines whose columns line up; the columns in `right` end alike.

    >>> aligned([["age", "9"], ["children", "10"]], right=[1])
    ['age        9', 'children  10']
    """
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them.

    >>> listed(["data"]), listed(["workload", "data", "budget"])
    ('data', 'workload, data and budget')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def percent(share: float) -> str:
    """A share of the budget as a person reads it.

    >>> percent(0.2), percent(0.004)
    ('20 %', '0.4 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.01 or share == 0 else f"{100 * share:.1g} %"


def amount(count: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun.

    >>> amount(1, "row"), amount(2310, "cell"), amount(2, "list of values", "lists of values")
    ('1 row', '2,310 cells', '2 lists of values')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
