"""Every synthesizer on the demo's survey: the numbers, the plot and the table of
docs/comparison.md.

    python scripts/compare.py            run them all, then write the numbers, the plot and the page's table
    python scripts/compare.py --redraw   write the plot and the table again from the numbers there are

Distances are means of total variation over all columns, pairs and triples. Seconds are
processor seconds of one core, from file to synthetic rows. The real rows are counted
exactly: the survey is public, so this look at it harms nobody.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

from understudy.svg import Markup, svg_element, svg_root, svg_text
from understudy.svg.axis import LogAxis

ROOT = Path(__file__).resolve().parent.parent
NUMBERS, PICTURE, PAGE = (
    ROOT / "docs" / name
    for name in ("comparison.json", "images/comparison.svg", "comparison.md")
)

EPSILONS = ("0.1", "1", "10")
BINS = (
    0,
    1,
    500_000,
    1_000_000,
    2_000_000,
    4_000_000,
    8_000_000,
    16_000_000,
    60_000_001,
)
"""Of the time for affairs, in millionths: none, up to ½, 1, 2, 4, 8, 16, and more.
Declared, so that nothing has to be learned.
"""

ORDERS = ("columns", "pairs", "triples")
MARKS = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end -->)", re.DOTALL)
COLOURS = {
    "columns": "#56B4E9",
    "pairs": "#0072B2",
    "triples": "#D55E00",
    "seconds": "#444444",
}
"""Of Okabe and Ito: told apart with any kind of colour vision. Shapes differ too."""


def main() -> int:
    """Run or read, then write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--redraw", action="store_true", help="from the numbers there are"
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--only", nargs="*", help="names of synthesizers; the other numbers stay"
    )
    asked = parser.parse_args()
    found = (
        json.loads(NUMBERS.read_text())
        if NUMBERS.exists() and (asked.redraw or asked.only)
        else {}
    )
    if not asked.redraw:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        found = {**found, **measured(asked.runs, asked.only)}
        NUMBERS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    PICTURE.write_text(picture(found))
    PAGE.write_text(MARKS.sub(lambda _: table(found), PAGE.read_text()))
    return 0


# Numbers


def measured(runs: int, only: Sequence[str] | None) -> dict[str, object]:
    """For every synthesizer and ε the mean distances and seconds of some runs, or why
    it was refused.
    """
    from understudy.cli.commands.demo import declare_survey_answers, write_survey
    from understudy.schema import Real
    from understudy.synthesizers import SYNTHESIZER_CLASSES
    from understudy.tables import Table, open_table
    from understudy.workflow.describe import describe

    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        survey = Path(folder, "survey.csv")
        write_survey(survey)
        schema = declare_survey_answers(describe(survey))
        affairs = schema["affairs"]
        assert isinstance(affairs, Real)
        schema = schema.with_column(replace(affairs, max=Fraction(60), bins=BINS))
        table = Table(open_table(survey), schema)
        cliques = [c for order in (1, 2, 3) for c in combinations(schema, order)]
        truth = dict(zip(cliques, table.counts(cliques), strict=True))
        for name in only or SYNTHESIZER_CLASSES:
            results[name] = {
                epsilon: _mean(
                    [
                        _one(survey, schema, truth, name, epsilon, folder)
                        for _ in range(runs)
                    ]
                )
                for epsilon in EPSILONS
            }
            print(name, json.dumps(results[name]), file=sys.stderr, flush=True)
    return results


def _one(
    survey: Path, schema: object, truth: dict, name: str, epsilon: str, folder: str
) -> dict[str, float] | str:
    import numpy as np

    from understudy.errors import Refused
    from understudy.evaluation.utility.marginals import total_variation
    from understudy.models import default_rows
    from understudy.workflow.run_options import RunOptions
    from understudy.workflow.synthesize import synthesize

    began = time.process_time()
    try:
        release = synthesize(
            survey,
            schema,
            epsilon=epsilon,
            synthesizer=name,
            ledger=Path(folder, "survey.ledger"),
            run=RunOptions(dataset="survey"),
        )
    except Refused:
        return "refused"
    rows = max(1, default_rows(release.model))
    codes = release.model.sample(rows, np.random.default_rng())
    seconds = time.process_time() - began
    gaps: dict[int, list[float]] = {1: [], 2: [], 3: []}
    for clique, exact in truth.items():
        cells = np.ravel_multi_index(
            [codes[c].astype(np.int64) for c in clique], exact.shape
        )
        drawn = np.bincount(cells, minlength=exact.size).reshape(exact.shape)
        gaps[len(clique)].append(total_variation(exact, drawn))
    means = {
        order: sum(found) / len(found)
        for order, found in zip(ORDERS, gaps.values(), strict=True)
    }
    return {**means, "seconds": seconds}


def _mean(runs: list[dict[str, float] | str]) -> dict[str, float] | str:
    if "refused" in runs:
        return "refused"
    return {key: round(sum(run[key] for run in runs) / len(runs), 5) for key in runs[0]}  # type: ignore[index, union-attr]


# The page


def ranked(found: dict) -> list[str]:
    """Those that ran, closest on pairs at ε = 1 first; then those that were refused."""
    ran = sorted(
        (name for name in found if found[name]["1"] != "refused"),
        key=lambda name: found[name]["1"]["pairs"],
    )
    return [*ran, *(name for name in found if name not in ran)]


def table(found: dict) -> str:
    """Distances of pairs and triples at each ε, and seconds at ε = 1."""
    head = ["", *(f"ε = {e}" for e in EPSILONS), "seconds"]
    lines = [f"| {' | '.join(head)} |", "|---|---|---|---|---|"]
    for name in ranked(found):
        page = ROOT / "docs" / "synthesizers" / f"{name}.md"
        label = (
            f"[`{name}`](synthesizers/{name}.md)"
            if page.exists()
            else f"[`{name}`](synthesizers.md#{name})"
        )
        cells = []
        for epsilon in EPSILONS:
            run = found[name][epsilon]
            cells.append(
                run
                if isinstance(run, str)
                else " / ".join(f"{run[o]:.3f}".lstrip("0") for o in ORDERS)
            )
        run = found[name]["1"]
        cells.append("" if isinstance(run, str) else f"{run['seconds']:.1f}")
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


# The plot: a row for each algorithm, a panel for each ε, one for seconds

LEFT, TOP, ROW, WIDE, GAP, BELOW = 128, 74, 24, 186, 34, 34
DISTANCES, SECONDS = (0.0005, 1.0), (0.02, 20.0)


def picture(found: dict) -> str:
    """The whole plot as SVG that fetches nothing."""
    names = [name for name in ranked(found) if found[name]["1"] != "refused"]
    panels = [*EPSILONS, "seconds"]
    bottom = TOP + ROW * len(names)
    width, height = LEFT + len(panels) * (WIDE + GAP), bottom + BELOW
    summary = (
        "Distance from the real survey of each synthesizer's rows at three budgets,"
        " and its seconds"
    )
    heading = (
        "How far synthetic rows are from the real survey"
        " (mean total variation distance; left is better)"
    )
    parts = [
        svg_element("title", summary, id="what"),
        svg_element("rect", width=width, height=height, fill="#fff"),
        _text(8, 20, heading, weight=600, size=14),
    ]
    for i, name in enumerate(names):
        y = TOP + ROW * i
        if i % 2 == 0:
            parts.append(
                svg_element("rect", x=0, y=y, width=width, height=ROW, fill="#f5f5f5")
            )
        parts.append(_text(LEFT - 14, y + 16, name, anchor="end"))
    for p, panel in enumerate(panels):
        low, high = SECONDS if panel == "seconds" else DISTANCES
        axis = LogAxis(low, high, start=LEFT + p * (WIDE + GAP), length=WIDE)
        parts += _panel(panel, axis, bottom)
        for i, name in enumerate(names):
            run = found[name]["1" if panel == "seconds" else panel]
            parts += _marks(panel, axis, run, TOP + ROW * i + ROW / 2)
    root = svg_root(
        *parts,
        *_legend(LEFT),
        view=(0, 0, width, height),
        width=width,
        height=height,
        font_family="system-ui, sans-serif",
        font_size=12,
        fill="#222",
        role="img",
        aria_labelledby="what",
    )
    # One element a line: the file is under version control, and is read as a difference.
    return root.replace("><", ">\n<") + "\n"


def _panel(panel: str, axis: LogAxis, bottom: float) -> list[Markup]:
    """The title of a panel, its grid and its ticks."""
    title, ticks = f"ε = {panel}", (0.01, 0.1, 1.0)
    if panel == "seconds":
        title, ticks = "processor seconds at ε = 1", (0.1, 1.0, 10.0)
    middle = axis.start + axis.length / 2
    parts = [_text(middle, 44, title, anchor="middle", weight=600)]
    for tick in ticks:
        x = axis.at(tick)
        line = {"x1": x, "y1": TOP, "x2": x, "y2": bottom, "stroke": "#bbb"}
        parts.append(svg_element("line", **line, stroke_width="0.7"))
        parts.append(_text(x, bottom + 16, f"{tick:g}", anchor="middle"))
    return parts


def _marks(panel: str, axis: LogAxis, run: dict, y: float) -> list[Markup]:
    """One algorithm's marks in a panel, and a line that joins them."""
    kinds = ("seconds",) if panel == "seconds" else ORDERS
    # What lies beyond the axis is drawn at its end.
    values = [min(max(run[kind], axis.low), axis.high) for kind in kinds]
    places = [axis.at(value) for value in values]
    marks = [_mark(kind, x, y) for kind, x in zip(kinds, places, strict=True)]
    if len(places) == 1:
        return marks
    ends = {"x1": places[0], "y1": y, "x2": places[-1], "y2": y}
    return [svg_element("line", **ends, stroke="#999"), *marks]


def _mark(kind: str, x: float, y: float) -> Markup:
    """A disc for columns, a square for pairs, a triangle for triples, a disc for
    seconds.
    """
    fill = COLOURS[kind]
    if kind == "pairs":
        return svg_element("rect", x=x - 4.5, y=y - 4.5, width=9, height=9, fill=fill)
    if kind == "triples":
        return svg_element("path", d=f"M{x:.1f} {y - 6:.1f}l6 10.5h-12z", fill=fill)
    return svg_element("circle", cx=float(x), cy=float(y), r=4.8, fill=fill)


def _legend(x: float) -> list[Markup]:
    """The marks' names, above the first panel."""
    parts, at = [], x
    for kind in ORDERS:
        parts += [_mark(kind, at + 5, 60), _text(at + 14, 64, kind)]
        at += 26 + 7 * len(kind)
    return parts


def _text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    weight: int = 400,
    size: int = 12,
) -> Markup:
    return svg_text(
        float(x),
        float(y),
        words,
        size=size,
        anchor=anchor,
        font_weight=weight,
        fill="#222",
    )


if __name__ == "__main__":
    sys.exit(main())
