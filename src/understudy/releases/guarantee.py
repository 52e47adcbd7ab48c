"""The one guarantee a release makes: in exact numbers, in words, and as an event that
other accountants compose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from understudy.accounting.budget import Budget
from understudy.accounting.conversion import delta_of_gdp, delta_of_zcdp
from understudy.accounting.cost import Accounting
from understudy.accounting.interpretation import BudgetInterpretation, interpret_budget
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused, ReleaseError

if TYPE_CHECKING:
    from dp_accounting import DpEvent  # optional: needed by `dp_event` alone

GUARANTEE_SYMBOLS = {Accounting.PURE: "ε", Accounting.GDP: "μ²", Accounting.ZCDP: "ρ"}
"""What each accounting adds up."""

_SIGNIFICANT_FIGURES = 6
"""Significant figures shown of a number that is longer; the last one is rounded up, so
that no guarantee reads better than it is.
"""

_UNUSED_DELTA_SHARE = 1e-6
"""Part of δ that rounding in the conversion from (ε, δ) may leave unused; it is below
1e-7 for every ε and δ tried.
"""


class GuaranteeKind(StrEnum):
    """What kind of guarantee a release makes."""

    PRIVATE = "differential privacy"
    MASKED = "disclosure control without differential privacy"
    NO_DATA = "no data used"


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """Exactly what is guaranteed, to whom, and what it leaves out.

    `amount` is what the run was allowed to spend in its `accounting`, and (ε, δ) is
    what that means. `invariants` are facts about the rows that hold exactly and are not
    protected; `public` lists what the owner declared, or handed over in a header;
    `learned` what was measured instead.

    >>> Guarantee(
    ...     epsilon=Fraction(1),
    ...     delta=Fraction(1, 10**9),
    ...     accounting=Accounting.GDP,
    ...     amount=Fraction(33, 1000),
    ... ).sentence()
    'Private with ε = 1, δ = 1e-9 for adding or removing one row.'
    """

    kind: GuaranteeKind = GuaranteeKind.PRIVATE
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    accounting: Accounting | None = None
    amount: Fraction = Fraction(0)
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "row"
    max_rows: int = 1
    invariants: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if min(self.epsilon, self.delta, self.amount) < 0 or self.delta >= 1:
            raise ReleaseError(
                "guarantee: ε, δ and the amount cannot be negative, and δ must be"
                " below 1"
            )
        if self.max_rows < 1 or not self.unit:
            raise ReleaseError("guarantee: the unit needs a name and at least one row")
        self._check_kind()

    def _check_kind(self) -> None:
        """A private release has an ε and its accounting, and no other one has."""
        is_private = self.kind is GuaranteeKind.PRIVATE
        if is_private and (self.accounting is None or self.epsilon == 0):
            raise ReleaseError(
                "guarantee: differential privacy needs an ε above 0 and its accounting"
            )
        has_budget = self.accounting is not None or max(self.epsilon, self.delta) > 0
        if not is_private and has_budget:
            raise ReleaseError(
                f"guarantee: {self.kind.value} has no ε, δ or accounting"
            )

    @classmethod
    def without_data(cls, *, public: tuple[str, ...] = ()) -> Guarantee:
        """The guarantee of a release that no row was read for.

        >>> Guarantee.without_data().sentence()
        'No data used: nothing here was computed from any row.'
        """
        return cls(kind=GuaranteeKind.NO_DATA, public=public)

    def sentence(self) -> str:
        """The guarantee in one sentence."""
        if self.kind is GuaranteeKind.NO_DATA:
            return "No data used: nothing here was computed from any row."
        if self.kind is GuaranteeKind.MASKED:
            return (
                "Disclosure control without differential privacy: there is no bound on"
                " what can be inferred."
            )
        budget = format_amount("ε", self.epsilon)
        if self.delta:
            budget += f", {format_amount('δ', self.delta)}"
        return f"Private with {budget} for {self.neighbours.phrase(self.unit)}."

    @property
    def meaning(self) -> BudgetInterpretation | None:
        """What it means for one person, if it is differential privacy."""
        if self.kind is not GuaranteeKind.PRIVATE or self.accounting is None:
            return None
        budget = Budget(epsilon=self.epsilon, delta=self.delta)
        # What thresholds used of δ is not written down separately; all of it is the
        # safe reading.
        return interpret_budget(
            budget,
            accounting=self.accounting,
            amount=self.amount,
            thresholds=self.delta,
            neighbours=self.neighbours,
        )

    @property
    def threshold_delta(self) -> float:
        """The δ that thresholds of sparse histograms may have used; the rest of δ is
        that of the noise.

        It is an upper bound: what the noise of the whole amount leaves of δ at ε.

        >>> one, delta = Fraction(1), Fraction(1, 10**9)
        >>> pure = Guarantee(epsilon=one, delta=delta, accounting=Accounting.PURE, amount=one)
        >>> pure.threshold_delta
        1e-09
        """
        delta = float(self.delta)
        # The amount was chosen so that its noise has at most δ less the thresholds' at
        # ε, so what its noise has there bounds theirs from above.
        if self.accounting is Accounting.GDP:
            left = delta - delta_of_gdp(self.amount, self.epsilon)
        elif self.accounting is Accounting.ZCDP:
            left = delta - delta_of_zcdp(self.amount, self.epsilon)
        else:
            return delta
        return left if left > _UNUSED_DELTA_SHARE * delta else 0.0

    def dp_event(self, *, leave_out_thresholds: bool = False) -> DpEvent:
        """This guarantee as an event of Google's dp_accounting, to be composed with
        what other tools did to the same rows.

        The event has exactly the trade-off between false alarms and misses that the
        guarantee allows, for the guarantee's own neighbours: compose it in an
        accountant with the default relation of neighbours. A pure ε is a discrete
        Laplace mechanism (for a PLD accountant), μ² a Gaussian one (PLD or RDP), ρ is
        zCDP (RDP).

        No event expresses the δ of thresholds. If there is one, it has to be left out
        knowingly, and `threshold_delta` added to the δ of the composition.
        """
        events = _import_dp_events()
        if self.kind is GuaranteeKind.NO_DATA:
            return events.NoOpDpEvent()
        if self.kind is GuaranteeKind.MASKED:
            return events.NonPrivateDpEvent()
        if self.threshold_delta and not leave_out_thresholds:
            raise Refused(
                f"No event of dp_accounting expresses the δ = {self.threshold_delta:.3g}"
                " that thresholds may have used. Call"
                " dp_event(leave_out_thresholds=True) and add threshold_delta to the δ"
                " of the composition."
            )
        if not self.amount:
            # Taken for 0, it would make a composition read better than it is.
            raise Refused(
                "This guarantee does not state its amount, so no event can be composed"
                " from it. State `amount` in its accounting."
            )
        if self.accounting is Accounting.GDP:
            # μ-GDP is, by definition, no easier to tell apart than N(0, 1) and N(μ, 1).
            return events.GaussianDpEvent(1 / math.sqrt(self.amount))
        if self.accounting is Accounting.ZCDP:
            return events.ZCDpEvent(float(self.amount), 0.0)
        # Discrete Laplace noise on a count has a privacy loss of +ε or −ε and nothing
        # between: the pair that dominates every ε-private mechanism.
        return events.DiscreteLaplaceDpEvent(float(self.amount), 1)

    def details(self) -> tuple[str, ...]:
        """What the sentence leaves out, one line each."""
        lines: list[str] = []
        if self.kind is GuaranteeKind.PRIVATE and self.accounting is not None:
            if self.accounting is not Accounting.PURE:
                symbol = GUARANTEE_SYMBOLS[self.accounting]
                lines.append(f"added up as {format_amount(symbol, self.amount)} in all")
            if self.unit == "row":
                # Said always, not where an identifier repeats: that would be a fact
                # about the rows.
                lines.append(
                    "a person with several rows is protected row by row; declare a"
                    " `unit` in the schema to protect all rows of a person together"
                )
            else:
                rows = "1 row" if self.max_rows == 1 else f"{self.max_rows} rows"
                lines.append(
                    f"at most {rows} of each {self.unit} were used; the others were"
                    " left out"
                )
        lines.extend(
            f"not protected, because it holds exactly: {fact}"
            for fact in self.invariants
        )
        lines.extend(
            f"public by your declaration or the table's header: {fact}"
            for fact in self.public
        )
        lines.extend(
            f"learned from the rows and paid for: {fact}" for fact in self.learned
        )
        return tuple(lines)

    def __str__(self) -> str:
        return "\n".join([self.sentence(), *(f"  {line}" for line in self.details())])

    def __repr__(self) -> str:
        return self.sentence()

    def _repr_html_(self) -> str:
        meaning, lines, figure = self.meaning, list(self.details()), ""
        if meaning is not None:
            lines += meaning.lines()
            figure = meaning.figure()
        listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
        return f"<p>{escape(self.sentence())}</p><ul>{listed}</ul>{figure}"


def _import_dp_events() -> Any:
    try:
        return import_module("dp_accounting.dp_event")
    except ImportError:
        raise Refused(
            "dp_accounting is not installed: pip install dp-accounting, then call"
            " dp_event again."
        ) from None


def format_amount(symbol: str, value: Fraction) -> str:
    """A number in a guarantee: exact if it is short, otherwise rounded up and marked
    with ≤.

    >>> format_amount("ε", Fraction(1, 2)), format_amount("δ", Fraction(1, 10**9))
    ('ε = 0.5', 'δ = 1e-9')
    >>> format_amount("ε", Fraction(1, 3))
    'ε ≤ 0.333334'
    """
    digits, exponent, exact = _round_up_scientific(value)
    return f"{symbol} {'=' if exact else '≤'} {_format_decimal(digits, exponent)}"


def _round_up_scientific(value: Fraction) -> tuple[str, int, bool]:
    """Digits d₁d₂… and exponent e with value ≤ d₁.d₂… × 10^e, and whether they are
    equal.
    """
    if value == 0:
        return "0", 0, True
    # The lengths give the exponent up to one; a float of it might overflow.
    exponent = len(str(value.numerator)) - len(str(value.denominator))
    while value >= Fraction(10) ** (exponent + 1):
        exponent += 1
    while value < Fraction(10) ** exponent:
        exponent -= 1
    shifted = value / Fraction(10) ** (exponent - _SIGNIFICANT_FIGURES + 1)
    whole = -(-shifted.numerator // shifted.denominator)
    if whole == 10**_SIGNIFICANT_FIGURES:  # rounding up reached the next power of ten
        whole, exponent = whole // 10, exponent + 1
    return str(whole).rstrip("0") or "0", exponent, shifted.denominator == 1


def _format_decimal(digits: str, exponent: int) -> str:
    """d₁.d₂… × 10^e as a person writes it."""
    if not -4 <= exponent < _SIGNIFICANT_FIGURES + 3:
        return f"{_with_point(digits, 1)}e{exponent}"
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    return _with_point(digits.ljust(exponent + 1, "0"), exponent + 1)


def _with_point(digits: str, places: int) -> str:
    """Digits with a point after some places, if any follow."""
    whole, rest = digits[:places], digits[places:]
    return f"{whole}.{rest}" if rest else whole
