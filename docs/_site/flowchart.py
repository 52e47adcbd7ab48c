"""Draws the flow charts of the pages as SVG while the site is built.

Pages hold them as Mermaid text, which code hosts draw themselves. Mermaid in a browser
is three megabytes of script from elsewhere; the charts here are small, so the part of
its language that they use is drawn directly: `graph LR` or `TD`, `a --> b`,
`a[label] -->|label| b`, `a -- label --> b`. Anything else is a warning, which fails the
build.
"""

from __future__ import annotations

import html
import re
import textwrap
from dataclasses import dataclass, field
from typing import Any

from docutils import nodes
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)

NODE = r"(\w+)(?:\[([^\]]+)\])?"
EDGE = re.compile(rf"^{NODE}\s*(?:-->(?:\|([^|]+)\|)?|--\s+(.+?)\s+-->)\s*{NODE}$")

WRAP_CHARACTERS = 22
LETTER_WIDTH = 7.2
LINE_HEIGHT = 18
PADDING = 12
GAP_ALONG = 60
GAP_ACROSS = 28


@dataclass
class Edge:
    """An arrow, with what is written on it."""

    source: str
    target: str
    label: list[str]


@dataclass
class Chart:
    """Nodes with the lines of their labels, arrows between them, and the direction."""

    is_horizontal: bool = True
    labels: dict[str, list[str]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def add_node(self, name: str, label: str | None) -> None:
        """A node; a label that comes later wins over the bare name."""
        if label is not None or name not in self.labels:
            self.labels[name] = wrap_label(label or name)


def wrap_label(label: str) -> list[str]:
    """The lines of a label: as broken in the text, else where they get long."""
    parts = re.split(r"<br\s*/?>", label.strip())
    return [line for part in parts for line in textwrap.wrap(part, WRAP_CHARACTERS)]


def parse_chart(text: str) -> Chart:
    """Read Mermaid text; ValueError names a line that is not understood."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    head = re.fullmatch(r"(?:graph|flowchart) (LR|TD)", lines[0])
    if head is None:
        raise ValueError(lines[0])
    chart = Chart(is_horizontal=head[1] == "LR")
    for line in lines[1:]:
        edge = EDGE.match(line)
        if edge is None:
            raise ValueError(line)
        source, source_label, after, between, target, target_label = edge.groups()
        chart.add_node(source, source_label)
        chart.add_node(target, target_label)
        chart.edges.append(Edge(source, target, wrap_label(after or between or "")))
    return chart


def assign_layers(chart: Chart) -> dict[str, int]:
    """The layer of each node: behind all that lead to it, arrows back left aside."""
    order = list(chart.labels)
    forward = find_forward_edges(chart)
    layers = dict.fromkeys(order, 0)
    for _ in order:
        for edge in forward:
            layers[edge.target] = max(layers[edge.target], layers[edge.source] + 1)
    return layers


def find_forward_edges(chart: Chart) -> list[Edge]:
    """The arrows that close no circle, taken in the order in which they are written."""
    forward: list[Edge] = []
    for edge in chart.edges:
        if not reaches(forward, edge.target, edge.source):
            forward.append(edge)
    return forward


def reaches(edges: list[Edge], start: str, goal: str) -> bool:
    """Is there a way along the arrows from one node to another?"""
    seen, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        if name == goal:
            return True
        if name not in seen:
            seen.add(name)
            waiting.extend(edge.target for edge in edges if edge.source == name)
    return False


@dataclass(frozen=True)
class Box:
    """Where a node is drawn."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> tuple[float, float]:
        """The centre."""
        return self.x + self.width / 2, self.y + self.height / 2


def measure_label(lines: list[str]) -> tuple[float, float]:
    """Width and height of a text."""
    longest = max((len(line) for line in lines), default=0)
    return longest * LETTER_WIDTH, len(lines) * LINE_HEIGHT


def place_boxes(chart: Chart) -> dict[str, Box]:
    """A box for every node: layers one behind the other, each centred across."""
    layers = assign_layers(chart)
    sizes = {}
    for name, label in chart.labels.items():
        width, height = measure_label(label)
        sizes[name] = (width + 2 * PADDING, height + 2 * PADDING)
    rows = [
        [name for name in chart.labels if layers[name] == layer]
        for layer in range(max(layers.values()) + 1)
    ]
    along, across = (0, 1) if chart.is_horizontal else (1, 0)
    widest = max(span_across(row, sizes, across) for row in rows)
    boxes: dict[str, Box] = {}
    position = 0.0
    for number, row in enumerate(rows):
        depth = max(sizes[name][along] for name in row)
        offset = (widest - span_across(row, sizes, across)) / 2
        for name in row:
            point = [0.0, 0.0]
            point[along] = position + (depth - sizes[name][along]) / 2
            point[across] = offset
            boxes[name] = Box(point[0], point[1], *sizes[name])
            offset += sizes[name][across] + GAP_ACROSS
        position += depth + gap_behind(chart, layers, number, along)
    return boxes


def span_across(
    row: list[str], sizes: dict[str, tuple[float, float]], across: int
) -> float:
    """What a layer takes up beside the direction of the chart."""
    return sum(sizes[name][across] for name in row) + GAP_ACROSS * (len(row) - 1)


def gap_behind(chart: Chart, layers: dict[str, int], layer: int, along: int) -> float:
    """Room behind a layer for what is written on the arrows across it."""
    crossing = [
        measure_label(edge.label)[along]
        for edge in chart.edges
        if min(layers[edge.source], layers[edge.target]) == layer
    ]
    return max([GAP_ALONG, *(size + 2 * PADDING for size in crossing)])


def leave_box(box: Box, towards: tuple[float, float]) -> tuple[float, float]:
    """Where the line from a box's centre towards a point crosses its border."""
    x, y = box.middle
    dx, dy = towards[0] - x, towards[1] - y
    scales = [
        half / abs(step)
        for half, step in ((box.width / 2, dx), (box.height / 2, dy))
        if step
    ]
    scale = min(scales, default=0)
    return x + dx * scale, y + dy * scale


def draw_edge(chart: Chart, edge: Edge, boxes: dict[str, Box]) -> str:
    """An arrow with its label; of two opposite arrows each bends aside."""
    source, target = boxes[edge.source], boxes[edge.target]
    is_pair = any(
        other.source == edge.target and other.target == edge.source
        for other in chart.edges
    )
    (x1, y1), (x2, y2) = source.middle, target.middle
    length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1)
    is_back = x2 < x1 if chart.is_horizontal else y2 < y1
    bend = 70 if is_back else 35 if is_pair else 0
    bend = max(bend, avoid_boxes(edge, boxes))
    control = (
        (x1 + x2) / 2 - bend * (y2 - y1) / length,
        (y1 + y2) / 2 + bend * (x2 - x1) / length,
    )
    start, end = leave_box(source, control), leave_box(target, control)
    middle = [(a + 2 * c + b) / 4 for a, c, b in zip(start, control, end, strict=True)]
    path = (
        f'<path d="M{start[0]:.0f},{start[1]:.0f} Q{control[0]:.0f},{control[1]:.0f}'
        f' {end[0]:.0f},{end[1]:.0f}" marker-end="url(#tip)"/>'
    )
    return path + draw_text(edge.label, middle[0], middle[1], "on-arrow")


def avoid_boxes(edge: Edge, boxes: dict[str, Box]) -> float:
    """How far an arrow bends so that it misses boxes between its ends."""
    (x1, y1), (x2, y2) = boxes[edge.source].middle, boxes[edge.target].middle
    for name, box in boxes.items():
        if name in (edge.source, edge.target):
            continue
        for part in (0.3, 0.4, 0.5, 0.6, 0.7):
            x, y = x1 + part * (x2 - x1), y1 + part * (y2 - y1)
            inside = box.x < x < box.x + box.width and box.y < y < box.y + box.height
            if inside:
                return 2 * max(box.height, 50)
    return 0


def draw_text(lines: list[str], x: float, y: float, style: str) -> str:
    """Lines of text around a point."""
    top = y - (len(lines) - 1) * LINE_HEIGHT / 2 + 4
    return "".join(
        f'<text class="{style}" x="{x:.0f}" y="{top + LINE_HEIGHT * number:.0f}">'
        f"{html.escape(line)}</text>"
        for number, line in enumerate(lines)
    )


STYLE = """\
.flowchart path, .flowchart rect { fill: none; stroke: currentColor; }
.flowchart rect { fill: var(--color-background-secondary); stroke-opacity: 0.5; }
.flowchart text { fill: currentColor; text-anchor: middle; font-size: 13px; }
.flowchart .on-arrow { font-size: 12px; stroke: var(--color-background-primary);
  stroke-width: 4px; paint-order: stroke; }
"""


def draw_chart(chart: Chart) -> str:
    """The chart as SVG that takes its colours from the page around it."""
    boxes = place_boxes(chart)
    parts = [draw_edge(chart, edge, boxes) for edge in chart.edges]
    for name, box in boxes.items():
        parts.append(
            f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}"'
            f' height="{box.height:.0f}" rx="6"/>'
        )
        parts.append(draw_text(chart.labels[name], *box.middle, "in-box"))
    margin = 90 if any(closes_circle(chart, edge) for edge in chart.edges) else 20
    right = max(box.x + box.width for box in boxes.values())
    bottom = max(box.y + box.height for box in boxes.values())
    sides = 20
    width, height = right + 2 * sides, bottom + 2 * margin
    return (
        f'<svg class="flowchart" role="img" style="max-width:{width:.0f}px;width:100%"'
        f' viewBox="{-sides} {-margin} {width:.0f} {height:.0f}">'
        f"<style>{STYLE}</style>"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8"'
        ' markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8" /></marker></defs>'
        f"{''.join(parts)}</svg>"
    )


def closes_circle(chart: Chart, edge: Edge) -> bool:
    """Does this arrow lead back to where others came from?"""
    return edge not in find_forward_edges(chart)


def draw_charts(_app: Any, tree: nodes.document) -> None:
    """Put a drawing in the place of every block of Mermaid text."""
    for block in list(tree.findall(nodes.literal_block)):
        if block.get("language") != "mermaid":
            continue
        try:
            drawing = draw_chart(parse_chart(block.astext()))
        except ValueError as error:
            LOGGER.warning("flowchart: cannot read %s", error, location=block)
            continue
        block.replace_self(nodes.raw("", drawing, format="html"))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-read", draw_charts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
