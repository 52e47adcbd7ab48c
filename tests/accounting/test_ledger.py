"""What an account grants, refuses and remembers."""

import stat
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.errors import BudgetExceeded, InvalidBudget, LedgerError, LedgerMismatch


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.ledger"


@pytest.fixture
def ledger(path):
    with Ledger.create(path, dataset="people", cap=Budget.of(1)) as ledger:
        yield ledger


def test_runs_add_up_and_the_cap_holds(ledger):
    ledger.reserve(Budget.of("0.5", 0), event="first")
    ledger.reserve(Budget.of("0.3", 0), event="second")
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.reserve(Budget.of("0.5", 0), event="third")
    assert (
        str(refusal.value)
        == "This run would cost ε = 0.50 and only 0.20 of 1.00 is left in people.ledger. Nothing was spent."
    )
    totals = ledger.totals()
    assert (totals.epsilon, totals.delta, totals.runs) == (Fraction("0.8"), 0, 2)
    assert (totals.cap_epsilon, totals.cap_delta) == (1, Fraction(1, 10**9))
    ledger.reserve(Budget.of("0.2", 0), event="exactly the rest")
    ledger.verify()


def test_delta_has_its_own_cap(ledger):
    ledger.reserve(Budget.of("0.1", "1e-9"), event="first")
    with pytest.raises(
        BudgetExceeded,
        match=r"would cost δ = 1e-12 and only 0 of 1e-9 is left in people\.ledger",
    ):
        ledger.reserve(Budget.of("0.1", "1e-12"), event="second")
    ledger.reserve(Budget.of("0.1", 0), event="pure")


def test_a_refusal_leaves_no_trace(ledger):
    before = (ledger.head, ledger.totals())
    with pytest.raises(BudgetExceeded):
        ledger.reserve(Budget.of(2), event="too much")
    assert (ledger.head, ledger.totals()) == before


def test_costs_round_up(ledger):
    ledger.reserve(Budget(Fraction(1, 3), Fraction(1, 10**18)), event="thirds")
    assert ledger.totals().epsilon == Fraction(333333334, 10**9)
    assert ledger.totals().delta == Fraction(1, 10**15)


def test_without_a_cap_everything_is_recorded_and_nothing_refused(path):
    with Ledger.create(path, dataset="people") as ledger:
        for _ in range(3):
            ledger.reserve(Budget.of(100, "0.9"), event="much")
        assert ledger.cap is None
        assert ledger.totals().epsilon == 300
        assert ledger.totals().delta == Fraction("2.7")
        assert ledger.totals().cap_epsilon is None


@given(st.lists(st.integers(1, 4 * 10**8), min_size=1, max_size=12))
@settings(deadline=None, max_examples=15)
def test_any_sequence_of_runs_stays_within_the_cap(tmp_path_factory, units):
    with Ledger.create(
        tmp_path_factory.mktemp("l") / "a.ledger", dataset="a", cap=Budget.of(1, 0)
    ) as ledger:
        granted = 0
        for unit in units:
            fits = granted + unit <= 10**9
            try:
                ledger.reserve(Budget(Fraction(unit, 10**9), Fraction(0)), event="x")
                assert fits
                granted += unit
            except BudgetExceeded:
                assert not fits
        assert ledger.totals().epsilon == Fraction(granted, 10**9) <= 1


def test_a_ledger_is_found_again_as_it_was_left(path, ledger):
    ledger.reserve(Budget.of("0.25"), event="synthesize", analyst="Ada", scope="north")
    ledger.note("evaluate", "internal, not private")
    left = (ledger.entries(), ledger.head)
    ledger.close()
    with Ledger.open(path) as again:
        assert (again.entries(), again.head) == left
        assert (again.dataset, again.neighbours, again.unit) == (
            "people",
            Neighbours.ADD_REMOVE,
            "row",
        )
        assert again.cap == Budget.of(1)
        opened, reserved, noted = again.entries()
    assert (opened.kind, reserved.kind, noted.kind) == ("open", "reserve", "note")
    assert (reserved.event, reserved.analyst, reserved.scope) == (
        "synthesize",
        "Ada",
        "north",
    )
    assert reserved.cost == (Fraction(1, 4), Fraction(1, 10**9))
    assert noted.cost == (0, 0)
    assert noted.facts == {"text": "internal, not private"}
    assert reserved.previous == opened.digest


def test_a_file_is_for_its_owner_only(path, ledger):
    ledger.reserve(Budget.of("0.1"), event="x")  # the write-ahead log exists now
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


def test_nothing_is_left_beside_a_closed_ledger(path, ledger):
    ledger.reserve(Budget.of("0.1"), event="x")
    ledger.close()
    assert [file.name for file in path.parent.iterdir()] == ["people.ledger"]


def test_open_or_create_makes_one_and_then_opens_it(path):
    with Ledger.open_or_create(path, dataset="people", cap=Budget.of(2)) as ledger:
        ledger.reserve(Budget.of(1), event="x")
    with Ledger.open_or_create(path, dataset="people") as ledger:
        assert ledger.totals().epsilon == 1
        assert ledger.cap == Budget.of(2)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"dataset": "patients"}, 'dataset "people", not "patients"'),
        (
            {"neighbours": Neighbours.REPLACE},
            'neighbour relation "add_remove", not "replace"',
        ),
        (
            {"unit": "person, at most 3 rows"},
            'privacy unit "row", not "person, at most 3 rows"',
        ),
        ({"cap": Budget.of(3)}, "another cap"),
    ],
)
def test_a_ledger_of_something_else_is_refused(path, ledger, change, named):
    with pytest.raises(LedgerMismatch, match=named):
        Ledger.open_or_create(path, **{"dataset": "people", **change})
    assert len(ledger.entries()) == 1


def test_a_second_ledger_in_the_same_place_is_refused(path, ledger):
    ledger.reserve(Budget.of("0.5"), event="x")
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(path, dataset="people", cap=Budget.of(100))
    assert ledger.totals().epsilon == Fraction(1, 2)
    ledger.verify()


def test_a_ledger_needs_a_name(path):
    with pytest.raises(LedgerError, match="name of its dataset"):
        Ledger.create(path, dataset=" ")
    assert not path.exists()


def test_a_cap_too_small_or_large_to_count_is_refused(path):
    for epsilon in ("1e-10", "1e12"):
        with pytest.raises(InvalidBudget, match="can count"):
            Ledger.create(path, dataset="people", cap=Budget.of(epsilon))
    assert not path.exists()


def test_a_run_too_large_to_count_is_refused(path):
    with Ledger.create(path, dataset="people") as ledger:
        with pytest.raises(InvalidBudget, match="can count"):
            ledger.reserve(Budget.of("1e12", 0), event="x")
        for _ in range(4):
            ledger.reserve(Budget.of("1e9", 0), event="x")
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Budget.of("1e9", 0), event="x")
        ledger.verify()


def test_a_filter_may_not_admit_more_than_its_run_pays_for(ledger):
    budget = Budget.of("0.5")
    for filter in (
        Filter(Accounting.PURE, Fraction(1)),
        Filter(Accounting.GDP, Fraction(1)),
        Filter(Accounting.ZCDP, Fraction(1)),
    ):
        with pytest.raises(InvalidBudget, match="admit more than its budget"):
            ledger.reserve(budget, event="x", filter=filter)
    assert ledger.totals().epsilon == 0
    for accounting in Accounting:
        ledger.reserve(
            Budget.of("0.1", "1e-10"),
            event="x",
            filter=Filter.of(Budget.of("0.1", "1e-10"), accounting=accounting),
        )


def test_a_name_is_given_once(ledger):
    assert (
        ledger.reserve(Budget.of("0.1", 0), event="x", run_id="monday").id == "monday"
    )
    with pytest.raises(
        LedgerError, match=r"'monday' is in people\.ledger already: resume it"
    ):
        ledger.reserve(Budget.of("0.1", 0), event="x", run_id="monday")
    assert ledger.totals().epsilon == Fraction("0.1")


def test_a_closed_ledger_says_so(ledger):
    ledger.close()
    with pytest.raises(LedgerError, match="was closed"):
        ledger.totals()
