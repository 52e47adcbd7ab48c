"""Writes the generated tables of docs/synthesizers/adaptive.md (constants, how far the
error moves with them, the ablation) and of adaptive-results.md (Adult, the stored
quality) from what benchmarks stored.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "synthesizers"
RESULTS = ROOT / "benchmarks" / "results"
QUALITY = ROOT / "tests" / "synthesizers" / "adaptive" / "quality_baseline.json"
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "benchmarks")]


def replace_section(page: str, title: str, text: str) -> str:
    """The page with the text between the comments that begin and end a section."""
    pattern = rf"(<!-- {title} -->\n).*?(<!-- /{title} -->)"
    return re.sub(
        pattern, lambda m: f"{m[1]}\n{text.strip()}\n\n{m[2]}", page, flags=re.S
    )


def list_adult_results(path: Path = RESULTS / "adaptive.json") -> str:
    """The stored errors and times of `adaptive` on Adult, a row for each ε."""
    lines = [
        "| ε | pairs | triples | seconds | runs | commit |",
        "|---|---|---|---|---|---|",
    ]
    for result in json.loads(path.read_text()):
        if (result["table"], result["synthesizer"]) != ("adult", "adaptive"):
            continue
        *errors, seconds = zip(result["mean"], result["error"], strict=True)
        cells = [result["epsilon"]]
        cells += [f"{mean:.4f} ± {error:.4f}" for mean, error in errors]
        cells += [f"{seconds[0]:.1f}", str(result["runs"]), f"`{result['commit']}`"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def list_stored_quality(path: Path = QUALITY) -> str:
    """The errors that a test compares with, a row for each table and ε."""
    lines = ["| table and ε | error | of one run | runs |", "|---|---|---|---|"]
    for cell, stored in json.loads(path.read_text())["cells"].items():
        error, spread = math.exp(stored["mean"]), stored["deviation"]
        lines.append(f"| {cell} | {error:.4f} | ± {spread:.1%} | {stored['runs']} |")
    return "\n".join(lines)


def write_results(path: Path = PAGES / "adaptive-results.md") -> None:
    """Write the tables of the page of results."""
    page = replace_section(path.read_text(), "adult", list_adult_results())
    path.write_text(replace_section(page, "stored quality", list_stored_quality()))


def main() -> None:
    import ablation
    import constants
    import constants_table

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        constants_table.main()
    path = PAGES / "adaptive.md"
    page = replace_section(path.read_text(), "constants", printed.getvalue())
    changes = constants.read_lines(constants.LINES)
    page = replace_section(page, "changed constants", constants.report(changes))
    lines = ablation.Study(ablation.LINES, "").lines()
    path.write_text(replace_section(page, "ablation", ablation.report(lines)))
    write_results()


if __name__ == "__main__":
    main()
