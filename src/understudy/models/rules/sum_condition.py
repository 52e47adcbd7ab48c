"""Sums and comparisons of columns as conditions of the search, by the bounds that are
left of their values.
"""

from __future__ import annotations

from collections.abc import Sequence

from understudy.models.rules.conditions import Condition
from understudy.models.rules.domains import DomainConflict, DomainStore
from understudy.schema.predicates.ast import Operator
from understudy.schema.predicates.kleene import (
    KLEENE_FALSE,
    KLEENE_MAYBE,
    KLEENE_TRUE,
)
from understudy.schema.predicates.rules import OPPOSITE_OPERATORS


class SumCondition(Condition):
    """Σ factor · value compared with a bound, in whole numbers; false where a column has
    no ranked value.
    """

    def __init__(
        self, terms: Sequence[tuple[int, int]], operator: Operator, bound: int
    ) -> None:
        self.terms, self.operator, self.bound = tuple(terms), operator, bound

    def _range(self, store: DomainStore) -> tuple[int, int]:
        least = most = 0
        for factor, place in self.terms:
            ends = factor * store.low[place], factor * store.high[place]
            least += min(ends)
            most += max(ends)
        return least, most

    def truth(self, store: DomainStore) -> int:
        store.spend(len(self.terms))
        if not all(store.may_have_rank(place) for _, place in self.terms):
            return KLEENE_FALSE
        truth = _compare_range(self._range(store), self.operator, self.bound)
        if truth == KLEENE_TRUE and not all(
            store.must_have_rank(place) for _, place in self.terms
        ):
            return KLEENE_MAYBE
        return truth

    def require(self, store: DomainStore, wanted: bool) -> None:
        store.spend(len(self.terms))
        if wanted:
            for _, place in self.terms:
                store.restrict_codes(place, store.columns[place].ranked)
            self._tighten(store, self.operator)
            return
        places = [place for _, place in self.terms]
        if not all(map(store.may_have_rank, places)):
            return
        # A missing value makes the comparison false by itself, so bounds may be drawn in
        # only where every column must have one.
        loose = [place for place in places if not store.must_have_rank(place)]
        if not loose:
            self._tighten(store, OPPOSITE_OPERATORS[self.operator])
        elif len(loose) == 1:
            truth = _compare_range(self._range(store), self.operator, self.bound)
            if truth == KLEENE_TRUE:
                place = loose[0]
                store.restrict_codes(place, ~store.columns[place].ranked)

    def _tighten(self, store: DomainStore, operator: Operator) -> None:
        """Draw bounds in where all columns have values."""
        match operator:
            case Operator.AT_MOST:
                self._limit(store, self.bound, 1)
            case Operator.LESS:
                self._limit(store, self.bound - 1, 1)
            case Operator.AT_LEAST:
                self._limit(store, -self.bound, -1)
            case Operator.MORE:
                self._limit(store, -self.bound - 1, -1)
            case Operator.EQUAL:
                self._limit(store, self.bound, 1)
                self._limit(store, -self.bound, -1)
            case Operator.UNEQUAL:
                self._exclude(store)

    def _limit(self, store: DomainStore, bound: int, sign: int) -> None:
        """Draw bounds in so that sign · Σ factor · value ≤ bound."""
        least = self._range(store)[0] if sign > 0 else -self._range(store)[1]
        if least > bound:
            raise DomainConflict
        # With all others at their smallest, a column may lie this far from its own.
        slack = bound - least
        for factor, place in self.terms:
            width = slack // abs(factor)
            low, high = store.low[place], store.high[place]
            if high - low <= width:
                continue
            if factor * sign > 0:
                store.restrict_values(place, low, low + width)
            else:
                store.restrict_values(place, high - width, high)

    def _exclude(self, store: DomainStore) -> None:
        """Forbid the sum to be the bound, once a single column is open."""
        least, most = self._range(store)
        if least == most:
            if least == self.bound:
                raise DomainConflict
            return
        wide = [(f, p) for f, p in self.terms if store.low[p] < store.high[p]]
        if len(wide) > 1:
            return
        factor, place = wide[0]
        fixed = sum(f * store.low[p] for f, p in self.terms if p != place)
        value, rest = divmod(self.bound - fixed, factor)
        if rest == 0:
            store.remove_value(place, value)


def _compare_range(ends: tuple[int, int], operator: Operator, bound: int) -> int:
    """FALSE, MAYBE or TRUE: whether numbers of a range compare so with a bound."""
    least, most = ends
    match operator:
        case Operator.LESS:
            flags = most < bound, least < bound
        case Operator.AT_MOST:
            flags = most <= bound, least <= bound
        case Operator.MORE:
            flags = least > bound, most > bound
        case Operator.AT_LEAST:
            flags = least >= bound, most >= bound
        case Operator.EQUAL:
            flags = least == most == bound, least <= bound <= most
        case _:
            flags = not least <= bound <= most, not least == most == bound
    return sum(flags)
