"""Private group keys: sensitivity by brute force, the threshold against its tail, and
audits of real draws with broken twins.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import understudy as us
from kit.curator.contexts import no_noise
from kit.curator.listed import Listed, Row
from kit.queries.noiseless import QuestionRunInMemory, table_of
from understudy.accounting.conversion import total_for
from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator.key_search import (
    KeyOffer,
    RunTerms,
    key_sensitivity,
    key_threshold,
    learn_keys,
    offer_keys,
    people_needed,
)
from understudy.errors import BudgetExceeded, Refused
from understudy.noise import draw_noise
from understudy.noise.tails import tails_of_law
from understudy.schema import Schema

TOWNS = Schema.parse("columns:\n  town: {type: categorical}\n")
VISITS = Schema.parse(
    "unit: {id: person, max_rows: 2}\ncolumns:\n  person: {type: identifier}\n"
    "  town: {type: categorical}\n"
)
FALSE_ALARM = 1e-6


def count_units(units: dict[str, tuple[str, ...]]) -> dict[str, int]:
    rows = [{"person": who, "town": t} for who, own in units.items() for t in own]
    labels, counts = Listed(rows, VISITS).labels("town", by_unit=True)
    return dict(zip(labels, counts.tolist(), strict=True))


@pytest.mark.parametrize("relation", Neighbours)
def test_the_sensitivity_is_that_of_the_worst_pair_of_tables(
    relation: Neighbours,
) -> None:
    """All tables of two units with at most two rows each over three labels."""
    own = [
        rows
        for size in (1, 2)
        for rows in combinations_with_replacement(("a", "b", "c"), size)
    ]
    worst = [0, 0]
    for common, here, there in product(own, own, own):
        # A unit that is added has no counterpart on the other side.
        other = () if relation is Neighbours.ADD_REMOVE else there
        one = count_units({"p": common, "q": here})
        two = count_units({"p": common, "q": other})
        moved = [abs(one.get(t, 0) - two.get(t, 0)) for t in "abcd"]
        worst = [max(worst[0], sum(moved)), max(worst[1], sum(x * x for x in moved))]
    claimed = key_sensitivity(relation, 2)
    # Three labels let a replaced unit move three numbers; the claim allows four.
    reach = 2 if relation is Neighbours.ADD_REMOVE else 3
    assert worst == [reach, reach]
    assert claimed.l1 >= worst[0]
    assert claimed.l2_squared >= worst[1]


def test_real_tables_count_units_by_label() -> None:
    rows = pl.DataFrame(
        {"person": ["p", "p", "q", "r"], "town": ["Bonn", "Bonn", "Bonn", None]}
    )
    labels, counts = table_of(rows, VISITS).labels("town", by_unit=True)
    assert (labels, counts.tolist()) == (["Bonn"], [2])


@pytest.mark.parametrize("law", [Law.DISCRETE_LAPLACE, Law.ROUNDED_GAUSSIAN])
@pytest.mark.parametrize("max_rows", [1, 7])
def test_the_threshold_is_the_smallest_that_holds(law: Law, max_rows: int) -> None:
    scale, delta = Fraction(9, 2), Fraction(1, 10**7)
    at = key_threshold(law, scale, delta, Fraction(1), max_rows)
    bought = delta if law is Law.DISCRETE_LAPLACE else delta / Fraction(3718282, 10**6)
    tails = tails_of_law(law, scale)
    chances = [
        max_rows * Fraction(tails.tail(t - 1, 128)[1], 1 << 128) for t in (at, at - 1)
    ]
    assert chances[0] <= bought * Fraction(1001, 1000)
    assert chances[1] > bought * Fraction(999, 1000)


def test_which_law_shows_more_depends_on_the_labels_of_a_unit() -> None:
    """One question at ε = 1, δ = 1e-9 by itself: Laplace for one or two labels."""
    delta = Fraction(1, 10**9)
    gdp = us.Budget(Fraction(1), delta / 2)
    amount = total_for(gdp, Accounting.GDP)
    needed = {}
    for m in (1, 2, 5, 10):
        laplace = people_needed(
            Accounting.PURE,
            Fraction(1),
            delta=delta,
            epsilon=Fraction(1),
            max_rows=m,
        )
        gauss = people_needed(
            Accounting.GDP, amount, delta=delta / 2, epsilon=Fraction(1), max_rows=m
        )
        needed[m] = (laplace, gauss)
    assert needed[1] == (22, 37)
    assert all(needed[m][0] < needed[m][1] for m in (1, 2))
    assert all(needed[m][0] > needed[m][1] for m in (5, 10))


def offer_towns(delta: Fraction, accounting: Accounting) -> KeyOffer:
    terms = RunTerms(accounting, Fraction(1, 10), delta, Neighbours.ADD_REMOVE)
    return offer_keys(TOWNS, "town", terms, scale=Fraction(3))


def share_shown(offer: KeyOffer, town: str, rows: list[Row], trials: int) -> int:
    table, shown = Listed(rows, TOWNS), 0
    for _ in range(trials):
        keys = learn_keys(
            offer, table=table, run=QuestionRunInMemory(), draw=draw_noise
        )
        shown += town in keys
    return shown


@pytest.mark.parametrize("accounting", [Accounting.PURE, Accounting.GDP])
def test_a_label_of_one_person_shows_as_rarely_as_was_charged(
    accounting: Accounting,
) -> None:
    """δ₀ is 1/10, or δ/(1 + e^ε): a thousand real draws on a table with one lonely
    label do not refute it, and refute it for a threshold that is lower by one scale.
    """
    trials = 1000
    offer = offer_towns(Fraction(1), accounting)
    rows: list[Row] = [{"town": "Bonn"}] * 3 + [{"town": "Ulm"}]
    bought = 0.1 if accounting is Accounting.PURE else 0.1 / (1 + np.exp(0.1))

    def is_refuted(tried: KeyOffer) -> bool:
        hits = share_shown(tried, "Ulm", rows, trials)
        test = stats.binomtest(hits, trials, bought, alternative="greater")
        return bool(test.pvalue < FALSE_ALARM)

    assert not is_refuted(offer)
    # 26 % of Laplace noise and 16 % of Gaussian noise lie beyond a scale less.
    assert is_refuted(replace(offer, threshold=offer.threshold - 3))


def test_common_labels_cost_what_was_charged() -> None:
    """That a label shows tells n people from n + 1 no better than μ allows; noise of a
    tenth of the scale tells more.
    """
    offer = offer_towns(Fraction(1), Accounting.GDP)
    at, trials = offer.threshold, 1500
    sides: list[list[Row]] = [[{"town": "Bonn"}] * n for n in (at, at + 1)]

    def proven_mu(tried: KeyOffer) -> float:
        hits = [share_shown(tried, "Bonn", rows, trials) for rows in sides]
        high = stats.beta.ppf(1 - FALSE_ALARM / 2, hits[0] + 1, trials - hits[0])
        low = stats.beta.ppf(FALSE_ALARM / 2, hits[1], trials - hits[1] + 1)
        return float(stats.norm.ppf(low) - stats.norm.ppf(high))

    claim = float(offer.cost.amount) ** 0.5
    assert proven_mu(offer) <= claim
    assert proven_mu(replace(offer, scale=Fraction(3, 5))) > claim


def test_keys_are_charged_before_a_row_is_read_and_stored_before_they_are_given() -> (
    None
):
    class FailingTable:
        def labels(self, column: str, *, by_unit: bool = False) -> None:
            assert run.events == ["charge"]
            raise RuntimeError("no such row")

    run = QuestionRunInMemory()
    offer = offer_towns(Fraction(1), Accounting.GDP)
    with pytest.raises(RuntimeError):
        learn_keys(offer, table=FailingTable(), run=run, draw=draw_noise)  # type: ignore[arg-type]
    assert run.charged[0].delta == Fraction(1, 10)
    table = Listed([{"town": "Bonn"}] * 50, TOWNS)
    assert learn_keys(offer, table=table, run=run, draw=no_noise) == ("Bonn",)
    assert run.events == ["charge", "charge", "store"]


PLACES = pl.DataFrame({"town": ["Bonn"] * 900 + ["Ulm"] * 600 + ["Celle"] * 2})


def test_a_question_groups_by_labels_that_nobody_declared(tmp_path: Path) -> None:
    """The label of two people needs noise of 9 deviations to show; the others need 30
    to be lost.
    """
    book = tmp_path / "towns.ledger"
    question = "SELECT town, COUNT(*) AS n FROM t GROUP BY town ORDER BY n DESC LIMIT 2"
    given = {"ledger": book, "budget": 3, "private_keys": True}
    with us.session(PLACES, TOWNS, **given) as questions:
        priced = questions.price(question, epsilon=1)
        answer = questions.ask(question, epsilon=1)
        again = questions.ask(question, epsilon=1)
        later = questions.ask(us.count().by("town"), within=20)
    assert [row.keys for row in answer.rows] == [("Bonn",), ("Ulm",)]
    assert answer.cost == priced.offer.cost
    assert answer.cost is not None
    assert answer.cost.delta > 0
    assert again.rows == answer.rows
    assert again.cost is None
    assert [row.keys[0] for row in later.rows] == ["Bonn", "Ulm", "other", None]


def test_what_is_refused_is_refused_before_keys_are_paid_for(tmp_path: Path) -> None:
    book = tmp_path / "towns.ledger"
    with (
        us.session(PLACES, TOWNS, ledger=book, budget=1) as questions,
        pytest.raises(Refused, match="private_keys=True"),
    ):
        questions.ask(us.count().by("town"), epsilon="0.5")
    book = tmp_path / "keys.ledger"
    with us.session(
        PLACES, TOWNS, ledger=book, budget=1, private_keys=True
    ) as questions:
        for question, kind in (
            (us.count().by("town").where("town is missing"), Refused),
            (us.count("town").by("town"), Refused),
            ([us.count().by("town"), us.count()], Refused),
            (us.count().where("town = Bonn"), Refused),
        ):
            with pytest.raises(kind):
                questions.ask(question, epsilon="0.5")
        with pytest.raises(BudgetExceeded):
            questions.ask(us.count().by("town"), epsilon=2)
    with us.Ledger.open(book) as ledger:
        assert all(run.filter.spent == 0 for run in ledger.runs())


def test_recalled_keys_are_not_paid_for_where_their_numbers_are_refused(
    tmp_path: Path,
) -> None:
    """The keys by themselves fit the limit; with the stored numbers they do not."""
    book = tmp_path / "towns.ledger"
    given = {"ledger": book, "private_keys": True}
    with us.session(PLACES, TOWNS, budget=6, **given) as questions:
        questions.ask(us.count().by("town"), epsilon=1)
        questions.ask(us.count().by("town"), epsilon=3)
    with us.Ledger.open(book) as ledger:
        ledger.grant(us.Budget.of(1), analyst="team-a")
    with (
        us.session(PLACES, TOWNS, analyst="team-a", **given) as questions,
        pytest.raises(BudgetExceeded, match="limit of 'team-a'"),
    ):
        questions.ask(us.count().by("town"), epsilon=1)
    with us.Ledger.open(book) as ledger:
        assert not [entry for entry in ledger.entries() if entry.kind == "replay"]


@pytest.mark.parametrize(
    ("max_rows", "accounting"), [(1, Accounting.PURE), (8, Accounting.GDP)]
)
def test_one_question_by_keys_chooses_the_law_that_shows_more(
    tmp_path: Path, max_rows: int, accounting: Accounting
) -> None:
    visits = PLACES.with_row_index("person")
    unit = f"unit: {{id: person, max_rows: {max_rows}}}\n" if max_rows > 1 else ""
    columns = "columns:\n  town: {type: categorical}\n  person: {type: identifier}"
    schema = us.Schema.parse(unit + columns)
    given = {"ledger": tmp_path / "towns.ledger", "private_keys": True}
    us.ask(visits, us.count().by("town"), schema, epsilon=1, budget=1, **given)
    with us.Ledger.open(given["ledger"]) as ledger:
        (run,) = ledger.runs()
        assert run.filter.accounting is accounting
