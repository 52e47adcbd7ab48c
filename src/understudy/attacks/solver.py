"""A small exact solver: every table of people that published statistics allow, each
found once.

First the numbers of people of each kind are enumerated, as far as the counts allow.
Then each person is a variable whose domain is the set of numbers it may still have (the
bits of an integer); statements about sums, medians and counts narrow the domains until
nothing moves, and where that leaves a choice, the smallest domain is split into its
values. People of one kind are in rising order, so a table is found once and not once
for each way to name its people. Sums of nested groups are subtracted from each other
first: what the statistics say about women and about black women, they say about white
women too.

Nothing is lost by narrowing: a value is removed only where no table has it. So an
exhausted search is a proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor

from understudy.attacks.puzzle import PublishedStatistic, Puzzle, Range, kinds_within

Person = tuple[int, int]
"""The index of a kind and of a value."""

PeopleTable = tuple[Person, ...]

MedianBounds = tuple[int, int, int, int]
"""The whole numbers between which twice a median lies, and those between which the
median itself does.
"""

MAX_SOLUTION_TABLES = 10_000
MAX_SEARCH_SPLITS = 400_000
"""Splits after which a search gives up looking for more."""


@dataclass(frozen=True, kw_only=True)
class Solutions:
    """The tables found, whether they are all there are, and how many splits it took."""

    tables: tuple[PeopleTable, ...]
    complete: bool
    splits: int

    @property
    def count(self) -> str:
        """How many, in words that do not claim too much.

        >>> Solutions(tables=(), complete=True, splits=0).count
        '0'
        """
        return (
            f"{len(self.tables):,}"
            if self.complete
            else f"more than {max(0, len(self.tables) - 1):,}"
        )

    def people_in_all_tables(self) -> PeopleTable:
        """The people who are in every table found: what is known for sure where the
        search was complete.
        """
        if not self.tables:
            return ()
        left = list(self.tables[0])
        for table in self.tables[1:]:
            rest = list(table)
            kept = []
            for person in left:
                if person in rest:
                    rest.remove(person)
                    kept.append(person)
            left = kept
        return tuple(left)


def solve_puzzle(
    puzzle: Puzzle, *, limit: int = MAX_SOLUTION_TABLES, effort: int = MAX_SEARCH_SPLITS
) -> Solutions:
    """Every table that fits, up to a limit.

    >>> from understudy.attacks.puzzle import census_block
    >>> puzzle = census_block()
    >>> [puzzle.described(*person) for table in solve_puzzle(puzzle).tables for person in table][:3]
    ['8 F B single', '18 M W single', '24 F W single']
    """
    search = _PuzzleSearch(puzzle, effort)
    found: list[PeopleTable] = []
    complete = True
    for table in search.tables():
        found.append(table)
        if len(found) > limit:
            complete = False
            break
    ranked = sorted(tuple(sorted(table, key=lambda p: (p[1], p[0]))) for table in found)
    return Solutions(
        tables=tuple(ranked),
        complete=complete and search.left > 0,
        splits=effort - search.left,
    )


_SumRange = tuple[tuple[int, ...], int, int]
"""Who, and between which numbers their sum lies."""


@dataclass(frozen=True)
class _StatisticGroup:
    """One statement about the people at hand: who is surely meant, who may be, and by
    which values.
    """

    statement: PublishedStatistic
    members: tuple[int, ...]
    inside: tuple[int, ...]
    """For each member, the values by which it belongs to the group, as bits."""
    fixed: bool
    """Whether everybody's membership is known beforehand."""
    middle: MedianBounds | None


class _PuzzleSearch:
    def __init__(self, puzzle: Puzzle, effort: int) -> None:
        self.puzzle, self.left = puzzle, effort
        self.values = puzzle.values
        self.masks = [_bits_of_row(row) for row in puzzle.possible]
        self.within = [
            list(kinds_within(s.cells, puzzle.possible)) for s in puzzle.statements
        ]
        self.inside = [
            [_bits_of_row(row) for row in s.cells] for s in puzzle.statements
        ]
        self.middles = [
            None if s.median is None else _median_bounds(s.median)
            for s in puzzle.statements
        ]

    def tables(self) -> Iterator[PeopleTable]:
        for composition in self._enumerate_compositions():
            people = [
                kind for kind, many in enumerate(composition) for _ in range(many)
            ]
            domains = [self.masks[kind] for kind in people]
            groups = self._groups(people)
            sums = self._derive_sums(groups)
            if sums is None:
                continue
            yield from self._split_domains(people, domains, groups, sums, [])
            if self.left <= 0:
                return

    # Numbers of people of each kind

    def _enumerate_compositions(self) -> Iterator[tuple[int, ...]]:
        most = self.puzzle.people
        kinds = [kind for kind, mask in enumerate(self.masks) if mask]
        counts = [0] * len(self.masks)
        statements = self.puzzle.statements
        last = [max((k for k in kinds if w[k][1]), default=-1) for w in self.within]

        def can_fit(at: int, used: int) -> bool:
            for s, statement in enumerate(statements):
                whole = sum(
                    n
                    for n, (every, _) in zip(counts, self.within[s], strict=True)
                    if every
                )
                some = sum(
                    n
                    for n, (_, any_) in zip(counts, self.within[s], strict=True)
                    if any_
                )
                if whole > statement.count[1]:
                    return False
                if some + (most - used if last[s] > at else 0) < statement.count[0]:
                    return False
            return True

        def extend_counts(place: int, used: int) -> Iterator[tuple[int, ...]]:
            if place == len(kinds):
                yield tuple(counts)
                return
            kind = kinds[place]
            for many in range(most - used + 1):
                counts[kind] = many
                if can_fit(kind, used + many):
                    yield from extend_counts(place + 1, used + many)
            counts[kind] = 0

        yield from extend_counts(0, 0)

    # Statements about the people at hand

    def _groups(self, people: Sequence[int]) -> list[_StatisticGroup]:
        groups = []
        for s, statement in enumerate(self.puzzle.statements):
            members = tuple(
                i for i, kind in enumerate(people) if self.within[s][kind][1]
            )
            fixed = all(self.within[s][people[i]][0] for i in members)
            inside = tuple(self.inside[s][people[i]] for i in members)
            groups.append(
                _StatisticGroup(statement, members, inside, fixed, self.middles[s])
            )
        return groups

    def _derive_sums(self, groups: Sequence[_StatisticGroup]) -> list[_SumRange] | None:
        """Ranges of sums by set of people, those that follow by subtraction included;
        None where they contradict each other.
        """
        known: dict[frozenset[int], tuple[int, int]] = {}

        def tighten_range(who: frozenset[int], low: int, high: int) -> bool:
            """Whether this says something new."""
            before = known.get(who, (-(10**9), 10**9))
            after = max(before[0], low), min(before[1], high)
            known[who] = after
            return after != before

        for group in groups:
            if group.fixed and (
                bounds := _sum_bounds(group.statement, len(group.members))
            ):
                tighten_range(frozenset(group.members), *bounds)
        moved = True
        while moved and len(known) < 64:
            if any(low > high for low, high in known.values()):
                return None  # and from a contradiction more would follow without end
            moved = False
            for big, (low, high) in list(known.items()):
                for small, (less, more) in list(known.items()):
                    if small < big:
                        moved |= tighten_range(big - small, low - more, high - less)
        if any(
            low > high or (not who and not low <= 0 <= high)
            for who, (low, high) in known.items()
        ):
            return None
        return [(tuple(who), low, high) for who, (low, high) in known.items() if who]

    # Search

    def _split_domains(
        self,
        people: list[int],
        domains: list[int],
        groups: list[_StatisticGroup],
        sums: list[_SumRange],
        settled: list[int],
    ) -> Iterator[PeopleTable]:
        narrowed = self._narrow_domains(people, domains, groups, sums, settled)
        if narrowed is None:
            return
        open_ = [i for i, d in enumerate(narrowed) if d & (d - 1)]
        if not open_:
            yield tuple(
                (kind, d.bit_length() - 1)
                for kind, d in zip(people, narrowed, strict=True)
            )
            return
        chosen = min(open_, key=lambda i: narrowed[i].bit_count())
        rest = narrowed[chosen]
        while rest:
            one = rest & -rest
            rest ^= one
            self.left -= 1
            if self.left <= 0:
                return
            yield from self._split_domains(
                people,
                [*narrowed[:chosen], one, *narrowed[chosen + 1 :]],
                groups,
                sums,
                narrowed,
            )

    def _narrow_domains(
        self,
        people: list[int],
        domains: list[int],
        groups: list[_StatisticGroup],
        sums: list[_SumRange],
        settled: list[int],
    ) -> list[int] | None:
        """The domains when nothing moves any more. `settled` are domains of which that
        is known, so that only what differs is looked at.
        """
        before = settled
        domains = list(domains)
        while domains != before:
            moved = (
                {
                    i
                    for i, (a, b) in enumerate(zip(domains, before, strict=True))
                    if a != b
                }
                if before
                else None
            )
            before = list(domains)
            for i in range(1, len(people)):
                if people[i] == people[i - 1]:
                    domains[i] = _keep_from(domains[i], _lowest_index(domains[i - 1]))
                    domains[i - 1] = _keep_up_to(
                        domains[i - 1], domains[i].bit_length() - 1
                    )
            if not all(domains):
                return None
            for who, low, high in sums:
                if (moved is None or not moved.isdisjoint(who)) and not self._sum(
                    domains, who, low, high
                ):
                    return None
            for group in groups:
                if (
                    moved is None or not moved.isdisjoint(group.members)
                ) and not self._narrow_by_group(domains, group):
                    return None
        return domains

    def _sum(self, domains: list[int], who: Sequence[int], low: int, high: int) -> bool:
        values = self.values
        theirs = [domains[i] for i in who]
        lows = [values[(d & -d).bit_length() - 1] for d in theirs]
        highs = [values[d.bit_length() - 1] for d in theirs]
        least, most = sum(lows), sum(highs)
        if least > high or most < low:
            return False
        room = min(high - least, most - low)
        if most - least <= room:
            return True  # whatever one of them is, the others can make up for it
        base, step = values[0], values[1] - values[0] if len(values) > 1 else 1
        for i, a, b in zip(who, lows, highs, strict=True):
            if b - a <= room:
                continue
            ceiling, ground = high - (least - a), low - (most - b)
            if b > ceiling:
                domains[i] = _keep_up_to(domains[i], (ceiling - base) // step)
            if a < ground:
                domains[i] = _keep_from(domains[i], -((base - ground) // step))
            if not domains[i]:
                return False
        return True

    def _narrow_by_group(self, domains: list[int], group: _StatisticGroup) -> bool:
        statement = group.statement
        members = group.members
        if not group.fixed:
            sure = [
                i
                for i, inside in zip(members, group.inside, strict=True)
                if not domains[i] & ~inside
            ]
            maybe = [
                (i, inside)
                for i, inside in zip(members, group.inside, strict=True)
                if domains[i] & ~inside and domains[i] & inside
            ]
            low, high = statement.count
            if len(sure) > high or len(sure) + len(maybe) < low:
                return False
            if maybe and len(sure) == high:
                for i, inside in maybe:
                    domains[i] &= ~inside
                maybe = []
            elif maybe and len(sure) + len(maybe) == low:
                for i, inside in maybe:
                    domains[i] &= inside
                sure, maybe = [*sure, *(i for i, _ in maybe)], []
            if maybe:
                return True
            members = tuple(sure)
            bounds = _sum_bounds(statement, len(members))
            if bounds and not (
                self._sum(domains, members, *bounds)
                if members
                else bounds[0] <= 0 <= bounds[1]
            ):
                return False
        elif not statement.count[0] <= len(members) <= statement.count[1]:
            return False
        if (statement.median or statement.mean) and not members:
            return False  # a group of nobody has neither
        return group.middle is None or self._narrow_by_median(
            domains, members, group.middle
        )

    def _narrow_by_median(
        self, domains: list[int], members: Sequence[int], middle: MedianBounds
    ) -> bool:
        """The middle one, or the two in the middle, of the members' values."""
        low, high, half_low, half_high = middle
        n, values = len(members), self.values
        theirs = [domains[i] for i in members]
        lows = sorted([values[(d & -d).bit_length() - 1] for d in theirs])
        highs = sorted([values[d.bit_length() - 1] for d in theirs])
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
        return (
            self._require_at_most(domains, members, b, first + 1)
            and self._require_at_least(domains, members, a, n - first)
            and self._require_at_most(domains, members, d, second + 1)
            and self._require_at_least(domains, members, c, n - second)
        )

    def _require_at_most(
        self, domains: list[int], members: Sequence[int], value: int, many: int
    ) -> bool:
        """At least so many members have at most this value."""
        at = _index_below(self.values, value)
        can = [i for i in members if _lowest_index(domains[i]) <= at]
        if len(can) == many:
            for i in can:
                domains[i] = _keep_up_to(domains[i], at)
        return len(can) >= many

    def _require_at_least(
        self, domains: list[int], members: Sequence[int], value: int, many: int
    ) -> bool:
        """At least so many members have at least this value."""
        at = _index_below(self.values, value - 1) + 1
        can = [i for i in members if domains[i].bit_length() - 1 >= at]
        if len(can) == many:
            for i in can:
                domains[i] = _keep_from(domains[i], at)
        return len(can) >= many


def _sum_bounds(statement: PublishedStatistic, members: int) -> tuple[int, int] | None:
    """The whole numbers between which the sum of so many members lies."""
    ranges = [] if statement.total is None else [statement.total]
    if statement.mean is not None:
        ranges.append((statement.mean[0] * members, statement.mean[1] * members))
    if not ranges:
        return None
    return ceil(max(low for low, _ in ranges)), floor(min(high for _, high in ranges))


def _median_bounds(median: Range) -> MedianBounds:
    low, high = median
    return ceil(2 * low), floor(2 * high), ceil(low), floor(high)


def _bits_of_row(row: Sequence[bool]) -> int:
    return sum(1 << i for i, here in enumerate(row) if here)


def _lowest_index(domain: int) -> int:
    """The smallest value of a domain that has one."""
    return (domain & -domain).bit_length() - 1


def _keep_up_to(domain: int, at: int) -> int:
    """The part of a domain up to and including `at`."""
    return domain & ((1 << (at + 1)) - 1) if at >= 0 else 0


def _keep_from(domain: int, at: int) -> int:
    """The part of a domain from `at` on."""
    return domain >> at << at if at > 0 else domain


def _index_below(values: Sequence[int], value: int) -> int:
    """The index of the largest value that is at most this one; -1 where there is none.
    Values are evenly spaced.
    """
    step = values[1] - values[0] if len(values) > 1 else 1
    return min((value - values[0]) // step, len(values) - 1)
