"""Texts that a spreadsheet would run as a formula, and the apostrophe that keeps it
from doing so (CWE-1236).

Guarding can be undone: a text that already looks guarded gets an apostrophe more, so
that two labels never become one.
"""

from __future__ import annotations

import re

FORMULA_OPENERS = "=+-@\t\r\n\0＝＋－＠"
"""What a spreadsheet takes for the start of a formula; the wide forms count too."""

_FORMULA_START_REGEX = re.compile(f"'*[{re.escape(FORMULA_OPENERS)}]")
_SPREADSHEET_NUMBER_REGEX = re.compile(
    r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII
)


def guard_formula(text: str) -> str:
    """A text that no spreadsheet runs; numbers are left alone.

    >>> guard_formula("=1+1"), guard_formula("-3.5"), guard_formula("plain")
    ("'=1+1", '-3.5', 'plain')
    """
    return (
        f"'{text}"
        if _FORMULA_START_REGEX.match(text)
        and not _SPREADSHEET_NUMBER_REGEX.fullmatch(text)
        else text
    )


def unguard_formula(text: str) -> str:
    """The text that was guarded.

    >>> unguard_formula("'=1+1"), unguard_formula("''=1+1"), unguard_formula("it's")
    ('=1+1', "'=1+1", "it's")
    """
    return (
        text[1:] if text.startswith("'") and _FORMULA_START_REGEX.match(text) else text
    )
