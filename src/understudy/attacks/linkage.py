"""Linkage: names taken off a table come back through birth date, sex and ZIP code.

Sweeney, "Simple demographics often identify people uniquely", 2000. She joined hospital
records "without names" with a voter roll that cost twenty dollars, and found the record
of the governor of Massachusetts. Cambridge had 54,000 residents and seven ZIP codes;
six people shared his birth date, three of them men, one of them in his ZIP code.

The city here is made up from a seed, with as many residents and ZIP codes.
"""

from __future__ import annotations

import numpy as np

from understudy.attacks.finding import AttackFinding, Bar, Bars

CITY_RESIDENTS, CITY_ZIP_CODES, BIRTH_DATE_COUNT = 54_000, 7, 80 * 365


def run_linkage_attack(
    *, residents: int = CITY_RESIDENTS, seed: int = 0
) -> AttackFinding:
    """How many people share what is known of somebody, and how many hospital records a
    voter roll names.

    >>> run_linkage_attack(residents=2_000).facts["wrong"]
    0
    """
    rng = np.random.default_rng(seed)
    zips, born, sex = (
        rng.integers(0, CITY_ZIP_CODES, residents),
        rng.integers(0, BIRTH_DATE_COUNT, residents),
        rng.integers(0, 2, residents),
    )
    keys = {
        "ZIP code": zips,
        "birth year, sex": born // 365 * 2 + sex,
        "birth date": born,
        "birth date, sex": born * 2 + sex,
        "birth date, sex, ZIP code": (born * 2 + sex) * CITY_ZIP_CODES + zips,
    }
    unique, crowd = {}, {}
    for name, key in keys.items():
        sizes = np.bincount(key)[key]
        unique[name], crowd[name] = float((sizes == 1).mean()), float(np.median(sizes))
    # A tenth were in hospital; the release keeps the three columns and leaves names
    # out. Most residents are on the voter roll.
    key = keys["birth date, sex, ZIP code"]
    patients = rng.permutation(residents)[: residents // 10]
    voters = np.flatnonzero(rng.random(residents) < 0.7)
    roll: dict[int, list[int]] = {int(k): [] for k in key[voters]}
    for person in voters:
        roll[int(key[person])].append(int(person))
    named = [
        (int(p), found[0])
        for p in patients
        if len(found := roll.get(int(key[p]), [])) == 1
    ]
    right = sum(p == found for p, found in named)
    bars = tuple(
        Bar(name, share, f"{share:.1%}, typically 1 of {crowd[name]:,.0f}")
        for name, share in unique.items()
    )
    last = "birth date, sex, ZIP code"
    return AttackFinding(
        name="linkage",
        title=f"A city of {residents:,}: who is the only one?",
        text=(
            (
                f"{unique[last]:.0%} of residents are the only one with their birth"
                " date, sex and ZIP code; with birth year and sex alone,"
                f" {unique['birth year, sex']:.0%}."
            ),
            (
                f"Of {len(patients):,} hospital records without names, a voter roll"
                f" with 7 in 10 residents names {len(named):,}; {right:,} of these"
                f" ({right / max(len(named), 1):.0%}) are right."
            ),
            (
                "Leaving names out protects nobody who can be described. A synthetic"
                " table has no row that belongs to one of them."
            ),
        ),
        figure=Bars(
            title="Residents who are the only one with…",
            axis="share of residents",
            bars=bars,
            top=1.0,
        ),
        facts={
            "residents": residents,
            "unique": unique,
            "crowd": crowd,
            "patients": len(patients),
            "named": len(named),
            "right": right,
            "wrong": sum(1 for p, found in named if key[found] != key[p]),
        },
    )
