"""A small exact solver: every table of people that published statistics allow, each
found once.

Teaching material, and written for it: about three hundred lines that a reader can follow
from a statistic to the value that it rules out, without a dependency on a general
constraint solver, whose model of the same puzzle would be as long.

First the numbers of people of each kind are enumerated, as far as the counts allow
(compositions). Then each person is a variable with a domain (`domains`); statistics
narrow the domains until nothing changes (`narrowing`), and if that leaves a choice, the
smallest domain is split into its values. People of one kind are in rising order, so a
table is found once and not once for each order of its people. Sums of nested groups are
subtracted from each other first: what the statistics say about women and about black
women, they say about white women too.

Nothing is lost by narrowing: a value is removed only if no table has it. So an exhausted
search is a proof. Checked against brute force on random puzzles in
tests/attacks/test_solver.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from understudy.attacks.domains import (
    Domain,
    domain_of_row,
    highest_index,
    is_settled,
    keep_from,
    keep_up_to,
    lowest_index,
)
from understudy.attacks.narrowing import (
    DomainNarrowing,
    StatisticGroup,
    median_bounds,
    sum_bounds,
)
from understudy.attacks.puzzle import Puzzle, kinds_within

Person = tuple[int, int]
"""The index of a kind and of a value."""

PeopleTable = tuple[Person, ...]

MAX_SOLUTION_TABLES = 10_000
MAX_SEARCH_SPLITS = 400_000
"""Splits after which a search gives up looking for more."""

MAX_DERIVED_SUMS = 64
"""Sets of people whose sums are derived by subtraction; each round may square them."""

UNBOUNDED_SUM = 10**9
"""Larger than any sum of a small table."""


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
        if self.complete:
            return f"{len(self.tables):,}"
        return f"more than {max(0, len(self.tables) - 1):,}"

    def people_in_all_tables(self) -> PeopleTable:
        """The people who are in every table found: what is known for sure if the search
        was complete.
        """
        if not self.tables:
            return ()
        # Two alike in every table are both certain, so tables are compared as multisets.
        shared = Counter(self.tables[0])
        for table in self.tables[1:]:
            shared &= Counter(table)
        certain = []
        for person in self.tables[0]:
            if shared[person]:
                shared[person] -= 1
                certain.append(person)
        return tuple(certain)


def solve_puzzle(
    puzzle: Puzzle, *, limit: int = MAX_SOLUTION_TABLES, effort: int = MAX_SEARCH_SPLITS
) -> Solutions:
    """Every table that fits, up to a limit.

    >>> from understudy.attacks.puzzle import census_block
    >>> puzzle = census_block()
    >>> [
    ...     puzzle.describe_person(*person)
    ...     for table in solve_puzzle(puzzle).tables
    ...     for person in table
    ... ][:3]
    ['8 F B single', '18 M W single', '24 F W single']
    """
    search = _PuzzleSearch(puzzle, effort)
    tables: list[PeopleTable] = []
    complete = True
    for table in search.find_tables():
        tables.append(tuple(sorted(table, key=lambda person: (person[1], person[0]))))
        # One more than the limit proves that there are more.
        if len(tables) > limit:
            complete = False
            break
    return Solutions(
        tables=tuple(sorted(tables)),
        complete=complete and search.splits_left > 0,
        splits=effort - search.splits_left,
    )


_SumRange = tuple[tuple[int, ...], int, int]
"""Some people, and between which numbers their sum lies."""


@dataclass(frozen=True)
class _People:
    """The people of one composition: the kind of each, and all that is said of them."""

    kinds: tuple[int, ...]
    groups: tuple[StatisticGroup, ...]
    sums: tuple[_SumRange, ...]


class _PuzzleSearch:
    """One search. `splits_left` counts down to where it gives up."""

    def __init__(self, puzzle: Puzzle, effort: int) -> None:
        self.puzzle, self.splits_left = puzzle, effort
        self.narrowing = DomainNarrowing(puzzle.values)
        self.kind_domains = [domain_of_row(row) for row in puzzle.possible]
        statements = puzzle.statements
        self.within = [
            list(kinds_within(statement.cells, puzzle.possible))
            for statement in statements
        ]
        self.inside = [
            [domain_of_row(row) for row in statement.cells] for statement in statements
        ]
        self.medians = [
            None if statement.median is None else median_bounds(statement.median)
            for statement in statements
        ]

    def find_tables(self) -> Iterator[PeopleTable]:
        for composition in self._enumerate_compositions():
            kinds: list[int] = []
            for kind, count in enumerate(composition):
                kinds += [kind] * count
            groups = self._make_groups(kinds)
            sums = _derive_sums(groups)
            if sums is None:
                continue
            people = _People(tuple(kinds), tuple(groups), tuple(sums))
            domains = [self.kind_domains[kind] for kind in kinds]
            yield from self._split_domains(people, domains, None)
            if self.splits_left <= 0:
                return

    def _enumerate_compositions(self) -> Iterator[tuple[int, ...]]:
        """Numbers of people of each kind that no published count rules out."""
        kinds = [kind for kind, domain in enumerate(self.kind_domains) if domain]
        counts = [0] * len(self.kind_domains)

        def extend_counts(place: int, unused: int) -> Iterator[tuple[int, ...]]:
            if place == len(kinds):
                yield tuple(counts)
                return
            kind = kinds[place]
            for count in range(unused + 1):
                # Pruned at once: most compositions fail after two or three kinds.
                counts[kind] = count
                if self._counts_can_fit(counts, kind, unused - count):
                    yield from extend_counts(place + 1, unused - count)
            counts[kind] = 0

        yield from extend_counts(0, self.puzzle.people)

    def _counts_can_fit(self, counts: list[int], kind: int, unused: int) -> bool:
        """Whether every published count is possible, given the numbers of the kinds up
        to this one and how many people are left for the others.
        """
        for within, statement in zip(self.within, self.puzzle.statements, strict=True):
            surely, perhaps, more_to_come = 0, 0, False
            for other, (every, some) in enumerate(within):
                surely += counts[other] if every else 0
                perhaps += counts[other] if some else 0
                if some and other > kind and self.kind_domains[other]:
                    more_to_come = True
            if more_to_come:
                perhaps += unused
            if surely > statement.count[1] or perhaps < statement.count[0]:
                return False
        return True

    def _make_groups(self, kinds: Sequence[int]) -> list[StatisticGroup]:
        groups = []
        for s, statement in enumerate(self.puzzle.statements):
            within = self.within[s]
            members = tuple(i for i, kind in enumerate(kinds) if within[kind][1])
            inside = tuple(self.inside[s][kinds[i]] for i in members)
            fixed = all(within[kinds[i]][0] for i in members)
            groups.append(
                StatisticGroup(
                    statement,
                    members,
                    inside,
                    fixed,
                    self.medians[s],
                )
            )
        return groups

    def _split_domains(
        self, people: _People, domains: list[Domain], stable: list[Domain] | None
    ) -> Iterator[PeopleTable]:
        """Every table within these domains. `stable` are domains that no statistic
        narrows any further, so that only what differs from them is looked at.
        """
        narrowed = self._narrow_domains(people, domains, stable)
        if narrowed is None:
            return
        undecided = [i for i, domain in enumerate(narrowed) if not is_settled(domain)]
        if not undecided:
            values = [highest_index(domain) for domain in narrowed]
            yield tuple(zip(people.kinds, values, strict=True))
            return
        # The fewest branches first: a wrong branch is then found out soonest.
        chosen = min(undecided, key=lambda i: narrowed[i].bit_count())
        rest = narrowed[chosen]
        while rest:
            lowest_bit = rest & -rest  # see domains.lowest_index
            rest ^= lowest_bit
            self.splits_left -= 1
            if self.splits_left <= 0:
                return
            branch = list(narrowed)
            branch[chosen] = lowest_bit
            yield from self._split_domains(people, branch, narrowed)

    def _narrow_domains(
        self, people: _People, domains: list[Domain], stable: list[Domain] | None
    ) -> list[Domain] | None:
        """The domains when nothing changes any more; None if no table is left."""
        before, domains = stable, list(domains)
        # Every round removes a value or ends, so this terminates.
        while domains != before:
            changed = set(range(len(domains)))
            if before is not None:
                changed = {i for i in changed if domains[i] != before[i]}
            before = list(domains)
            _keep_order(people.kinds, domains)
            if not all(domains) or not self._narrow_once(people, domains, changed):
                return None
        return domains

    def _narrow_once(
        self, people: _People, domains: list[Domain], changed: set[int]
    ) -> bool:
        """Apply every sum and statistic about somebody whose domain changed; a first
        round without anybody applies those about nobody too.
        """
        everything = len(changed) == len(domains)
        narrowing = self.narrowing
        for who, low, high in people.sums:
            concerned = everything or not changed.isdisjoint(who)
            if concerned and not narrowing.narrow_by_sum(domains, who, low, high):
                return False
        for group in people.groups:
            concerned = everything or not changed.isdisjoint(group.members)
            if concerned and not narrowing.narrow_by_group(domains, group):
                return False
        return True


def _keep_order(kinds: Sequence[int], domains: list[Domain]) -> None:
    """People of one kind are in rising order: one of the ways to write a table."""
    for i in range(1, len(kinds)):
        if kinds[i] == kinds[i - 1]:
            domains[i] = keep_from(domains[i], lowest_index(domains[i - 1]))
            domains[i - 1] = keep_up_to(domains[i - 1], highest_index(domains[i]))


def _derive_sums(groups: Sequence[StatisticGroup]) -> list[_SumRange] | None:
    """Ranges of sums by set of people, those that follow by subtraction included; None
    if they contradict each other.
    """
    known = _SumRanges()
    for group in groups:
        bounds = sum_bounds(group.statement, len(group.members))
        if group.fixed and bounds is not None:
            known.tighten(frozenset(group.members), *bounds)
    while len(known.ranges) < MAX_DERIVED_SUMS:
        # From a contradiction more would follow without end.
        if known.has_contradiction() or not known.subtract_parts():
            break
    if known.has_contradiction():
        return None
    return [(tuple(who), low, high) for who, (low, high) in known.ranges.items() if who]


class _SumRanges:
    """Between which numbers the sum of each set of people lies."""

    def __init__(self) -> None:
        self.ranges: dict[frozenset[int], tuple[int, int]] = {}

    def tighten(self, who: frozenset[int], low: int, high: int) -> bool:
        """Take one more statement in; whether it says something new."""
        before = self.ranges.get(who, (-UNBOUNDED_SUM, UNBOUNDED_SUM))
        after = max(before[0], low), min(before[1], high)
        self.ranges[who] = after
        return after != before

    def subtract_parts(self) -> bool:
        """Subtract every set from every larger one; whether this says something new."""
        is_new = False
        for whole, (low, high) in list(self.ranges.items()):
            for part, (part_low, part_high) in list(self.ranges.items()):
                if part < whole:
                    rest = whole - part
                    is_new |= self.tighten(rest, low - part_high, high - part_low)
        return is_new

    def has_contradiction(self) -> bool:
        """Whether a range is empty; the sum of nobody is 0."""
        low, high = self.ranges.get(frozenset(), (0, 0))
        is_empty = any(start > end for start, end in self.ranges.values())
        return is_empty or not low <= 0 <= high
