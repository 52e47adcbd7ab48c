"""Narrowing: a published statistic removes values from the domains of its group.

A value is removed only if no table has it, so nothing is lost. Domains are changed in
place, and every method returns whether the statistic can still be true.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from understudy.attacks.domains import (
    Domain,
    highest_index,
    index_above,
    index_below,
    keep_from,
    keep_up_to,
    lowest_index,
)
from understudy.attacks.puzzle import PublishedStatistic, Range

MedianBounds = tuple[int, int, int, int]
"""The whole numbers between which twice a median lies, and those between which the
median itself does.
"""


@dataclass(frozen=True)
class StatisticGroup:
    """One statistic about the people at hand: who may be meant, and by which values."""

    statement: PublishedStatistic
    members: tuple[int, ...]
    inside: tuple[Domain, ...]
    """For each member, the values by which it belongs to the group."""
    fixed: bool
    """Whether membership depends on kinds alone, and so is known beforehand."""
    median: MedianBounds | None


@dataclass(frozen=True)
class DomainNarrowing:
    """Narrows domains whose bits stand for these values."""

    values: tuple[int, ...]

    def narrow_by_sum(
        self, domains: list[Domain], who: Sequence[int], low: int, high: int
    ) -> bool:
        """The values of some people add up to a number between two others."""
        values = self.values
        smallest = [values[lowest_index(domains[i])] for i in who]
        largest = [values[highest_index(domains[i])] for i in who]
        least, most = sum(smallest), sum(largest)
        if least > high or most < low:
            return False
        # How far one person may move while the others stay where they are.
        slack = min(high - least, most - low)
        if most - least <= slack:
            return True
        for i, own_least, own_most in zip(
            who,
            smallest,
            largest,
            strict=True,
        ):
            # Within the slack, the others can make up for whatever this one is.
            if own_most - own_least <= slack:
                continue
            # The others are at their least, or at their most.
            ceiling = high - (least - own_least)
            ground = low - (most - own_most)
            if own_most > ceiling:
                domains[i] = keep_up_to(domains[i], index_below(values, ceiling))
            if own_least < ground:
                domains[i] = keep_from(domains[i], index_above(values, ground))
            if not domains[i]:
                return False
        return True

    def narrow_by_group(self, domains: list[Domain], group: StatisticGroup) -> bool:
        """Everything that one statistic says of its group."""
        statement, members = group.statement, group.members
        if not group.fixed:
            certain = self._narrow_membership(domains, group)
            if certain is None:
                return False
            sure, undecided = certain
            if undecided:
                return True  # what is said of the group waits until it is known
            members = sure
            if not self._narrow_by_own_sum(domains, statement, members):
                return False
        elif not statement.count[0] <= len(members) <= statement.count[1]:
            return False
        if not members and (statement.median or statement.mean):
            return False  # an empty group has neither
        if group.median is None:
            return True
        return self._narrow_by_median(domains, members, group.median)

    def _narrow_membership(
        self, domains: list[Domain], group: StatisticGroup
    ) -> tuple[tuple[int, ...], bool] | None:
        """Who surely belongs to the group, and whether somebody is undecided; None if
        its published count is impossible.
        """
        sure: list[int] = []
        undecided: list[tuple[int, Domain]] = []
        for i, inside in zip(group.members, group.inside, strict=True):
            if not domains[i] & ~inside:
                sure.append(i)
            elif domains[i] & inside:
                undecided.append((i, inside))
        low, high = group.statement.count
        if len(sure) > high or len(sure) + len(undecided) < low:
            return None
        if len(sure) == high:  # the group is full: everybody else is outside
            for i, inside in undecided:
                domains[i] &= ~inside
            undecided = []
        elif len(sure) + len(undecided) == low:  # and here everybody is needed
            for i, inside in undecided:
                domains[i] &= inside
                sure.append(i)
            undecided = []
        return tuple(sure), bool(undecided)

    def _narrow_by_own_sum(
        self,
        domains: list[Domain],
        statement: PublishedStatistic,
        members: Sequence[int],
    ) -> bool:
        bounds = sum_bounds(statement, len(members))
        if bounds is None:
            return True
        low, high = bounds
        if not members:
            return low <= 0 <= high
        return self.narrow_by_sum(domains, members, low, high)

    def _narrow_by_median(
        self, domains: list[Domain], members: Sequence[int], median: MedianBounds
    ) -> bool:
        """The middle one, or the two in the middle, of the members' values."""
        low, high, half_low, half_high = median
        n, values = len(members), self.values
        lows = sorted(values[lowest_index(domains[i])] for i in members)
        highs = sorted(values[highest_index(domains[i])] for i in members)
        first, second = (n - 1) // 2, n // 2
        # The lower middle lies in [a, b], the upper one in [c, d]; together they make
        # twice the median.
        a, b, c, d = lows[first], highs[first], lows[second], highs[second]
        if first == second:
            a = c = max(a, half_low)
            b = d = min(b, half_high)
        else:
            a, b = max(a, low - d), min(b, high - c, half_high)
            c, d = max(c, low - b, half_low), min(d, high - a)
        if a > b or c > d:
            return False
        # The k-th smallest is at most b exactly if k members are, and so on.
        return (
            self._require_at_most(domains, members, b, first + 1)
            and self._require_at_least(domains, members, a, n - first)
            and self._require_at_most(domains, members, d, second + 1)
            and self._require_at_least(domains, members, c, n - second)
        )

    def _require_at_most(
        self, domains: list[Domain], members: Sequence[int], value: int, needed: int
    ) -> bool:
        """At least `needed` members have at most this value."""
        index = index_below(self.values, value)
        able = [i for i in members if lowest_index(domains[i]) <= index]
        # If no more can than must, all of them do.
        if len(able) == needed:
            for i in able:
                domains[i] = keep_up_to(domains[i], index)
        return len(able) >= needed

    def _require_at_least(
        self, domains: list[Domain], members: Sequence[int], value: int, needed: int
    ) -> bool:
        """At least `needed` members have at least this value."""
        index = index_above(self.values, value)
        able = [i for i in members if highest_index(domains[i]) >= index]
        if len(able) == needed:
            for i in able:
                domains[i] = keep_from(domains[i], index)
        return len(able) >= needed


def sum_bounds(statement: PublishedStatistic, members: int) -> tuple[int, int] | None:
    """The whole numbers between which the sum of this many members lies; None if
    nothing is said about it.
    """
    ranges = [] if statement.total is None else [statement.total]
    if statement.mean is not None:
        ranges.append((statement.mean[0] * members, statement.mean[1] * members))
    if not ranges:
        return None
    return ceil(max(low for low, _ in ranges)), floor(min(high for _, high in ranges))


def median_bounds(median: Range) -> MedianBounds:
    """A median of two whole numbers may be a half, so its double is bounded too."""
    low, high = median
    return ceil(2 * low), floor(2 * high), ceil(low), floor(high)
