"""Numbers that cells vote for: the coarsest step that each is a multiple of, and how it
is spelled.

A whole number votes for the same step with a point (7.0) and without (7), but for
different candidates: so the same vote says how whole numbers are spelled. pandas writes
a point behind those of a column with gaps and of a column of floats; most other programs
write none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from math import sqrt
from types import MappingProxyType

from understudy.schema.columns.cell import CELL_NUMBER_PATTERN
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers

MAX_VOTED_DECIMALS = 6
"""Decimals that a vote tells apart; cells with more vote for a real."""

LARGE_CANDIDATE, LARGE_NUMBER = "large", 10**9
"""Numbers with an exponent or very many digits vote for this from here on: the lattice
that holds them has no room for as many decimals as that of other reals.
"""

SHORTER_FLOAT_SHARE = Fraction(1, 10)
"""Part of numbers with decimals whose last one is a zero, which floats do not spell."""

MIN_FLOAT_TEXT, FLOAT_TEXT_DIGITS = 16, 12
"""Characters from which a decimal number shows the rounding of a float, and the digits
that are left of it. A float has 15 digits that hold, and sums of a few lose one or two.
"""

STEP_CANDIDATES: Mapping[str, Fraction] = MappingProxyType(
    {
        "integer1000": Fraction(1000),
        "integer100": Fraction(100),
        "integer10": Fraction(10),
        "integer5": Fraction(5),
        "integer2": Fraction(2),
        "integer": Fraction(1),
        "half": Fraction(1, 2),
        "quarter": Fraction(1, 4),
        "fifth": Fraction(1, 5),
        "decimal1": Fraction(1, 10),
        "twentieth": Fraction(1, 20),
        "fiftieth": Fraction(1, 50),
        **{
            f"decimal{places}": Fraction(1, 10**places)
            for places in range(2, MAX_VOTED_DECIMALS + 1)
        },
    }
)
"""Numbers by the step they are multiples of, coarse before fine. The steps beside the
powers of ten are those that people round to and that scales are divided into: blood
pressures are even, and an instrument shows every second hundredth.
"""

PLAIN_STEPS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("integer1000", "integer100", "integer10", "integer5", "integer2"),
            "integer",
        ),
        **dict.fromkeys(
            (
                "integer1000.0",
                "integer100.0",
                "integer10.0",
                "integer5.0",
                "integer2.0",
            ),
            "integer.0",
        ),
        **dict.fromkeys(("half", "fifth"), "decimal1"),
        **dict.fromkeys(("quarter", "twentieth", "fiftieth"), "decimal2"),
    }
)
"""The whole or decimal number that a coarser step is spelled as."""

POINT_SUFFIX = ".0"
"""How the candidates of whole numbers with a point end."""

WHOLE_CANDIDATES = (
    "zero",
    "bit",
    *(name for name, step in STEP_CANDIDATES.items() if step >= 1),
)
"""Whole numbers without a point, by the step they are multiples of."""

POINTED_CANDIDATES = tuple(name + POINT_SUFFIX for name in WHOLE_CANDIDATES)
"""The same numbers, spelled with a point and zeros."""

SPELLED_PLACES: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("half", "fifth", "decimal1"), 1),
        **dict.fromkeys(("quarter", "twentieth", "fiftieth", "decimal2"), 2),
        **{f"decimal{n}": n for n in range(3, MAX_VOTED_DECIMALS + 1)},
    }
)
"""Digits after the point in the texts that vote for a step; those that vote for a whole
number may have zeros there, or none.
"""


def has_trailing_zeros(elected: str, standing: Collection[str]) -> bool | None:
    """Whether numbers of the elected step are all spelled with as many decimals: no
    votes of shorter texts stand out. None where texts cannot tell.

    >>> has_trailing_zeros("decimal2", ["decimal2", "twentieth"])
    True
    >>> has_trailing_zeros("decimal2", ["decimal2", "decimal1"])
    False
    """
    places = SPELLED_PLACES.get(elected, 0)
    if places < 2:
        return None
    return all(SPELLED_PLACES.get(vote, places) >= places for vote in standing)


def seems_zero_filled(
    elected: str, votes: Mapping[str, int], quiet: float
) -> bool | None:
    """Whether numbers are all spelled with as many decimals, where votes of shorter
    texts may drown in noise: spelled as floats are, a tenth of them would be shorter,
    and whichever of a tenth and none is nearer is believed. None where the two are too
    near to tell: `quiet` is what noise may reach in one count and none still be believed.

    >>> votes = {"decimal2": 3000, "decimal1": 90}
    >>> seems_zero_filled("decimal2", votes, 80.0), seems_zero_filled("decimal2", votes, 90.0)
    (True, None)
    """
    places = SPELLED_PLACES.get(elected, 0)
    if places < 2:
        return None
    longest = sum(
        votes.get(name, 0) for name, own in SPELLED_PLACES.items() if own == places
    )
    shorter = [votes.get(n, 0) for n, own in SPELLED_PLACES.items() if own < places]
    expected = SHORTER_FLOAT_SHARE * longest
    if expected / 2 < quiet * sqrt(len(shorter)):
        return None
    return sum(shorter) < expected / 2


def has_whole_point(votes: Mapping[str, int], margin: float = 0.0) -> bool:
    """Whether votes say rather that whole numbers are spelled with a point than without:
    which of the two leaves less of them to noise. With a margin, a point it is unless
    votes without one exceed the others by as much.

    >>> has_whole_point({"integer": 40, "integer.0": 3}), has_whole_point({"zero.0": 9})
    (False, True)
    """
    return weigh_point(votes) + margin**2 > 0


def weigh_point(votes: Mapping[str, int]) -> int:
    """How much more votes speak for whole numbers with a point than without.

    >>> weigh_point({"integer": 40, "integer.0": 3}), weigh_point({"zero.0": 9})
    (-1591, 81)
    """
    # If no number is spelled in a way, the squares of its votes are noise. Plain sums
    # would let the noise of many candidates hide the few that hold votes.
    bare = _sum_squares(votes, WHOLE_CANDIDATES)
    return _sum_squares(votes, POINTED_CANDIDATES) - bare


def _sum_squares(votes: Mapping[str, int], names: Collection[str]) -> int:
    """The squares of the positive votes for some candidates, added up."""
    return sum(max(votes.get(name, 0), 0) ** 2 for name in names)


def round_float_text_sql(text: str) -> str:
    """A text with as many digits as a float has, rounded to the digits that somebody
    wrote: 14.890999999999998 is 14.891. Other texts stay as they are.
    """
    is_long = (
        f"length({text}) >= {MIN_FLOAT_TEXT} AND"
        f" {is_like_sql(text, '[+-]?[0-9]{0,14}[.][0-9]{10,20}')}"
    )
    rounded = f"format('{{:.{FLOAT_TEXT_DIGITS}g}}', TRY_CAST({text} AS DOUBLE))"
    return f"CASE WHEN {is_long} THEN {rounded} ELSE {text} END"


def whole_conditions(layers: QueryLayers, text: str) -> list[tuple[str, str]]:
    """When a text is a whole number, by the coarsest step it is a multiple of and
    whether it has a point.
    """
    is_whole = layers.read(is_like_sql(text, "[+-]?(0|[1-9][0-9]{0,17})(\\.0{1,6})?"))
    is_pointed = layers.read(f"contains({text}, '.')")
    # The digits before the point decide the step.
    head = layers.read(f"regexp_extract({text}, '^[+-]?[0-9]*')")
    # Signed, 0 and 1 are no truth values.
    steps = [
        (f"{head} = '0'", "zero"),
        (f"{head} = '1'", "bit"),
        (f"{head} IN ('-0', '+0')", "integer1000"),
        (f"suffix({head}, '000')", "integer1000"),
        (f"suffix({head}, '00')", "integer100"),
        (f"suffix({head}, '0')", "integer10"),
        (f"suffix({head}, '5')", "integer5"),
        (f"right({head}, 1) IN ('2', '4', '6', '8')", "integer2"),
        ("true", "integer"),
    ]
    bare = [
        (f"{is_whole} AND NOT {is_pointed} AND {rule}", name) for rule, name in steps
    ]
    pointed = [(f"{is_whole} AND {rule}", name + POINT_SUFFIX) for rule, name in steps]
    return bare + pointed


def decimal_conditions(text: str) -> list[tuple[str, str]]:
    """When a text is another number, by the coarsest step it is a multiple of."""
    whole_part = "[+-]?(0|[1-9][0-9]{0,14})?"
    # A number written with leading zeros is a code, and so a text.
    has_zeros = f"regexp_matches({text}, '^[+-]?0[0-9]')"
    is_number = f"{is_like_sql(text, CELL_NUMBER_PATTERN)} AND NOT {has_zeros}"
    decimals = [
        (is_like_sql(text, f"{whole_part}\\.[0-9]{{{places}}}"), f"decimal{places}")
        for places in range(2, MAX_VOTED_DECIMALS + 1)
    ]
    return [
        (is_like_sql(text, f"{whole_part}\\.5"), "half"),
        (is_like_sql(text, f"{whole_part}\\.[2468]"), "fifth"),
        (is_like_sql(text, f"{whole_part}\\.[0-9]"), "decimal1"),
        (is_like_sql(text, f"{whole_part}\\.(25|50|75|00)"), "quarter"),
        (is_like_sql(text, f"{whole_part}\\.[0-9][05]"), "twentieth"),
        (is_like_sql(text, f"{whole_part}\\.[0-9][2468]"), "fiftieth"),
        *decimals,
        (f"{is_number} AND abs(TRY_CAST({text} AS DOUBLE)) < {LARGE_NUMBER}", "real"),
        (is_number, LARGE_CANDIDATE),
    ]


def is_like_sql(text: str, pattern: str) -> str:
    """Whether a text as a whole is like a pattern."""
    return f"regexp_full_match({text}, {quoting.text_literal(pattern)})"
