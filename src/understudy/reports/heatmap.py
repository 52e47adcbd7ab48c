"""Heatmaps: a square of pairs of columns, one measure below the diagonal, another above
it.

From pale to dark blue for what has one direction; from orange through white to blue for
what has two. Both keep their order in grey and for eyes that see no red. The numbers
stand in the squares where there is room, and in the titles of squares everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10

from understudy.reports.chart import (
    CHART_INK_COLOUR,
    GLYPH_WIDTH,
    escape_svg_text,
    shorten_svg_text,
    svg_figure,
)

PairValues = Mapping[tuple[str, str], float]

MAX_PAIR_HEATMAP_COLUMNS = 100
"""Columns whose pairs are drawn; of more, those with the largest values."""

MAX_SQUARE_TITLE_LETTERS = 24
"""Letters of a name in the title of a square, where squares are too many for whole
names.
"""

MAX_DARK_LUMINANCE = 0.225
"""Luminance below which white is read better than ink."""

_PALE_RGB, _BLUE_RGB, _WHITE_RGB, _ORANGE_RGB = (
    (247, 249, 252),
    (0, 60, 120),
    (250, 250, 250),
    (160, 70, 0),
)


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
) -> str:
    """A square of pairs; darker is more, and where numbers are `signed`, orange is less
    than nothing. `sides` name the two halves.

    `brief`: where squares are too small for labels they have no titles either, which
    takes a sixth of the room.

    >>> pair_heatmap(["a", "b"], {("a", "b"): 0.5}, title="distance").count("<g><title>a × b: 0.500</title>")
    1
    >>> drawn = pair_heatmap(["a", "b"], {("a", "b"): 0.5}, {("a", "b"): -0.5}, title="t", signed=True, sides=("made", "real"))
    >>> "<title>a × b: made 0.500, real -0.500</title>" in drawn
    True
    """
    upper = above or {}
    shown = choose_columns(names, below, upper)
    size = max(4, min(34, 640 // max(len(shown), 1)))
    label = (
        round(GLYPH_WIDTH * min(max((len(n) for n in shown), default=0), 16)) + 10
        if size >= 10
        else 10
    )
    place = {name: i for i, name in enumerate(shown)}
    top = end or max([*map(abs, below.values()), *map(abs, upper.values()), 1e-9])
    mirrored = {
        _order_pair(pair, place): value
        for pair, value in upper.items()
        if set(pair) <= place.keys()
    }
    parts, plain = [], brief and size < 10
    if plain:
        parts += _merge_squares(
            label,
            {p: v for p, v in _drawn_pairs(below, place, {}) if v is not None},
            place,
            size,
            top,
            signed,
        )
    for pair, value in () if plain else _drawn_pairs(below, place, mirrored):
        a, b = pair
        told = [
            (word, v)
            for word, v in zip(sides, (value, mirrored.get(pair)), strict=True)
            if v is not None
        ]
        words = ", ".join(
            f"{word} {v:.3f}" if above is not None else f"{v:.3f}" for word, v in told
        )
        who = f"{a} × {b}" if size >= 10 else f"{_shorten_name(a)} × {_shorten_name(b)}"
        cells = (
            []
            if value is None
            else [_svg_square(label, place[b], place[a], size, value, top, signed)]
        )
        if pair in mirrored:
            cells.append(
                _svg_square(
                    label, place[a], place[b], size, mirrored[pair], top, signed
                )
            )
        parts.append(
            f"<g><title>{escape_svg_text(f'{who}: {words}')}</title>{''.join(cells)}</g>"
        )
    low = 12 + len(shown) * size
    if size >= 10:
        for name, i in place.items():
            middle = 6 + i * size + size / 2 + 3
            parts.append(
                f'<text x="{label - 4}" y="{middle:.0f}" font-size="10"'
                f' text-anchor="end">{shorten_svg_text(name)}</text>'
            )
            across = label + i * size + size / 2
            turned = f'transform="rotate(-50 {across:.0f} {low})"'
            parts.append(
                f'<text x="{across:.0f}" y="{low}" font-size="10" text-anchor="end"'
                f" {turned}>{shorten_svg_text(name)}</text>"
            )
    bottom = low + 8 + 0.8 * label
    parts += _colour_key(label, bottom, top, signed)
    return svg_figure(
        max(label + len(shown) * size + 8, label + 190), bottom + 20, title, parts
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
    for values in (below, above):
        for pair, value in values.items():
            for name in pair:
                largest[name] = max(largest[name], abs(value))
    kept = set(
        sorted(names, key=lambda name: -largest[name])[:MAX_PAIR_HEATMAP_COLUMNS]
    )
    return [name for name in names if name in kept]


def blue_shade(share: float) -> tuple[str, str]:
    """From pale to dark blue, and an ink that can be read on it."""
    return _blend_colours(_PALE_RGB, _BLUE_RGB, share)


def signed_shade(share: float) -> tuple[str, str]:
    """From dark orange at -1 through white at 0 to dark blue at 1, and an ink that can
    be read on it.

    >>> signed_shade(0.0), signed_shade(-1.0)
    (('#fafafa', '#1f2933'), ('#a04600', '#ffffff'))
    """
    return _blend_colours(
        _WHITE_RGB, _BLUE_RGB if share >= 0 else _ORANGE_RGB, abs(share)
    )


def _blend_colours(
    start: tuple[int, int, int], end: tuple[int, int, int], share: float
) -> tuple[str, str]:
    share = min(max(share, 0.0), 1.0)
    red, green, blue = (
        round(a + (b - a) * share) for a, b in zip(start, end, strict=True)
    )
    linear = [(part / 255) ** 2.2 for part in (red, green, blue)]
    dark = (
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        < MAX_DARK_LUMINANCE
    )
    return f"#{red:02x}{green:02x}{blue:02x}", "#ffffff" if dark else CHART_INK_COLOUR


def _order_pair(pair: tuple[str, str], place: Mapping[str, int]) -> tuple[str, str]:
    """The pair, the column that comes first before the other."""
    a, b = sorted(pair, key=lambda name: place[name])
    return a, b


def _drawn_pairs(
    below: PairValues, place: Mapping[str, int], above: PairValues
) -> list[tuple[tuple[str, str], float | None]]:
    """Every pair that is drawn with its value below the diagonal, where it has one."""
    found: dict[tuple[str, str], float | None] = {
        _order_pair(pair, place): value
        for pair, value in below.items()
        if set(pair) <= place.keys()
    }
    return list((found | {pair: None for pair in above if pair not in found}).items())


def _svg_square(
    label: int, row: int, column: int, size: int, value: float, top: float, signed: bool
) -> str:
    fill, ink = (signed_shade if signed else blue_shade)(value / top)
    x, y = label + column * size, 6 + row * size
    if size < 10:  # the same square in fewer letters: there are thousands
        return f'<path d="M{x} {y}h{size - 1}v{size - 1}h{1 - size}z" fill="{fill}"/>'
    square = (
        f'<rect x="{x}" y="{y}" width="{size - 1}" height="{size - 1}" fill="{fill}"/>'
    )
    if size < 26:
        return square
    middle = f'x="{x + size / 2:.0f}" y="{y + size / 2 + 3:.0f}"'
    return (
        f'{square}<text {middle} font-size="9" text-anchor="middle"'
        f' fill="{ink}">{_short_number(value)}</text>'
    )


def _merge_squares(
    label: int,
    values: PairValues,
    place: Mapping[str, int],
    size: int,
    top: float,
    signed: bool,
) -> list[str]:
    """Squares below the diagonal, those of one shade in one path."""
    found: dict[str, list[str]] = {}
    for (a, b), value in values.items():
        fill, _ = (signed_shade if signed else blue_shade)(round(32 * value / top) / 32)
        found.setdefault(fill, []).append(
            f"M{label + place[a] * size}"
            f" {6 + place[b] * size}h{size - 1}v{size - 1}h{1 - size}z"
        )
    return [
        f'<path fill="{fill}" d="{"".join(squares)}"/>'
        for fill, squares in found.items()
    ]


def _colour_key(left: float, y: float, top: float, signed: bool) -> list[str]:
    """Five squares that say which shade is which number."""
    found = []
    for i, share in enumerate(
        (-1.0, -0.5, 0.0, 0.5, 1.0) if signed else (0.0, 0.25, 0.5, 0.75, 1.0)
    ):
        fill, ink = (signed_shade if signed else blue_shade)(share)
        x = left + 36 * i
        found.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="36" height="16" fill="{fill}"/><text'
            f' x="{x + 18:.0f}" y="{y + 11:.0f}" font-size="9" text-anchor="middle"'
            f' fill="{ink}">{share * top:.2g}</text>'
        )
    return found


def _shorten_name(name: str) -> str:
    return (
        name
        if len(name) <= MAX_SQUARE_TITLE_LETTERS
        else f"{name[: MAX_SQUARE_TITLE_LETTERS - 1]}…"
    )


def _short_number(value: float) -> str:
    """A number in three letters or four."""
    size = abs(value)
    if size < 0.005:
        return "0"
    text = (
        f"{size:.2f}".lstrip("0")
        if size < 1
        else f"{size:.{max(0, 1 - int(log10(size)))}f}"
    )
    return f"-{text}" if value < 0 else text
