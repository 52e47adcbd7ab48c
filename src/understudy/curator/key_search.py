"""Private group keys: the labels of a column that enough units have, for questions whose
groups the schema does not list.

A label shows if the noisy number of units that have it exceeds a threshold T. Keys belong
to the column, not to the question: learned once, they are public and group every later
question for nothing.

Why it is private. A unit of m rows has at most m labels, so it moves at most m numbers
by 1 each: under add/remove L1 = L2² = m, under replace 2m. Labels that only this unit
has show with probability at most δ₀ = m · P(1 + noise > T), and T is the smallest for
which that is what the charge of δ buys; the rest of the proof, for both laws, is that of
mechanisms/sparse_histogram.py. Rows are counted by unit because m rows with one label
would move a number by m.

The law is that of the run. For one question by itself, Laplace noise shows keys of fewer
people up to about two keys a unit and Gaussian noise from about five (`people_needed`);
in a run of many questions Gaussian noise composes better from the first key on.

Checked in tests/curator/test_key_search.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from understudy.accounting.cost import Accounting, Cost, Sensitivity
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import default_law, price, scale_for
from understudy.accounting.questions.question_run import QuestionCharge
from understudy.curator.context import Draw, TableProtocol
from understudy.curator.interrupts import hold_signals
from understudy.curator.mechanisms.sparse_histogram import (
    check_epsilon,
    exp_upper_bound,
    fit_threshold,
    threshold,
)
from understudy.curator.questions import QuestionRunProtocol
from understudy.errors import LedgerError, Refused
from understudy.noise.samplers import MAX_NOISE_SCALE
from understudy.schema import (
    Categorical,
    Schema,
    describe_counted_rows,
    name_rest,
    schema_to_dict,
)

MAX_PRIVATE_KEYS = 10_000
"""Keys of one column that are shown: each is a row of the answer."""

KEY_DELTA_SHARE = Fraction(1, 10)
"""Part of the δ for thresholds that the keys of one column take: ten columns a run."""


@dataclass(frozen=True)
class LearnedKeys:
    """Labels that were released, with the noise and the threshold they passed."""

    labels: tuple[str, ...]
    law: Law
    scale: Fraction
    threshold: int

    def to_bytes(self) -> bytes:
        """As a ledger stores it.

        >>> keys = LearnedKeys(("Bonn",), Law.ROUNDED_GAUSSIAN, Fraction(5, 2), 17)
        >>> LearnedKeys.of_bytes(keys.to_bytes()) == keys
        True
        """
        facts = {
            "keys": list(self.labels),
            "law": str(self.law),
            "scale": str(self.scale),
            "threshold": self.threshold,
        }
        return json.dumps(facts).encode()

    @classmethod
    def of_bytes(cls, payload: bytes) -> LearnedKeys:
        """As it was stored."""
        try:
            facts = json.loads(payload)
            labels = tuple(str(label) for label in facts["keys"])
            scale, at = Fraction(facts["scale"]), int(facts["threshold"])
            return cls(labels, Law(facts["law"]), scale, at)
        except (ValueError, KeyError, TypeError):
            raise LedgerError(
                "Stored keys cannot be read: they were written by another version."
                " Nothing was returned."
            ) from None


@dataclass(frozen=True)
class RunTerms:
    """What the price of keys depends on in a run."""

    accounting: Accounting
    epsilon: Fraction
    """ε of the whole run: what a threshold costs on top depends on it."""
    delta: Fraction
    """δ that the run has for thresholds."""
    neighbours: Neighbours


@dataclass(frozen=True)
class KeyOffer:
    """The keys of one column: what they cost, and from how many units on they show."""

    column: str
    digest: str
    scale: Fraction | None
    """The noise of a new draw; None if what was released is as good."""
    threshold: int
    cost: Cost
    earlier: tuple[LearnedKeys, ...]

    @property
    def known_labels(self) -> tuple[str, ...]:
        """The labels that were released before, sorted."""
        known = {label for keys in self.earlier for label in keys.labels}
        return tuple(sorted(known))

    @property
    def people(self) -> int:
        """How many units a label needs to show at least half of the time."""
        return self.threshold + 1


def key_sensitivity(neighbours: Neighbours, max_rows: int) -> Sensitivity:
    """How far one unit moves the numbers of units by label.

    >>> key_sensitivity(Neighbours.REPLACE, 3).l2_squared
    Fraction(6, 1)
    """
    # A replaced unit leaves its labels and enters others: twice as many counts move.
    tables = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    moved = tables * max_rows
    return Sensitivity(
        l1=Fraction(moved), l2_squared=Fraction(moved), l0=moved, linf=Fraction(1)
    )


def key_threshold(
    law: Law, scale: Fraction, delta: Fraction, epsilon: Fraction, max_rows: int
) -> int:
    """The smallest number of units above which a label may show, for a charge of δ in a
    run of this ε.
    """
    # Laplace: δ₀ ≤ 1 − e^(−1/scale), by the bound 1 − e^(−x) ≥ x/(1 + x) for x > 0.
    chance = min(delta, 1 / (1 + scale))
    if law is not Law.DISCRETE_LAPLACE:
        chance = delta / (1 + exp_upper_bound(epsilon))
    # Each of the unit's own labels has this unit alone.
    return threshold(law=law, scale=scale, delta=chance / max_rows)


def people_needed(
    accounting: Accounting,
    amount: Fraction,
    *,
    delta: Fraction,
    epsilon: Fraction,
    max_rows: int = 1,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> int:
    """How many units a label needs to show half of the time, for an amount of a run's
    accounting and a δ.

    >>> people_needed(Accounting.PURE, Fraction(1), delta=Fraction(1, 10**9), epsilon=Fraction(1))
    22
    """
    law = default_law(accounting)
    sensitivity = key_sensitivity(neighbours, max_rows)
    scale = scale_for(law, amount, sensitivity, accounting)
    return 1 + key_threshold(law, scale, delta, Fraction(epsilon), max_rows)


def offer_keys(
    schema: Schema,
    column: str,
    terms: RunTerms,
    *,
    amount: Fraction | None = None,
    scale: Fraction | None = None,
    table: Mapping[str, str] | None = None,
    find_earlier: Callable[[str], Sequence[bytes]] | None = None,
) -> KeyOffer:
    """The offer for the keys of a column: for an amount, or with noise of a scale."""
    share = terms.delta * KEY_DELTA_SHARE
    if not share:
        raise Refused(
            f"{column}: its values are not declared, and keys from rows need a δ for"
            " their threshold. Declare `values` in the schema, or open the run with"
            " private_keys=True (--private-keys). Nothing was spent"
        )
    check_epsilon(terms.epsilon, terms.accounting)
    law = default_law(terms.accounting)
    sensitivity = key_sensitivity(terms.neighbours, schema.unit.max_rows)
    if scale is None:
        assert amount is not None
        scale = scale_for(law, amount, sensitivity, terms.accounting)
    if scale > MAX_NOISE_SCALE:
        raise Refused(
            f"{column}: its keys need noise wider than any that is drawn (2^50). Use a"
            " larger ε. Nothing was spent"
        )
    digest = _key_digest(schema, column, table)
    found = () if find_earlier is None else find_earlier(digest)
    earlier = tuple(LearnedKeys.of_bytes(payload) for payload in found)
    # Noise as small as asked for was drawn already; a second draw would only cost more.
    usable = [each for each in earlier if each.law is law and each.scale <= scale]
    if usable:
        best = min(each.threshold for each in usable)
        free = Cost(terms.accounting, Fraction(0))
        return KeyOffer(column, digest, None, best, free, earlier)
    at = key_threshold(law, scale, share, terms.epsilon, schema.unit.max_rows)
    paid = price(law, scale, sensitivity, terms.accounting)
    cost = Cost(paid.accounting, paid.amount, share)
    return KeyOffer(column, digest, scale, at, cost, earlier)


def learn_keys(
    offer: KeyOffer,
    *,
    table: TableProtocol,
    run: QuestionRunProtocol,
    draw: Draw,
    analyst: str = "",
    purpose: str = "",
) -> tuple[str, ...]:
    """The keys of a column that were released, sorted, after a new draw if the offer has
    one: charged before any row is read, and stored before they are given.
    """
    known = offer.known_labels
    recalled = [offer.digest] if offer.earlier else []
    charges = [QuestionCharge(offer.cost, offer.digest)]
    if offer.scale is None:
        charges = []
    steps = run.charge_together(
        charges, recalled=recalled, analyst=analyst, purpose=purpose
    )
    if offer.scale is None:
        return known
    # By unit: a person with many rows of one label counts once, as the sensitivity
    # says.
    labels, counts = table.labels(offer.column, by_unit=True)
    law = default_law(offer.cost.accounting)
    with hold_signals():
        noisy = counts + draw(law, offer.scale, counts.shape)
        at = fit_threshold(
            offer.threshold, noisy, np.ones(len(noisy), np.int64), MAX_PRIVATE_KEYS
        )
        # Sorted, so that the order in which labels show says nothing about the rows.
        shown = sorted(
            label for label, count in zip(labels, noisy, strict=True) if count > at
        )
        keys = LearnedKeys(tuple(shown), law, offer.scale, at)
        run.store(steps[0], offer.digest, keys.to_bytes())
    return tuple(sorted({*known, *shown}))


def close_key_column(schema: Schema, name: str, labels: Sequence[str]) -> Schema:
    """The schema with released labels as the values of a column; all others together
    have a name that none of them has.
    """
    column = schema[name]
    assert isinstance(column, Categorical)
    # Released labels are public: to avoid them tells nothing about the rows.
    rest = name_rest({*labels, *column.missing}, column.other)
    learned = tuple(part for part in column.learned if part != "values")
    return schema.with_column(
        replace(column, values=tuple(labels), other=rest, learned=learned, unfold={})
    )


def _key_digest(schema: Schema, column: str, table: Mapping[str, str] | None) -> str:
    """A name for the keys of one column of one table's rows."""
    # What does not change the counts must not make another question of it.
    plain = replace(schema[column], constant=False, note="")
    facts = [
        "keys",
        schema_to_dict(Schema(columns=(plain,))),
        describe_counted_rows(schema),
        dict(table or {}),
    ]
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
