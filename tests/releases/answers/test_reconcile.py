"""Equations in the names of answers, read and solved."""

import pytest

from understudy.errors import Refused
from understudy.releases.answers.reconcile import reconcile

ANSWERS = {"all": (2005, 2), "men": (1001, 5), "women": (995, 4), "old": (300, 3)}


def test_parts_are_made_to_add_up_and_others_stay():
    found = reconcile(ANSWERS, ["all = men + women"])
    rounded = [round(found.values[name], 1) for name in found.names]
    assert rounded == [2004.2, 1006.0, 998.2, 300.0]
    assert found.deviations["men"] < 5
    assert found.deviations["old"] == 3
    # The parts are correlated now: one is too large where the other is too small.
    assert found.covariance[1, 2] < 0


@pytest.mark.parametrize(
    "text",
    [
        "all - men - women = 0",
        "0 = men + women - all",
        "2*all = 2 men + 2 * women",
        "-all=-men-women",
        "all + 5 = men + women + 5",
    ],
)
def test_one_equation_has_many_spellings(text):
    assert reconcile(ANSWERS, [text]).values == pytest.approx(
        reconcile(ANSWERS, ["all = men + women"]).values
    )


def test_a_public_number_is_kept():
    found = reconcile(ANSWERS, ["all = 2000", "men + women = all"])
    assert found.values["all"] == pytest.approx(2000)
    assert found.values["men"] + found.values["women"] == pytest.approx(2000)


@pytest.mark.parametrize(
    ("equation", "named"),
    [
        ("all", "is no equation"),
        ("all = men = women", "is no equation"),
        ("all = men women", "cannot be read"),
        ("all = men * women", "cannot be read"),
        ("all = ", "cannot be read"),
        ("all = men + women)", "cannot be read"),
        ("all = boys + girls", "not there: boys"),
        ("a" * 20_000 + "=1", "is no equation"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(equation, named):
    with pytest.raises(Refused, match=named) as refusal:
        reconcile(ANSWERS, [equation])
    assert len(str(refusal.value)) < 200
    assert "\n" not in str(refusal.value)


def test_nothing_to_do_is_said():
    with pytest.raises(Refused, match="Nothing to reconcile"):
        reconcile(ANSWERS, [])
    with pytest.raises(Refused, match="value and the standard deviation"):
        reconcile({"all": (1, -1)}, ["all = 1"])
