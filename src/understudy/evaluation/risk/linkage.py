"""Linkage: join a file with names to a release on what both have, as the governor's
hospital record was found.

Sweeney, "Weaving technology and policy together to maintain confidentiality", 1997. A
link is a named person and a row who agree on the columns in common, each alone in
agreeing. Against the original file a link is the person. Against a synthetic table it
is right only as far as the row's other values are the person's: so it is compared with
the person's own record, and with guessing the most frequent value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.risk.classes import equivalence_classes
from understudy.findings import BetterDirection, Finding, FindingPart, Unavailable
from understudy.tables import Records


def find_unique_links(
    named: Records, release: Records, on: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of named people and of the rows they are linked to: pairs in which each is
    the only one of its class.
    """
    here, there = equivalence_classes(on, named, release)
    total = int(max(here.max(initial=-1), there.max(initial=-1))) + 1
    single = np.flatnonzero(
        (np.bincount(here, minlength=total) == 1)
        & (np.bincount(there, minlength=total) == 1)
    )
    place = np.full((2, total), -1, np.int64)
    place[0, here], place[1, there] = np.arange(len(here)), np.arange(len(there))
    return place[0, single], place[1, single]


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
    people, rows = find_unique_links(named, release, on)
    facts: dict[str, object] = {
        "links": len(people),
        "named": named.rows,
        "on": list(on),
    }
    parts: list[FindingPart] = []
    if original is not None and original.keys is not None and named.keys is not None:
        place = {key: i for i, key in enumerate(original.keys.tolist())}
        known = [
            (place[key], row)
            for key, row in zip(named.keys[people].tolist(), rows.tolist(), strict=True)
            if key in place
        ]
        own, met = (
            np.array([pair[side] for pair in known], np.int64) for side in (0, 1)
        )
        facts["links_of_members"] = len(known)
        plain, _ = find_unique_links(named, original, on)
        facts["links_to_the_original"] = len(plain)
        for name in secrets:
            if not len(own):
                parts.append(
                    FindingPart(
                        name=name,
                        columns=(name,),
                        reason="nobody in the real table is linked",
                    )
                )
                continue
            truth = original.codes[name][own]
            guess = int(np.bincount(original.codes[name]).argmax())
            right = float(np.mean(truth == release.codes[name][met]))
            parts.append(
                FindingPart(
                    name=name,
                    columns=(name,),
                    value=right,
                    facts={"majority": float(np.mean(truth == guess))},
                )
            )
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
        facts=facts,  # type: ignore[arg-type]
    )
