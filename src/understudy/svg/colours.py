"""Colours of figures: Okabe and Ito's set, which every kind of colour vision tells
apart, and two scales that keep their order in grey.
"""

from __future__ import annotations

INK_COLOUR = "#1f2933"
FAINT_COLOUR = "#e4e7eb"

OKABE_ITO_BLUE = "#0072b2"
OKABE_ITO_VERMILION = "#d55e00"
OKABE_ITO_PURPLE = "#cc79a7"
OKABE_ITO_GREEN = "#009e73"
OKABE_ITO_ORANGE = "#e69f00"
OKABE_ITO_SKY = "#56b4e9"

MAX_DARK_LUMINANCE = 0.225
"""Relative luminance below which white reads better than ink."""

_PALE_RGB = (247, 249, 252)
_BLUE_RGB = (0, 60, 120)
_WHITE_RGB = (250, 250, 250)
_ORANGE_RGB = (160, 70, 0)


def blue_shade(share: float) -> tuple[str, str]:
    """From pale at 0 to dark blue at 1, and an ink that can be read on it."""
    return _blend_colours(_PALE_RGB, _BLUE_RGB, share)


def signed_shade(share: float) -> tuple[str, str]:
    """From dark orange at -1 through white at 0 to dark blue at 1, and an ink that can
    be read on it.

    >>> signed_shade(0.0), signed_shade(-1.0)
    (('#fafafa', '#1f2933'), ('#a04600', '#ffffff'))
    """
    far_end = _BLUE_RGB if share >= 0 else _ORANGE_RGB
    return _blend_colours(_WHITE_RGB, far_end, abs(share))


def _blend_colours(
    start: tuple[int, int, int], end: tuple[int, int, int], share: float
) -> tuple[str, str]:
    share = min(max(share, 0.0), 1.0)
    red, green, blue = (
        round(a + (b - a) * share) for a, b in zip(start, end, strict=True)
    )
    # Relative luminance by the web's accessibility guidelines, with one power for the
    # two-part curve of sRGB.
    linear = [(part / 255) ** 2.2 for part in (red, green, blue)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    ink = "#ffffff" if luminance < MAX_DARK_LUMINANCE else INK_COLOUR
    return f"#{red:02x}{green:02x}{blue:02x}", ink
