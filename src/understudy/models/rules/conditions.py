"""Predicates compiled for the search for a row: what is known of them while columns are
still open, and what must go so that one becomes true or false.

Truth has three values, as on the cells of a marginal
(schema/predicates/on_cells.py). `require` removes what contradicts the wanted answer:
it never removes a value that a solution has, and may leave some that none has. Rows are
therefore checked in the end by the meaning of predicates on values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from understudy.models.rules.domains import (
    DomainConflict,
    DomainStore,
    lowest_code,
)
from understudy.schema.predicates.kleene import (
    KLEENE_FALSE,
    KLEENE_MAYBE,
    KLEENE_TRUE,
)

# Listed combinations that are looked through in about the time of another step.
COMBINATIONS_PER_STEP = 8


class Condition(ABC):
    """A predicate over open columns."""

    @abstractmethod
    def truth(self, store: DomainStore) -> int:
        """Whether it holds of every row that is left, of none, or of some."""

    @abstractmethod
    def require(self, store: DomainStore, wanted: bool) -> None:
        """Remove what contradicts the wanted answer."""


class ColumnCondition(Condition):
    """What the code of one column decides."""

    def __init__(self, place: int, surely: int, possibly: int) -> None:
        self.place, self.surely, self.possibly = place, surely, possibly

    def truth(self, store: DomainStore) -> int:
        store.spend(1)
        bits = store.bits[self.place]
        if not bits & self.possibly:
            return KLEENE_FALSE
        return KLEENE_MAYBE if bits & ~self.surely else KLEENE_TRUE

    def require(self, store: DomainStore, wanted: bool) -> None:
        store.spend(1)
        store.restrict_codes(self.place, self.possibly if wanted else ~self.surely)


class UnknownCondition(Condition):
    """Something that cannot be judged before all columns are decided, as a comparison
    with a column whose learned type does not fit.
    """

    def truth(self, store: DomainStore) -> int:
        store.spend(1)
        return KLEENE_MAYBE

    def require(self, store: DomainStore, wanted: bool) -> None:  # noqa: ARG002
        store.spend(1)


class NegatedCondition(Condition):
    """The opposite."""

    def __init__(self, part: Condition) -> None:
        self.part = part

    def truth(self, store: DomainStore) -> int:
        return KLEENE_TRUE - self.part.truth(store)

    def require(self, store: DomainStore, wanted: bool) -> None:
        self.part.require(store, not wanted)


class CompoundCondition(Condition):
    """All of several; with `every` false, at least one."""

    def __init__(self, parts: Sequence[Condition], *, every: bool) -> None:
        self.parts, self.every = tuple(parts), every

    def truth(self, store: DomainStore) -> int:
        truths = (part.truth(store) for part in self.parts)
        return min(truths) if self.every else max(truths)

    def require(self, store: DomainStore, wanted: bool) -> None:
        if wanted is self.every:
            for part in self.parts:
                part.require(store, wanted)
            return
        # One part must be as wanted. While two are open either may be; once only one
        # is, it must be.
        settled = KLEENE_TRUE if wanted else KLEENE_FALSE
        last: Condition | None = None
        for part in self.parts:
            truth = part.truth(store)
            if truth == settled:
                return
            if truth == KLEENE_MAYBE:
                if last is not None:
                    return
                last = part
        if last is None:
            raise DomainConflict
        last.require(store, wanted)


class LabelCondition(Condition):
    """Two columns have the same label, or different ones; false where one is missing.

    `codes` maps the codes of each column to those of the other; None where both list
    the same labels in the same order.
    """

    def __init__(
        self,
        places: tuple[int, int],
        codes: tuple[dict[int, int], dict[int, int]] | None,
        *,
        alike: bool,
    ) -> None:
        self.places, self.codes, self.alike = places, codes, alike

    def _partners(self, store: DomainStore, side: int) -> int:
        """The codes of the other column whose label is still possible in this one."""
        place = self.places[side]
        bits = store.bits[place] & store.columns[place].values
        if self.codes is None:
            store.spend(1)
            return bits
        codes, partners = self.codes[side], 0
        store.spend(1 + bits.bit_count() // COMBINATIONS_PER_STEP)
        while bits:
            code = lowest_code(bits)
            bits &= bits - 1
            if code in codes:
                partners |= 1 << codes[code]
        return partners

    def truth(self, store: DomainStore) -> int:
        if not all(map(store.may_have_value, self.places)):
            return KLEENE_FALSE
        right = self.places[1]
        shared = self._partners(store, 0) & store.bits[right]
        if not shared:
            # No label is possible in both.
            same = KLEENE_FALSE
        elif all(map(store.is_decided, self.places)):
            same = KLEENE_TRUE
        else:
            same = KLEENE_MAYBE
        truth = same if self.alike else KLEENE_TRUE - same
        if truth == KLEENE_TRUE and not all(map(store.must_have_value, self.places)):
            return KLEENE_MAYBE
        return truth

    def require(self, store: DomainStore, wanted: bool) -> None:
        store.spend(1)
        if wanted:
            for place in self.places:
                store.restrict_codes(place, store.columns[place].values)
        if wanted is self.alike:
            self._require_equal(store)
        else:
            self._require_different(store)

    def _require_equal(self, store: DomainStore) -> None:
        """Both have one label, or one of them is missing."""
        right = self.places[1]
        loose = [p for p in self.places if not store.must_have_value(p)]
        if not loose:
            for side in (0, 1):
                store.restrict_codes(self.places[1 - side], self._partners(store, side))
        elif len(loose) == 1 and not self._partners(store, 0) & store.bits[right]:
            store.restrict_codes(loose[0], ~store.columns[loose[0]].values)

    def _require_different(self, store: DomainStore) -> None:
        # Two open columns can always differ; only a decided one takes a label away.
        for side in (0, 1):
            place = self.places[side]
            if store.must_have_value(place) and store.is_decided(place):
                store.restrict_codes(
                    self.places[1 - side], ~self._partners(store, side)
                )


Entry = tuple[int, int]
"""The code of a listed value, and the value: its index on the lattice, or the code."""


class CombinationCondition(Condition):
    """Several columns have values, and their combination is listed, or is not."""

    def __init__(
        self, places: Sequence[int], rows: Sequence[tuple[Entry, ...]], *, listed: bool
    ) -> None:
        self.places, self.rows, self.listed = tuple(places), tuple(rows), listed

    def _live_rows(self, store: DomainStore) -> list[tuple[Entry, ...]]:
        store.spend(1 + len(self.rows) // COMBINATIONS_PER_STEP)
        live = self.rows
        for k, place in enumerate(self.places):
            bits = store.bits[place]
            if store.columns[place].edges is None:
                live = tuple(row for row in live if bits >> row[k][0] & 1)
            else:
                low, high = store.low[place], store.high[place]
                live = tuple(
                    row
                    for row in live
                    if low <= row[k][1] <= high and bits >> row[k][0] & 1
                )
        return list(live)

    def truth(self, store: DomainStore) -> int:
        if not all(map(store.may_have_value, self.places)):
            return KLEENE_FALSE
        live = self._live_rows(store)
        if not live:
            inside = KLEENE_FALSE
        elif all(map(store.is_decided, self.places)):
            inside = KLEENE_TRUE
        else:
            inside = KLEENE_MAYBE
        truth = inside if self.listed else KLEENE_TRUE - inside
        if truth == KLEENE_TRUE and not all(map(store.must_have_value, self.places)):
            return KLEENE_MAYBE
        return truth

    def require(self, store: DomainStore, wanted: bool) -> None:
        if wanted:
            for place in self.places:
                store.restrict_codes(place, store.columns[place].values)
        if wanted is self.listed:
            self._require_listed(store)
        else:
            self._require_unlisted(store)

    def _require_listed(self, store: DomainStore) -> None:
        """The combination is listed, or one of the columns is missing."""
        loose = [p for p in self.places if not store.must_have_value(p)]
        if len(loose) > 1 or not all(map(store.may_have_value, self.places)):
            return
        live = self._live_rows(store)
        if loose:
            if not live:
                place = loose[0]
                store.restrict_codes(place, ~store.columns[place].values)
            return
        if not live:
            raise DomainConflict
        for k, place in enumerate(self.places):
            _restrict_to_entries(store, place, [row[k] for row in live])

    def _require_unlisted(self, store: DomainStore) -> None:
        if not all(map(store.must_have_value, self.places)):
            return
        wide = [k for k, p in enumerate(self.places) if not store.is_decided(p)]
        if len(wide) > 1:
            return
        live = self._live_rows(store)
        if not wide:
            if live:
                raise DomainConflict
            return
        k = wide[0]
        place = self.places[k]
        if store.columns[place].edges is not None:
            for value in {row[k][1] for row in live}:
                store.remove_value(place, value)
            return
        codes = 0
        for row in live:
            codes |= 1 << row[k][0]
        store.restrict_codes(place, ~codes)


def _restrict_to_entries(
    store: DomainStore, place: int, entries: Sequence[Entry]
) -> None:
    """Leave a column only the codes, and the range of values, of these entries."""
    codes = 0
    for code in {entry[0] for entry in entries}:
        codes |= 1 << code
    store.restrict_codes(place, codes)
    if store.columns[place].edges is not None:
        values = [entry[1] for entry in entries]
        store.restrict_values(place, min(values), max(values))
