"""Entries of a ledger, each sealed with the one before it.

An entry's digest is SHA-256 over its canonical JSON, which holds the previous entry's
digest. Changing, removing, inserting or moving an entry breaks every digest from there
on. What a chain cannot see by itself is a file put back to an older state, or one whose
whole chain was computed anew: compare with a digest written down elsewhere, such as the
one printed on each release.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction

_LEDGER_AMOUNT_PATTERN = re.compile(r"-?[0-9]{1,4300}(/[0-9]{1,4300})?", re.ASCII)

GENESIS_DIGEST = "0" * 64
"""What the first entry names as its predecessor."""

EPSILON_UNITS = 10**9
"""Ledger units in ε = 1. Costs are rounded up to whole units, caps down."""

DELTA_UNITS = 10**15
"""Ledger units in δ = 1: δ = 1e-12 is a thousand of them, and the largest SQLite
integer is δ = 9,223.
"""

MAX_LEDGER_UNITS = 2**62
"""More units than any account may hold, so that sums stay within SQLite's integers."""

LEDGER_ENTRY_COLUMNS = (
    "number",
    "time",
    "kind",
    "event",
    "run",
    "step",
    "analyst",
    "scope",
    "epsilon",
    "delta",
    "detail",
    "previous",
)
"""What a digest covers, in the order of the table; the digest itself comes last."""


def canonical_json(value: object) -> bytes:
    """One spelling for each value: JSON with sorted keys, no spaces, ASCII only.

    >>> canonical_json({"b": 1, "a": "ε"})
    b'{"a":"\\\\u03b5","b":1}'
    """
    # NaN is no JSON, and readers spell it in several ways.
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return text.encode("ascii")


def digest_of(value: object) -> str:
    """SHA-256 of the canonical spelling, in hexadecimal: how a request is recognised
    when its run is resumed.

    >>> digest_of({"measure": ["age"]})[:8]
    'c000fa4f'
    """
    return hashlib.sha256(canonical_json(value)).hexdigest()


def read_amount(value: object) -> Fraction:
    """An exact amount as an entry writes it, 3/2 or 4; ValueError for anything else.

    Python's own reader takes 1e9999999 too, and works for minutes on its ten million
    digits.

    >>> read_amount("3/2")
    Fraction(3, 2)
    """
    if not isinstance(value, str) or not _LEDGER_AMOUNT_PATTERN.fullmatch(value):
        raise ValueError("not an exact amount")
    return Fraction(value)


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One line of a ledger. `epsilon` and `delta` are ledger units; `detail` is
    canonical JSON.
    """

    number: int
    time: str
    kind: str
    event: str
    run: str
    step: int | None
    analyst: str
    scope: str
    epsilon: int
    delta: int
    detail: str
    previous: str
    digest: str = ""

    @property
    def cost(self) -> tuple[Fraction, Fraction]:
        """(ε, δ) that this entry took from the account."""
        return Fraction(self.epsilon, EPSILON_UNITS), Fraction(self.delta, DELTA_UNITS)

    @property
    def facts(self) -> dict[str, object]:
        """`detail`, read."""
        read = json.loads(self.detail)
        if not isinstance(read, dict):
            raise ValueError("the detail of an entry is an object")
        return read

    def seal(self) -> str:
        """The digest this entry ought to have."""
        return digest_of({name: getattr(self, name) for name in LEDGER_ENTRY_COLUMNS})


def units_up(value: Fraction, units: int) -> int:
    """What is paid: never less than the cost.

    >>> units_up(Fraction(1, 3), EPSILON_UNITS)
    333333334
    """
    return math.ceil(value * units)


def units_down(value: Fraction, units: int) -> int:
    """What may be paid in all: never more than the owner said.

    >>> units_down(Fraction(1, 3), EPSILON_UNITS)
    333333333
    """
    return math.floor(value * units)
