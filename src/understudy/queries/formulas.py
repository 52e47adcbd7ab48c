"""Formulas: arithmetic on the numbers of an answer, with intervals that hold.

    100 * smokers / people        ROUND(AVG(income) / 12, 1)

A formula is computed of noisy numbers that were paid for: post-processing, free. Its
interval is what the formula can be while every number lies in its own interval (interval
arithmetic, Moore 1966). Those of k numbers hold together if each is given a k-th part of
the doubt (union bound), which is what the caller gives them.

Where the interval of a divisor holds 0 the quotient may be anything, and its interval
has no ends. A count is a whole number, and a quotient by none has no value that could be
missed, so an interval of a count starts at 1 where it divides.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from understudy.errors import Refused

MAX_FORMULA_CHARACTERS = 500
"""Characters of a formula in Python; a parser takes long over more."""

MAX_FORMULA_DEPTH = 50
"""Operations inside one another: whatever can be refused is refused before the charge,
so that evaluating a formula never fails.
"""

MAX_FORMULA_MAGNITUDE = 1e300
"""Where arithmetic is cut off, well below the largest float; beyond lies infinity."""


@dataclass(frozen=True)
class FormulaNumber:
    """A constant."""

    value: Fraction

    def __post_init__(self) -> None:
        # Computed behind the charge, where a number that is no float would be a crash.
        if abs(self.value) > MAX_FORMULA_MAGNITUDE:
            raise Refused("A constant of a formula is too large. Nothing was spent")

    @property
    def titles(self) -> frozenset[str]:
        """None."""
        return frozenset()

    @property
    def depth(self) -> int:
        """No operation."""
        return 0

    def __str__(self) -> str:
        return f"{float(self.value):g}"


@dataclass(frozen=True)
class FormulaColumn:
    """A column of numbers of the answer."""

    title: str

    @property
    def titles(self) -> frozenset[str]:
        """The column."""
        return frozenset({self.title})

    @property
    def depth(self) -> int:
        """No operation."""
        return 0

    def __str__(self) -> str:
        return self.title


@dataclass(frozen=True)
class FormulaCall:
    """An operation of `FORMULA_OPERATIONS` on other parts."""

    operation: str
    arguments: tuple[Formula, ...]

    @property
    def titles(self) -> frozenset[str]:
        """The columns of all its parts."""
        return frozenset().union(*(part.titles for part in self.arguments))

    @cached_property
    def depth(self) -> int:
        """How many operations lie inside one another."""
        return 1 + max(part.depth for part in self.arguments)

    def __str__(self) -> str:
        parts = [str(part) for part in self.arguments]
        if len(parts) == 2 and self.operation in "+-*/":
            return f"({parts[0]} {self.operation} {parts[1]})"
        return f"{self.operation}({', '.join(parts)})"


Formula = FormulaNumber | FormulaColumn | FormulaCall

Span = tuple[float, float, float]
"""A number, and the ends of its interval."""

_WHOLE_LINE = (-math.inf, math.inf)


def evaluate_formula(
    formula: Formula, spans: Mapping[str, Span], counts: frozenset[str] = frozenset()
) -> Span:
    """The value of a formula, and the interval that holds it if each column lies within
    its own interval. `counts` are the columns of whole numbers from 0 up.

    >>> half = parse_formula("n / 2", ["n"])
    >>> evaluate_formula(half, {"n": (10.0, 8.0, 13.0)})
    (5.0, 4.0, 6.5)
    """
    value, low, high = _evaluate(formula, spans, counts)
    low, high = _bound_end(low, -math.inf), _bound_end(high, math.inf)
    # An estimate that is no number is replaced by one that its interval allows.
    if not math.isfinite(value):
        value = 0.0
    return min(max(value, low), high), low, high


def _bound_end(end: float, none: float) -> float:
    """An end of an interval; none where it is no number or too large for arithmetic."""
    return none if math.isnan(end) or abs(end) > MAX_FORMULA_MAGNITUDE else end


def _evaluate(
    formula: Formula, spans: Mapping[str, Span], counts: frozenset[str]
) -> Span:
    match formula:
        case FormulaNumber(value):
            constant = float(value)
            return constant, constant, constant
        case FormulaColumn(title):
            return spans[title]
        case FormulaCall("/", (top, bottom)):
            divisor = _evaluate(bottom, spans, counts)
            if isinstance(bottom, FormulaColumn) and bottom.title in counts:
                number, low, high = divisor
                divisor = (number, max(low, 1.0), max(high, 1.0))
            return _divide_spans(_evaluate(top, spans, counts), divisor)
        case FormulaCall(operation, arguments):
            parts = [_evaluate(part, spans, counts) for part in arguments]
            return FORMULA_OPERATIONS[operation](*parts)
    raise Refused("A formula has numbers, columns and operations. Nothing was spent")


def _calculate(function: Callable[..., float], *values: float) -> float:
    """A function of numbers; nan where it has no value."""
    try:
        return float(function(*values))
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan


def _add_spans(one: Span, other: Span) -> Span:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _negate_span(one: Span) -> Span:
    return -one[0], -one[2], -one[1]


def _subtract_spans(one: Span, other: Span) -> Span:
    return _add_spans(one, _negate_span(other))


def _multiply_spans(one: Span, other: Span) -> Span:
    corners = [_product(a, b) for a in one[1:] for b in other[1:]]
    return one[0] * other[0], min(corners), max(corners)


def _product(one: float, other: float) -> float:
    # 0 times an end that is not there is 0: the other number is finite, if unknown.
    return 0.0 if 0.0 in (one, other) else one * other


def _divide_spans(top: Span, bottom: Span) -> Span:
    value = _calculate(lambda a, b: a / b, top[0], bottom[0])
    if bottom[1] <= 0 <= bottom[2]:
        return (value, *_WHOLE_LINE)
    inverse = [0.0 if math.isinf(end) else 1 / end for end in bottom[1:]]
    corners = [_product(a, b) for a in top[1:] for b in inverse]
    return value, min(corners), max(corners)


SpanOperation = Callable[..., Span]


def _apply_rising(function: Callable[[float], float], least: float) -> SpanOperation:
    """An operation by a function that rises from `least` up, and is nowhere else."""

    def apply(one: Span) -> Span:
        low, high = -math.inf, math.inf
        if one[1] > least:
            low = _bound_end(_calculate(function, one[1]), low)
        if one[2] > least:
            high = _bound_end(_calculate(function, one[2]), high)
        return _calculate(function, one[0]), low, high

    return apply


def _absolute(one: Span) -> Span:
    ends = [abs(end) for end in one[1:]]
    return abs(one[0]), 0.0 if one[1] <= 0 <= one[2] else min(ends), max(ends)


def _square_root(one: Span) -> Span:
    """√x; where the interval reaches below 0, x is at least 0 if the root is there."""
    ends = [math.sqrt(max(end, 0.0)) for end in one[1:]]
    return math.sqrt(max(one[0], 0.0)), ends[0], ends[1]


def _power(base: Span, exponent: Span) -> Span:
    """x to a constant power: even powers turn below 0, other powers rise above it."""
    degree = exponent[1]
    if degree != exponent[2] or degree <= 0:
        raise Refused(
            "POWER takes a constant above 0 as its exponent. Nothing was spent"
        )
    is_whole = float(degree).is_integer()
    if not is_whole or degree % 2 == 0:
        turned = (base[0], max(base[1], 0.0), max(base[2], 0.0))
        if is_whole:
            turned = _absolute(base)
        return _apply_rising(lambda x: math.pow(x, degree), -1.0)(turned)
    return _apply_rising(lambda x: math.pow(x, degree), -math.inf)(base)


def _round_span(one: Span, places: Span = (0.0, 0.0, 0.0)) -> Span:
    digits = int(places[0])
    factor = 10.0**digits

    def round_half_up(number: float) -> float:
        scaled = abs(number) * factor
        # Of so many digits there are none to round.
        if not math.isfinite(scaled):
            return number
        # Half away from 0, as SQL rounds.
        return math.copysign(math.floor(scaled + 0.5) / factor, number)

    value, low, high = (round_half_up(number) for number in one)
    return value, low, high


def _round_whole(function: Callable[[float], int]) -> SpanOperation:
    def apply(one: Span) -> Span:
        value, low, high = (
            x if not math.isfinite(x) else float(function(x)) for x in one
        )
        return value, low, high

    return apply


def _fold_spans(choose: Callable[..., float]) -> SpanOperation:
    """The least or the largest of several: it rises in each of them."""

    def apply(*parts: Span) -> Span:
        value, low, high = (choose(*column) for column in zip(*parts, strict=True))
        return value, low, high

    return apply


FORMULA_OPERATIONS: dict[str, SpanOperation] = {
    "+": _add_spans,
    "-": _subtract_spans,
    "*": _multiply_spans,
    "/": _divide_spans,
    "negate": _negate_span,
    "abs": _absolute,
    "sqrt": _square_root,
    "exp": _apply_rising(math.exp, -math.inf),
    "ln": _apply_rising(math.log, 0.0),
    "log2": _apply_rising(math.log2, 0.0),
    "log10": _apply_rising(math.log10, 0.0),
    "power": _power,
    "round": _round_span,
    "floor": _round_whole(math.floor),
    "ceil": _round_whole(math.ceil),
    "least": _fold_spans(min),
    "greatest": _fold_spans(max),
}
"""What a formula can do. Each takes and gives numbers with intervals."""

_ARGUMENTS_BY_OPERATION = {"power": (2, 2), "round": (1, 2)} | dict.fromkeys(
    ("least", "greatest"), (1, 20)
)

_OPERATION_BY_SIGN: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "power",
}


def call_operation(operation: str, arguments: Sequence[Formula]) -> FormulaCall:
    """An operation with as many arguments as it takes."""
    usual = (2, 2) if operation in "+-*/" else (1, 1)
    least, most = _ARGUMENTS_BY_OPERATION.get(operation, usual)
    if operation not in FORMULA_OPERATIONS or not least <= len(arguments) <= most:
        raise Refused(
            f"{operation[:40]}: no operation of a formula, or not with as many"
            f" arguments. There are {', '.join(FORMULA_OPERATIONS)}. Nothing was spent"
        )
    is_constant = all(isinstance(part, FormulaNumber) for part in arguments[1:])
    if operation in ("power", "round") and not is_constant:
        raise Refused(f"{operation} takes a constant behind it. Nothing was spent")
    if operation == "round" and abs(_places_of(arguments)) > 15:
        raise Refused("round: at most 15 places. Nothing was spent")
    called = FormulaCall(operation, tuple(arguments))
    if called.depth > MAX_FORMULA_DEPTH:
        raise Refused("A formula is nested too deeply. Nothing was spent")
    return called


def _places_of(arguments: Sequence[Formula]) -> Fraction:
    places = arguments[-1]
    if len(arguments) < 2 or not isinstance(places, FormulaNumber):
        return Fraction(0)
    return places.value


def parse_formula(text: str, titles: Sequence[str]) -> Formula:
    """A formula in Python's spelling, of columns that the answer has.

    >>> print(parse_formula("round(100 * smokers / people, 1)", ["smokers", "people"]))
    round(((100 * smokers) / people), 1)
    """
    if not isinstance(text, str) or len(text) > MAX_FORMULA_CHARACTERS:
        raise Refused("A formula is a text such as `total / people`. Nothing was spent")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _read_python(tree, titles)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refused(
            "The formula cannot be read: it has numbers, columns of the answer and"
            f" {', '.join(FORMULA_OPERATIONS)}. Nothing was spent"
        ) from None


def _read_python(node: ast.expr, titles: Sequence[str]) -> Formula:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(
            value, bool
        ):
            return FormulaNumber(Fraction(str(value)))
        case ast.Name(id=title):
            if title not in titles:
                raise Refused(
                    f'The formula names "{title}", which is no aggregate of the question.'
                    f" There are {', '.join(titles)}. Nothing was spent"
                )
            return FormulaColumn(title)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return call_operation("negate", [_read_python(inner, titles)])
        case ast.BinOp(left, operator, right) if type(operator) in _OPERATION_BY_SIGN:
            sides = [_read_python(side, titles) for side in (left, right)]
            return call_operation(_OPERATION_BY_SIGN[type(operator)], sides)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            parts = [_read_python(each, titles) for each in arguments]
            return call_operation(name, parts)
    raise ValueError
