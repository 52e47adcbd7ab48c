"""A client for local differential privacy: it answers a question about its owner so
that nobody, not even whoever collects the answers, learns the true one.

One file, standard library of Python 3.10 or newer, to be read before it is trusted.

  * A *plan* is a public JSON file: the question, the possible values, ε, the mechanism.
  * The client draws a random *report* from the true value and sends nothing else. For
    any two values, no report is more than e^ε times as likely under one as under the
    other. The client computes every probability itself, from ε alone: whatever else a
    plan says changes how useful a report is, never how private. Values that a plan
    leaves out are answered too: silence would tell them.
  * An *account* on the client's own disk caps what its owner gives away, for each day
    and for each topic, and keeps every answer: asked again in the same window of time,
    it repeats the stored answer, which reveals nothing new.

    python -m understudy_client plan.json 😀 --account donations.db

Probabilities are exact fractions; coins are tossed with integers of the operating
system (`secrets`). No floating-point number is involved.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import secrets
import sqlite3
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import cached_property
from pathlib import Path

PLAN_FORMAT = "understudy-local-plan/1"

RATIO_BITS = 24
"""Bits after the point of e^ε, rounded down: numerators stay below 2^53 for ε ≤ 20."""

MAX_SIZE = 1 << 20
"""Largest bucket, width or number of values: a plan cannot ask for endless work."""

MAX_NUMBER_LENGTH = 1000
"""Characters of a number in a plan, or of a true value."""

HASH_PRIME = (1 << 31) - 1
"""x → (a·x + b) mod HASH_PRIME is pairwise independent, and products fit 64 bits."""

Answer = list[int | str]
"""What is drawn and sent: integers, then perhaps a row of bits as hexadecimal text."""


class DonationRefused(ValueError):
    """The plan is invalid, or a cap is reached. Nothing was sent and nothing charged."""


class Coins:
    """Exact random draws on the operating system's randomness."""

    def flip(self, probability: Fraction) -> bool:
        """True with exactly this probability."""
        return secrets.randbelow(probability.denominator) < probability.numerator

    def pick(self, n: int) -> int:
        """A uniform integer in 0..n-1."""
        return secrets.randbelow(n)


OS_COINS = Coins()


def read_number(text: object) -> Fraction:
    """A number written by somebody else, unless its exponent alone would fill the memory.

    >>> read_number("0.1"), read_number("1e-3")
    (Fraction(1, 10), Fraction(1, 1000))
    """
    number = str(text)
    if len(number) > MAX_NUMBER_LENGTH or re.search(r"[eE][-+]?[\d_]{4}", number):
        raise ValueError("the number is too long")
    try:
        return Fraction(number)
    except ZeroDivisionError:
        raise ValueError("a number is divided by zero") from None


def bound_exp(epsilon: Fraction) -> Fraction:
    """A rational number just below e^ε: partial sums of its series are below it, and
    rounding down keeps them there.

    >>> float(bound_exp(Fraction(1)))
    2.7182818055152893
    """
    term = total = Fraction(1)
    n = 0
    while n <= epsilon or term.numerator << RATIO_BITS + 8 > term.denominator:
        n += 1
        term = term * epsilon / n
        total += term
    scale = 1 << RATIO_BITS
    return Fraction(total.numerator * scale // total.denominator, scale)


@dataclass(frozen=True)
class CollectionPlan:
    """What is asked and how it is answered: public, the same for all clients.

    >>> plan = CollectionPlan("smokes", "krr", Fraction(1), values=("no", "yes"))
    >>> CollectionPlan.from_json(plan.to_json()) == plan
    True
    """

    topic: str
    mechanism: str
    epsilon: Fraction
    values: tuple[str, ...] = ()
    bounds: tuple[Fraction, Fraction] | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    seed: str = ""
    max_donations: int = 1
    window_days: int = 1
    question: str = ""

    def __post_init__(self) -> None:
        if self.mechanism not in MECHANISMS:
            raise DonationRefused(f"there is no mechanism {self.mechanism!r}")
        if not 0 < self.epsilon <= 20:
            raise DonationRefused("epsilon must be above 0 and at most 20")
        if self.mechanism == "two_coin" and self.epsilon < TWO_COIN_EPSILON:
            raise DonationRefused(
                "two coins have epsilon = ln 3, and the plan says less"
            )
        if self.bounds is None and self.mechanism in NUMERIC_MECHANISMS:
            raise DonationRefused("the plan does not say: bounds")
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise DonationRefused("the lower bound must be below the upper one")
        if len(set(self.values)) < len(self.values) or len(self.values) > MAX_SIZE:
            raise DonationRefused("the plan's values are too many or not distinct")
        counts = [*self.sizes.values(), self.max_donations, self.window_days]
        if any(not 1 <= size <= MAX_SIZE for size in counts):
            raise DonationRefused("a size of the plan is out of range")
        missing = set(MECHANISMS[self.mechanism].sizes) - set(self.sizes)
        if missing:
            raise DonationRefused(f"the plan does not say: {min(missing)}")
        if self.mechanism == "subset" and self.sizes["size"] > len(self.values):
            raise DonationRefused("a subset has at most as many values as the plan")

    @cached_property
    def ratio(self) -> Fraction:
        """Just below e^ε: how much likelier a report may be under another value."""
        # Two coins have e^ε = 3 exactly, and ln 3 is no fraction.
        return Fraction(3) if self.mechanism == "two_coin" else bound_exp(self.epsilon)

    def root_ratio(self, parts: int) -> Fraction:
        """Just below e^(ε/parts), for answers of which `parts` bits differ."""
        return bound_exp(self.epsilon / parts)

    def to_json(self) -> str:
        """The plan as text; equal plans have equal texts."""
        document = {
            "format": PLAN_FORMAT,
            "topic": self.topic,
            "question": self.question,
            "mechanism": self.mechanism,
            "epsilon": str(self.epsilon),
            "values": list(self.values),
            "bounds": self.bounds and [str(end) for end in self.bounds],
            "sizes": dict(sorted(self.sizes.items())),
            "seed": self.seed,
            "max_donations": self.max_donations,
            "window_days": self.window_days,
        }
        return json.dumps(document, ensure_ascii=False, indent=1)

    @staticmethod
    def from_json(text: str) -> CollectionPlan:
        """Read a plan; refuses whatever is not one."""
        try:
            document = json.loads(text)
            if document.pop("format") != PLAN_FORMAT:
                raise DonationRefused("this is no plan of a local collection")
            if not isinstance(document["topic"], str):
                raise DonationRefused("the plan's topic is not a text")
            document["epsilon"] = read_number(document["epsilon"])
            document["values"] = tuple(map(str, document["values"]))
            # Through text: int() of an infinity is no ValueError.
            document["sizes"] = {k: int(str(n)) for k, n in document["sizes"].items()}
            if document["bounds"] is not None:
                low, high = document["bounds"]
                document["bounds"] = (read_number(low), read_number(high))
            plan = CollectionPlan(**document)
            # A plan that no report could name is none.
            plan.digest  # noqa: B018
            if not plan.values and plan.mechanism in LISTED_MECHANISMS:
                raise DonationRefused("the plan does not say: values")
            return plan
        except DonationRefused:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise DonationRefused("this is no plan of a local collection") from None

    @cached_property
    def digest(self) -> str:
        """Names the plan in a report."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def has_place_for(self, value: str) -> bool:
        """Whether a value is one that the plan asks for."""
        try:
            value.encode()
            if self.mechanism in NUMERIC_MECHANISMS:
                read_number(value)
        except ValueError:
            return False
        return self.mechanism not in LISTED_MECHANISMS or value in self.values

    def admit(self, value: str, coins: Coins) -> str:
        """The value, or another if the plan has no place for it: silence would tell."""
        if self.has_place_for(value):
            return value
        places = self.values if self.mechanism in LISTED_MECHANISMS else ("0",)
        return places[coins.pick(len(places))]

    def index(self, value: str) -> int:
        """The place of a value in the plan's list."""
        if value not in self.values:
            raise DonationRefused(f"the value is not in the plan of {self.topic!r}")
        return self.values.index(value)

    def hash_value(self, value: str, row: int, width: int) -> int:
        """The public hash function number `row`: SHA-256 of seed, row and value."""
        text = f"{self.seed}/{row}/{value}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") % width

    def scale(self, value: str) -> Fraction:
        """A number's place between the bounds, from 0 to 1, exactly."""
        assert self.bounds is not None
        low, high = self.bounds
        return (min(max(read_number(value), low), high) - low) / (high - low)


# Mechanisms. Each draws an answer whose probability under any two values differs by at
# most the factor `plan.ratio`; the comment says why.


def answer_directly(index: int, count: int, ratio: Fraction, coins: Coins) -> int:
    """k-ary randomised response: the truth with probability ratio/(ratio + k - 1)."""
    # Each other value has probability 1/(ratio + k - 1).
    if coins.flip(ratio / (ratio + count - 1)):
        return index
    other = coins.pick(count - 1)
    return other + (other >= index)


def write_bits(ones: Iterable[int], width: int) -> str:
    """A row of bits as hexadecimal text, first bit lowest."""
    number = sum(1 << place for place in ones)
    return number.to_bytes((width + 7) // 8, "little").hex()


def read_bits(text: str) -> set[int]:
    """The places of the ones in a row of bits."""
    number = int.from_bytes(bytes.fromhex(text), "little")
    return {place for place in range(number.bit_length()) if number >> place & 1}


def flip_bits(
    ones: set[int], width: int, one: Fraction, zero: Fraction, coins: Coins
) -> str:
    """Every bit drawn anew: a one stays with probability `one`, a zero becomes a one
    with probability `zero`.
    """
    drawn = [i for i in range(width) if coins.flip(one if i in ones else zero)]
    return write_bits(drawn, width)


def hadamard_bit(row: int, column: int) -> int:
    """0 or 1 for the entry +1 or -1 of the Hadamard matrix."""
    return (row & column).bit_count() % 2


def draw_krr(plan: CollectionPlan, value: str, coins: Coins) -> Answer:
    return [answer_directly(plan.index(value), len(plan.values), plan.ratio, coins)]


def draw_sue(plan: CollectionPlan, value: str, coins: Coins) -> Answer:
    # Two values differ in two bits, each by a factor of at most e^(ε/2).
    keep = plan.root_ratio(2) / (plan.root_ratio(2) + 1)
    ones = {plan.index(value)}
    return [flip_bits(ones, len(plan.values), keep, 1 - keep, coins)]


def draw_oue(plan: CollectionPlan, value: str, coins: Coins) -> Answer:
    # (½ / ½) · ((1 - q) / q) = ratio: the one costs nothing, the zeros stay quiet.
    zero = 1 / (plan.ratio + 1)
    ones = {plan.index(value)}
    return [flip_bits(ones, len(plan.values), Fraction(1, 2), zero, coins)]


def draw_subset(plan: CollectionPlan, value: str, coins: Coins) -> Answer:
    # All sets of `size` values with the true one are equally likely, and so are all
    # without it, `ratio` times less.
    index, count, size = plan.index(value), len(plan.values), plan.sizes["size"]
    weight = plan.ratio * size
    inside = coins.flip(weight / (weight + count - size))
    others = [i for i in range(count) if i != index]
    chosen = [others.pop(coins.pick(len(others))) for _ in range(size - inside)]
    return [write_bits([*chosen, index] if inside else chosen, count)]


def draw_olh(plan: CollectionPlan, value: str, coins: Coins) -> Answer:
    # The hash function is drawn without regard to the value; then randomised response.
    a, b = coins.pick(HASH_PRIME), coins.pick(HASH_PRIME)
    buckets = plan.sizes["buckets"]
    hashed = (a * plan.index(value) + b) % HASH_PRIME % buckets
    return [a, b, answer_directly(hashed, buckets, plan.ratio, coins)]


def draw_hadamard(plan: CollectionPlan, value: str, coins: Coins) -> Answer:
    # One bit, true with probability ratio/(ratio + 1); its row says nothing.
    row = coins.pick(plan.sizes["order"])
    bit = hadamard_bit(row, plan.index(value))
    return [row, answer_directly(bit, 2, plan.ratio, coins)]


def draw_cms(plan: CollectionPlan, value: str, coins: Coins) -> Answer:
    # As `sue` on the hashed value: each bit flips with probability 1/(1 + e^(ε/2)).
    row, width = coins.pick(plan.sizes["rows"]), plan.sizes["width"]
    keep = plan.root_ratio(2) / (plan.root_ratio(2) + 1)
    ones = {plan.hash_value(value, row, width)}
    return [row, flip_bits(ones, width, keep, 1 - keep, coins)]


def draw_hcms(plan: CollectionPlan, value: str, coins: Coins) -> Answer:
    # As `hadamard` on the hashed value.
    row, width = coins.pick(plan.sizes["rows"]), plan.sizes["width"]
    place = coins.pick(width)
    bit = hadamard_bit(place, plan.hash_value(value, row, width))
    return [row, place, answer_directly(bit, 2, plan.ratio, coins)]


def draw_rappor(plan: CollectionPlan, value: str, coins: Coins) -> Answer:
    # Two Bloom filters differ in at most 2·hashes bits, each by e^(ε/(2·hashes)).
    row, width = coins.pick(plan.sizes["rows"]), plan.sizes["width"]
    hashes = plan.sizes["hashes"]
    ones = {plan.hash_value(value, row * hashes + h, width) for h in range(hashes)}
    root = plan.root_ratio(2 * hashes)
    return [row, flip_bits(ones, width, root / (root + 1), 1 / (root + 1), coins)]


def repeat_rappor(plan: CollectionPlan, answer: Answer, coins: Coins) -> Answer:
    """A fresh instantaneous response of a stored permanent one: post-processing."""
    row, bits = answer
    one, zero = Fraction(3, 4), Fraction(1, 2)
    return [row, flip_bits(read_bits(str(bits)), plan.sizes["width"], one, zero, coins)]


def draw_duchi(plan: CollectionPlan, value: str, coins: Coins) -> Answer:
    # Probabilities of the bit lie between 1/(ratio + 1) and ratio/(ratio + 1).
    least = 1 / (plan.ratio + 1)
    return [int(coins.flip(least + plan.scale(value) * (1 - 2 * least)))]


def draw_piecewise(plan: CollectionPlan, value: str, coins: Coins) -> Answer:
    # A cell inside the window is `ratio` times as likely as one outside. The window's
    # place is rounded at random, so that it is right on average: a mixture of windows.
    window, cells = plan.sizes["window"], plan.sizes["window"] + plan.sizes["outside"]
    start, rest = divmod(plan.scale(value) * plan.sizes["outside"], 1)
    first = start + coins.flip(rest)
    return [draw_near(first, window, cells, plan.ratio, coins)]


def draw_square_wave(plan: CollectionPlan, value: str, coins: Coins) -> Answer:
    # The level of the value and `reach` cells on both sides are `ratio` times as likely.
    levels, window = plan.sizes["levels"], 2 * plan.sizes["reach"] + 1
    level = min(int(plan.scale(value) * levels), levels - 1)
    return [draw_near(level, window, levels + window - 1, plan.ratio, coins)]


def draw_near(
    first: int, window: int, cells: int, ratio: Fraction, coins: Coins
) -> int:
    """A cell: those of the window from `first` on are `ratio` times as likely."""
    weight = ratio * window
    if coins.flip(weight / (weight + cells - window)):
        return first + coins.pick(window)
    outside = coins.pick(cells - window)
    return outside + window * (outside >= first)


def cut_prefix(text: str, length: int, max_bytes: int) -> int:
    """The first `length` bits of a text that is padded to `max_bytes`, as a number."""
    padded = text.encode()[:max_bytes].ljust(max_bytes, b"\0")
    return int.from_bytes(padded, "big") >> 8 * max_bytes - length


def hash_prefix(prefix: int, length: int) -> int:
    """A prefix as a number below the prime; Python writes any length in hexadecimal."""
    digest = hashlib.sha256(f"{length}/{prefix:x}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % HASH_PRIME


def draw_prefix(plan: CollectionPlan, value: str, coins: Coins) -> Answer:
    # One group reports a prefix of one length, by `olh`; the group says nothing.
    group = coins.pick(plan.sizes["groups"])
    a, b = coins.pick(HASH_PRIME), coins.pick(HASH_PRIME)
    length, buckets = prefix_length(plan, group), plan.sizes["buckets"]
    x = hash_prefix(cut_prefix(value, length, plan.sizes["max_bytes"]), length)
    hashed = (a * x + b) % HASH_PRIME % buckets
    return [group, a, b, answer_directly(hashed, buckets, plan.ratio, coins)]


def prefix_length(plan: CollectionPlan, group: int) -> int:
    """How many bits of a text the members of a group report."""
    return 8 * plan.sizes["max_bytes"] * (group + 1) // plan.sizes["groups"]


Draw = Callable[[CollectionPlan, str, Coins], Answer]


@dataclass(frozen=True)
class Mechanism:
    """How an answer is drawn, and which sizes a plan must state."""

    draw: Draw
    sizes: tuple[str, ...] = ()


MECHANISMS: dict[str, Mechanism] = {
    "two_coin": Mechanism(draw_krr),  # Warner 1965, with two fair coins
    "krr": Mechanism(draw_krr),
    "sue": Mechanism(draw_sue),
    "oue": Mechanism(draw_oue),
    "subset": Mechanism(draw_subset, ("size",)),
    "olh": Mechanism(draw_olh, ("buckets",)),
    "hadamard": Mechanism(draw_hadamard, ("order",)),
    "cms": Mechanism(draw_cms, ("rows", "width")),
    "hcms": Mechanism(draw_hcms, ("rows", "width")),
    "rappor": Mechanism(draw_rappor, ("rows", "width", "hashes")),
    "duchi": Mechanism(draw_duchi),
    "piecewise": Mechanism(draw_piecewise, ("window", "outside")),
    "square_wave": Mechanism(draw_square_wave, ("levels", "reach")),
    "prefix": Mechanism(draw_prefix, ("groups", "max_bytes", "buckets")),
}

NUMERIC_MECHANISMS = ("duchi", "piecewise", "square_wave")
"""They place a number between the plan's bounds."""

UNPLACED_TEXT = "The plan has no place for this value: another was reported"

LISTED_MECHANISMS = ("two_coin", "krr", "sue", "oue", "subset", "olh", "hadamard")
"""They report one of the plan's values."""

TWO_COIN_EPSILON = Fraction("1.09861228866811")
"""Just above ln 3."""


def draw_answer(plan: CollectionPlan, value: str, coins: Coins = OS_COINS) -> Answer:
    """An ε-private answer; drawing it again is another donation."""
    return MECHANISMS[plan.mechanism].draw(plan, value, coins)


def write_report(plan: CollectionPlan, answer: Answer, coins: Coins = OS_COINS) -> str:
    """The line that is sent for an answer."""
    if plan.mechanism == "rappor":
        answer = repeat_rappor(plan, answer, coins)
    return json.dumps({"plan": plan.digest, "report": answer}, separators=(",", ":"))


class Account:
    """What the owner of this client has given away, in a file of the client's own.

    The server never sees it and never needs it. An answer is drawn, charged and stored
    in one transaction before anything is sent. A repeated question gets the stored
    answer until the plan's window of days is over, even if the value has changed since:
    a new answer would reveal the change.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        epsilon_per_day: Fraction | int = 4,
        epsilon_per_topic: Fraction | int = 8,
    ) -> None:
        self.path = path
        self.epsilon_per_day = epsilon_per_day
        self.epsilon_per_topic = epsilon_per_topic
        # Made for its owner alone, before anything is written.
        Path(path).touch(mode=0o600)
        with closing(self._connect()) as db, db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS donations (plan TEXT, period INTEGER,"
                " topic TEXT, day TEXT, epsilon TEXT, answer TEXT,"
                " PRIMARY KEY (plan, period))"
            )

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, isolation_level=None)
        db.execute("PRAGMA synchronous = FULL")
        return db

    def donate(
        self,
        plan: CollectionPlan,
        value: object,
        *,
        today: date | None = None,
        coins: Coins = OS_COINS,
    ) -> str:
        """The report to send; charges ε unless this window has its answer already."""
        with closing(self._connect()) as db:
            # Immediate: two processes cannot both find that there is room.
            db.execute("BEGIN IMMEDIATE")
            last = db.execute("SELECT MAX(day) FROM donations").fetchone()[0]
            # A clock that was set back opens no day anew: the last one goes on.
            day = max(today or date.today(), date.fromisoformat(last or "0001-01-01"))
            key = (plan.digest, day.toordinal() // plan.window_days)
            row = db.execute(
                "SELECT answer FROM donations WHERE plan = ? AND period = ?", key
            ).fetchone()
            if row is None:
                self._check_caps(db, plan, day)
                answer = draw_answer(plan, plan.admit(str(value), coins), coins)
                charge = (plan.topic, day.isoformat(), str(plan.epsilon))
                db.execute(
                    "INSERT INTO donations VALUES (?, ?, ?, ?, ?, ?)",
                    (*key, *charge, json.dumps(answer)),
                )
                db.execute("COMMIT")
            else:
                answer = json.loads(row[0])
        return write_report(plan, answer, coins)

    def spent(self, *, topic: str | None = None, day: date | None = None) -> Fraction:
        """ε charged so far, of a topic or a day or in all."""
        with closing(self._connect()) as db:
            return self._sum_charges(db, topic, day)

    def _sum_charges(
        self, db: sqlite3.Connection, topic: str | None, day: date | None
    ) -> Fraction:
        rows = db.execute(
            # IS, not =: what is charged to a topic of NULL would be left out.
            "SELECT epsilon FROM donations WHERE (:topic IS NULL OR topic IS :topic)"
            " AND (:day IS NULL OR day IS :day)",
            {"topic": topic, "day": None if day is None else day.isoformat()},
        )
        return sum((Fraction(epsilon) for (epsilon,) in rows), Fraction(0))

    def _check_caps(
        self, db: sqlite3.Connection, plan: CollectionPlan, day: date
    ) -> None:
        of_topic = plan.epsilon + self._sum_charges(db, plan.topic, None)
        if of_topic > min(self.epsilon_per_topic, plan.epsilon * plan.max_donations):
            raise DonationRefused(f"{plan.topic}: this topic has had its donations")
        if plan.epsilon + self._sum_charges(db, None, day) > self.epsilon_per_day:
            raise DonationRefused("today's donations are used up")


def main(arguments: list[str] | None = None) -> int:
    """Print the report to send, or say on the error stream why there is none."""
    parser = argparse.ArgumentParser(
        "understudy_client", description="Answer under ε-local differential privacy."
    )
    parser.add_argument("plan", help="plan file of the collection")
    parser.add_argument("value", help="the true value; it is not stored and not sent")
    parser.add_argument("--account", required=True, help="file that caps donations")
    parser.add_argument("--per-day", type=read_number, default=4, help="cap on ε a day")
    parser.add_argument(
        "--per-topic", type=read_number, default=8, help="cap on ε a topic"
    )
    given = parser.parse_args(arguments)
    try:
        text = Path(given.plan).read_text(encoding="utf-8", errors="replace")
        plan = CollectionPlan.from_json(text)
        account = Account(
            given.account,
            epsilon_per_day=given.per_day,
            epsilon_per_topic=given.per_topic,
        )
        report = account.donate(plan, given.value)
    except (ValueError, TypeError, OSError, sqlite3.Error) as error:
        is_known = isinstance(error, (DonationRefused, OSError, sqlite3.Error))
        why = error if is_known else "what the account has stored is damaged"
        sys.stderr.write(f"{why}. Nothing was sent.\n")
        return 1
    if not plan.has_place_for(given.value):
        sys.stderr.write(f"{UNPLACED_TEXT}.\n")
    sys.stdout.write(report + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
