"""Linkage: join a file with names to a release on the columns that both have, as the
governor's hospital record was found.

Sweeney, "Weaving technology and policy together to maintain confidentiality", 1997. A
link is a named person and a row that agree on the columns in common, and with nobody
and nothing else. Against the original file a link is the person. Against a synthetic table it
is right only as far as the row's other values are the person's: so it is compared with
the person's own record, and with guessing the most frequent value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.risk.classes import equivalence_classes
from understudy.findings import BetterDirection, Fact, Finding, FindingPart, Unavailable
from understudy.tables import Records


def find_unique_links(
    named: Records, release: Records, on: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of named people and of the rows they are linked to: pairs in which each is
    the only one of its class.
    """
    here, there = equivalence_classes(on, named, release)
    total = int(max(here.max(initial=-1), there.max(initial=-1))) + 1
    alone_here = np.bincount(here, minlength=total) == 1
    alone_there = np.bincount(there, minlength=total) == 1
    linked = np.flatnonzero(alone_here & alone_there)
    # The row of each class; only classes of one row are looked up.
    row_here, row_there = np.full(total, -1), np.full(total, -1)
    row_here[here], row_there[there] = np.arange(len(here)), np.arange(len(there))
    return row_here[linked], row_there[linked]


def assess_linkage(
    named: Records,
    release: Records,
    on: Sequence[str],
    *,
    original: Records | None = None,
    secrets: Sequence[str] = (),
) -> Finding:
    """Share of named people linked to a row, and how much of what the row says about
    them is true.

    `named` and `original` must have been read with the key that says who is who;
    `release` needs none.
    """
    if not on:
        raise Unavailable("the two files have no column in common")
    if not named.rows or not release.rows:
        raise Unavailable("one of the tables has no rows")
    # Only pairs that are alone on both sides: a link to one of several is a guess.
    people, rows = find_unique_links(named, release, on)
    facts: dict[str, Fact] = {
        "links": len(people),
        "named": named.rows,
        "on": list(on),
    }
    parts: list[FindingPart] = []
    if original is not None and original.keys is not None and named.keys is not None:
        own, linked = _rows_of_members(named.keys[people], rows, original.keys)
        facts["links_of_members"] = len(own)
        facts["links_to_the_original"] = len(find_unique_links(named, original, on)[0])
        parts = [
            _linked_secret_part(
                name, original.codes[name], own, release.codes[name][linked]
            )
            for name in secrets
        ]
    return Finding(
        name="linkage",
        title="People in the named file linked to one row",
        family="identity",
        value=len(people) / named.rows,
        better=BetterDirection.LOWER,
        best=0.0,
        worst=1.0,
        note=(
            "Each part: how often the linked row has the person's true value, beside"
            " always guessing the most frequent one."
        ),
        parts=tuple(sorted(parts, key=lambda part: -(part.value or 0.0))),
        facts=facts,
    )


def _rows_of_members(
    people: NDArray[np.generic], rows: NDArray[np.int64], members: NDArray[np.generic]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of linked people who are in the real table: their own row there, and the row of
    the release that they are linked to.
    """
    place = {key: i for i, key in enumerate(members.tolist())}
    own, linked = [], []
    for key, row in zip(people.tolist(), rows.tolist(), strict=True):
        if key in place:
            own.append(place[key])
            linked.append(row)
    return np.array(own, np.int64), np.array(linked, np.int64)


def _linked_secret_part(
    name: str,
    column: NDArray[np.integer],
    own: NDArray[np.int64],
    linked: NDArray[np.integer],
) -> FindingPart:
    """How often the linked row has the person's true value, beside the best guess."""
    if not len(own):
        reason = "nobody in the real table is linked"
        return FindingPart(name=name, columns=(name,), reason=reason)
    truth = column[own]
    most_frequent = int(np.bincount(column).argmax())
    return FindingPart(
        name=name,
        columns=(name,),
        value=float(np.mean(truth == linked)),
        facts={"majority": float(np.mean(truth == most_frequent))},
    )
