"""The event that a guarantee exports, judged by dp_accounting's own accountants: never
less than the guarantee, and no more than its method loses.
"""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import pytest
from dp_accounting import ComposedDpEvent, GaussianDpEvent, NonPrivateDpEvent, dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from understudy.accounting.budget import Budget
from understudy.accounting.conversion import epsilon_of
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.releases import Guarantee, GuaranteeKind

BUDGETS = [("0.1", "1e-6"), ("1", "1e-9"), ("5", "1e-5")]


def guarantee(
    accounting: Accounting,
    epsilon: str,
    delta: str,
    *,
    thresholds: Fraction = Fraction(0),
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Guarantee:
    budget = Budget.of(epsilon, delta)
    allowed = Filter.of(budget, accounting=accounting, threshold_delta=thresholds)
    return Guarantee(
        epsilon=budget.epsilon,
        delta=budget.delta,
        accounting=accounting,
        amount=allowed.total,
        neighbours=neighbours,
    )


def epsilon_by_pld(event: dp_event.DpEvent, delta: float) -> float:
    accountant = PLDAccountant()
    accountant.compose(event)
    return accountant.get_epsilon(delta)


def epsilon_by_rdp(event: dp_event.DpEvent, delta: float) -> float:
    accountant = RdpAccountant(orders=[1 + x / 50 for x in range(1, 40_000)])
    accountant.compose(event)
    return accountant.get_epsilon(delta)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_gaussian_event_costs_what_the_guarantee_says(
    epsilon: str, delta: str, neighbours: Neighbours
) -> None:
    promise = guarantee(Accounting.GDP, epsilon, delta, neighbours=neighbours)
    assert promise.threshold_delta == 0
    found = epsilon_by_pld(promise.dp_event(), float(delta))
    assert found == pytest.approx(float(epsilon), rel=1e-3)
    assert found >= float(epsilon) * (1 - 1e-6)
    # Rényi divergences lose a little in the conversion, never the other way.
    assert epsilon_by_rdp(promise.dp_event(), float(delta)) >= found * (1 - 1e-6)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
def test_a_pure_event_costs_epsilon_at_no_delta_and_less_beyond(epsilon: str) -> None:
    promise = guarantee(Accounting.PURE, epsilon, "0")
    event = promise.dp_event()
    assert epsilon_by_pld(event, 0.0) == pytest.approx(float(epsilon), rel=1e-6)
    # δ of ε-privacy at ε' is that of randomized response: (e^ε − e^ε') / (1 + e^ε).
    half = float(epsilon) / 2
    accountant = PLDAccountant()
    accountant.compose(event)
    exact = (2.718281828459045 ** (2 * half) - 2.718281828459045**half) / (
        1 + 2.718281828459045 ** (2 * half)
    )
    assert accountant.get_delta(half) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_zcdp_event_costs_what_the_guarantee_says(epsilon: str, delta: str) -> None:
    promise = guarantee(Accounting.ZCDP, epsilon, delta)
    event = promise.dp_event()
    assert event == dp_event.ZCDpEvent(float(promise.amount), 0.0)
    found = epsilon_by_rdp(event, float(delta))
    assert found == pytest.approx(float(epsilon), rel=1e-2)
    assert found >= float(epsilon) * (1 - 1e-6)


def test_two_releases_compose_as_one_of_both_amounts() -> None:
    promises = [guarantee(Accounting.GDP, "1", "1e-9") for _ in range(2)]
    both = ComposedDpEvent([promise.dp_event() for promise in promises])
    amount = sum((promise.amount for promise in promises), Fraction(0))
    together = float(epsilon_of(Accounting.GDP, amount, Fraction(1, 10**9)))
    assert epsilon_by_pld(both, 1e-9) == pytest.approx(together, rel=1e-3)
    with_another = ComposedDpEvent([both, GaussianDpEvent(3.0)])
    assert epsilon_by_pld(with_another, 1e-9) > together


@pytest.mark.parametrize("accounting", [Accounting.GDP, Accounting.ZCDP])
def test_the_delta_of_thresholds_is_left_out_knowingly_or_not_at_all(
    accounting: Accounting,
) -> None:
    thresholds = Fraction(3, 10**10)
    promise = guarantee(accounting, "1", "1e-9", thresholds=thresholds)
    assert float(thresholds) <= promise.threshold_delta
    assert promise.threshold_delta == pytest.approx(float(thresholds), rel=1e-5)
    with pytest.raises(Refused, match="leave_out_thresholds=True"):
        promise.dp_event()
    event = promise.dp_event(leave_out_thresholds=True)
    judge = epsilon_by_pld if accounting is Accounting.GDP else epsilon_by_rdp
    found = judge(event, 1e-9 - promise.threshold_delta)
    assert found == pytest.approx(1, rel=1e-2)
    assert found >= 1 - 1e-6


def test_a_pure_run_with_delta_has_it_all_for_thresholds() -> None:
    promise = guarantee(Accounting.PURE, "1", "1e-9")
    assert promise.threshold_delta == 1e-9
    with pytest.raises(Refused, match="thresholds"):
        promise.dp_event()


def test_releases_without_differential_privacy_say_so() -> None:
    assert Guarantee.without_data().dp_event() == dp_event.NoOpDpEvent()
    masked = Guarantee(kind=GuaranteeKind.MASKED)
    assert masked.dp_event() == NonPrivateDpEvent()


def test_a_guarantee_that_does_not_state_its_amount_is_not_taken_for_free() -> None:
    vague = Guarantee(epsilon=Fraction(1), accounting=Accounting.PURE)
    with pytest.raises(Refused, match="does not state its amount"):
        vague.dp_event()


def test_without_the_library_one_line_says_what_to_install() -> None:
    """In a process of its own, where the library cannot be imported."""
    program = (
        "import sys; sys.modules['dp_accounting'] = None\n"
        "from understudy import Guarantee\n"
        "from understudy.errors import Refused\n"
        "try:\n    Guarantee.without_data().dp_event()\n"
        "except Refused as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "dp_accounting is not installed: pip install dp-accounting, then call dp_event"
        " again.\n"
    )
