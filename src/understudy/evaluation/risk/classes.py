"""Equivalence classes: rows that agree on some columns. k-anonymity and ℓ-diversity are
computed from them, as measures of the real table and not as protection.

Samarati, Sweeney, "Protecting privacy when disclosing information", 1998;
Machanavajjhala et al., "ℓ-diversity", 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from understudy.findings import BetterDirection, Finding, FindingPart, Unavailable
from understudy.tables import Records

MAX_UNIQUENESS_COLUMN_SETS = 30
"""Sets of columns tried for each number of columns."""

SMALL_CLASS_ROWS = 5
"""Rows below which a class counts as small; the usual k of data protection offices."""


def equivalence_classes(
    columns: Sequence[str], *tables: Records
) -> list[NDArray[np.int64]]:
    """A number for the class of each row, the same in every table; exact, whatever the
    size of the domain.

    >>> from understudy.schema import Boolean, Schema
    >>> schema = Schema(columns=(Boolean(name="a"), Boolean(name="b")))
    >>> rows = Records(
    ...     schema,
    ...     {"a": np.array([0, 1, 0], np.uint8), "b": np.array([1, 1, 1], np.uint8)},
    ...     {},
    ... )
    >>> equivalence_classes(["a", "b"], rows)[0].tolist()
    [0, 1, 0]
    """
    lengths = [records.rows for records in tables]
    key, top = np.zeros(sum(lengths), np.int64), 1
    for name in columns:
        size = tables[0].codec(name).size
        # Numbers are packed densely again before they outgrow 64 bits.
        if top * size >= 2**62:
            key, top = _renumber_keys(key)
        key = key * size + np.concatenate([records.codes[name] for records in tables])
        top *= size
    key, _ = _renumber_keys(key)
    return np.split(key, np.cumsum(lengths)[:-1])


def class_sizes(ids: NDArray[np.int64], total: int | None = None) -> NDArray[np.int64]:
    """How many rows share each row's class."""
    return np.bincount(ids, minlength=total or 0)[ids]


def assess_k_anonymity(
    real: Records, synthetic: Records, quasi: Sequence[str]
) -> Finding:
    """The smallest class of the real table over the quasi-identifiers; how many rows
    are alone, or nearly.
    """
    if not real.rows:
        raise Unavailable("the real table has no rows")
    parts = []
    for word, records in (("real", real), ("synthetic", synthetic)):
        if not records.rows:
            parts.append(FindingPart(name=word, reason="the table has no rows"))
            continue
        sizes = class_sizes(equivalence_classes(quasi, records)[0])
        parts.append(
            FindingPart(
                name=word,
                value=float(sizes.min()),
                facts={
                    "unique": float(np.mean(sizes == 1)),
                    "below_5": float(np.mean(sizes < SMALL_CLASS_ROWS)),
                    "mean_inverse": float(np.mean(1 / sizes)),
                },
            )
        )
    return Finding(
        name="k_anonymity",
        title="k-anonymity of the real table (a measure, no protection)",
        family="measures",
        value=parts[0].value,
        better=BetterDirection.HIGHER,
        note="The smallest number of rows that agree on the quasi-identifiers.",
        parts=tuple(parts),
        facts={"quasi_identifiers": list(quasi)},
    )


def assess_l_diversity(
    real: Records, quasi: Sequence[str], sensitive: Sequence[str]
) -> Finding:
    """The fewest values of a sensitive column within a class of the quasi-identifiers."""
    if not real.rows:
        raise Unavailable("the real table has no rows")
    parts = []
    for name in sensitive:
        ids = equivalence_classes(quasi, real)[0]
        both = equivalence_classes([*quasi, name], real)[0]
        # One row for every pair of a class and a value in it, so counting the classes
        # of these rows counts their values.
        first = np.unique(both, return_index=True)[1]
        diverse = np.bincount(ids[first], minlength=int(ids.max()) + 1)
        parts.append(
            FindingPart(
                name=name,
                columns=(name,),
                value=float(diverse.min()),
                facts={
                    "rows_in_classes_of_one_value": float(np.mean(diverse[ids] == 1))
                },
            )
        )
    if not parts:
        raise Unavailable("no column is sensitive; give one the role “sensitive”")
    ranked = tuple(sorted(parts, key=lambda part: part.value or 0.0))
    return Finding(
        name="l_diversity",
        title="ℓ-diversity of the real table (a measure, no protection)",
        family="measures",
        value=ranked[0].value,
        better=BetterDirection.HIGHER,
        note=(
            "The fewest values of a sensitive column among rows that agree on the"
            " quasi-identifiers."
        ),
        parts=ranked,
    )


def assess_uniqueness(
    real: Records,
    synthetic: Records,
    columns: Sequence[str],
    *,
    rng: np.random.Generator,
    most: int = 5,
) -> Finding:
    """Share of real rows that are alone on k attributes, for k = 1, 2, …; and of those
    that a single synthetic row agrees with too.
    """
    if not real.rows:
        raise Unavailable("the real table has no rows")
    parts = [
        _uniqueness_part(
            real,
            synthetic,
            _choose_column_sets(columns, k, rng),
            k,
            comb(len(columns), k),
        )
        for k in range(1, min(most, len(columns)) + 1)
    ]
    if not parts:
        raise Unavailable("no column to look at")
    return Finding(
        name="uniqueness",
        title="Real rows that are unique, by number of attributes known",
        family="identity",
        value=parts[-1].value,
        better=BetterDirection.LOWER,
        best=0.0,
        worst=1.0,
        note=(
            "“replicated”: unique in the real table and equal to exactly one"
            " synthetic row. The columns named are the worst set."
        ),
        parts=tuple(parts),
    )


def _uniqueness_part(
    real: Records,
    synthetic: Records,
    column_sets: list[tuple[str, ...]],
    k: int,
    total_sets: int,
) -> FindingPart:
    """Unique rows on sets of k columns: the mean over the sets, and the worst of them."""
    unique, replicated = [], []
    for names in column_sets:
        here, there = equivalence_classes(names, real, synthetic)
        total = int(max(here.max(initial=0), there.max(initial=0))) + 1
        # Alone in the real table, and then whether one synthetic row is the same.
        is_alone = class_sizes(here, total) == 1
        synthetic_sizes = np.bincount(there, minlength=total)[here]
        unique.append(float(is_alone.mean()))
        replicated.append(float(np.mean(is_alone & (synthetic_sizes == 1))))
    worst = column_sets[int(np.argmax(unique))]
    return FindingPart(
        name=f"{k} attribute{'s' if k > 1 else ''}",
        value=float(np.mean(unique)),
        columns=tuple(worst),
        facts={
            "largest": float(np.max(unique)),
            "replicated": float(np.mean(replicated)),
            "sets": len(column_sets),
            "of": total_sets,
        },
    )


def _choose_column_sets(
    columns: Sequence[str], k: int, rng: np.random.Generator
) -> list[tuple[str, ...]]:
    if comb(len(columns), k) <= MAX_UNIQUENESS_COLUMN_SETS:
        return list(combinations(columns, k))
    # A set, so that no combination counts twice.
    drawn = {
        tuple(sorted(rng.choice(len(columns), k, replace=False).tolist()))
        for _ in range(MAX_UNIQUENESS_COLUMN_SETS)
    }
    return [tuple(columns[i] for i in places) for places in sorted(drawn)]


def _renumber_keys(key: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    # Dense numbers from 0, in the order of the old ones.
    values, places = np.unique(key, return_inverse=True)
    return places.reshape(-1).astype(np.int64), max(1, len(values))
