"""Rows that the schema declares impossible are never handed out, also where a model does not know better.

A model over all columns gives impossible cells no mass. One that treats columns apart cannot see them, so its rows are repaired: a row
that cannot be exchanges one code with another row, if both are possible afterwards. Every column keeps its counts. Only where no
exchange is left does a row get new codes, drawn evenly from what is possible.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.models.model import Codes
from understudy.schema import Schema

EXCHANGES = 60
"""Rounds of exchanges before codes are drawn anew."""

Masks = Mapping[Clique, NDArray[np.bool_]]


def impossible_masks(schema: Schema) -> dict[Clique, NDArray[np.bool_]]:
    """The structural zeros of every set of columns that a declaration is about.

    >>> from understudy.schema import Boolean, parse_predicate
    >>> columns = (Boolean(name="male", nullable=False), Boolean(name="pregnant", nullable=False))
    >>> schema = Schema(columns=columns, impossible=(parse_predicate("male = true and pregnant = true"),))
    >>> {clique: zeros.astype(int).tolist() for clique, zeros in impossible_masks(schema).items()}
    {('male', 'pregnant'): [[0, 0], [0, 1]]}
    """
    cliques = {tuple(n for n in schema if n in p.columns): p.columns for p in schema.impossible}
    found = {clique: schema.zeros(clique) for clique, columns in cliques.items() if len(clique) == len(columns)}
    return {clique: zeros for clique, zeros in found.items() if zeros is not None}


def impossible_rows(masks: Masks, codes: Mapping[str, NDArray[np.integer]], rows: int) -> NDArray[np.bool_]:
    """Which rows lie in a structural zero."""
    bad = np.zeros(rows, bool)
    for clique, zeros in masks.items():
        bad |= zeros[tuple(codes[name] for name in clique)]
    return bad


def keep_possible(schema: Schema, codes: Codes, rows: int, rng: Generator, fixed: Collection[str] = ()) -> Codes:
    """The same rows where all are possible, else repaired; `fixed` columns never change.

    >>> from understudy.schema import Boolean, parse_predicate
    >>> columns = (Boolean(name="male", nullable=False), Boolean(name="pregnant", nullable=False))
    >>> schema = Schema(columns=columns, impossible=(parse_predicate("male = true and pregnant = true"),))
    >>> rows = {"male": np.array([1, 0, 0, 1]), "pregnant": np.array([1, 0, 0, 0])}
    >>> repaired = keep_possible(schema, rows, 4, np.random.default_rng(0))
    >>> sorted(zip(repaired["male"].tolist(), repaired["pregnant"].tolist(), strict=True))
    [(0, 0), (0, 1), (1, 0), (1, 0)]
    """
    masks = impossible_masks(schema)
    bad = impossible_rows(masks, codes, rows)
    if not bad.any():
        return codes
    codes = {name: column.copy() for name, column in codes.items()}
    free = [name for name in codes if name not in fixed and any(name in clique for clique in masks)]
    for turn in range(EXCHANGES * len(free)):
        _exchange(masks, codes, free[turn % len(free)], bad, rng)
        if not bad.any():
            return codes
    return _redraw(masks, codes, bad, rng, fixed)


def _exchange(masks: Masks, codes: Codes, name: str, bad: NDArray[np.bool_], rng: Generator) -> None:
    """Let every impossible row exchange its code of one column with a random possible row, where that helps it and harms nobody."""
    here = np.flatnonzero(bad)
    there, first = np.unique(rng.integers(0, bad.size, here.size), return_index=True)
    here, there = here[first][~bad[there]], there[~bad[there]]
    mine, theirs = ({n: column[at] for n, column in codes.items()} for at in (here, there))
    mine[name], theirs[name] = theirs[name], mine[name]
    fine = ~impossible_rows(masks, mine, here.size) & ~impossible_rows(masks, theirs, there.size)
    codes[name][here[fine]], codes[name][there[fine]] = mine[name][fine], theirs[name][fine]
    bad[here[fine]] = False


def _redraw(masks: Masks, codes: Codes, bad: NDArray[np.bool_], rng: Generator, fixed: Collection[str]) -> Codes:
    """New codes for the rows that are left, one set of columns after the other, until every declaration is satisfied."""
    for _ in range(EXCHANGES):
        for clique, zeros in masks.items():
            free = [i for i, name in enumerate(clique) if name not in fixed]
            for row in np.flatnonzero(zeros[tuple(codes[name] for name in clique)] & bad):
                pinned = tuple(slice(None) if i in free else int(codes[clique[i]][row]) for i in range(len(clique)))
                choices = np.argwhere(~zeros[pinned])
                if not free or not len(choices):
                    raise Refused(
                        "What is given leaves no possible row: the schema declares every completion impossible"
                    )
                for i, code in zip(free, choices[rng.integers(len(choices))], strict=True):
                    codes[clique[i]][row] = code
        bad = impossible_rows(masks, codes, bad.size)
        if not bad.any():
            return codes
    columns = ", ".join(sorted({name for clique in masks for name in clique}))
    raise Refused(f"{columns}: what is declared impossible leaves hardly a row possible. Loosen it in the schema")
