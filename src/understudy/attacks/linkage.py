"""Linkage: names taken off a table come back through birth date, sex and ZIP code.

Sweeney, "Simple demographics often identify people uniquely", 2000. She joined hospital
records "without names" with a voter roll that cost twenty dollars, and found the record
of the governor of Massachusetts. Cambridge had 54,000 residents and seven ZIP codes;
six people shared his birth date, three of them men, one of them in his ZIP code.

The city here is simulated from a seed, with as many residents and ZIP codes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.attacks.finding import AttackFinding, Bar, Bars

CITY_RESIDENTS, CITY_ZIP_CODES, BIRTH_DATE_COUNT = 54_000, 7, 80 * 365
WHOLE_KEY = "birth date, sex, ZIP code"

PATIENT_SHARE, VOTER_RATE = 10, 0.7
"""One resident in ten was in hospital, and seven in ten are on the roll."""


def run_linkage_attack(
    *, residents: int = CITY_RESIDENTS, seed: int = 0
) -> AttackFinding:
    """How many people share what is known of somebody, and how many hospital records a
    voter roll names.

    >>> run_linkage_attack(residents=2_000).facts["wrong"]
    0
    """
    rng = np.random.default_rng(seed)
    zips = rng.integers(0, CITY_ZIP_CODES, residents)
    born = rng.integers(0, BIRTH_DATE_COUNT, residents)
    sex = rng.integers(0, 2, residents)
    # Each combination of values as one number.
    keys = {
        "ZIP code": zips,
        "birth year, sex": born // 365 * 2 + sex,
        "birth date": born,
        "birth date, sex": born * 2 + sex,
        WHOLE_KEY: (born * 2 + sex) * CITY_ZIP_CODES + zips,
    }
    # Who is alone with a key, and how many a typical resident shares it with.
    unique, crowd = {}, {}
    for name, key in keys.items():
        sizes = np.bincount(key)[key]
        unique[name] = float((sizes == 1).mean())
        crowd[name] = float(np.median(sizes))
    key = keys[WHOLE_KEY]
    # The hospital leaves names out and keeps the three columns; the roll has both.
    patients = rng.permutation(residents)[: residents // PATIENT_SHARE]
    voters = np.flatnonzero(rng.random(residents) < VOTER_RATE)
    links = _link_records(key, patients, voters)
    right = sum(patient == voter for patient, voter in links)
    wrong = sum(1 for patient, voter in links if key[voter] != key[patient])
    bars = tuple(
        Bar(name, share, f"{share:.1%}, typically 1 of {crowd[name]:,.0f}")
        for name, share in unique.items()
    )
    return AttackFinding(
        name="linkage",
        title=f"A city of {residents:,}: who is the only one?",
        text=(
            f"{unique[WHOLE_KEY]:.0%} of residents are the only one with their birth"
            " date, sex and ZIP code; with birth year and sex alone,"
            f" {unique['birth year, sex']:.0%}.",
            f"Of {len(patients):,} hospital records without names, a voter roll with 7"
            f" in 10 residents names {len(links):,}; {right:,} of these"
            f" ({right / max(len(links), 1):.0%}) are right.",
            "Leaving names out protects nobody who can be described. A synthetic table"
            " has no row that belongs to one of them.",
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
            "named": len(links),
            "right": right,
            "wrong": wrong,
        },
    )


def _link_records(
    key: NDArray[np.int64], patients: NDArray[np.int64], voters: NDArray[np.int64]
) -> list[tuple[int, int]]:
    """Each patient with the one voter who has the same key; a patient whose key several
    voters have, or none, is not named.
    """
    roll: dict[int, list[int]] = {}
    for voter in voters:
        roll.setdefault(int(key[voter]), []).append(int(voter))
    links = []
    for patient in patients:
        candidates = roll.get(int(key[patient]), [])
        if len(candidates) == 1:
            links.append((int(patient), candidates[0]))
    return links
