"""Questions under a budget: what is charged, stored, refused, and in which order."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
from kit.queries.corpus import PEOPLE_SCHEMA, make_people
from kit.queries.noiseless import QuestionRunInMemory, table_of
from understudy.accounting.cost import Accounting
from understudy.curator.questions import QuestionCurator
from understudy.errors import BudgetExceeded, Refused
from understudy.queries.offers import offer_answer
from understudy.queries.plan import plan_query
from understudy.workflow.asking.session import Session

PEOPLE = make_people(2000)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


def open_session(book: Path, people: pl.DataFrame = PEOPLE, **given: object) -> Session:
    return us.session(people, PEOPLE_SCHEMA, ledger=book, **{"budget": 5, **given})


def spent(book: Path) -> Fraction:
    with us.Ledger.open(book) as ledger:
        return sum((run.filter.spent for run in ledger.runs()), Fraction(0))


def spent_by_analyst(book: Path) -> dict[str, Fraction]:
    """What each analyst was charged of μ², the owner apart."""
    with us.Ledger.open(book) as ledger:
        amounts = {s.analyst: s.spending.amounts for s in ledger.statements()}
    return {
        name: own[Accounting.GDP]
        for name, own in amounts.items()
        if Accounting.GDP in own
    }


def test_an_answer_is_within_what_was_asked_and_holds_the_truth(book: Path) -> None:
    with open_session(book) as questions:
        answer = questions.ask(us.count().where("age > 60"), within=50)
    low, high = answer.interval
    assert answer.half_width <= 50
    truth = PEOPLE.filter(pl.col("age") > 60).height
    # The noise exceeds 130 with probability below 1e-6: 5 deviations of 25.8.
    assert low - 80 <= truth <= high + 80


def test_a_price_is_what_is_charged(book: Path) -> None:
    with open_session(book) as questions:
        priced = questions.price(us.total("children").by("sex"), within=100)
        before = spent(book)
        answer = questions.ask(us.total("children").by("sex"), within=100)
    assert answer.cost == priced.offer.cost
    assert spent(book) - before == priced.offer.cost.amount


def test_asked_again_as_it_was_gives_the_stored_answer_for_nothing(book: Path) -> None:
    question = "SELECT sex, AVG(income) FROM people GROUP BY sex"
    with open_session(book) as questions:
        first = questions.ask(question, epsilon=1)
    paid = spent(book)
    again = us.ask(PEOPLE, question, PEOPLE_SCHEMA, epsilon=1, ledger=book)
    assert again.rows == first.rows
    assert again.cost is None
    assert spent(book) == paid


def test_better_precision_costs_the_difference(book: Path) -> None:
    """Precision adds up under GDP, so two steps cost what one would, but for the grid of
    scales and the half row by which a pooled interval is wider.
    """
    with open_session(book) as questions:
        questions.ask(us.count(), within=100)
        better = questions.ask(us.count(), within=50)
        assert better.half_width <= 50
    # A pooled interval of ±50 has noise of ±49.5, as a single one of ±49 has.
    at_once = us.price(PEOPLE_SCHEMA, us.count(), within=49).offer.cost.amount
    assert math.isclose(spent(book), at_once, rel_tol=1e-6)


def test_questions_share_what_they_have_in_common(book: Path) -> None:
    with open_session(book) as questions:
        questions.ask(us.select(us.count("age"), us.mean("age")), epsilon=1)
        alone = questions.price(us.count("age"), epsilon="0.1")
    assert alone.is_free


def test_a_run_that_is_spent_refuses_and_charges_nothing(book: Path) -> None:
    with open_session(book, budget="0.5") as questions:
        questions.ask(us.count(), epsilon="0.4")
        paid = spent(book)
        with pytest.raises(BudgetExceeded, match="Nothing was spent"):
            questions.ask(us.count().by("sex"), epsilon="0.4")
    assert spent(book) == paid


def test_an_analyst_has_a_limit_inside_the_run(book: Path) -> None:
    with open_session(book):
        pass
    with us.Ledger.open(book) as ledger:
        ledger.grant(us.Budget.of("0.3"), analyst="team-a")
    with open_session(book, analyst="team-a") as questions:
        questions.ask(us.count(), epsilon="0.2")
        with pytest.raises(BudgetExceeded, match="limit of 'team-a'"):
            questions.ask(us.count().by("sex"), epsilon="0.25")


def test_a_refused_question_takes_nothing_from_a_limit(book: Path) -> None:
    """Half of it was answered to somebody else, half of it is new, and both together are
    more than the limit: the stored half is not handed out.
    """
    mixed = us.select(us.count(), us.total("children"))
    with open_session(book) as questions:
        questions.ask(us.count(), epsilon="0.2")
    with us.Ledger.open(book) as ledger:
        ledger.grant(us.Budget.of("0.25"), analyst="team-a")
    with open_session(book, analyst="team-a") as questions:
        for batch in (mixed, [us.count(), us.total("children")]):
            with pytest.raises(BudgetExceeded, match="limit of 'team-a'"):
                questions.ask(batch, epsilon="0.28")
        assert "team-a" not in spent_by_analyst(book)
        # The stored half alone fits: the refusals took nothing.
        questions.ask(us.count(), epsilon="0.2")
    assert spent_by_analyst(book)["team-a"] == spent(book)


def test_a_price_says_what_one_run_is_worth_beside_many(book: Path) -> None:
    """±50 is ε = 0.20 by itself: for ε = 1 that is 5 runs whose ε add up, or, composed
    in one run, as many questions as its μ² holds, of which one is spent here.
    """
    with open_session(book, budget=1) as questions:
        first = questions.price(us.count(), within=50)
        questions.ask(us.count(), within=50)
        later = questions.price(us.count("age"), within=50)
        free = questions.price(us.count(), within=50)
    assert first.composition == later.composition
    assert first.composition is not None
    assert first.composition.apart == math.floor(1 / first.epsilon)
    held = math.floor(first.amount_left / first.offer.cost.amount)
    assert first.composition.inside == held
    assert held > 3 * first.composition.apart
    said = f"such questions for ε = 1.00: {held} in one run, 5 in runs of their own"
    assert said in first.lines()
    assert free.composition is None


def test_a_price_shows_what_a_stored_answer_takes_from_a_limit(book: Path) -> None:
    with open_session(book) as questions:
        questions.ask(us.count(), epsilon="0.2")
        assert questions.price(us.count(), epsilon="0.2").is_free
    with us.Ledger.open(book) as ledger:
        ledger.grant(us.Budget.of(1), analyst="team-a")
    with open_session(book, analyst="team-a") as questions:
        priced = questions.price(us.count(), epsilon="0.2")
        assert (priced.offer.cost.amount, priced.is_free) == (0, False)
        assert any("analyst's limit" in line for line in priced.lines())
        questions.ask(us.count(), epsilon="0.2")
        assert questions.price(us.count(), epsilon="0.2").is_free
    assert priced.amount_from_limit == spent_by_analyst(book)["team-a"] > 0


def test_questions_about_parts_of_a_table_cost_their_dearest_part(book: Path) -> None:
    """North and South are disjoint, so under add/remove one person pays for one."""
    with open_session(book) as questions:
        north = questions.ask(us.count().where("region = North"), within=50)
        one = spent(book)
        south = questions.ask(us.count().where("region = South"), within=50)
    assert north.cost is not None
    assert south.cost is not None
    assert spent(book) == one == max(north.cost.amount, south.cost.amount)


def test_parts_of_a_table_add_up_under_replace(book: Path) -> None:
    with open_session(book, neighbours="replace") as questions:
        north = questions.ask(us.count().where("region = North"), within=50)
        south = questions.ask(us.count().where("region = South"), within=50)
    assert north.cost is not None
    assert south.cost is not None
    assert spent(book) == north.cost.amount + south.cost.amount


def test_the_number_of_rows_is_public_under_replace(book: Path) -> None:
    with open_session(book, neighbours="replace") as questions:
        answer = questions.ask(us.count(), within=50)
    assert answer.interval == (2000, 2000)
    assert spent(book) == 0


def test_people_with_several_rows_are_counted_once(book: Path) -> None:
    visits = pl.DataFrame(
        {"patient": [f"p{i // 3}" for i in range(900)], "ward": ["a", "b", "b"] * 300}
    )
    declared = us.Schema.parse(
        "unit: {id: patient, max_rows: 3}\ncolumns:\n  patient: {type: identifier}\n"
        "  ward: {type: categorical, values: [a, b, c], nullable: false}\n"
    )
    with us.session(visits, declared, ledger=book, budget=5) as questions:
        question = "SELECT ward, COUNT(DISTINCT patient) AS n FROM v GROUP BY ward"
        answer = questions.ask(question, epsilon=4)
        with pytest.raises(Refused, match="never released"):
            questions.ask("SELECT COUNT(patient) FROM v", epsilon=1)
    # ε = 4 has σ near 2.3: six deviations on three numbers fail once in 10^8.
    truths = {"a": 300, "b": 300, "c": 0}
    for row in answer.rows:
        (number,) = row.numbers
        assert abs(number.value - truths[str(row.keys[0])]) < 20
        assert number.half_width < 10
    bounded = "Of each patient at most 3 rows are counted, and no row without one"
    assert answer.counted == bounded
    assert answer.account_line().endswith(f" {bounded}.")


def test_a_charge_comes_before_any_row_is_read() -> None:
    """The order that a crash or a hostile count cannot change: a table that fails when
    it is counted was paid for.
    """

    class FailingTable:
        def with_schema(self, schema: object) -> FailingTable:
            return self

        def cell_sums(self, clique: object, statistics: object) -> None:
            assert run.events == ["charge", "charge"]
            raise RuntimeError("no such row")

    run = QuestionRunInMemory()
    plan = plan_query(us.mean("age"), PEOPLE_SCHEMA)
    offer = offer_answer(
        plan,
        neighbours=us.Neighbours.ADD_REMOVE,
        accounting=Accounting.GDP,
        amount=Fraction(1),
    )
    with pytest.raises(RuntimeError):
        QuestionCurator(table=FailingTable(), run=run).answer(offer)  # type: ignore[arg-type]
    assert run.events == ["charge", "charge"]
    QuestionCurator(table=table_of(PEOPLE, PEOPLE_SCHEMA), run=run).answer(offer)
    assert run.events[2:] == ["charge", "charge", "store", "store"]


def test_no_run_is_opened_without_a_budget(book: Path) -> None:
    with pytest.raises(Refused, match="budget=1"):
        us.ask(PEOPLE, us.count(), PEOPLE_SCHEMA, within=50, ledger=book)
    assert not book.exists()


def test_the_run_of_another_table_is_refused(book: Path) -> None:
    with open_session(book):
        pass
    with pytest.raises(Refused, match="another table"):
        open_session(book, PEOPLE.with_columns(extra=pl.lit(1)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "either"),
        ({"within": 5, "epsilon": 1}, "either"),
        ({"within": 0}, "above 0"),
        ({"within": math.nan}, "above 0"),
        ({"epsilon": -1}, "above 0"),
    ],
)
def test_a_precision_that_is_none_is_refused(
    given: dict[str, float], message: str
) -> None:
    with pytest.raises(us.UnderstudyError, match=message):
        us.price(PEOPLE_SCHEMA, us.count(), **given)


def test_a_mean_has_no_width_before_it_is_asked() -> None:
    with pytest.raises(Refused, match="epsilon="):
        us.price(PEOPLE_SCHEMA, us.mean("age"), within=5)
    assert us.price(PEOPLE_SCHEMA, us.mean("age"), epsilon=1).half_widths == {
        "mean_age": None
    }


def test_a_mean_has_a_price_for_its_width_once_its_rows_were_counted(
    book: Path,
) -> None:
    """The price is for a mean at the bounds; one near the middle of them is within the
    ± unless the count is off by 30 %, which is 50 deviations.
    """
    with open_session(book, budget=40) as questions:
        questions.ask(us.count("age").by("sex"), within=30)
        questions.ask(us.count(), within=30)
        for question, width in (
            (us.mean("age").by("sex"), 2.0),
            (us.share("age > 50"), 0.05),
        ):
            priced = questions.price(question, within=width)
            answer = questions.ask(question, within=width)
            assert answer.cost == priced.offer.cost
            # The group of X has no rows: its mean may be anything.
            kept = [row for row in answer.rows if row.keys != ("X",)]
            assert all(row.numbers[0].half_width <= width for row in kept)
            better = questions.price(question, within=width / 2).offer.cost.amount
            assert better > 2 * priced.offer.cost.amount
        # ε = 1 buys a better mean than ±2: the price is not needlessly high.
        at_one = us.price(PEOPLE_SCHEMA, us.mean("age").by("sex"), epsilon=1)
        assert priced.offer.cost.amount < at_one.offer.cost.amount


def test_a_price_tells_nothing_of_what_somebody_else_was_answered(book: Path) -> None:
    """The price of a mean follows from a noisy count, which an analyst has to pay for."""
    with open_session(book) as questions:
        questions.ask(us.count("age"), within=30)
        questions.price(us.mean("age"), within=2)
    with us.Ledger.open(book) as ledger:
        ledger.grant(us.Budget.of(3), analyst="team-a")
    with open_session(book, analyst="team-a") as questions:
        with pytest.raises(Refused, match="count of these rows first"):
            questions.price(us.mean("age"), within=2)
        with pytest.raises(Refused, match="count of these rows first"):
            us.price(
                PEOPLE_SCHEMA, us.mean("age"), within=2, ledger=book, analyst="team-a"
            )
        questions.ask(us.count("age"), within=30)
        assert questions.price(us.mean("age"), within=2).offer.cost.amount > 0
    assert spent_by_analyst(book)["team-a"] == spent(book)


def test_refusals_are_the_same_for_every_table(tmp_path: Path) -> None:
    """A filter that divides by age - 93 fails nowhere: it is refused everywhere."""
    messages = []
    for number, people in enumerate((PEOPLE, PEOPLE.head(0), PEOPLE.head(1))):
        with open_session(tmp_path / f"{number}.ledger", people) as questions:
            for text in ("SELECT COUNT(*) FROM p WHERE income / (age - 93) > 0",):
                with pytest.raises(Refused) as refused:
                    questions.ask(text, within=50)
                messages.append(str(refused.value))
    assert len(set(messages)) == 1


NO_QUESTIONS: tuple[Callable[[Session], object], ...] = (
    lambda s: s.ask(us.count(), within="50"),
    lambda s: s.ask(us.count(), within=True),
    lambda s: s.ask(us.count(), within=10**400),
    lambda s: s.price(us.count(), within=-1),
    lambda s: s.ask(None, within=50),
    lambda s: s.ask(5, within=50),
    lambda s: s.ask([[us.count()]], within=50),
    lambda s: s.ask(us.count().by(5), within=50),
    lambda s: s.ask(us.count().by(["sex"]), within=50),
    lambda s: s.ask(us.count().rename(5), within=50),
    lambda s: s.ask(us.select("count"), within=50),
    lambda s: s.ask(us.share(5), epsilon=0.1),
    lambda s: s.ask(us.count().by(us.cases(("age > 3", object()))), within=50),
)


def test_what_is_no_question_is_refused_in_words(book: Path) -> None:
    with open_session(book) as session:
        for ask in NO_QUESTIONS:
            with pytest.raises(Refused):
                ask(session)
    assert spent(book) == 0


def test_widths_are_numbers_of_any_kind(book: Path) -> None:
    with open_session(book) as session:
        for width in (Decimal(50), Fraction(99, 2), np.int64(50)):
            assert session.ask(us.count(), within=width).half_width <= 50


def test_cells_that_a_rule_empties_are_in_no_part_of_the_table_without_it(
    book: Path,
) -> None:
    """A row is with `broken: missing` in another part than without: two answers that it
    is in are paid one by one, or whoever is in both would pay for one alone.
    """
    people = pl.DataFrame({"region": ["north", "south"], "age": [9, 2]})
    columns = """
columns:
  region: {type: categorical, values: [north, south]}
  age: {type: integer, min: 0, max: 9}
"""
    emptied = columns + "impossible: [region = 'north' and age > 5]\nbroken: missing\n"
    paid = []
    for schema, where in (
        (columns, "region = north"),
        (emptied, "region is missing"),
        (emptied, "region = south"),
    ):
        parsed = us.Schema.parse(schema)
        with us.session(people, parsed, ledger=book, budget=5) as questions:
            questions.ask(us.count().where(where), epsilon=1)
        paid.append(spent(book))
    assert paid == [paid[0], 2 * paid[0], 2 * paid[0]]
