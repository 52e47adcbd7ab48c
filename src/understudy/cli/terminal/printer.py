"""The one way from a command to the terminal: line by line, and nothing in a line but
text.

Names, labels, notes and paths come from files that somebody else may have written. A
terminal obeys control characters: they move the cursor, hide or forge a line, change
the title, or write to the clipboard. So they are shown instead, as `\\x1b`, and so are
the characters that turn the direction of writing (Boucher, Anderson, "Trojan Source:
invisible vulnerabilities", 2021) and halves of characters, which no terminal can show.
What goes to a file is not changed.

Colour is the terminal's own: see console.py. Nothing else in this package prints;
scripts/house_rules.py sees to that.
"""

from __future__ import annotations

import re
import traceback

import click

CONTROL_CHARACTERS = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0, DEL and C1
    "\u2028\u2029"  # line and paragraph separators
    "\u202a-\u202e\u2066-\u2069"  # embeddings, overrides and isolates of the direction of writing
    "\ud800-\udfff"  # halves of characters, such as undecodable bytes of a file's name
    "]"
)
"""What a line of text has no use for."""


def show_controls(text: str) -> str:
    r"""A line of text whose control characters can be seen and do nothing. A line break
    is one of them.

    >>> print(show_controls("age\x1b[2J\nε = 0"))
    age\x1b[2J\nε = 0
    """
    return CONTROL_CHARACTERS.sub(_escape_control, text)


def write_line(text: str = "", *, err: bool = False) -> None:
    """One line on stdout, or on stderr."""
    click.echo(show_controls(text), err=err)


def write_json(text: str) -> None:
    r"""A JSON text on stdout, that parses to the same value.

    >>> write_json('"\x9b"')
    "\u009b"
    """
    # What is left to a JSON text of C0 are its own line breaks: within strings they are
    # escaped already.
    lines = text.split("\n")
    click.echo("\n".join(CONTROL_CHARACTERS.sub(_escape_json, line) for line in lines))


def write_traceback() -> None:
    """The exception that is being handled, on stderr, as Python would show it."""
    for line in traceback.format_exc().splitlines():
        write_line(line, err=True)


def _escape_control(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


def _escape_json(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
