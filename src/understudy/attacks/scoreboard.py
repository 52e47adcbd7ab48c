"""The scoreboard: a few films somebody liked, roughly when, name their record among
thousands.

Narayanan, Shmatikov, "Robust de-anonymization of large sparse datasets", 2008. Each
known rating adds to a record's score the more the rarer its film: (e^(-|Δrating|/1.5) +
e^(-|Δdays|/30)) / ln(number of records that have the film). The best record counts as a
match if it stands out: (best - second) > 1.5 standard deviations of all scores.

The ratings are simulated from a seed: a few films are seen by most, some films are liked
better than others, and people rate soon after a film comes out. So one rating says
little, as in real catalogues.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.attacks.finding import AttackFinding, Curve, Curves

MIN_RATING_ECCENTRICITY = 1.5
"""Standard deviations by which the best score must exceed the second."""

FILM_RELEASE_DAYS, MEAN_RATING_DELAY_DAYS = 2_000, 60
"""Days in which films come out, and how long after it people rate, on average."""

NO_RATING = -1


@dataclass(frozen=True, kw_only=True)
class RatingKnowledge:
    """What is known of somebody: how well dates, whether at all, and how many ratings
    are plainly wrong.
    """

    label: str
    days: int | None
    wrong: int = 0


KNOWLEDGE_CASES = (
    RatingKnowledge(
        label="dates ± 3 days",
        days=3,
    ),
    RatingKnowledge(
        label="± 14 days, 2 wrong",
        days=14,
        wrong=2,
    ),
    RatingKnowledge(
        label="no dates",
        days=None,
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """Stars (or NO_RATING) and days, records × films."""

    stars: NDArray[np.int8]
    days: NDArray[np.int16]

    @classmethod
    def simulate(cls, records: int, films: int, rng: np.random.Generator) -> Ratings:
        """Simulated ratings, about thirty to a record."""
        # Popularity falls as in real catalogues: with the rank, and with a long tail.
        popularity = 1 / (np.arange(films) + 10.0)
        chance = np.minimum(0.9, 30 * popularity / popularity.sum())
        seen = rng.random((records, films)) < chance
        liked = rng.normal(3.4, 0.6, films) + rng.normal(0, 0.8, seen.shape)
        stars = np.where(seen, np.clip(np.rint(liked), 1, 5), NO_RATING)
        released = rng.integers(0, FILM_RELEASE_DAYS, films)
        delay = np.rint(rng.exponential(MEAN_RATING_DELAY_DAYS, seen.shape))
        # A film's ratings side by side: they are looked up film by film.
        return cls(
            stars=np.asfortranarray(stars.astype(np.int8)),
            days=np.asfortranarray((released + delay).astype(np.int16)),
        )


def run_scoreboard_attack(
    *,
    records: int = 5_000,
    films: int = 300,
    targets: int = 200,
    known: tuple[int, ...] = (2, 3, 4, 6, 8),
    seed: int = 0,
) -> AttackFinding:
    """The share of targets named rightly, by how much is known of them.

    >>> run_scoreboard_attack(records=200, films=100, targets=10, known=(8,)).facts[
    ...     "wrongly_named"
    ... ] <= 1
    True
    """
    rng = np.random.default_rng(seed)
    ratings = Ratings.simulate(records, films, rng)
    curves, facts, wrongly = [], {}, 0.0
    for case in KNOWLEDGE_CASES:
        shares = []
        for count in known:
            right, wrong = _identification_rates(
                ratings,
                case,
                count,
                targets,
                rng,
            )
            shares.append(right)
            wrongly = max(wrongly, wrong)
        points = tuple(zip(map(float, known), shares, strict=True))
        curves.append(Curve(case.label, points))
        facts[case.label] = dict(zip(map(str, known), shares, strict=True))
    best = curves[0].points
    return AttackFinding(
        name="scoreboard",
        title=f"{records:,} records without names, {films} films",
        text=(
            (
                f"Knowing {known[0]} ratings and their dates to 3 days names"
                f" {best[0][1]:.0%} of people, {known[-1]} of them {best[-1][1]:.0%}."
            ),
            (
                f"Knowing {known[-1]} ratings, 2 of them wrong and dates to 14 days,"
                f" names {curves[1].points[-1][1]:.0%}; without any dates,"
                f" {curves[2].points[-1][1]:.0%}."
            ),
            (
                f"Of all targets at most {wrongly:.1%} were named wrongly in any of"
                " these cases; where nobody stands out, nobody is named."
            ),
        ),
        figure=Curves(
            title="People whose record is found",
            x="ratings known",
            y="share named",
            curves=tuple(curves),
            top=1.0,
        ),
        facts={
            "records": records,
            "films": films,
            "targets": targets,
            "named": facts,
            "wrongly_named": wrongly,
        },
    )


def _identification_rates(
    ratings: Ratings,
    case: RatingKnowledge,
    count: int,
    targets: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Shares of targets named rightly and wrongly."""
    has_rating = ratings.stars != NO_RATING
    eligible = np.flatnonzero(has_rating.sum(axis=1) >= count)
    chosen = rng.choice(eligible, min(targets, len(eligible)), replace=False)
    support = has_rating.sum(axis=0)
    right = wrong = 0
    for target in chosen:
        films = rng.choice(np.flatnonzero(has_rating[target]), count, replace=False)
        stars, days = _recall_ratings(
            ratings,
            case,
            target,
            films,
            rng,
        )
        scores = score_records(
            ratings,
            films,
            stars,
            days,
            support,
        )
        second, best = np.partition(scores, -2)[-2:]
        spread = scores.std()
        # Nobody is named unless the best score stands out from the second.
        if spread > 0 and (best - second) / spread > MIN_RATING_ECCENTRICITY:
            if int(np.argmax(scores)) == target:
                right += 1
            else:
                wrong += 1
    return right / len(chosen), wrong / len(chosen)


def _recall_ratings(
    ratings: Ratings,
    case: RatingKnowledge,
    target: int,
    films: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """What is known of somebody's ratings: some are wrong, and dates inexact or unknown."""
    stars = ratings.stars[target, films].astype(np.float64)
    days = ratings.days[target, films].astype(np.float64)
    # At least one of them is right, or nothing was known at all.
    mistaken = rng.permutation(len(films))[: min(case.wrong, len(films) - 1)]
    stars[mistaken] = rng.integers(1, 6, len(mistaken))
    days[mistaken] = rng.integers(0, FILM_RELEASE_DAYS, len(mistaken))
    if case.days is None:
        return stars, None
    return stars, days + rng.integers(-case.days, case.days + 1, len(films))


def score_records(
    ratings: Ratings,
    films: NDArray[np.int64],
    stars: NDArray[np.float64],
    days: NDArray[np.float64] | None,
    support: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The score of every record against what is known."""
    scores = np.zeros(len(ratings.stars))
    for place, film in enumerate(films):
        # Few have seen any one film.
        who = np.flatnonzero(ratings.stars[:, film] != NO_RATING)
        # 1.5 stars and 30 days are the paper's own tolerances.
        alike = np.exp(-np.abs(ratings.stars[who, film] - stars[place]) / 1.5)
        if days is not None:
            alike += np.exp(-np.abs(ratings.days[who, film] - days[place]) / 30)
        # A film that few have seen says more about who it was.
        scores[who] += alike / np.log(max(support[film], 2))
    return scores
