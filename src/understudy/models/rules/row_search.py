"""The search for one row that keeps every rule: propagation first, then choices that can
be taken back.

Columns that no rule ties together are solved apart. Within a group every rule removes
what contradicts it until nothing changes; then a column is chosen (few values left,
many conflicts so far) and given a part of its values, and the rules speak again. Where
nothing is left for a column, the last choice is taken back. That is complete: without a
limit it ends with a row or with the proof that there is none.

There is a limit, because the question is NP-complete. Steps are counted, never seconds,
so the answer depends on the rules alone. It has three values: a row, no row (proved),
or undecided.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from understudy.models.rules.compile_conditions import ConditionCompiler
from understudy.models.rules.conditions import Condition
from understudy.models.rules.domains import (
    ColumnCodes,
    DomainConflict,
    DomainStore,
    OutOfSteps,
    StepBudget,
    codes_between,
    lowest_code,
)
from understudy.models.rules.order_cycles import refuse_order_cycles
from understudy.schema import DecodedCells, Predicate
from understudy.schema.columns.code_layout import VALUE_STATE
from understudy.schema.predicates.on_values import true_rows


class RangeSplit(Enum):
    """Which part of a range of values is tried first."""

    PREFERRED = "the preferred value, else one at random"
    LOWEST = "the lowest value"
    HIGHEST = "the highest value"
    HALF = "one half, at random"


# How ranges are split, and whether missing cells are tried before values. An attempt
# that has used its part of the steps ends, and the next begins anew with what was
# learned of where conflicts arise.
#
# Single values are quick where rows are many. The ends of ranges find a row where any
# with small (or large) enough values will do, as under hundreds of upper limits.
# Halves prove most where there is none.
SEARCH_ATTEMPTS = (
    (RangeSplit.PREFERRED, False),
    (RangeSplit.LOWEST, False),
    (RangeSplit.HIGHEST, False),
    (RangeSplit.LOWEST, True),
    (RangeSplit.HALF, False),
    (RangeSplit.HALF, True),
)

# Steps that it takes to choose a column, for each hundred of them, and to check one
# rule on a finished row.
CHOICE_STEPS, CHECK_STEPS = 20, 20

FoundCells = dict[str, DecodedCells]
"""One row, column by column."""

PreferredRow = Mapping[str, tuple[int, int]]
"""For some columns the code that is tried first, and its index on the lattice."""

AllowedValues = tuple[int, int, int]
"""The only codes that a column may have, and the bounds of its value."""


class SearchAnswer(Enum):
    """How a search ended."""

    FOUND = "a row keeps every rule"
    IMPOSSIBLE = "no row does"
    UNDECIDED = "neither was found in as many steps as are taken"


@dataclass(frozen=True, eq=False)
class Constraint:
    """What no row may be, compiled, and the places of its columns."""

    predicate: Predicate
    condition: Condition
    places: tuple[int, ...]


class RowSearch:
    """Looks for a row of some columns that keeps some of the constraints.

    `budget` is shared by everything that is asked of it.
    """

    def __init__(self, columns: Mapping[str, ColumnCodes], budget: StepBudget) -> None:
        self.columns = columns
        self.budget = budget
        self.names = list(columns)
        self._compiler = ConditionCompiler(columns, budget)

    def compile(self, predicate: Predicate) -> Constraint:
        """A predicate that is to hold for no row."""
        places = sorted(self._compiler.places[name] for name in predicate.columns)
        self.budget.spend(1)
        return Constraint(predicate, self._compiler.compile(predicate), tuple(places))

    def decide(
        self, constraints: Sequence[Constraint], *, filled: Collection[str] = ()
    ) -> SearchAnswer:
        """Whether some row satisfies no constraint's predicate and has a value in each
        of `filled`.
        """
        return self._search(constraints, filled, {}, {})[0]

    def find(
        self,
        constraints: Sequence[Constraint],
        *,
        filled: Collection[str] = (),
        allowed: Mapping[str, AllowedValues] | None = None,
        prefer: PreferredRow | None = None,
    ) -> FoundCells | None:
        """Such a row of all columns, in which some have only what they are allowed;
        None where none was found.
        """
        answer, store = self._search(constraints, filled, allowed or {}, prefer or {})
        if answer is not SearchAnswer.FOUND:
            return None
        return self.read_row(store, range(len(self.names)))

    def _search(
        self,
        constraints: Sequence[Constraint],
        filled: Collection[str],
        allowed: Mapping[str, AllowedValues],
        prefer: PreferredRow,
    ) -> tuple[SearchAnswer, DomainStore]:
        store = DomainStore(list(self.columns.values()), self.budget)
        places = self._compiler.places
        try:
            for name in sorted(filled):
                store.restrict_codes(places[name], self.columns[name].values)
            for name, (codes, low, high) in allowed.items():
                _restrict(store, (places[name], codes, low, high))
            for group in _constraint_groups(constraints):
                refuse_order_cycles(store, [one.condition for one in group])
                _GroupSearch(self, store, group, prefer).run()
        except DomainConflict:
            return SearchAnswer.IMPOSSIBLE, store
        except OutOfSteps:
            return SearchAnswer.UNDECIDED, store
        return SearchAnswer.FOUND, store

    def read_row(self, store: DomainStore, places: Sequence[int]) -> FoundCells:
        """The cells of columns that are decided; the first choice of others."""
        rng = np.random.default_rng(0)
        row = {}
        for place in places:
            column, bits = self.columns[self.names[place]], store.bits[place]
            if column.edges is not None and bits & column.ranked:
                index = np.array([store.low[place]], np.int64)
                cells = DecodedCells(index, np.full(1, VALUE_STATE, np.uint8))
            else:
                cells = column.codec.decode(np.array([lowest_code(bits)]), rng)
            row[self.names[place]] = cells
        return row


def _constraint_groups(constraints: Sequence[Constraint]) -> list[list[Constraint]]:
    """Constraints that share columns, directly or through others."""
    leader: dict[int, int] = {}

    def find_leader(place: int) -> int:
        while leader.setdefault(place, place) != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    for constraint in constraints:
        for place in constraint.places[1:]:
            leader[find_leader(place)] = find_leader(constraint.places[0])
    groups: dict[int, list[Constraint]] = {}
    for constraint in constraints:
        groups.setdefault(find_leader(constraint.places[0]), []).append(constraint)
    return list(groups.values())


Choice = tuple[int, int, int, int]
"""A column's place, and what it is left with: codes, and the bounds of its value."""


def _restrict(store: DomainStore, choice: Choice) -> None:
    place, codes, low, high = choice
    store.restrict_codes(place, codes)
    if store.may_have_rank(place):
        store.restrict_values(place, low, high)


class _GroupSearch:
    """The search among columns that are tied together."""

    def __init__(
        self,
        search: RowSearch,
        store: DomainStore,
        constraints: Sequence[Constraint],
        prefer: PreferredRow,
    ) -> None:
        self.search, self.store, self.constraints = search, store, constraints
        self.places = sorted({p for c in constraints for p in c.places})
        self.weights = dict.fromkeys(self.places, 1.0)
        self.watchers: dict[int, list[int]] = {place: [] for place in self.places}
        for number, constraint in enumerate(constraints):
            for place in constraint.places:
                self.watchers[place].append(number)
        self.waiting: deque[int] = deque()
        self.is_waiting = [False] * len(constraints)
        numbers = {name: place for place, name in enumerate(search.names)}
        self.prefer = {
            numbers[name]: value for name, value in prefer.items() if name in numbers
        }
        self.range_split, self.missing_first = SEARCH_ATTEMPTS[0]
        self.rng = np.random.default_rng(len(constraints))

    def run(self) -> None:
        """Decide every column of the group; raises where that cannot be done, or not in
        as many steps as there are.
        """
        self._wake(range(len(self.constraints)))
        self._propagate()
        # What propagation alone removed holds for every attempt.
        start = len(self.store.trail)
        part = self.search.budget.left // len(SEARCH_ATTEMPTS)
        for self.range_split, self.missing_first in SEARCH_ATTEMPTS:
            if self._attempt(part):
                return
            self.store.undo(start)
        raise OutOfSteps

    def _attempt(self, steps: int) -> bool:
        """One search from the root; False where it takes more than its steps. Raises
        where it proves that there is no row.
        """
        budget = self.search.budget
        until = budget.left - steps
        choices: list[tuple[int, Choice]] = []
        while True:
            if budget.left < until:
                return False
            place = self._choose_column()
            if place is None and self._keeps_rules():
                return True
            try:
                if place is None:
                    raise DomainConflict
                first, second = self._split(place)
                choices.append((len(self.store.trail), second))
                self._apply(first)
                continue
            except DomainConflict:
                pass
            self._backtrack(choices)

    def _backtrack(self, choices: list[tuple[int, Choice]]) -> None:
        """Take back choices until the other side of one is not contradicted."""
        while choices:
            length, other = choices.pop()
            self.store.undo(length)
            try:
                self._apply(other)
            except DomainConflict:
                continue
            return
        raise DomainConflict

    def _apply(self, choice: Choice) -> None:
        self.store.changed.clear()
        _restrict(self.store, choice)
        self._propagate()

    def _wake(self, numbers: Sequence[int] | range) -> None:
        for number in numbers:
            if not self.is_waiting[number]:
                self.is_waiting[number] = True
                self.waiting.append(number)

    def _propagate(self) -> None:
        """Let constraints speak until none removes anything."""
        store = self.store
        for place in store.changed:
            self._wake(self.watchers.get(place, ()))
        store.changed.clear()
        number = -1
        try:
            while self.waiting:
                number = self.waiting.popleft()
                self.is_waiting[number] = False
                self.constraints[number].condition.require(store, False)
                for place in store.changed:
                    self._wake(self.watchers.get(place, ()))
                store.changed.clear()
        except DomainConflict:
            # Columns of rules that often fail are chosen early: a contradiction among
            # them is then met near the root, not again under every other choice.
            if number >= 0:
                for place in self.constraints[number].places:
                    self.weights[place] += 1.0
            raise
        finally:
            for number in self.waiting:
                self.is_waiting[number] = False
            self.waiting.clear()
            store.changed.clear()

    def _choose_column(self) -> int | None:
        """The open column with the fewest choices for the conflicts it took part in."""
        store = self.store
        store.spend(1 + len(self.places) * CHOICE_STEPS // 100)
        best, least = None, float("inf")
        for place in self.places:
            if not store.is_decided(place):
                # Beyond 2^60 choices the division would leave the range of doubles.
                score = min(store.count_choices(place), 1 << 60) / self.weights[place]
                if score < least:
                    best, least = place, score
        return best

    def _split(self, place: int) -> tuple[Choice, Choice]:
        """What is left of a column in two parts, the one to try first in front."""
        store = self.store
        column, bits = store.columns[place], store.bits[place]
        low, high = store.low[place], store.high[place]
        preferred = self._find_preference(place)
        values, missing = bits & column.values, bits & ~column.values
        if values and missing:
            wants_missing = self.missing_first
            if preferred is not None and bits >> preferred[0] & 1:
                wants_missing = bool(missing >> preferred[0] & 1)
            parts = (place, values, low, high), (place, missing, low, high)
            return parts[::-1] if wants_missing else parts
        if column.edges is not None and bits & column.ranked:
            return self._split_range(place, None if preferred is None else preferred[1])
        code = self._pick_code(bits)
        if preferred is not None and bits >> preferred[0] & 1:
            code = preferred[0]
        one = 1 << code
        return (place, one, low, high), (place, bits & ~one, low, high)

    def _find_preference(self, place: int) -> tuple[int, int] | None:
        """The code and index to try first, in the attempt that asks for any."""
        if self.range_split is RangeSplit.PREFERRED:
            return self.prefer.get(place)
        return None

    def _split_range(self, place: int, preferred: int | None) -> tuple[Choice, Choice]:
        """The values that are left in a lower and an upper part."""
        store = self.store
        bits, low, high = store.bits[place], store.low[place], store.high[place]
        match self.range_split:
            case RangeSplit.PREFERRED:
                if preferred is None:
                    preferred = int(self.rng.integers(low, high, endpoint=True))
                    self.prefer[place] = lowest_code(bits), preferred
                # At most the value first, then at least: two choices make it exact.
                upper_first = preferred >= high
                middle = high - 1 if upper_first else max(low, preferred)
            case RangeSplit.HALF:
                middle, upper_first = (low + high) // 2, self.rng.random() < 0.5
            case ends:
                upper_first = ends is RangeSplit.HIGHEST
                middle = high - 1 if upper_first else low
        lower, upper = (place, bits, low, middle), (place, bits, middle + 1, high)
        return (upper, lower) if upper_first else (lower, upper)

    def _pick_code(self, bits: int) -> int:
        """A random code of a set: the first at or behind a random place."""
        last = bits.bit_length() - 1
        start = int(self.rng.integers(0, last + 1))
        behind = bits & codes_between(start, last)
        return lowest_code(behind or bits)

    def _keeps_rules(self) -> bool:
        """Whether the row that is decided breaks no rule, by the meaning of rules on
        values: compiled tests may be looser.
        """
        self.store.spend(CHECK_STEPS * len(self.constraints))
        row = self.search.read_row(self.store, self.places)
        codecs = {name: self.search.columns[name].codec for name in row}
        return not any(
            true_rows(constraint.predicate, codecs, row).any()
            for constraint in self.constraints
        )
