"""Tables of the pages on benchmarks, written from the numbers, so that page and numbers
cannot drift apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


def fill(
    mark: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    note: str,
    page: Path = PAGE,
) -> None:
    """Put a table and a note between `<!-- mark -->` and the next `<!-- end -->`."""
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    text = "\n".join([*lines, "", note, ""])
    found = re.compile(rf"(?<=<!-- {mark} -->\n).*?(?=<!-- end -->)", re.DOTALL)
    page.write_text(found.sub(lambda _: text, page.read_text(), count=1))


def circumstances(results: Sequence[dict[str, object]]) -> str:
    """When and where numbers were measured, in a sentence."""
    days, loads = (
        sorted({str(r["day"]) for r in results}),
        [float(r["load"]) for r in results],
    )  # type: ignore[arg-type]
    return (
        f"Measured {' and '.join(days)} on {results[0]['cores']} cores that other work shared: "
        f"the load was {min(loads):.0f} to {max(loads):.0f}, so wall seconds are too long."
        if max(loads) > float(results[0]["cores"]) + 1  # type: ignore[arg-type]  # a job of several threads is a load by itself
        else f"Measured {' and '.join(days)} on {results[0]['cores']} cores."
    )
