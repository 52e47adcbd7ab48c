"""The promise, in numbers and in words."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.errors import ReleaseError
from understudy.releases import Guarantee, GuaranteeKind
from understudy.releases.guarantee import format_amount


def private(**changes):
    return Guarantee(
        **(
            {
                "epsilon": Fraction(1),
                "accounting": Accounting.PURE,
                "amount": Fraction(1),
            }
            | changes
        )
    )


def test_the_sentence_names_epsilon_delta_and_whom_it_protects():
    delta = Fraction(1, 10**9)
    assert (
        private(delta=delta).sentence()
        == "Private with ε = 1, δ = 1e-9 for adding or removing one row."
    )
    assert (
        private(unit="patient").sentence()
        == "Private with ε = 1 for adding or removing one patient."
    )
    replaced = private(
        neighbours=Neighbours.REPLACE, invariants=("the number of rows",)
    )
    assert (
        replaced.sentence() == "Private with ε = 1 for exchanging one row for another."
    )
    assert (
        "not protected, because it holds exactly: the number of rows"
        in replaced.details()
    )


def test_what_was_declared_and_what_was_bought_is_listed():
    guarantee = private(
        unit="patient",
        max_rows=5,
        accounting=Accounting.GDP,
        public=("the values of sex",),
        learned=("the bounds of age",),
    )
    assert guarantee.details() == (
        "added up as μ² = 1 in all",
        "at most 5 rows of each patient were used; the others were left out",
        "public by your declaration or the table's header: the values of sex",
        "learned from the rows and paid for: the bounds of age",
    )


def test_a_notebook_shows_the_promise_and_not_its_fractions():
    third = Guarantee(
        epsilon=Fraction(1, 3),
        accounting=Accounting.PURE,
        amount=Fraction(1, 3),
        public=("a<b: its values",),
    )
    assert repr(third) == third.sentence()
    page = third._repr_html_()
    assert "a&lt;b: its values" in page
    assert third.meaning.to_svg() in page
    assert "<svg" not in Guarantee.without_data()._repr_html_()


def test_other_promises_say_what_they_are():
    assert "No data used" in Guarantee.without_data().sentence()
    assert (
        "without differential privacy"
        in Guarantee(kind=GuaranteeKind.MASKED).sentence()
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": Fraction(-1)},
        {"epsilon": Fraction(0)},
        {"delta": Fraction(1)},
        {"delta": Fraction(-1)},
        {"amount": Fraction(-1)},
        {"accounting": None},
        {"unit": ""},
        {"max_rows": 0},
        {"kind": GuaranteeKind.NO_DATA},
        {"kind": GuaranteeKind.MASKED},
    ],
)
def test_a_promise_that_contradicts_itself_is_refused(changes):
    with pytest.raises(ReleaseError, match="guarantee"):
        private(**changes)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(0), "= 0"),
        (Fraction(1), "= 1"),
        (Fraction(1, 2), "= 0.5"),
        (Fraction(5, 2 * 10**7), "= 2.5e-7"),
        (Fraction(100), "= 100"),
        (Fraction(123456), "= 123456"),
        (Fraction(1234567), "≤ 1234570"),
        (Fraction(999999999, 10**9), "≤ 1"),
        (Fraction(1, 3), "≤ 0.333334"),
        (Fraction(10) ** 20, "= 1e20"),
        (Fraction(1, 1000), "= 0.001"),
    ],
)
def test_numbers_read_as_people_write_them(number, text):
    assert format_amount("ε", number) == f"ε {text}"


@given(st.fractions(min_value=0, max_value=10**6, max_denominator=10**12))
def test_no_number_reads_better_than_it_is(number):
    symbol, relation, text = format_amount("ε", number).split()
    assert symbol == "ε"
    shown = Fraction(text)
    assert shown >= number
    assert (shown == number) == (relation == "=")
    assert shown - number <= shown / 10**5


def test_a_guarantee_for_rows_says_what_it_means_for_people():
    """Whatever the table holds; with a unit, the rows of a person count together."""
    said = "a person with several rows is protected row by row"
    assert any(line.startswith(said) for line in private().details())
    of_people = private(unit="patient", max_rows=5).details()
    assert not any(line.startswith(said) for line in of_people)
