"""What a budget means for one person, in plain words and odds.

An attacker knows everything about the table but whether you are in it (or, for replace
neighbours, what your row says), and sees the release. Two numbers say how much that
helps:

    right   how often the best guess is right where both cases were equally likely:
            1/2 without the release
    found   how many of those who are in the table a test finds that accuses 1 in 100
            of those who are not

For μ-GDP these are Φ(μ/2) and Φ(Φ⁻¹(0.01) + μ) (Dong, Roth, Su, "Gaussian differential
privacy", 2022). For (ε, δ) they follow from the trade-off curve of Kairouz, Oh,
Viswanath, "The composition theorem for differential privacy", 2015: (e^ε + δ)/(1 + e^ε)
for the first. A zCDP run is read through its (ε, δ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.budget import Budget, spell_value
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.svg import svg_element, svg_root
from understudy.svg.colours import INK_COLOUR, OKABE_ITO_VERMILION

CHANCE_DOT_COLOUR = "#9aa5b1"

ACCUSATION_FALSE_ALARM_RATE = 0.01
"""Of those who are not in the table, how many the test may accuse."""


@dataclass(frozen=True, kw_only=True)
class BudgetInterpretation:
    """What an onlooker may gain on one person.

    >>> said = interpret_budget(Budget.of(1))
    >>> f"{said.right:.3f} {said.found:.4f}"
    '0.731 0.0272'
    >>> print(said.lines()[0].split("; ")[0][-37:])
    guesses right at most 74 times in 100
    """

    right: float
    found: float
    odds: float
    budget: Budget
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def lines(self) -> list[str]:
        """Three sentences for the person who signs. "You" are one unit of the
        guarantee: a row, or a person with all rows that count.
        """
        but = ""
        if self.budget.delta > 0:
            but = f", give or take {spell_value(self.budget.delta)}"
        if self.neighbours is Neighbours.ADD_REMOVE:
            guess = "whether you are in the table"
            present, absent = "are in it", "are not"
            cause = "you took part"
        else:
            guess = "which of two things your entry says"
            present, absent = "gave the one", "gave the other"
            cause = "your entry says one thing and not another"
        return [
            (
                f"Whoever tries to tell {guess}, knowing everything else, guesses right"
                f" at most {_spell_of_hundred(self.right)} times in 100; a coin"
                " does 50."
            ),
            (
                f"A test that wrongly accuses 1 in 100 of those who {absent} finds at"
                f" most {_spell_of_hundred(self.found)} in 100 of those who {present}."
            ),
            (
                f"No outcome's chance becomes more than {self._odds} times as large, or as"
                f" small, because {cause}{but}."
            ),
        ]

    @property
    def _odds(self) -> str:
        if self.odds >= 1e9:
            return "a billion or more"
        return f"{self.odds:,.2f}" if self.odds < 100 else f"{self.odds:,.0f}"

    def bar(self, width: int = 50) -> str:
        """The first sentence as a bar: how far the best guess is between a coin and
        certainty.
        """
        filled = round((self.right - 0.5) * 2 * width)
        return f"coin │{'█' * filled}{'·' * (width - filled)}│ certain"

    def to_svg(self) -> str:
        """A hundred guesses as a hundred dots: those a coin gets right, those the
        release adds, those that stay wrong.
        """
        # An upper bound, so rounded up, as in the words.
        right = min(99, max(50, math.ceil(100 * self.right - 1e-9)))
        added = right - 50
        fills = [CHANCE_DOT_COLOUR] * 50 + [OKABE_ITO_VERMILION] * added
        dots = [
            svg_element(
                "circle",
                cx=12 + 14 * (i % 20),
                cy=34 + 14 * (i // 20),
                r=5,
                fill=fill,
                stroke="#52606d",
            )
            for i, fill in enumerate(fills + ["none"] * (100 - right))
        ]
        summary = (
            "100 guesses about one person: a coin gets 50 right, this release lets"
            f" {added} more be right"
        )
        gain = f"orange: right through this release, at most {added}"
        return svg_root(
            svg_element("text", "100 guesses about one person", x=6, y=16),
            *dots,
            svg_element("text", "grey: right by chance, 50", x=6, y=116),
            svg_element("text", gain, x=6, y=130),
            view=(0, 0, 290, 138),
            role="img",
            aria_label=summary,
            font_family="sans-serif",
            font_size=10,
            fill=INK_COLOUR,
        )

    _repr_svg_ = to_svg

    def figure(self) -> str:
        """The same inside a page, no wider than its words need and dark on white
        whatever the page is.
        """
        return f'<div style="max-width:24rem;background:#fff">{self.to_svg()}</div>'

    def to_dict(self) -> dict[str, float]:
        """For a program."""
        return {
            "right_guesses": self.right,
            "found_at_1_percent_false_alarms": self.found,
            "odds_factor": self.odds,
        }


def interpret_budget(
    budget: Budget,
    *,
    accounting: Accounting = Accounting.PURE,
    amount: Fraction = Fraction(0),
    thresholds: Fraction = Fraction(0),
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> BudgetInterpretation:
    """What this budget means for one person; `amount` is what a GDP run adds up to
    (μ²), `thresholds` the δ set aside beside it.

    >>> budget, spent = Budget.of(1, "1e-9"), Fraction(33114, 10**6)
    >>> said = interpret_budget(budget, accounting=Accounting.GDP, amount=spent)
    >>> f"{said.right:.3f}"
    '0.536'
    """
    # e^700 is about the largest double; beyond it nothing is protected anyway.
    epsilon = float(min(budget.epsilon, Fraction(700)))
    delta = float(budget.delta)
    factor = math.exp(epsilon)
    # No run is worse than its (ε, δ); a GDP run is usually much better.
    right = (factor + delta) / (1 + factor)
    # The two lines of the (ε, δ) trade-off curve; the lower one binds.
    found = min(
        factor * ACCUSATION_FALSE_ALARM_RATE + delta,
        1 - (1 - delta - ACCUSATION_FALSE_ALARM_RATE) / factor,
    )
    if accounting is Accounting.GDP and amount > 0:
        from scipy.special import ndtr, ndtri

        # The δ of thresholds adds to every probability beside the Gaussian's.
        mu = math.sqrt(float(amount))
        right = min(right, float(ndtr(mu / 2)) + float(thresholds))
        found = min(
            found,
            float(ndtr(ndtri(ACCUSATION_FALSE_ALARM_RATE) + mu)) + float(thresholds),
        )
    return BudgetInterpretation(
        right=right, found=found, odds=factor, budget=budget, neighbours=neighbours
    )


def _spell_of_hundred(share: float) -> str:
    """A share as a number of a hundred, rounded up, for it is an upper bound.

    >>> _spell_of_hundred(0.5361), _spell_of_hundred(0.0123)
    ('54', '1.3')
    """
    if share < 0.1:
        return f"{math.ceil(1000 * share - 1e-9) / 10:g}"
    return str(min(100, math.ceil(100 * share - 1e-9)))
