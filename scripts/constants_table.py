"""Prints the tables of constants of docs/synthesizers/adaptive.md."""

from __future__ import annotations

from understudy.models.fitting.constant_table import Constant
from understudy.models.fitting.constants import FIT_CONSTANTS
from understudy.synthesizers.adaptive.constants import ADAPTIVE_CONSTANTS


def row_of(constant: Constant) -> str:
    """A constant as a row of Markdown."""
    fields = [
        f"`{constant.name}`",
        constant.text,
        constant.kind.value,
        constant.unit,
        constant.why,
    ]
    return f"| {' | '.join(fields)} |"


def main() -> None:
    for table in (ADAPTIVE_CONSTANTS, FIT_CONSTANTS):
        print("| constant | value | kind | unit | why |\n|---|---|---|---|---|")
        print("\n".join(row_of(constant) for constant in table.rows), end="\n\n")


if __name__ == "__main__":
    main()
