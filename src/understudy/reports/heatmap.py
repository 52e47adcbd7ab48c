"""Heatmaps: a square of pairs of columns, one measure below the diagonal, another above
it.

From pale to dark blue for what has one direction; from orange through white to blue for
what has two. The numbers stand in the squares where there is room, and in the titles of
squares everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log10

from understudy.reports.chart import GLYPH_WIDTH
from understudy.svg import (
    Markup,
    shorten_middle,
    svg_element,
    svg_figure,
    svg_text,
    svg_title,
)
from understudy.svg.colours import blue_shade, signed_shade

PairValues = Mapping[tuple[str, str], float]

MAX_PAIR_HEATMAP_COLUMNS = 100
"""Columns whose pairs are drawn; of more, those with the largest values."""

MAX_SQUARE_TITLE_LETTERS = 24
"""Letters of a name in the title of a square, where squares are too many for whole
names.
"""

HEATMAP_WIDTH, HEATMAP_TOP = 640, 6
"""Of the squares together where they are few, and of the margin above them, in pixels."""

MIN_SQUARE, MIN_OUTLINED_SQUARE, MIN_NUMBERED_SQUARE = 10, 11, 26
"""Width of the smallest square, at which its row's name can still be read; from which
squares are drawn one by one; and from which each has its number. In pixels.
"""

HEATMAP_KEY_WIDTH = 36
"""Of each square of the colour key, in pixels."""


@dataclass(frozen=True, kw_only=True)
class _Grid:
    """Where the squares of a heatmap lie, and which colours they have."""

    place: Mapping[str, int]
    size: int
    left: int
    top_value: float
    signed: bool

    @property
    def is_fine(self) -> bool:
        """Whether squares are so many that each must take little room in the file."""
        return self.size < MIN_OUTLINED_SQUARE

    @property
    def bottom(self) -> int:
        return HEATMAP_TOP + len(self.place) * self.size

    def shade(self, share: float) -> tuple[str, str]:
        return signed_shade(share) if self.signed else blue_shade(share)

    def corner(self, row: str, column: str) -> tuple[int, int]:
        x = self.left + self.place[column] * self.size
        return x, HEATMAP_TOP + self.place[row] * self.size


def pair_heatmap(
    names: Sequence[str],
    below: PairValues,
    above: PairValues | None = None,
    *,
    title: str,
    end: float | None = None,
    signed: bool = False,
    sides: tuple[str, str] = ("below", "above"),
    brief: bool = False,
) -> Markup:
    """A square of pairs; darker is more, and where numbers are `signed`, orange is less
    than nothing. `sides` name the two halves.

    `brief`: where squares are small they have no titles, which takes a sixth of the
    room.

    >>> pair_heatmap(["a", "b"], {("a", "b"): 0.5}, title="distance").count(
    ...     "<g><title>a × b: 0.500</title>"
    ... )
    1
    >>> figure = pair_heatmap(
    ...     ["a", "b"],
    ...     {("a", "b"): 0.5},
    ...     {("a", "b"): -0.5},
    ...     title="t",
    ...     signed=True,
    ...     sides=("made", "real"),
    ... )
    >>> "<title>a × b: made 0.500, real -0.500</title>" in figure
    True
    """
    # Both halves share one scale of colours, or they could not be compared.
    values = [*below.values(), *(above or {}).values()]
    top_value = end or max([*map(abs, values), 1e-9])
    columns = choose_columns(names, below, above or {})
    grid = _lay_grid(columns, top_value, signed)
    lower = _keep_drawn(below, grid.place)
    upper = _keep_drawn(above or {}, grid.place)
    if brief and grid.is_fine:
        parts = _merge_squares(grid, lower)
    else:
        pairs = dict.fromkeys([*lower, *upper])
        named_sides = ("", "") if above is None else sides
        parts = [
            _draw_pair(
                grid,
                pair,
                lower,
                upper,
                named_sides,
            )
            for pair in pairs
        ]
    parts += _name_rows_and_columns(grid)
    # Names below the squares are turned by 50 degrees: 0.8 of their length hangs down.
    key_y = grid.bottom + 14 + 0.8 * grid.left
    parts += _colour_key(grid, key_y)
    squares_end, key_end = grid.left + len(columns) * grid.size + 8, grid.left + 190
    return svg_figure(
        *parts, width=max(squares_end, key_end), height=key_y + 20, title=title
    )


def choose_columns(
    names: Sequence[str], below: PairValues, above: PairValues
) -> list[str]:
    """The columns that are drawn, in their order: all, or those with the largest
    values.

    >>> choose_columns(["a", "b", "c"], {("a", "b"): 0.1}, {})
    ['a', 'b', 'c']
    """
    if len(names) <= MAX_PAIR_HEATMAP_COLUMNS:
        return list(names)
    largest = dict.fromkeys(names, 0.0)
    for pair, value in [*below.items(), *above.items()]:
        for name in pair:
            largest[name] = max(largest[name], abs(value))
    # The columns a reader should look at are those where something is large.
    by_size = sorted(names, key=lambda name: -largest[name])
    chosen = set(by_size[:MAX_PAIR_HEATMAP_COLUMNS])
    return [name for name in names if name in chosen]


def _lay_grid(columns: Sequence[str], top_value: float, signed: bool) -> _Grid:
    size = max(MIN_SQUARE, min(34, HEATMAP_WIDTH // max(len(columns), 1)))
    longest = min(max((len(name) for name in columns), default=0), 16)
    left = 10 + round(GLYPH_WIDTH * longest)
    place = {name: i for i, name in enumerate(columns)}
    return _Grid(
        place=place,
        size=size,
        left=left,
        top_value=top_value,
        signed=signed,
    )


def _keep_drawn(
    values: PairValues, place: Mapping[str, int]
) -> dict[tuple[str, str], float]:
    """The values of pairs that are drawn; in each pair the first column comes first."""
    drawn = {}
    for (a, b), value in values.items():
        if a in place and b in place:
            pair = (a, b) if place[a] <= place[b] else (b, a)
            drawn[pair] = value
    return drawn


def _draw_pair(
    grid: _Grid,
    pair: tuple[str, str],
    below: PairValues,
    above: PairValues,
    sides: tuple[str, str],
) -> Markup:
    """One pair's squares on both sides of the diagonal, with one title."""
    first, second = pair
    squares, numbers = [], []
    if pair in below:
        squares += _draw_square(grid, second, first, below[pair])
        numbers.append(f"{sides[0]} {below[pair]:.3f}".lstrip())
    if pair in above:
        squares += _draw_square(grid, first, second, above[pair])
        numbers.append(f"{sides[1]} {above[pair]:.3f}".lstrip())
    most = MAX_SQUARE_TITLE_LETTERS if grid.is_fine else max(map(len, pair))
    names = f"{shorten_middle(first, most)} × {shorten_middle(second, most)}"
    return svg_element("g", svg_title(f"{names}: {', '.join(numbers)}"), *squares)


def _draw_square(grid: _Grid, row: str, column: str, value: float) -> list[Markup]:
    fill, ink = grid.shade(value / grid.top_value)
    x, y = grid.corner(row, column)
    if grid.is_fine:
        # A path takes fewer letters than a rectangle, and there are thousands.
        return [svg_element("path", d=_square_path(x, y, grid.size), fill=fill)]
    side = grid.size - 1
    square = svg_element(
        "rect",
        x=x,
        y=y,
        width=side,
        height=side,
        fill=fill,
    )
    if grid.size < MIN_NUMBERED_SQUARE:
        return [square]
    centre, baseline = round(x + grid.size / 2), round(y + grid.size / 2 + 3)
    words = _short_number(value)
    return [
        square,
        svg_text(
            centre,
            baseline,
            words,
            size=9,
            anchor="middle",
            fill=ink,
        ),
    ]


def _merge_squares(grid: _Grid, values: PairValues) -> list[Markup]:
    """Squares below the diagonal, those of one shade in one path."""
    paths: dict[str, list[str]] = {}
    for (first, second), value in values.items():
        # 32 shades are as many as the eye distinguishes side by side.
        # One path for each shade makes a page of 100 columns six times smaller.
        fill, _ = grid.shade(round(32 * value / grid.top_value) / 32)
        x, y = grid.corner(second, first)
        paths.setdefault(fill, []).append(_square_path(x, y, grid.size))
    return [
        svg_element("path", fill=fill, d="".join(squares))
        for fill, squares in paths.items()
    ]


def _square_path(x: int, y: int, size: int) -> str:
    return f"M{x} {y}h{size - 1}v{size - 1}h{1 - size}z"


def _name_rows_and_columns(grid: _Grid) -> Iterable[Markup]:
    """Every name left of its row, and below its column, where it is turned."""
    low = grid.bottom + 6
    for name in grid.place:
        x, y = grid.corner(name, name)
        words, middle = shorten_middle(name), grid.size / 2
        yield svg_text(
            grid.left - 4, round(y + middle + 3), words, size=10, anchor="end"
        )
        across = round(x + middle)
        turn = f"rotate(-50 {across} {low})"
        yield svg_text(
            across,
            low,
            words,
            size=10,
            anchor="end",
            transform=turn,
        )


def _colour_key(grid: _Grid, y: float) -> Iterable[Markup]:
    """Five squares that say which shade is which number."""
    signed, unsigned = (-1.0, -0.5, 0.0, 0.5, 1.0), (0.0, 0.25, 0.5, 0.75, 1.0)
    for i, share in enumerate(signed if grid.signed else unsigned):
        fill, ink = grid.shade(share)
        x = grid.left + HEATMAP_KEY_WIDTH * i
        yield svg_element(
            "rect", x=x, y=round(y), width=HEATMAP_KEY_WIDTH, height=16, fill=fill
        )
        words, centre = f"{share * grid.top_value:.2g}", x + HEATMAP_KEY_WIDTH // 2
        yield svg_text(
            centre,
            round(y + 11),
            words,
            size=9,
            anchor="middle",
            fill=ink,
        )


def _short_number(value: float) -> str:
    """A number in three letters or four.

    >>> _short_number(0.123), _short_number(-2.5), _short_number(0.001)
    ('.12', '-2.5', '0')
    """
    size = abs(value)
    if size < 0.005:
        return "0"
    if size < 1:
        text = f"{size:.2f}".lstrip("0")
    else:
        text = f"{size:.{max(0, 1 - int(log10(size)))}f}"
    return f"-{text}" if value < 0 else text
