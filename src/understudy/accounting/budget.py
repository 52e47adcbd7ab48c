"""What an owner is willing to spend: an ε and a δ, as exact numbers.

A float means the decimal a person typed: 0.1 is one tenth, not the nearest binary
fraction. Everything that is no budget at all is refused here, in one line, before any
data is opened.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Integral, Rational, Real

from understudy.accounting.cost import Accounting
from understudy.errors import InvalidBudget

DEFAULT_DELTA = Fraction(1, 10**9)
"""δ when none is given: one in a thousand million, whatever the table holds. A δ
computed from the number of rows would say that number.
"""

Number = int | float | str | Decimal | Fraction
"""What a budget may be written as."""

_BUDGET_RATIO_PATTERN = re.compile(r"[+-]?[0-9]{1,300}/[0-9]{1,300}", re.ASCII)
# Decimal digits on either side of the point; keeps "1e999999999" from filling memory.
_MAX_BUDGET_DIGITS = 300


def to_exact_fraction(value: object) -> Fraction:
    """The exact number that was written, or ValueError.

    >>> to_exact_fraction(0.1), to_exact_fraction("1e-9"), to_exact_fraction("1/3")
    (Fraction(1, 10), Fraction(1, 1000000000), Fraction(1, 3))
    """
    # Python's booleans are integers, but True is no budget.
    if isinstance(value, bool):
        raise ValueError("a truth value is no number")
    # int, Fraction and numpy's integers are exact already.
    if isinstance(value, Rational):
        return Fraction(int(value)) if isinstance(value, Integral) else Fraction(value)
    if isinstance(value, float):
        # numpy's float64 is a float with another repr.
        value = float.__repr__(value)
    elif isinstance(value, Real):
        value = str(value)
    if isinstance(value, str):
        return _parse_text(value.strip())
    if isinstance(value, Decimal):
        return _convert_decimal(value)
    raise ValueError("not a number")


def _parse_text(text: str) -> Fraction:
    """A decimal such as 1e-9, or a ratio such as 1/3."""
    if _BUDGET_RATIO_PATTERN.fullmatch(text):
        top, bottom = text.split("/")
        if int(bottom) == 0:
            raise ValueError("division by zero")
        return Fraction(int(top), int(bottom))
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError("not a number") from None
    return _convert_decimal(number)


def _convert_decimal(number: Decimal) -> Fraction:
    if not number.is_finite():
        raise ValueError("not a finite number")
    too_long = len(number.as_tuple().digits) > 2 * _MAX_BUDGET_DIGITS
    if too_long or abs(number.adjusted()) > _MAX_BUDGET_DIGITS:
        raise ValueError("not a number of ordinary size")
    return Fraction(number)


@dataclass(frozen=True)
class Budget:
    """An (ε, δ) that an owner is willing to spend on one run, or in all.

    >>> Budget.of(0.5)
    Budget(epsilon=Fraction(1, 2), delta=Fraction(1, 1000000000))
    >>> try:
    ...     Budget.of("nan")
    ... except InvalidBudget as error:
    ...     print(str(error).split(",")[0])
    ε must be a number above 0
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _parse_epsilon(self.epsilon))
        object.__setattr__(self, "delta", _parse_delta(self.delta))

    @classmethod
    def of(cls, epsilon: object, delta: object = None) -> Budget:
        """A budget as it was written, with `DEFAULT_DELTA` where no δ was."""
        chosen_delta = DEFAULT_DELTA if delta is None else _parse_delta(delta)
        return cls(_parse_epsilon(epsilon), chosen_delta)

    @property
    def accounting(self) -> Accounting:
        """The accounting of a run on this budget where none is chosen: GDP where there
        is a δ, pure ε where there is none.
        """
        return Accounting.GDP if self.delta > 0 else Accounting.PURE

    def split(self, *weights: Number) -> tuple[Budget, ...]:
        """This budget in parts, in proportion to the weights; the parts add up to the
        whole exactly.

        >>> [str(part.epsilon) for part in Budget.of(1, 0).split(1, 2, 3)]
        ['1/6', '1/3', '1/2']
        """
        epsilons = split_by_weights(self.epsilon, weights)
        deltas = split_by_weights(self.delta, weights)
        return tuple(Budget(e, d) for e, d in zip(epsilons, deltas, strict=True))

    def __str__(self) -> str:
        return f"ε = {spell_value(self.epsilon)}, δ = {spell_value(self.delta)}"


def split_evenly(total: Fraction, parts: int) -> tuple[Fraction, ...]:
    """`total` in equal parts that add up to it exactly.

    >>> sum(split_evenly(Fraction(1), 3))
    Fraction(1, 1)
    """
    if parts < 1:
        raise InvalidBudget(
            f"A budget splits into at least one part, not {parts}. Nothing was spent."
        )
    return (total / parts,) * parts


def split_by_weights(
    total: Fraction, weights: Sequence[Number]
) -> tuple[Fraction, ...]:
    """`total` in proportion to positive weights; the parts add up to it exactly.

    >>> split_by_weights(Fraction(1), [1, 3])
    (Fraction(1, 4), Fraction(3, 4))
    """
    try:
        shares = [to_exact_fraction(w) for w in weights]
    except ValueError:
        shares = []
    if not shares or min(shares) <= 0:
        raise InvalidBudget(
            "A budget splits by weights that are numbers above 0, at least one. Nothing"
            " was spent."
        )
    return tuple(total * share / sum(shares) for share in shares)


def spell_value(value: Fraction) -> str:
    """A number as a person writes it: two decimals or as many as it needs, powers of
    ten when it is tiny.

    >>> [spell_value(Fraction(1, n)) for n in (2, 3, 10**9)], spell_value(Fraction(0))
    (['0.50', '0.3333', '1e-9'], '0')
    """
    if value == 0:
        return "0"
    if value < Fraction(1, 1000):
        mantissa, exponent = f"{float(value):.3e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    places = f"{float(value):.4f}"
    return places[:-2] if places.endswith("00") else places.rstrip("0")


def spell_values_apart(asked: Fraction, left: Fraction) -> tuple[str, str]:
    """A cost and what is left of a budget that cannot cover it, with enough digits to
    see that they differ.

    >>> spell_values_apart(Fraction(1, 2), Fraction(1, 5))
    ('0.50', '0.20')
    >>> spell_values_apart(Fraction(333334, 10**6), Fraction(333333, 10**6))
    ('0.333334', '0.333333')
    """
    first, second = spell_value(asked), spell_value(left)
    digits = 5
    while first == second and digits < 18:
        digits += 1
        first, second = f"{float(asked):.{digits}g}", f"{float(left):.{digits}g}"
    return (first, second) if first != second else (f"a little over {first}", second)


def _parse_epsilon(value: object) -> Fraction:
    try:
        epsilon = to_exact_fraction(value)
    except ValueError:
        epsilon = Fraction(0)
    if epsilon <= 0:
        raise InvalidBudget(
            f"ε must be a number above 0, such as 1 or 0.5, not {_quote_value(value)}."
            " Nothing was spent."
        )
    return epsilon


def _parse_delta(value: object) -> Fraction:
    try:
        delta = to_exact_fraction(value)
    except ValueError:
        delta = Fraction(-1)
    if not 0 <= delta < 1:
        raise InvalidBudget(
            "δ must be a number from 0 to below 1, such as 1e-9, not"
            f" {_quote_value(value)}. Nothing was spent."
        )
    return delta


def _quote_value(value: object) -> str:
    """The rejected budget, short enough for one line."""
    is_number = isinstance(value, int | float | Decimal | Fraction)
    shown = str(value) if is_number else repr(value)
    # Line breaks would make two lines of the message.
    shown = " ".join(shown.split())
    return shown if len(shown) <= 40 else shown[:37] + "..."
