"""Matching within a radius: 1/s by hand, brute force, an identical copy, and
independent copies.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from kit.people import SCHEMA, made, table
from understudy.evaluation.risk.matching import (
    QuasiIdentifiers,
    RadiusFinder,
    RiskLevel,
    assign_risk_groups,
    average_copies,
    match_radii,
    match_targets,
)
from understudy.evaluation.risk.reidentification import (
    align_rows,
    assess_reidentification,
)
from understudy.findings import Unavailable
from understudy.schema import Identifier, Schema
from understudy.tables import Records

NONE = np.zeros(0)


def quasi(labels: list[int], numbers: list[float]) -> QuasiIdentifiers:
    return QuasiIdentifiers(
        np.array(labels, np.int64)[:, None], np.array(numbers)[:, None]
    )


def brute(
    targets: QuasiIdentifiers, copies: list[QuasiIdentifiers], radius: float
) -> np.ndarray:
    """P_ij, mean over copies of 1/s where j matches i."""
    chances = np.zeros((targets.rows, copies[0].rows))
    for copy in copies:
        for i in range(targets.rows):
            near = (copy.labels[:, 0] == targets.labels[i, 0]) & (
                np.abs(copy.numbers[:, 0] - targets.numbers[i, 0]) <= radius
            )
            chances[i] += near / max(near.sum(), 1) / len(copies)
    return chances


def test_by_hand() -> None:
    # Three people; copy one keeps them, copy two moves the second out of reach.
    real = quasi([0, 0, 1], [30, 32, 50])
    copies = [quasi([0, 0, 1], [30, 32, 50]), quasi([0, 0, 1], [30, 90, 50])]
    found = match_targets(real, copies, np.array([3.0]))
    assert found.own == pytest.approx([(1 / 2 + 1) / 2, (1 / 2 + 0) / 2, 1])
    assert found.ties.tolist() == [1, 1, 1]
    # The second is taken for the first: 32 is within three years of 30 in both copies.
    assert found.right.tolist() == [True, False, True]
    assert found.expected_count == 2
    assert found.true_rate == pytest.approx(2 / 3)
    assert found.false_rate == pytest.approx(1 / 3)


def test_ties_share_and_nobody_is_nobody() -> None:
    real = quasi([0, 0, 5], [30, 30, 1])
    found = match_targets(real, [quasi([0, 0, 6], [30, 30, 1])], np.array([0.0]))
    assert found.ties.tolist() == [2, 2, 0]
    assert found.expected_count == pytest.approx(1)
    assert found.true_rate == 0
    assert found.false_rate is None


@pytest.mark.parametrize("seed", range(3))
def test_against_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, radius = 60, 4.0
    real = quasi(
        rng.integers(0, 3, n).tolist(), rng.integers(0, 60, n).astype(float).tolist()
    )
    copies = [
        QuasiIdentifiers(
            np.where(rng.random((n, 1)) < 0.9, real.labels, 0),
            real.numbers + rng.integers(-6, 7, (n, 1)),
        )
        for _ in range(3)
    ]
    chances = brute(real, copies, radius)
    found = match_targets(real, copies, np.array([radius]))
    assert found.own == pytest.approx(np.diag(chances))
    top = chances.max(axis=1)
    best = (chances >= top[:, None] - 1e-9) & (top[:, None] > 0)
    assert found.ties.tolist() == best.sum(axis=1).tolist()
    assert found.right.tolist() == np.diag(best).tolist()
    beliefs = [
        brute(real, [copy], radius).max(axis=1) for copy in copies
    ]  # 1/s in each copy
    assert found.belief == pytest.approx(np.mean(beliefs, axis=0))


def test_a_missing_number_matches_a_missing_one_alone() -> None:
    finder = RadiusFinder(quasi([0, 0], [np.nan, 3.0]), np.array([10.0]))
    assert finder.rows_within(np.array([0]), np.array([np.nan])).tolist() == [0]
    assert finder.rows_within(np.array([0]), np.array([5.0])).tolist() == [1]


def test_groups_by_hand() -> None:
    # Six alike; one whose labels are shared by them but whose number is far; one on its
    # own.
    people = quasi([0] * 7 + [1], [30, 30, 30, 30, 30, 31, 80, 30])
    found = assign_risk_groups(people, np.array([2.0]), least=5)
    assert found.tolist() == [RiskLevel.LOW] * 6 + [RiskLevel.MEDIUM, RiskLevel.HIGH]


def test_groups_are_about_the_whole_population() -> None:
    everybody = quasi([0] * 10, [30.0] * 10)
    few = quasi([0, 0], [30.0, 30.0])
    assert assign_risk_groups(few, np.array([1.0])).tolist() == [RiskLevel.HIGH] * 2
    assert (
        assign_risk_groups(few, np.array([1.0]), population=everybody).tolist()
        == [RiskLevel.LOW] * 2
    )


def test_the_mean_of_copies_is_an_attack_of_its_own() -> None:
    """Each copy is too far off to match; their mean is not."""
    real = quasi([0, 0], [30, 60])
    copies = [
        quasi([0, 0], [20, 50]),
        quasi([0, 1], [40, 70]),
        quasi([0, 0], [30.4, 60.2]),
    ]
    mean = average_copies(copies)
    assert mean.numbers[:, 0] == pytest.approx([30.133, 60.067], abs=1e-3)
    assert mean.labels[:, 0].tolist() == [0, 0]
    width = np.array([0.2])
    assert match_targets(real, copies[:2], width).true_rate == 0
    assert match_targets(real, [mean], width).true_rate == 1
    gone = average_copies([quasi([1], [np.nan]), quasi([1], [3.0]), quasi([2], [5.0])])
    assert gone.numbers[0, 0] == 4
    assert gone.labels[0, 0] == 1


KEYED = Schema(
    columns=(*SCHEMA.columns, Identifier(name="id")), impossible=SCHEMA.impossible
)


def keyed(rows: list, order: list[int]) -> Records:
    import pyarrow as pa

    from understudy.tables import Table, open_table

    columns = list(zip(*[(*rows[i], f"p{i}") for i in order], strict=True))
    names = [column.name for column in KEYED.columns]
    return Table(
        open_table(
            pa.table(
                {
                    name: pa.array(list(cells))
                    for name, cells in zip(names, columns, strict=True)
                }
            )
        ),
        KEYED,
    ).records(key="id")


def test_an_identical_copy_is_found_wholly_whatever_its_order() -> None:
    rows = [(i, "F", "low", float(10 * i), True) for i in range(15, 95)]
    real = keyed(rows, list(range(80)))
    copy = keyed(rows, list(np.random.default_rng(1).permutation(80)))
    found = assess_reidentification(
        real, [copy, copy], ["age", "sex"], radius={"age": 0}
    )
    assert found.value == 1
    assert found.facts["true_match_rate"] == 1
    assert found.facts["expected_matches"] == 80
    assert found.facts["aligned"] is True
    # The broken twin: the same rows under other people's keys are nobody's.
    twin = align_rows(real, copy)
    assert twin is not None
    rolled = Records(
        copy.schema,
        {name: np.roll(codes, 1) for name, codes in twin.codes.items()},
        {name: np.roll(places, 1) for name, places in twin.places.items()},
        real.keys,
    )
    assert (
        assess_reidentification(real, [rolled], ["age", "sex"], radius={"age": 0}).value
        == 0
    )


def test_independent_copies_find_people_as_often_as_chance() -> None:
    """With labels alone and rows drawn anew, the right row is met with chance 1/s among
    n: mean I = (number of classes)/n.
    """
    rng = np.random.default_rng(4)
    n, kinds = 400, 4
    own = []
    for _ in range(60):
        real = QuasiIdentifiers(rng.integers(0, kinds, (n, 1)), np.zeros((n, 0)))
        copy = QuasiIdentifiers(rng.integers(0, kinds, (n, 1)), np.zeros((n, 0)))
        own.append(match_targets(real, [copy], NONE).own.mean())
    # I_i is 1/s with chance 1/kinds, and s is about n/kinds: a mean of 1/n, and a
    # spread that the runs themselves show.
    assert abs(np.mean(own) - 1 / n) < 5 * np.std(own) / np.sqrt(60) + 1e-5


def test_without_keys_it_is_a_belief() -> None:
    real, other = table(made(200, 1)).records(), table(made(150, 2)).records()
    found = assess_reidentification(real, [other], ["age", "sex", "school"])
    assert found.facts["aligned"] is False
    assert found.facts["true_match_rate"] is None
    assert "stand for nobody" in found.note
    assert sum(part.facts["records"] for part in found.parts) == 200


def test_radii_are_given_or_a_fortieth_of_the_range() -> None:
    assert match_radii(SCHEMA, ["age", "sex", "income"], {"age": 3}).tolist() == [3, 25]


def test_what_cannot_be_matched() -> None:
    real = table(made(5, 1)).records()
    with pytest.raises(Unavailable, match="quasi_identifier"):
        assess_reidentification(real, [real], [])
    with pytest.raises(Unavailable, match="no rows"):
        assess_reidentification(real, [table([]).records()], ["age"])


# A simulation whose risks are known: Jiang, Raftery, Steele, Wang, "Balancing
# inferential integrity and disclosure risk via model targeted masking and multiple
# imputation", 2022. 500 people; the synthesis is linear in z and the truth is not; a
# match is the same x₂ and an x₁ within 0.1. The figures are those of an independent
# implementation over 40 data sets.


def simulated(rng: np.random.Generator, n: int = 500) -> tuple[np.ndarray, ...]:
    z, (a, b) = rng.uniform(-2, 2, n), rng.uniform(-0.5, 0.5, (2, n))
    x1 = rng.normal(z**2 + 2 * a, 1)
    x2 = rng.random(n) < expit(
        z**2 + x1**2 + x1 * z + 2 * np.where(rng.random(n) < 0.5, a, b)
    )
    o = rng.normal(0.5 * (z + x1 + x2), 1) > 0
    return z, x1, x2.astype(np.int64), o.astype(np.int64)


def drawn_by_regression(rng: np.random.Generator, z, x1, x2, o) -> QuasiIdentifiers:
    """Proper draws: least squares for x₁, then a logistic regression for x₂ on the x₁
    that was drawn.
    """
    import statsmodels.api as sm

    known = np.column_stack([np.ones_like(z), z, o])
    inverse = np.linalg.inv(known.T @ known)
    slopes = inverse @ known.T @ x1
    spread = np.sqrt(((x1 - known @ slopes) ** 2).sum() / rng.chisquare(len(z) - 3))
    slopes = slopes + spread * np.linalg.cholesky(inverse) @ rng.normal(size=3)
    first = known @ slopes + spread * rng.normal(size=len(z))
    fitted = sm.GLM(
        x2, np.column_stack([known, x1]), family=sm.families.Binomial()
    ).fit()
    odds = fitted.params + np.linalg.cholesky(fitted.cov_params()) @ rng.normal(size=4)
    return QuasiIdentifiers(
        (rng.random(len(z)) < expit(np.column_stack([known, first]) @ odds)).astype(
            np.int64
        )[:, None],
        first[:, None],
    )


def drawn_by_trees(rng: np.random.Generator, z, x1, x2, o) -> QuasiIdentifiers:
    """Donors from the leaves of trees grown on a bootstrap of the rows."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    shape = {
        "min_samples_leaf": 5,
        "min_samples_split": 15,
        "max_depth": 30,
        "random_state": 0,
    }
    known, some = np.column_stack([z, o]), rng.integers(0, len(z), len(z))
    tree = DecisionTreeRegressor(**shape).fit(known[some], x1[some])
    leaves, donors = tree.apply(known[some]), x1[some]
    homes = {leaf: donors[leaves == leaf] for leaf in np.unique(leaves)}
    first = np.array(
        [homes[leaf][rng.integers(len(homes[leaf]))] for leaf in tree.apply(known)]
    )
    some = rng.integers(0, len(z), len(z))
    second = DecisionTreeClassifier(**shape).fit(
        np.column_stack([known, x1])[some], x2[some]
    )
    chance = second.predict_proba(np.column_stack([known, first]))[
        :, list(second.classes_).index(1)
    ]
    return QuasiIdentifiers(
        (rng.random(len(z)) < chance).astype(np.int64)[:, None], first[:, None]
    )


@pytest.mark.parametrize(
    ("make", "copies", "alone", "mean"),
    [
        (None, 1, 0.018, 0.120),  # the original against itself
        (drawn_by_regression, 3, 0.001, 0.002),
        (drawn_by_trees, 3, 0.011, 0.013),
        (drawn_by_trees, 20, 0.031, 0.013),
    ],
)
def test_a_simulation_of_known_risk(
    make, copies: int, alone: float, mean: float
) -> None:
    rng, found = np.random.default_rng(1), []
    for _ in range(6):
        world = simulated(rng)
        real = QuasiIdentifiers(world[2][:, None], world[1][:, None])
        made = [real] if make is None else [make(rng, *world) for _ in range(copies)]
        matched = match_targets(real, made, np.array([0.1]))
        found.append((matched.true_rate, matched.own.mean()))
    rates, chances = np.mean(found, axis=0)
    assert rates == pytest.approx(alone, abs=0.005)
    assert chances == pytest.approx(mean, abs=0.003)
