"""Counts one after another: the law of every sequence of outcomes, on all neighbours of
small tables, broken twins of it, an audit, and intervals that cover.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import exp, inf, log
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kit.curator.listed import Listed, Row
from kit.plans import neighbouring_tables
from kit.privacy.audit import pure
from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator.mechanisms.online_counts import TEST_PARTS, OnlineCounts
from understudy.curator.questions import ExactStatistics
from understudy.noise import draw_noise
from understudy.queries.builders import bins, count
from understudy.queries.plan import plan_query
from understudy.queries.query import Query
from understudy.schema import Schema
from understudy.toolbox.online_counts import CellWeights, CountBasis, plan_online

SCHEMA = Schema.parse(
    """
columns:
  a: {type: boolean, nullable: false}
  c: {type: categorical, values: [u, v]}
  n: {type: integer, min: 0, max: 9}
"""
)
ROWS: list[Row] = [
    {"a": True, "c": "u", "n": 0},
    {"a": True, "c": None, "n": 9},
    {"a": False, "c": "v", "n": None},
]
HAS_A, HAS_U = count().where("a = true"), count().where("c = 'u'")
NOISE_REACH = np.arange(-150, 151)
"""Noise that the law is summed over; more is rarer than 1e-15 at the scales here."""


def make_counts(
    questions: Sequence[Query] = (HAS_A, HAS_U, HAS_A),
    *,
    failures: int = 2,
    epsilon: int = 4,
    threshold: int | None = 1,
    accounting: Accounting = Accounting.PURE,
    **keywords: Any,
) -> OnlineCounts:
    plans = [plan_query(each, SCHEMA) for each in questions]
    return OnlineCounts(
        plan=plan_online(plans, SCHEMA),
        failures=failures,
        amount=Fraction(epsilon),
        accounting=accounting,
        asked_threshold=threshold,
        **keywords,
    )


def chances(scale: Fraction, values: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(k) of discrete Laplace noise."""
    decay = exp(-1 / scale)
    return (1 - decay) / (1 + decay) * decay ** np.abs(values)


def pass_chances(scale: Fraction, below: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(ν < x)."""
    decay = exp(-1 / scale)
    low = decay ** (1.0 - np.minimum(below, 0)) / (1 + decay)
    high = 1 - decay ** np.maximum(below, 0).astype(float) / (1 + decay)
    return np.where(below <= 0, low, high)


def laws_of_parts(
    mechanism: OnlineCounts, distances: Sequence[int], has_threshold_noise: bool = True
) -> list[float]:
    """For each place, the chance that the first failure is there; last, that none is."""
    rho = NOISE_REACH if has_threshold_noise else np.zeros(1, np.int64)
    weight = chances(mechanism.threshold_noise.scale, rho)
    still = weight / weight.sum()
    found = []
    for distance in distances:
        room = mechanism.threshold + rho - distance
        passes = pass_chances(mechanism.test_noise.scale, room)
        found.append(float((still * (1 - passes)).sum()))
        still = still * passes
    return [*found, float(still.sum())]


def law_of(
    mechanism: OnlineCounts,
    rows: Sequence[Row],
    totals: Sequence[int],
    values: Sequence[int],
) -> dict[tuple[object, ...], float]:
    """The chance of every outcome with these noisy numbers."""
    true_rows, counts = mechanism.count_exactly(Listed(rows, SCHEMA))
    scale = mechanism.count_noise.scale
    law: dict[tuple[object, ...], float] = {}

    def visit(learned: list[tuple[int, int]], total: int, chance: float) -> None:
        weights = CellWeights(mechanism.plan.cells, total)
        for place, value in learned:
            weights.learn(mechanism.plan.selected[place], value)
        first = learned[-1][0] + 1 if learned else 0
        name = (total, *learned)
        if len(learned) == mechanism.failures:
            law[name] = chance
            return
        distances = [
            abs(counts[i] - weights.estimate(mechanism.plan.selected[i]))
            for i in range(first, len(counts))
        ]
        *fails, passed = laws_of_parts(mechanism, distances)
        law[(*name, None)] = chance * passed
        for place, failed in enumerate(fails, first):
            for value in values:
                drawn = chances(scale, np.array([value - counts[place]]))[0]
                visit([*learned, (place, value)], total, chance * failed * drawn)

    for total in totals:
        visit([], total, float(chances(scale, np.array([total - true_rows]))[0]))
    return law


@pytest.mark.parametrize("relation", Neighbours)
def test_no_outcome_is_likelier_than_the_charge_allows(relation: Neighbours) -> None:
    mechanism = make_counts()
    laws: dict[str, dict[tuple[object, ...], float]] = {}
    largest = 0.0
    for pair in neighbouring_tables(ROWS, relation, most_rows=1):
        one, other = (
            laws.setdefault(str(t), law_of(mechanism, t, (0, 2), (0, 1, 3)))
            for t in pair
        )
        largest = max(largest, *(abs(log(one[k] / other[k])) for k in one))
    assert largest <= float(mechanism.cost.amount) + 1e-9
    # Much of what is paid for can happen.
    assert largest > 1


def test_a_charge_for_one_failure_is_refuted() -> None:
    mechanism = make_counts([HAS_A] * 5, failures=5)
    # Where every noisy number is high, the row is likelier to be there.
    one, other = (law_of(mechanism, t, [1], [3]) for t in (ROWS[:1], []))
    largest = max(log(one[k] / other[k]) for k in one)
    assert float(mechanism.part * (2 + TEST_PARTS)) < largest
    assert largest <= float(mechanism.cost.amount)


def worst_of_many(mechanism: OnlineCounts, *, has_threshold_noise: bool) -> float:
    """The largest loss of tests of one part, where one row moves all of a hundred."""
    worst = 0.0
    for near, far in ((0, 1), (3, 4), (4, 3)):
        one, other = (
            laws_of_parts(mechanism, [distance] * 100, has_threshold_noise)
            for distance in (near, far)
        )
        losses = [
            abs(log(p / q)) if q else inf
            for p, q in zip(one, other, strict=True)
            if p > 1e-12
        ]
        worst = max(worst, *losses)
    return worst


def test_a_threshold_without_noise_is_refuted() -> None:
    mechanism = make_counts(failures=1, epsilon=1, threshold=6)
    allowed = float(mechanism.test_epsilon)
    assert worst_of_many(mechanism, has_threshold_noise=True) <= allowed + 1e-6
    assert worst_of_many(mechanism, has_threshold_noise=False) > 2 * allowed


def test_passes_before_a_failure_cost_all_that_is_claimed() -> None:
    """The worst case of the proof: a row moves a hundred passing tests one way, and the
    failing one the other way.
    """
    mechanism = make_counts(failures=1, epsilon=1, threshold=6)
    near, far = (
        laws_of_parts(mechanism, [distance] * 100 + [1 - distance])[100]
        for distance in (0, 1)
    )
    allowed = float(mechanism.test_epsilon)
    assert 0.95 * allowed < log(near / far) <= allowed + 1e-6


def test_one_row_moves_a_distance_by_as_much_as_claimed() -> None:
    mechanism = make_counts([HAS_A, HAS_U, count().by("c"), count()])
    for relation in Neighbours:
        largest = 0
        for pair in neighbouring_tables(ROWS, relation):
            one, other = (mechanism.count_exactly(Listed(t, SCHEMA)) for t in pair)
            for estimate in (0, 1, 5):
                moves = [
                    abs(abs(p - estimate) - abs(q - estimate))
                    for p, q in zip(
                        [one[0], *one[1]], [other[0], *other[1]], strict=True
                    )
                ]
                largest = max(largest, *moves)
        assert largest == mechanism.sensitivity == 1


def test_counts_of_joint_cells_are_those_of_each_question() -> None:
    questions = [
        count().by(bins("n", 0, 4, 10)).where("a = true"),
        count().where("n >= 3 and n < 7"),
        count().where("n is null or c = 'v'"),
        count().by("c", "a"),
        count(),
    ]
    plans = [plan_query(each, SCHEMA) for each in questions]
    rng = np.random.default_rng(5)
    rows: list[Row] = [
        {
            "a": bool(rng.integers(2)),
            "c": [None, "u", "v"][rng.integers(3)],
            "n": None if rng.random() < 0.2 else int(rng.integers(10)),
        }
        for _ in range(200)
    ]
    table = Listed(rows, SCHEMA)
    wanted = [n for plan in plans for n in ExactStatistics(table, plan).by_group(0)]
    assert make_counts(questions).count_exactly(table) == (200, wanted)


def iterate_answers(
    mechanism: OnlineCounts, rows: Sequence[Row], trials: int
) -> Iterator[tuple[int, list[tuple[int, CountBasis]]]]:
    table = Listed(rows, SCHEMA)
    for _ in range(trials):
        total, answers = json.loads(mechanism.draw(table))
        yield total, [(value, CountBasis(basis)) for value, basis in answers]


def test_the_law_is_the_drawn_one() -> None:
    mechanism = make_counts()
    exact_scale = mechanism.count_noise.scale

    def draw(law: Law, scale: Fraction, shape: tuple[int, ...]) -> NDArray[np.int64]:
        noise = draw_noise(law, scale, shape)
        # Counts without noise, so that few outcomes are left.
        return noise * (scale != exact_scale)

    assert exact_scale not in (
        mechanism.test_noise.scale,
        mechanism.threshold_noise.scale,
    )
    rows, trials = [*ROWS, ROWS[0], ROWS[1]], 1_500
    drawn: Counter[tuple[int, ...]] = Counter()
    for _, answers in iterate_answers(make_counts(noise=draw), rows, trials):
        drawn[
            tuple(
                place
                for place, (_, basis) in enumerate(answers)
                if basis is CountBasis.MEASURED
            )
        ] += 1
    _, counts = mechanism.count_exactly(Listed(rows, SCHEMA))
    law = law_of(mechanism, rows, [5], sorted(set(counts)))
    at_zero = float(chances(exact_scale, np.zeros(1, np.int64))[0])
    whole = 0.0
    for (_, *outcome), chance in law.items():
        failed = [each for each in outcome if each is not None]
        if any(counts[place] != value for place, value in failed):  # type: ignore[misc]
            continue
        given = chance / at_zero ** (1 + len(failed))
        whole += given
        places = tuple(place for place, _ in failed)  # type: ignore[misc]
        spread = 5.5 * (trials * given * (1 - given)) ** 0.5
        assert abs(drawn[places] - trials * given) < spread + 1
    assert whole == pytest.approx(1)


def draw_a_sixteenth(
    law: Law, scale: Fraction, shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """A broken twin: a sixteenth of the noise that was paid for. The number of rows has a
    fifth of the budget, so of an eighth this audit misses one in thirty.
    """
    return draw_noise(law, scale / 16, shape)


def audit_total(mechanism: OnlineCounts, trials: int = 700) -> bool:
    """Whether two neighbours tell apart by the noisy number of rows."""
    scores = [
        np.array([float(total) for total, _ in iterate_answers(mechanism, t, trials)])
        for t in ([], ROWS[:1])
    ]
    claim = float(mechanism.cost.amount)
    return pure(*scores, claim, at=0.5, alpha=1e-7).violated


def test_an_audit_passes_the_counts_and_refutes_a_twin() -> None:
    assert not audit_total(make_counts(failures=1, epsilon=1))
    assert audit_total(make_counts(failures=1, epsilon=1, noise=draw_a_sixteenth))


@pytest.mark.parametrize("accounting", Accounting)
def test_intervals_of_passed_tests_hold_the_true_count(accounting: Accounting) -> None:
    """At the edge where a test passes half of the time, and what passes is far off."""
    mechanism = make_counts(
        [HAS_A, HAS_U] * 20, failures=3, threshold=0, accounting=accounting
    )
    rows = ROWS * 12
    _, counts = mechanism.count_exactly(Listed(rows, SCHEMA))
    reach = mechanism.threshold + mechanism.test_width
    asked = missed = 0
    for _, answers in iterate_answers(mechanism, rows, 60):
        for true, (value, basis) in zip(counts, answers, strict=True):
            asked += 1
            missed += basis is CountBasis.CHECKED and abs(value - true) > reach
    assert missed <= 0.05 * asked


@pytest.mark.parametrize("accounting", Accounting)
def test_the_charge_is_within_what_was_asked(accounting: Accounting) -> None:
    for failures in (1, 5, 40):
        mechanism = make_counts(failures=failures, epsilon=1, accounting=accounting)
        assert 0.99 < mechanism.cost.amount <= 1
        # The widths grow with what may fail.
        wider = make_counts(failures=2 * failures, epsilon=1, accounting=accounting)
        assert wider.test_width > mechanism.test_width
