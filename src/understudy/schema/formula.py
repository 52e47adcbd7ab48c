"""Texts that a spreadsheet would run as a formula, and the apostrophe that prevents it
(CWE-1236).

Guarding can be undone: a text that already looks guarded gets one more apostrophe, so
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
    if not _FORMULA_START_REGEX.match(text):
        return text
    # -3.5 begins like a formula, but it is a number to every spreadsheet.
    return text if _SPREADSHEET_NUMBER_REGEX.fullmatch(text) else f"'{text}"


def unguard_formula(text: str) -> str:
    """The text that was guarded.

    >>> unguard_formula("'=1+1"), unguard_formula("''=1+1"), unguard_formula("it's")
    ('=1+1', "'=1+1", "it's")
    """
    is_guarded = text.startswith("'") and _FORMULA_START_REGEX.match(text)
    return text[1:] if is_guarded else text
