"""Writes the generated tables of docs/synthesizers/adaptive.md: constants, how far
the error moves with them, and the ablation (benchmarks/results/*.jsonl).
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "benchmarks")]


def replace_section(page: str, title: str, text: str) -> str:
    """The page with the text between the comments that begin and end a section."""
    pattern = rf"(<!-- {title} -->\n).*?(<!-- /{title} -->)"
    return re.sub(
        pattern, lambda m: f"{m[1]}\n{text.strip()}\n\n{m[2]}", page, flags=re.S
    )


def main() -> None:
    import ablation
    import constants
    import constants_table

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        constants_table.main()
    path = ROOT / "docs" / "synthesizers" / "adaptive.md"
    page = replace_section(path.read_text(), "constants", printed.getvalue())
    changes = constants.read_lines(constants.LINES)
    page = replace_section(page, "changed constants", constants.report(changes))
    lines = ablation.Study(ablation.LINES, "").lines()
    path.write_text(replace_section(page, "ablation", ablation.report(lines)))


if __name__ == "__main__":
    main()
