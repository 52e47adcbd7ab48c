"""Rows that the schema declares impossible are never handed out, also where a model
does not know better.

A model over all columns gives impossible cells no mass. One that treats columns apart
cannot see them, so its rows are repaired: a row that cannot be exchanges one code with
another row, if both are possible afterwards. Every column keeps its counts. Where no
exchange is left, a row takes the codes of a possible one in the columns that have
rules, and where there is none, codes are drawn evenly from what is possible.

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
from understudy.models.model import Codes
from understudy.schema import Predicate, Schema
from understudy.schema.predicates.on_cells import surely_true_rows

MAX_REPAIR_ROUNDS = 60
"""Rounds of exchanges before codes are drawn anew."""

RULE_LOOKUPS_PER_EXCHANGE = 4
"""Times that rules are asked in one exchange: of both rows of a pair, in two kinds of
pairs.
"""

MAX_EXCHANGE_WORK = 50_000
"""Columns of rules that are looked up in exchanges, each for many rows at once: ten
rules of two columns get all rounds for ten columns. Hundreds of rules that tie hundreds
of columns would otherwise be tried for an hour, for three rows as for a million.
"""

STALLED_REPAIR_SHARE, STALLED_REPAIR_ROWS = 0.99, 1000
"""A round that leaves more than this share of the impossible rows, and more than these,
is the last.
"""

Masks = Mapping[Clique, NDArray[np.bool_]]
Flags = NDArray[np.bool_]


def impossible_masks(schema: Schema) -> dict[Clique, NDArray[np.bool_]]:
    """The structural zeros of every set of columns that a declaration is about, where a
    table of them is small enough to hold.

    >>> from understudy.schema import Boolean, parse_predicate
    >>> columns = (Boolean(name="male", nullable=False), Boolean(name="pregnant", nullable=False))
    >>> schema = Schema(columns=columns, impossible=(parse_predicate("male = true and pregnant = true"),))
    >>> {clique: zeros.astype(int).tolist() for clique, zeros in impossible_masks(schema).items()}
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
        """Columns that are looked up to tell how many rules some rows break."""
        return sum(map(len, self.masks)) + sum(
            len(predicate.columns) for predicate in self.unmasked_predicates
        )

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
    return [
        _RuleGroup(
            schema,
            group,
            {
                clique: zeros
                for clique, zeros in schema.masks.items()
                if group.issuperset(clique)
            },
            tuple(p for p in schema.unmasked_predicates if p.columns <= group),
        )
        for group in groups
    ]


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
    >>> columns = (Boolean(name="male", nullable=False), Boolean(name="pregnant", nullable=False))
    >>> schema = Schema(columns=columns, impossible=(parse_predicate("male = true and pregnant = true"),))
    >>> rows = {"male": np.array([1, 0, 0, 1]), "pregnant": np.array([1, 0, 0, 0])}
    >>> repaired = keep_possible(schema, rows, 4, np.random.default_rng(0))
    >>> sorted(zip(repaired["male"].tolist(), repaired["pregnant"].tolist(), strict=True))
    [(0, 0), (0, 1), (1, 0), (1, 0)]
    """
    made: Codes | None = None
    for group in _rule_groups(schema):
        faults = group.faults(codes, rows)
        if faults.any():
            made = (
                {name: column.copy() for name, column in codes.items()}
                if made is None
                else made
            )
            _repair_rows(group, made, faults, rng, fixed)
    return codes if made is None else made


def _repair_rows(
    group: _RuleGroup,
    codes: Codes,
    faults: NDArray[np.int16],
    rng: Generator,
    fixed: Collection[str],
) -> None:
    """Make every row keep the rules of one group, which no other group can undo."""
    free = [name for name in codes if name not in fixed and name in group.columns]
    work = 0
    for _ in range(MAX_REPAIR_ROUNDS):
        before = int(faults.sum())
        for name in free:
            _exchange_column(group, codes, name, faults, rng)
            work += RULE_LOOKUPS_PER_EXCHANGE * group.width
            if not faults.any():
                return
            if work > MAX_EXCHANGE_WORK:
                break
        if work > MAX_EXCHANGE_WORK or int(faults.sum()) > max(
            before * STALLED_REPAIR_SHARE, STALLED_REPAIR_ROWS
        ):
            break
    bad = faults > 0
    _copy_donors(group, codes, bad, rng, fixed)
    if bad.any():
        _redraw_codes(group, codes, bad, rng, fixed)


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
    mine, theirs = ({n: codes[n][at] for n in group.columns} for at in (here, there))
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
    group: _RuleGroup, codes: Codes, bad: Flags, rng: Generator, fixed: Collection[str]
) -> None:
    """Rows that are left take over what a possible row with the same fixed codes has in
    the columns of the group.
    """
    here = np.flatnonzero(bad)
    names = sorted(group.columns)
    source = draw_donors(
        [codes[name] for name in names if name in fixed], bad, here, rng
    )
    here, source = here[source >= 0], source[source >= 0]
    for name in names:
        codes[name][here] = codes[name][source]
    bad[here] = False


def _redraw_codes(
    group: _RuleGroup, codes: Codes, bad: Flags, rng: Generator, fixed: Collection[str]
) -> None:
    """New codes for the rows that are left, one set of columns after the other, until
    every declaration is satisfied.
    """
    free_names = sorted(group.columns - set(fixed))
    for _ in range(MAX_REPAIR_ROUNDS):
        for clique, zeros in group.masks.items():
            free = [i for i, name in enumerate(clique) if name not in fixed]
            for row in np.flatnonzero(
                zeros[tuple(codes[name] for name in clique)] & bad
            ):
                pinned = tuple(
                    slice(None) if i in free else int(codes[clique[i]][row])
                    for i in range(len(clique))
                )
                choices = np.argwhere(~zeros[pinned])
                if not free or not len(choices):
                    raise Refused(
                        "What is given leaves no possible row: the schema declares"
                        " every completion impossible"
                    )
                for i, code in zip(
                    free, choices[rng.integers(len(choices))], strict=True
                ):
                    codes[clique[i]][row] = code
        bad[:] = group.faults(codes, bad.size) > 0
        if not bad.any():
            return
        for name in free_names if group.unmasked_predicates else ():
            codes[name][bad] = rng.integers(
                0, group.schema.codecs[name].size, int(bad.sum())
            )
    columns = ", ".join(sorted(group.columns))
    raise Refused(
        f"{columns}: what is declared impossible leaves hardly a row possible. Loosen"
        " it in the schema"
    )
