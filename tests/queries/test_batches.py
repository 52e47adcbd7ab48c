"""Questions measured together: the same counts as one by one, less noise, and intervals
that hold.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from kit.curator.contexts import no_noise
from kit.curator.listed import Listed
from kit.privacy.audit import gdp
from kit.queries.corpus import PEOPLE_SCHEMA, make_people
from kit.queries.noiseless import PracticeRun, answer_once, table_of
from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator.context import Draw
from understudy.curator.questions import ExactStatistics, QuestionCurator
from understudy.noise import draw_noise
from understudy.queries import Query, bins, count, mean, select
from understudy.queries.batches import (
    answer_members,
    atom_half_width,
    plan_atoms,
    scale_for_atoms,
)
from understudy.queries.offers import offer_answer
from understudy.queries.plan import plan_query
from understudy.schema import Schema

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
}


@pytest.mark.parametrize("name", BATCHES)
def test_atoms_add_up_to_the_counts(name: str) -> None:
    table = table_of(PEOPLE, PEOPLE_SCHEMA)
    plans = [plan_query(query, PEOPLE_SCHEMA) for query in BATCHES[name]]
    atoms = plan_atoms(plans)
    assert atoms is not None
    exact = [float(v) for v in ExactStatistics(table, atoms).measure_groups(0)]
    found = answer_members(atoms, exact, Law.ROUNDED_GAUSSIAN, Fraction(1), basis="")
    for query, answer in zip(BATCHES[name], found, strict=True):
        alone = answer_once(table, PEOPLE_SCHEMA, query, draw=no_noise)
        assert [row.keys for row in answer.rows] == [row.keys for row in alone.rows]
        for one, other in zip(answer.rows, alone.rows, strict=True):
            # Recovered from the sums that are measured, by floats.
            assert one.numbers[0].value == pytest.approx(
                other.numbers[0].value, abs=1e-6
            )


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("name", BATCHES)
def test_no_row_moves_what_is_measured_further_than_the_sensitivity(
    name: str, relation: Neighbours
) -> None:
    """All tables of one row against none, and against all tables of another row."""
    plans = [plan_query(query, PEOPLE_SCHEMA) for query in BATCHES[name]]
    atoms = plan_atoms(plans)
    assert atoms is not None
    size = atoms.cells.groups
    rows = [np.eye(size, dtype=int)[i].tolist() for i in range(size)]
    nothing = [0] * size
    sums = [np.array(atoms.combine_groups(row)) for row in (nothing, *rows)]
    others = sums[:1] if relation is Neighbours.ADD_REMOVE else sums
    worst = max(int(((a - b) ** 2).sum()) for a in sums for b in others)
    far = max(int(np.abs(a - b).sum()) for a in sums for b in others)
    claimed = atoms.sensitivity(atoms.statistics[0], relation)
    assert claimed.l2_squared == worst
    assert claimed.l1 >= far


def test_deciles_have_half_again_less_error_than_one_by_one() -> None:
    """Nine counts one by one have nine times the variance of one at the same budget."""
    plans = [plan_query(query, PEOPLE_SCHEMA) for query in BATCHES["deciles"]]
    atoms = plan_atoms(plans)
    assert atoms is not None
    assert math.sqrt(len(plans) / atoms.mean_variance) > 1.65


def test_an_audit_sees_what_a_batch_was_charged_and_refutes_half_of_the_noise() -> None:
    """A row in the middle atom, found by the best linear test of all sums."""
    schema = Schema.parse(
        "columns: {x: {type: integer, min: 0, max: 9, nullable: false}}"
    )
    plans = [plan_query(count().where(f"x <= {i}"), schema) for i in range(10)]
    atoms = plan_atoms(plans)
    assert atoms is not None
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
            curator = QuestionCurator(table=table, run=PracticeRun(), draw=draw)
            drawn = [curator.answer(offer)[0][-1].values for _ in range(trials)]
            scores.append(np.array(drawn, float) @ direction)
        found = gdp(*scores, 1.0, at=middle, alpha=1e-7)
        return found.violated, found.share

    violated, share_seen = proven(draw_noise, 1500)
    assert not violated
    # About 0.66 is expected, with a deviation of 0.05.
    assert share_seen > 0.35
    assert proven(lambda law, s, shape: draw_noise(law, s / 2, shape), 800)[0]


def test_other_aggregates_are_asked_one_by_one() -> None:
    plans = [plan_query(q, PEOPLE_SCHEMA) for q in (count(), mean("age"))]
    assert plan_atoms(plans) is None
    assert (
        plan_atoms([plan_query(select(count(), count("age")), PEOPLE_SCHEMA)]) is None
    )


def test_intervals_of_sums_of_atoms_hold() -> None:
    """300 batches of ten counts. At 95 % 2,850 are expected to hold; the ten of a batch
    share atoms, so the deviation is at most that of ten equal ones, 38: 2,600 are 6.6
    deviations away.
    """
    schema = Schema.parse(
        "columns: {x: {type: integer, min: 0, max: 9, nullable: false}}"
    )
    plans = [plan_query(count().where(f"x <= {i}"), schema) for i in range(10)]
    atoms = plan_atoms(plans)
    assert atoms is not None
    truth = np.cumsum(np.full(10, 50))
    held = 0
    for _ in range(300):
        exact_sums = np.array(atoms.combine_groups([50] * 10))
        noisy = exact_sums + draw_noise(
            Law.ROUNDED_GAUSSIAN, Fraction(300), exact_sums.shape
        )
        found = answer_members(
            atoms,
            noisy.astype(float).tolist(),
            Law.ROUNDED_GAUSSIAN,
            Fraction(300),
            basis="",
        )
        for answer, exact in zip(found, truth, strict=True):
            low, high = answer.interval
            held += low <= exact <= high
    assert held >= 2600


def test_a_scale_for_atoms_gives_the_half_width_asked_for() -> None:
    scale = scale_for_atoms(Law.ROUNDED_GAUSSIAN, 50.0, 9)
    width = atom_half_width(Law.ROUNDED_GAUSSIAN, Fraction(scale), 9, 0.05)
    assert math.isclose(width, 50, rel_tol=1e-9)


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
    plans = [plan_query(query, PEOPLE_SCHEMA) for query in BATCHES["deciles"]]
    atoms = plan_atoms(plans)
    assert atoms is not None
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
    QuestionCurator(table=table, run=PracticeRun(), draw=watch).answer(offer)
    assert atoms.strategy is not None
    moved = atoms.strategy.sensitivity(Neighbours.ADD_REMOVE, 1).l2_squared
    ((scale, shape),) = shapes
    assert shape == (len(atoms.strategy.sums),)
    assert moved / scale**2 <= 1
    assert math.isclose(moved, scale**2, rel_tol=1e-4)
    # Nine cuts, less those that no question is about: missing ages and those from 90.
    assert atoms.cells.groups == 9
