"""Questions measured together: the same counts as one by one, less noise, and intervals
that hold.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from kit.curator.contexts import no_noise
from kit.curator.listed import Listed
from kit.privacy.audit import gdp
from kit.queries.corpus import PEOPLE_SCHEMA, make_people
from kit.queries.noiseless import QuestionRunInMemory, answer_once, table_of
from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator.context import Draw
from understudy.curator.questions import ExactStatistics, QuestionCurator
from understudy.noise import draw_noise
from understudy.queries import (
    Query,
    bins,
    cases,
    correlation,
    count,
    count_distinct,
    covariance,
    mean,
    median,
    select,
    share,
    stddev,
    total,
    variance,
)
from understudy.queries.batch_answers import answer_members
from understudy.queries.batches import AtomPlan, is_joinable, plan_atoms
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.offers import offer_answer
from understudy.queries.plan import plan_query
from understudy.queries.precision import pool_values
from understudy.queries.statistics import GroupReach
from understudy.schema import Identifier, Schema, Unit

PEOPLE = make_people(600)
BATCHES: dict[str, list[Query]] = {
    "deciles": [count().where(f"age < {10 * i}") for i in range(1, 10)],
    "groups and totals": [
        count(),
        count().by("sex"),
        count().by("sex", "region"),
        count().where("sex = F"),
        count().by(bins("age", 0, 18, 65, 100)).where("region is not missing"),
    ],
    "overlaps": [
        count().where("age > 30 and married = true"),
        count().where("age > children").by("married"),
        count().where("born < 1980-01-01 or age is missing"),
    ],
    "sums and means": [
        total("children"),
        total("children").by("sex"),
        mean("children").where("married = true"),
        count("age"),
        mean("age").by("sex"),
        total("age").where("age < 40"),
        share("married = true").by("sex"),
        count().by(cases(("age < 30", "young"), otherwise="old", name="stage")),
    ],
    "spreads": [
        stddev("weight"),
        variance("children").by("sex"),
        covariance("age", "children"),
        correlation("age", "children").where("sex = F"),
        select(count(), total("weight")).compute(each="sum_weight / count"),
    ],
}
COUNTS = ("deciles", "groups and totals", "overlaps")


def plan_batch(batch: list[Query], schema: Schema = PEOPLE_SCHEMA) -> AtomPlan:
    plans = [plan_query(query, schema) for query in batch]
    assert all(is_joinable(plan) for plan in plans)
    atoms = plan_atoms(plans)
    assert atoms is not None
    return atoms


@pytest.mark.parametrize("name", BATCHES)
def test_atoms_add_up_to_the_answers(name: str) -> None:
    table = table_of(PEOPLE, PEOPLE_SCHEMA)
    atoms = plan_batch(BATCHES[name])
    statistics = ExactStatistics(table, atoms)
    silent = NoiseScale(Law.ROUNDED_GAUSSIAN, Fraction(0))
    exact = [
        ([float(v) for v in statistics.measure_groups(place)], silent)
        for place in range(len(atoms.statistics))
    ]
    found = answer_members(atoms, exact, basis="")
    for query, answer in zip(BATCHES[name], found, strict=True):
        alone = answer_once(table, PEOPLE_SCHEMA, query, draw=no_noise)
        assert [row.keys for row in answer.rows] == [row.keys for row in alone.rows]
        for one, other in zip(answer.rows, alone.rows, strict=True):
            for number, expected in zip(one.numbers, other.numbers, strict=True):
                # Recovered from the sums that are measured, by floats.
                assert number.value == pytest.approx(expected.value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("name", COUNTS)
def test_no_row_moves_what_is_measured_further_than_the_sensitivity(
    name: str, relation: Neighbours
) -> None:
    """All tables of one row against none, and against all tables of another row."""
    atoms = plan_batch(BATCHES[name])
    size = atoms.cells.groups
    rows = [np.eye(size, dtype=int)[i].tolist() for i in range(size)]
    nothing = [0] * size
    sums = [np.array(atoms.combine_groups(0, row)) for row in (nothing, *rows)]
    others = sums[:1] if relation is Neighbours.ADD_REMOVE else sums
    worst = max(int(((a - b) ** 2).sum()) for a in sums for b in others)
    far = max(int(np.abs(a - b).sum()) for a in sums for b in others)
    claimed = atoms.sensitivity(atoms.statistics[0], relation)
    assert claimed.l2_squared == worst
    assert claimed.l1 >= far


SMALL_SCHEMA = Schema.parse(
    """
columns:
  x: {type: integer, min: -1, max: 3}
  y: {type: integer, min: 2, max: 4, nullable: false}
  s: {type: categorical, values: [a, b], nullable: false}
"""
)
SMALL_BATCH = [
    count(),
    total("x"),
    mean("x").by("s"),
    total("y").where("x > 0"),
    variance("y").by("s"),
    share("s = a").where("x > 1"),
    covariance("x", "y"),
]


@pytest.mark.parametrize("relation", Neighbours)
def test_no_row_moves_sums_further_than_their_sensitivity(relation: Neighbours) -> None:
    """Every row that there can be against none, and against every other. Added or
    removed, the worst row moves a family by exactly what is claimed.
    """
    atoms = plan_batch(SMALL_BATCH, SMALL_SCHEMA)
    rows = [
        {"x": x, "y": y, "s": s}
        for x, y, s in product((None, -1, 0, 1, 2, 3), (2, 3, 4), "ab")
    ]
    tables = [[], *([row] for row in rows)]
    assert len(atoms.statistics) >= 5
    for place, family in enumerate(atoms.statistics):
        sums = [
            np.array(
                ExactStatistics(Listed(table, SMALL_SCHEMA), atoms).measure_groups(
                    place
                )
            )
            for table in tables
        ]
        others = sums[:1] if relation is Neighbours.ADD_REMOVE else sums
        worst = max(int(((a - b) ** 2).sum()) for a in sums for b in others)
        far = max(int(np.abs(a - b).sum()) for a in sums for b in others)
        entry = max(int(np.abs(a - b).max()) for a in sums for b in others)
        claimed = atoms.sensitivity(family, relation)
        assert claimed.l2_squared >= worst
        assert claimed.l1 >= far
        assert claimed.linf >= entry
        if relation is Neighbours.ADD_REMOVE:
            assert claimed.l2_squared == worst


@pytest.mark.parametrize("relation", Neighbours)
def test_units_of_several_rows_move_sums_so_many_times_as_far(
    relation: Neighbours,
) -> None:
    """All rows of a unit may be alike: norms grow with their number. A row may be
    exchanged for none, which is less than for its opposite.
    """
    own = replace(
        SMALL_SCHEMA,
        columns=(*SMALL_SCHEMA.columns, Identifier(name="p")),
        unit=Unit(id="p", max_rows=3),
    )
    one, three = plan_batch(SMALL_BATCH, SMALL_SCHEMA), plan_batch(SMALL_BATCH, own)
    for family, many in zip(one.statistics, three.statistics, strict=True):
        row, unit = one.sensitivity(family, relation), three.sensitivity(many, relation)
        assert unit.l2_squared >= 9 * row.l2_squared
        assert unit.l1 >= 3 * row.l1
        assert unit.linf >= 3 * row.linf


def test_a_sensitivity_of_unscaled_columns_is_noticed() -> None:
    """A mutant: bounds that are left out of the sensitivity claim less than a row
    moves.
    """
    atoms = plan_batch(SMALL_BATCH, SMALL_SCHEMA)
    place, family = next(
        (place, each) for place, each in enumerate(atoms.statistics) if each.factors
    )
    strategy = atoms.strategies[place]
    assert strategy is not None
    ones = np.ones(atoms.cells.groups, object)
    claimed = strategy.sensitivity(
        GroupReach(ones, ones, may_be_absent=False), Neighbours.ADD_REMOVE, 1
    )
    assert (
        claimed.l2_squared < atoms.sensitivity(family, Neighbours.ADD_REMOVE).l2_squared
    )


def test_deciles_have_half_the_error_of_one_by_one() -> None:
    """Nine counts one by one have nine times the variance of one at the same budget."""
    atoms = plan_batch(BATCHES["deciles"])
    (root,) = atoms.price_roots
    assert len(atoms.members) / root > 1.9


def test_totals_and_means_by_groups_have_much_less_error_than_one_by_one() -> None:
    asked = [
        make("children").by(*keys)
        for make in (total, mean)
        for keys in ((), ("sex",), ("region",), ("married",), ("sex", "region"))
    ]
    atoms = plan_batch([*asked, count(), count().by("sex"), count().by("region")])
    assert sum(atoms.amount_shares) <= 1
    # Variances in parts of those alone: Q of them alone, (Σ√C)² / Q together.
    assert len(atoms.members) / sum(atoms.price_roots) > 1.8


def test_an_audit_sees_what_a_batch_was_charged_and_refutes_half_of_the_noise() -> None:
    """A row in the middle atom, found by the best linear test of all sums."""
    schema = Schema.parse(
        "columns: {x: {type: integer, min: 0, max: 9, nullable: false}}"
    )
    atoms = plan_batch([count().where(f"x <= {i}") for i in range(10)], schema)
    offer = offer_answer(
        atoms,
        neighbours=Neighbours.ADD_REMOVE,
        accounting=Accounting.GDP,
        amount=Fraction(1),
    )
    alone = [
        np.array(ExactStatistics(Listed([{"x": x}], schema), atoms).measure_groups(0))
        for x in range(10)
    ]
    worst = int(np.argmax([(sums**2).sum() for sums in alone]))
    direction = alone[worst]
    tables = [Listed([{"x": 1}], schema), Listed([{"x": 1}, {"x": worst}], schema)]
    middle = float((alone[1] + direction / 2) @ direction)

    def proven(draw: Draw, trials: int) -> tuple[bool, float]:
        scores = []
        for table in tables:
            curator = QuestionCurator(table=table, run=QuestionRunInMemory(), draw=draw)
            drawn = [curator.answer(offer)[0][-1].values for _ in range(trials)]
            scores.append(np.array(drawn, float) @ direction)
        found = gdp(*scores, 1.0, at=middle, alpha=1e-7)
        return found.violated, found.share

    violated, share_seen = proven(draw_noise, 1500)
    assert not violated
    # About 0.66 is expected, with a deviation of 0.05.
    assert share_seen > 0.35
    assert proven(lambda law, s, shape: draw_noise(law, s / 2, shape), 800)[0]


def test_an_audit_of_counts_and_sums_refutes_half_of_the_noise() -> None:
    """The worst row, found by the best linear test of all families: each in parts of the
    variance of its noise.
    """
    schema = Schema.parse(
        "columns: {x: {type: integer, min: 0, max: 4, nullable: false}}"
    )
    atoms = plan_batch([mean("x"), total("x"), count(), count().where("x < 3")], schema)
    offer = offer_answer(
        atoms,
        neighbours=Neighbours.ADD_REMOVE,
        accounting=Accounting.GDP,
        amount=Fraction(1),
    )
    precisions = [1 / float(order.scale or 1) ** 2 for order in offer.orders]
    assert len(precisions) == 2

    def measure(rows: list[dict[str, object]]) -> list[np.ndarray]:
        exact = ExactStatistics(Listed(rows, schema), atoms)
        return [np.array(exact.measure_groups(place)) for place in range(2)]

    def separation(x: int) -> float:
        moved = measure([{"x": x}])
        return sum(p * (m**2).sum() for p, m in zip(precisions, moved, strict=True))

    worst = max(range(5), key=separation)
    # What the worst row moves is what was charged for, but for what is rounded down.
    assert 0.8 < separation(worst) <= 1
    moved = measure([{"x": worst}])
    directions = [p * m for p, m in zip(precisions, moved, strict=True)]
    tables = [[{"x": 1}], [{"x": 1}, {"x": worst}]]
    start = measure(tables[0])
    middle = sum(
        float((s + m / 2) @ d) for s, m, d in zip(start, moved, directions, strict=True)
    )

    def is_refuted(draw: Draw, trials: int) -> bool:
        scores = []
        for rows in tables:
            curator = QuestionCurator(
                table=Listed(rows, schema), run=QuestionRunInMemory(), draw=draw
            )
            drawn = []
            for _ in range(trials):
                values = [each[-1].values for each in curator.answer(offer)]
                pairs = zip(values, directions, strict=True)
                drawn.append(sum(np.array(v, float) @ d for v, d in pairs))
            scores.append(np.array(drawn))
        return gdp(*scores, 1.0, at=middle, alpha=1e-7).violated

    assert not is_refuted(draw_noise, 800)
    assert is_refuted(lambda law, s, shape: draw_noise(law, s / 2, shape), 800)


def test_medians_and_columns_per_unit_are_asked_one_by_one() -> None:
    assert not is_joinable(plan_query(median("age"), PEOPLE_SCHEMA))
    assert not is_joinable(plan_query(count_distinct("region"), PEOPLE_SCHEMA))


def test_intervals_of_sums_of_atoms_hold() -> None:
    """300 batches of ten counts. At 95 % 2,850 are expected to hold; the ten of a batch
    share atoms, so the deviation is at most that of ten equal ones, 38: 2,600 are 6.6
    deviations away.
    """
    schema = Schema.parse(
        "columns: {x: {type: integer, min: 0, max: 9, nullable: false}}"
    )
    atoms = plan_batch([count().where(f"x <= {i}") for i in range(10)], schema)
    truth = np.cumsum(np.full(10, 50))
    held = 0
    for _ in range(300):
        exact_sums = np.array(atoms.combine_groups(0, [50] * 10))
        noisy = exact_sums + draw_noise(
            Law.ROUNDED_GAUSSIAN, Fraction(300), exact_sums.shape
        )
        noise = NoiseScale(Law.ROUNDED_GAUSSIAN, Fraction(300))
        found = answer_members(atoms, [(noisy.astype(float).tolist(), noise)], basis="")
        for answer, exact in zip(found, truth, strict=True):
            low, high = answer.interval
            held += low <= exact <= high
    assert held >= 2600


def test_intervals_of_all_kinds_hold() -> None:
    """12 batches of means, sums, shares and spreads through the real curator. At 95 %
    of 288 numbers at least 274 are expected to hold. Those of a batch depend on each
    other: if half of them count for themselves, the deviation is 5.2 and 88 % are four
    deviations away.
    """
    table = table_of(PEOPLE, PEOPLE_SCHEMA)
    batch = [*BATCHES["sums and means"], *BATCHES["spreads"]]
    atoms = plan_batch(batch)
    offer = offer_answer(
        atoms,
        neighbours=Neighbours.ADD_REMOVE,
        accounting=Accounting.GDP,
        amount=Fraction(4),
    )
    exact = [answer_once(table, PEOPLE_SCHEMA, each, draw=no_noise) for each in batch]
    held = asked = 0
    for _ in range(12):
        curator = QuestionCurator(table=table, run=QuestionRunInMemory())
        measured = [pool_values(each) for each in curator.answer(offer)]
        found = answer_members(atoms, measured, basis="")
        for answer, truth in zip(found, exact, strict=True):
            for row, other in zip(answer.rows, truth.rows, strict=True):
                for number, expected in zip(row.numbers, other.numbers, strict=True):
                    asked += 1
                    held += number.low <= expected.value <= number.high
    assert held >= 0.88 * asked


def test_a_batch_is_charged_what_it_says_and_stays_within_its_budget(
    tmp_path: Path,
) -> None:
    """Means, totals and a median for one ε: the parts never add up to more than one
    question of that ε costs, and asked again they are free.
    """
    batch = [*BATCHES["sums and means"], median("age"), count().by("sex")]
    book = tmp_path / "people.ledger"
    with us.session(PEOPLE, PEOPLE_SCHEMA, ledger=book, budget=2) as questions:
        answers = questions.ask(batch, epsilon=1)
        with us.Ledger.open(book) as ledger:
            (spent,) = [run.filter.spent for run in ledger.runs()]
        most = questions.amount_of(1)
        again = questions.ask(batch, epsilon=1)
    assert 0.999 * most < spent <= most
    assert sum(a.cost.amount for a in answers if a.cost is not None) == spent
    assert [a.rows for a in again] == [a.rows for a in answers]
    assert all(a.cost is None for a in again)


PARTS_AND_TOTAL = (
    "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE age <= 60) AS a,"
    " COUNT(*) FILTER (WHERE age > 60) AS b, COUNT(*) FILTER (WHERE age IS NULL) AS c"
    " FROM people"
)


def test_numbers_of_one_question_in_a_list_are_consistent(tmp_path: Path) -> None:
    """Parts add up to their total, and a sum is its count times its mean; asked without
    the list, all have noise of their own and do not.
    """
    moments = "SELECT SUM(age) AS s, COUNT(age) AS n, AVG(age) AS a FROM people"
    book = tmp_path / "people.ledger"
    with us.session(PEOPLE, PEOPLE_SCHEMA, ledger=book, budget=20) as questions:
        (parts,) = questions.ask([PARTS_AND_TOTAL], epsilon=4)
        (means,) = questions.ask([moments], epsilon=4)
        again = questions.ask([moments], epsilon=4)
        plain = questions.ask(PARTS_AND_TOTAL, epsilon=4)
    total, *rest = (number.value for number in parts.rows[0].numbers)
    assert total == pytest.approx(sum(rest), abs=1e-6)
    added, counted, mean_age = (number.value for number in means.rows[0].numbers)
    assert added == pytest.approx(counted * mean_age, rel=1e-9)
    assert again[0].account_line() == "Free (stored: it was answered before)."
    # Whole numbers with four draws of noise: they add up once in ten times, by chance.
    assert all(number.value.is_integer() for number in plain.rows[0].numbers)
    assert parts.half_width < plain.half_width


def test_together_costs_less_than_one_by_one(tmp_path: Path) -> None:
    """Nine deciles within ±50, recovered from sums of nine atoms."""
    batch = BATCHES["deciles"]
    book = tmp_path / "people.ledger"
    with us.session(PEOPLE, PEOPLE_SCHEMA, ledger=book, budget=5) as questions:
        alone = sum(questions.price(q, within=50).offer.cost.amount for q in batch)
        answers = questions.ask(batch, within=50)
        cost = answers[0].cost
        again = questions.ask(batch, within=50)
    assert cost is not None
    assert cost.amount < alone
    assert all(answer.half_width <= 50 for answer in answers)
    assert again[0].rows == answers[0].rows


def test_a_batch_beyond_the_budget_is_refused_before_its_first_question(
    tmp_path: Path,
) -> None:
    book = tmp_path / "people.ledger"
    batch = [mean("age"), mean("income").by("sex")]
    with us.session(PEOPLE, PEOPLE_SCHEMA, ledger=book, budget=1) as questions:
        with pytest.raises(us.errors.BudgetExceeded):
            questions.ask(batch, epsilon=3)
        with us.Ledger.open(book) as ledger:
            assert all(run.filter.spent == 0 for run in ledger.runs())
        assert len(questions.ask(batch, epsilon="0.5")) == 2


def test_the_noise_on_atoms_is_what_is_charged() -> None:
    """One draw for each sum, at the scale of the whole charge."""
    atoms = plan_batch(BATCHES["deciles"])
    offer = offer_answer(
        atoms,
        neighbours=Neighbours.ADD_REMOVE,
        accounting=Accounting.GDP,
        amount=Fraction(1),
    )
    shapes = []

    def watch(law: Law, scale: Fraction, shape: tuple[int, ...]) -> np.ndarray:
        shapes.append((scale, shape))
        return draw_noise(law, scale, shape)

    table = table_of(PEOPLE, PEOPLE_SCHEMA)
    QuestionCurator(table=table, run=QuestionRunInMemory(), draw=watch).answer(offer)
    (strategy,) = atoms.strategies
    assert strategy is not None
    moved = atoms.sensitivity(atoms.statistics[0], Neighbours.ADD_REMOVE).l2_squared
    ((scale, shape),) = shapes
    assert shape == (len(strategy.sums),)
    assert moved / scale**2 <= 1
    assert math.isclose(moved, scale**2, rel_tol=1e-4)
    # Nine cuts, less those that no question is about: missing ages and those from 90.
    assert atoms.cells.groups == 9
