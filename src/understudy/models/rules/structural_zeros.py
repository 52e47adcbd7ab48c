"""Rows that the schema declares impossible are never handed out, also where a model
does not know better.

A model over all columns gives impossible cells no mass. One that treats columns apart
cannot see them, so its rows are repaired: a row that cannot be exchanges one code with
another row, if both are possible afterwards. Every column keeps its counts. Where no
exchange is left, a row takes the codes of a possible one in the columns that have
rules, and where there is none, rows are searched for that keep every rule and are as
like the ones that were drawn as can be (models/rules/row_finder.py).

The work is bounded whatever the rules are, and does not grow with the rows: hundreds of
rules that tie hundreds of columns are tried for a second, not for an hour.

What is decided here is the cell. Rules that are finer than the bins are kept when
values are drawn (models/rules/repair_values.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.models.arrays import Flags
from understudy.models.model import Codes
from understudy.models.rules.domains import OutOfSteps
from understudy.models.rules.row_finder import (
    MAX_REPLACEMENT_STEPS,
    RowFinder,
    all_rules,
)
from understudy.schema import Predicate, Schema
from understudy.schema.predicates.on_cells import surely_true_rows

# Rounds of exchanges before codes are drawn anew.
MAX_REPAIR_ROUNDS = 60

# Times that rules are asked in one exchange: of both rows of a pair, in two kinds of
# pairs.
RULE_LOOKUPS_PER_EXCHANGE = 4

# Columns of rules that are looked up in exchanges, each for many rows at once: ten
# rules of two columns get all rounds for ten columns. Hundreds of rules that tie
# hundreds of columns would otherwise be tried for an hour, for three rows as for a
# million.
MAX_EXCHANGE_WORK = 50_000

# Codes of a column that a predicate without a table is evaluated for in about the
# time of a lookup in one.
CODES_PER_LOOKUP = 1000

# A round that leaves more than this share of the impossible rows, and more than
# these, is the last.
STALLED_REPAIR_SHARE, STALLED_REPAIR_ROWS = 0.99, 1000

# Rows that are searched for one by one; others copy them.
MAX_SEARCHED_ROWS = 4096

Masks = Mapping[Clique, NDArray[np.bool_]]


def impossible_masks(schema: Schema) -> dict[Clique, NDArray[np.bool_]]:
    """The structural zeros of every set of columns that a declaration is about, where a
    table of them is small enough to hold.

    >>> from understudy.schema import Boolean, parse_predicate
    >>> columns = (
    ...     Boolean(name="male", nullable=False),
    ...     Boolean(name="pregnant", nullable=False),
    ... )
    >>> schema = Schema(
    ...     columns=columns, impossible=(parse_predicate("male = true and pregnant = true"),)
    ... )
    >>> {
    ...     clique: zeros.astype(int).tolist()
    ...     for clique, zeros in impossible_masks(schema).items()
    ... }
    {('male', 'pregnant'): [[0, 0], [0, 1]]}
    """
    return dict(schema.masks)


def impossible_rows(
    masks: Masks, codes: Mapping[str, NDArray[np.integer]], rows: int
) -> Flags:
    """Which rows lie in a structural zero."""
    bad = np.zeros(rows, bool)
    for clique, zeros in masks.items():
        bad |= zeros[tuple(codes[name] for name in clique)]
    return bad


def forbidden_rows(
    schema: Schema, codes: Mapping[str, NDArray[np.integer]], rows: int
) -> Flags:
    """Which rows no values could make possible, also by rules over too many cells to
    hold.
    """
    return (
        _RuleGroup(
            schema, frozenset(schema), schema.masks, schema.unmasked_predicates
        ).faults(codes, rows)
        > 0
    )


@dataclass(frozen=True, eq=False)
class _RuleGroup:
    """Columns that rules tie together, directly or through others, and those rules."""

    schema: Schema
    columns: frozenset[str]
    masks: Masks
    unmasked_predicates: tuple[Predicate, ...]

    @cached_property
    def width(self) -> int:
        """Columns that are looked up to tell how many rules some rows break; a column
        of very many codes counts as several where no table is held.
        """
        lookups = sum(map(len, self.masks))
        for predicate in self.unmasked_predicates:
            for name in predicate.columns:
                lookups += 1 + self.schema.codecs[name].size // CODES_PER_LOOKUP
        return lookups

    def faults(
        self, codes: Mapping[str, NDArray[np.integer]], rows: int
    ) -> NDArray[np.int16]:
        """How many rules each row breaks."""
        found = np.zeros(rows, np.int16)
        for clique, zeros in self.masks.items():
            found += zeros[tuple(codes[name] for name in clique)]
        for predicate in self.unmasked_predicates:
            found += surely_true_rows(predicate, self.schema.codecs, codes)
        return found


def _rule_groups(schema: Schema) -> list[_RuleGroup]:
    groups: list[frozenset[str]] = []
    for names in (
        *map(frozenset, schema.masks),
        *(p.columns for p in schema.unmasked_predicates),
    ):
        touching = [group for group in groups if group & names]
        groups = [group for group in groups if group not in touching]
        groups.append(names.union(*touching))
    made = []
    for group in groups:
        inside = [clique for clique in schema.masks if group.issuperset(clique)]
        masks = {clique: schema.masks[clique] for clique in inside}
        unmasked = [p for p in schema.unmasked_predicates if p.columns <= group]
        made.append(_RuleGroup(schema, group, masks, tuple(unmasked)))
    return made


def draw_donors(
    keys: Sequence[NDArray[np.generic]],
    bad: Flags,
    here: NDArray[np.int64],
    rng: Generator,
) -> NDArray[np.int64]:
    """For each of some rows a random row that is not bad and has the same keys; -1
    where there is none.
    """
    good = np.flatnonzero(~bad)
    if not good.size:
        return np.full(here.size, -1, np.int64)
    if not keys:
        return good[rng.integers(0, good.size, here.size)]
    group = np.zeros(bad.size, np.int64)
    for key in keys:
        distinct, place = np.unique(key, return_inverse=True)
        group = np.unique(group * distinct.size + place, return_inverse=True)[1]
    good = good[np.argsort(group[good], kind="stable")]
    first, last = (
        np.searchsorted(group[good], group[here], side=side)
        for side in ("left", "right")
    )
    drawn = first + (rng.random(here.size) * (last - first)).astype(np.int64)
    return np.where(last > first, good[np.minimum(drawn, good.size - 1)], -1)


def keep_possible(
    schema: Schema, codes: Codes, rows: int, rng: Generator, fixed: Collection[str] = ()
) -> Codes:
    """The same rows where all are possible, else repaired; `fixed` columns never
    change.

    >>> from understudy.schema import Boolean, parse_predicate
    >>> columns = (
    ...     Boolean(name="male", nullable=False),
    ...     Boolean(name="pregnant", nullable=False),
    ... )
    >>> schema = Schema(
    ...     columns=columns, impossible=(parse_predicate("male = true and pregnant = true"),)
    ... )
    >>> rows = {"male": np.array([1, 0, 0, 1]), "pregnant": np.array([1, 0, 0, 0])}
    >>> repaired = keep_possible(schema, rows, 4, np.random.default_rng(0))
    >>> sorted(zip(repaired["male"].tolist(), repaired["pregnant"].tolist(), strict=True))
    [(0, 0), (0, 1), (1, 0), (1, 0)]
    """
    made: Codes | None = None
    left = np.zeros(rows, np.bool_)
    for group in _rule_groups(schema):
        faults = group.faults(codes, rows)
        if faults.any():
            if made is None:
                made = {name: column.copy() for name, column in codes.items()}
            left |= _repair_rows(group, made, faults, rng, fixed)
    if made is None:
        return codes
    if left.any():
        _replace_rows(schema, made, left, rng, fixed)
    return made


def _repair_rows(
    group: _RuleGroup,
    codes: Codes,
    faults: NDArray[np.int16],
    rng: Generator,
    fixed: Collection[str],
) -> Flags:
    """Make rows keep the rules of one group, which no other group can undo; which rows
    are left is returned.
    """
    free = [name for name in codes if name not in fixed and name in group.columns]
    work = 0
    for _ in range(MAX_REPAIR_ROUNDS):
        before = int(faults.sum())
        for name in free:
            _exchange_column(group, codes, name, faults, rng)
            work += RULE_LOOKUPS_PER_EXCHANGE * group.width
            if not faults.any():
                return faults > 0
            if work > MAX_EXCHANGE_WORK:
                break
        if work > MAX_EXCHANGE_WORK or int(faults.sum()) > max(
            before * STALLED_REPAIR_SHARE, STALLED_REPAIR_ROWS
        ):
            break
    bad = faults > 0
    _copy_donors(sorted(group.columns), codes, bad, rng, fixed)
    return bad


def _exchange_column(
    group: _RuleGroup,
    codes: Codes,
    name: str,
    faults: NDArray[np.int16],
    rng: Generator,
) -> None:
    """Let every impossible row exchange its code of one column with a random row, where
    fewer rules are broken after it.
    """
    for here, there in _pair_rows(faults > 0, rng):
        _swap_if_better(group, codes, name, faults, here, there)


def _pair_rows(
    bad: Flags, rng: Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Every impossible row beside another of them, then beside a possible one; where
    most are impossible, all rows in pairs.
    """
    if 4 * int(bad.sum()) >= bad.size:
        rows = rng.permutation(bad.size)
        half = rows.size // 2
        some = bad[rows[:half]] | bad[rows[half : 2 * half]]
        yield rows[:half][some], rows[half : 2 * half][some]
        return
    here = rng.permutation(np.flatnonzero(bad))
    half = here.size // 2
    yield here[:half], here[half : 2 * half]
    there, first = np.unique(rng.integers(0, bad.size, here.size), return_index=True)
    yield here[first][~bad[there]], there[~bad[there]]


def _swap_if_better(
    group: _RuleGroup,
    codes: Codes,
    name: str,
    faults: NDArray[np.int16],
    here: NDArray[np.int64],
    there: NDArray[np.int64],
) -> None:
    mine = {column: codes[column][here] for column in group.columns}
    theirs = {column: codes[column][there] for column in group.columns}
    mine[name], theirs[name] = theirs[name], mine[name]
    now_here, now_there = (
        group.faults(mine, here.size),
        group.faults(theirs, there.size),
    )
    better = now_here + now_there < faults[here] + faults[there]
    codes[name][here[better]], codes[name][there[better]] = (
        mine[name][better],
        theirs[name][better],
    )
    faults[here[better]], faults[there[better]] = now_here[better], now_there[better]


def _copy_donors(
    names: Sequence[str],
    codes: Codes,
    bad: Flags,
    rng: Generator,
    fixed: Collection[str],
) -> None:
    """Bad rows take over what another row with the same fixed codes has in some
    columns.
    """
    here = np.flatnonzero(bad)
    source = draw_donors(
        [codes[name] for name in names if name in fixed], bad, here, rng
    )
    here, source = here[source >= 0], source[source >= 0]
    for name in names:
        codes[name][here] = codes[name][source]
    bad[here] = False


def _replace_rows(
    schema: Schema, codes: Codes, bad: Flags, rng: Generator, fixed: Collection[str]
) -> None:
    """New codes for rows beside which no possible one was drawn: searched for as long
    as there are steps, then copied from those that were found.
    """
    try:
        finder = RowFinder(schema, all_rules(schema))
    except OutOfSteps:
        raise _no_row_error(schema, fixed) from None
    kept = [name for name in finder.columns if name in fixed]
    _search_rows(finder, codes, bad, rng, kept)
    _copy_donors(list(finder.columns), codes, bad, rng, kept)
    if not bad.any():
        return
    # The row that was found before anything was spent, where nothing else is asked for.
    row = None if kept else finder.find_row()
    if row is None:
        raise _no_row_error(schema, kept)
    for name, code in finder.codes_of(row).items():
        codes[name][bad] = code
    bad[:] = False


def _search_rows(
    finder: RowFinder, codes: Codes, bad: Flags, rng: Generator, kept: Sequence[str]
) -> None:
    """Replace bad rows by rows that keep every rule, the first of each combination of
    kept codes in front, until the steps are used up.
    """
    here = np.flatnonzero(bad)
    if kept:
        keys = np.column_stack([codes[name][here] for name in kept])
        first = np.unique(keys, axis=0, return_index=True)[1]
        here = here[np.concatenate([first, np.delete(np.arange(here.size), first)])]
    here = here[:MAX_SEARCHED_ROWS]
    codecs = finder.schema.codecs
    cells = {
        name: codecs[name].decode(codes[name][here], rng) for name in finder.columns
    }
    finder.refill(MAX_REPLACEMENT_STEPS)
    for place, row in enumerate(here):
        allowed = {
            name: finder.allow_code(name, int(codes[name][row])) for name in kept
        }
        found = finder.find_like(cells, place, allowed)
        if found is None:
            if finder.is_exhausted:
                return
            continue
        for name, code in finder.codes_of(found).items():
            codes[name][row] = code
        bad[row] = False


def _no_row_error(schema: Schema, fixed: Collection[str]) -> Refused:
    if fixed:
        return Refused(
            "What is given leaves no possible row: the schema declares every completion"
            " impossible"
        )
    ruled = set().union(*(p.columns for p in schema.forbidden_predicates))
    return Refused(
        f"{', '.join(sorted(ruled))}: no row was found that keeps every rule of the"
        " schema. Loosen its rules"
    )
