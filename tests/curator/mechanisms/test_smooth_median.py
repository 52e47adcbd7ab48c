"""Medians with noise that fits the rows: local sensitivities, smoothness and laws on all
small tables, and audits of what is drawn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import atan, exp, inf, log, pi
from pathlib import Path

import numpy as np
import pytest

from kit.curator.listed import Listed
from kit.plans import halve_noise
from kit.privacy.audit import pure
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.curator.mechanisms.smooth_median import (
    MedianColumn,
    ProposedMedian,
    SmoothMedian,
    count_changes,
    enclose_smooth_scale,
)
from understudy.errors import Refused
from understudy.schema import Schema
from understudy.toolbox.median_sensitivity import SortedValues
from understudy.toolbox.smooth_sensitivity import SmoothBound, bound_smoothly
from understudy.workflow.asking.questions import session
from understudy.workflow.toolbox.medians import propose_median

LOW, HIGH = 0, 4
SCHEMA = Schema.parse("columns:\n  x: {type: integer, min: 0, max: 4}\n")
Values = tuple[int, ...]
TABLES = [
    values
    for size in range(7)
    for values in combinations_with_replacement(range(LOW, HIGH + 1), size)
]
SMALL = [values for values in TABLES if len(values) <= 4]


def sort_values(values: Sequence[int]) -> SortedValues:
    kinds, times = np.unique(np.array(values, np.int64), return_counts=True)
    return SortedValues.of(kinds, times, LOW, HIGH)


def one_change_away(values: Values) -> Iterator[Values]:
    for place in range(len(values)):
        yield values[:place] + values[place + 1 :]
    for added in range(LOW, HIGH + 1):
        yield tuple(sorted((*values, added)))


def within(values: Values, changes: int) -> set[Values]:
    found = {values}
    for _ in range(changes):
        found |= {other for each in found for other in one_change_away(each)}
    return found


def make_column(relation: Neighbours) -> MedianColumn:
    return MedianColumn(
        name="x", low=LOW, high=HIGH, changes=count_changes(relation, 1), described=""
    )


def make_smooth(relation: Neighbours, epsilon: Fraction) -> SmoothMedian:
    return SmoothMedian(
        column=make_column(relation), epsilon=epsilon, accounting=Accounting.PURE
    )


def clipped_law(median: int, scale: float) -> list[float]:
    """The chance of every answer: rounded, then clipped."""
    if not scale:
        return [float(y == median) for y in range(LOW, HIGH + 1)]
    cuts = [atan((y + 0.5 - median) / scale) / pi + 0.5 for y in range(LOW, HIGH)]
    return np.diff([0.0, *cuts, 1.0]).tolist()


def largest_loss(laws: tuple[Sequence[float], Sequence[float]]) -> float:
    losses = [
        inf if not a or not b else abs(log(a / b))
        for a, b in zip(*laws, strict=True)
        if a or b
    ]
    return max(losses)


@pytest.mark.parametrize("changes", [1, 2])
def test_the_bound_holds_on_all_tables_within_reach(changes: int) -> None:
    medians = {values: sort_values(values).median for values in TABLES}
    for values in (each for each in SMALL if len(each) <= 4 - changes):
        neighbours = within(values, changes)
        furthest = max(abs(medians[values] - medians[other]) for other in neighbours)
        assert furthest <= sort_values(values).widest_gap(changes)
        for other in neighbours:
            away = max(abs(medians[other] - medians[z]) for z in within(other, changes))
            assert away <= sort_values(values).widest_gap(2 * changes)


def test_the_bound_of_a_neighbour_is_one_step_ahead() -> None:
    for values in SMALL:
        for other in one_change_away(values):
            one, two = sort_values(values), sort_values(other)
            for changes in range(8):
                assert one.widest_gap(changes) <= two.widest_gap(changes + 1)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
@pytest.mark.parametrize("relation", Neighbours)
def test_no_answer_is_likelier_than_the_charge_allows(
    relation: Neighbours, epsilon: Fraction
) -> None:
    median = make_smooth(relation, epsilon)
    laws = {}
    for values in TABLES[: len(SMALL) + 100]:
        ordered = sort_values(values)
        scale = 2 * median.bound(ordered).value / float(epsilon)
        laws[values] = clipped_law(ordered.median, scale)
    changes = make_column(relation).changes
    losses = [
        largest_loss((laws[values], laws[other]))
        for values in SMALL[:70]
        for other in within(values, changes)
        if other in laws
    ]
    assert max(losses) <= float(epsilon) + 1e-9
    assert max(losses) > 0.1 * float(epsilon)


def test_noise_by_the_local_sensitivity_alone_is_refuted() -> None:
    """It tells a table where no row moves the median from one where a row does."""
    laws = []
    for values in ((2, 2, 2, 2), (2, 2, 2, 2, 4)):
        ordered = sort_values(values)
        laws.append(clipped_law(ordered.median, 2.0 * ordered.widest_gap(0)))
    assert largest_loss((laws[0], laws[1])) == 0
    values = ((2, 2), (2, 2, 4)), ((2, 2, 4), (2, 2, 4, 4))
    losses = [
        largest_loss(
            tuple(
                clipped_law(s.median, 2.0 * s.widest_gap(0))
                for s in map(sort_values, pair)
            )
        )  # type: ignore[arg-type]
        for pair in values
    ]
    assert inf in losses


@pytest.mark.parametrize("beta", [Fraction(1, 50), Fraction(1, 2), Fraction(3)])
def test_the_kept_terms_hold_the_largest(beta: Fraction) -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        rises = np.sort(rng.integers(0, 40, 12))
        steps = rng.integers(0, 9, 12).cumsum()
        levels = [int(steps[rises <= k].max(initial=0)) for k in range(41)]
        found = bound_smoothly(
            lambda k, u=levels: u[min(k, 40)],  # type: ignore[misc]
            beta=beta,
            largest=levels[-1],
        )
        every = [u * exp(-float(beta) * k) for k, u in enumerate(levels)]
        assert found.value == pytest.approx(max(every), rel=1e-9)


def test_distances_beyond_floats_keep_one_term() -> None:
    """A column of one value: e^(−βk) of the first rise is no float."""
    bound = bound_smoothly(lambda k: 9 * (k >= 10**6), beta=Fraction(1, 2), largest=9)
    assert bound.terms == ((10**6, 9),)


def test_a_proposal_too_wide_for_any_noise_costs_nothing(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("x\n1\n2\n")
    text = "columns:\n  x: {type: integer, min: 0, max: 1000000000000000000}"
    with session(rows, Schema.parse(text), budget=1, private_keys=True) as questions:
        left = questions.price("SELECT COUNT(*) FROM rows", epsilon=1).amount_left
        with pytest.raises(Refused, match="wider than any"):
            propose_median(questions, "x", sensitivity=1e17, epsilon=0.1)
        after = questions.price("SELECT COUNT(*) FROM rows", epsilon=1).amount_left
    assert after == left


def test_scales_are_enclosed() -> None:
    bound = SmoothBound(((0, 1), (3, 4)), Fraction(1, 4))
    lo, hi = enclose_smooth_scale(bound, Fraction(1, 2))(60)
    assert lo / 2**60 <= 4 * 4 * exp(-0.75) <= hi / 2**60
    assert hi - lo < 200


def audit_medians(median: SmoothMedian | ProposedMedian, trials: int) -> bool:
    """Whether drawn answers refute the claim, on tables that one row tells apart."""
    tables = [
        Listed([{"x": x} for x in values], SCHEMA)
        for values in ((0, 0, 0, 4, 4, 4), (0, 0, 0, 4, 4, 4, 4))
    ]
    scores = [
        np.array(
            [
                # An answer that was withheld says little: it counts as the middle.
                float(2 if (y := json.loads(median.draw(table))) is None else y)
                for _ in range(trials)
            ]
        )
        for table in tables
    ]
    return pure(*scores, float(median.cost.amount), at=2.5, alpha=1e-7).violated


def test_an_audit_passes_the_median_and_refutes_a_smaller_scale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    median = make_smooth(Neighbours.ADD_REMOVE, Fraction(1))
    assert not audit_medians(median, 600)
    one_step = SmoothBound(((9, 1),), Fraction(1, 2))
    monkeypatch.setattr(SmoothMedian, "bound", lambda *_: one_step)
    assert audit_medians(median, 600)


def make_proposed(
    epsilon: Fraction, delta: Fraction, sensitivity: int = 1
) -> ProposedMedian:
    return ProposedMedian(
        column=make_column(Neighbours.ADD_REMOVE),
        sensitivity=sensitivity,
        amount=epsilon,
        accounting=Accounting.PURE,
        delta=delta,
    )


def law_of_proposed(proposed: ProposedMedian, values: Values) -> list[float]:
    """The chance of every answer, and last that of none."""
    ordered = sort_values(values)
    t = exp(-1 / float(proposed.test_scale))
    beyond = proposed.threshold - proposed.find_distance(ordered)
    # P(G > m) of discrete Laplace noise.
    tail = t ** (beyond + 1) / (1 + t) if beyond >= 0 else 1 - t ** (-beyond) / (1 + t)
    u = exp(-1 / float(proposed.scale))
    below = []
    for y in range(LOW, HIGH):
        away = y - ordered.median
        below.append(
            1 - u ** (away + 1) / (1 + u) if away >= 0 else u ** (-away) / (1 + u)
        )
    law = np.diff([0.0, *below, 1.0]) * tail
    return [*law.tolist(), 1 - tail]


def test_a_proposed_median_is_private_up_to_delta() -> None:
    epsilon, delta = Fraction(1), Fraction(1, 20)
    proposed = make_proposed(epsilon, delta)
    worst = 0.0
    for values in SMALL:
        law = np.array(law_of_proposed(proposed, values))
        for other in one_change_away(values):
            there = np.array(law_of_proposed(proposed, other))
            excess = np.maximum(law - exp(1) * there, 0).sum()
            worst = max(worst, float(excess))
    assert worst <= delta


@pytest.mark.parametrize("delta", [Fraction(1, 20), Fraction(1, 10**6)])
def test_a_proposal_that_is_too_small_passes_with_at_most_delta(
    delta: Fraction,
) -> None:
    """At the distance 0, and no threshold below would do."""
    proposed = make_proposed(Fraction(1), delta)
    assert proposed.find_distance(sort_values((0, 4))) == 0
    assert 1 - law_of_proposed(proposed, (0, 4))[-1] <= delta
    decay = exp(-1 / float(proposed.test_scale))
    assert decay**proposed.threshold / (1 + decay) > delta


def test_a_test_that_always_passes_would_not_be() -> None:
    proposed = make_proposed(Fraction(1), Fraction(1, 20))
    bold = replace(proposed, delta=Fraction(1, 2))
    here, there = (
        np.array(law_of_proposed(bold, values)) for values in ((0, 4), (0, 4, 4))
    )
    excess = max(
        np.maximum(here - exp(1) * there, 0).sum(),
        np.maximum(there - exp(1) * here, 0).sum(),
    )
    assert excess > 1 / 20


def test_drawn_medians_are_those_of_the_law() -> None:
    values = (1, 1, 2, 2, 2, 2, 3)
    table = Listed([{"x": x} for x in values], SCHEMA)
    proposed = make_proposed(Fraction(4), Fraction(1, 5), sensitivity=2)
    trials = 1_500
    drawn = [json.loads(proposed.draw(table)) for _ in range(trials)]
    for answer, chance in zip(
        [*range(5), None], law_of_proposed(proposed, values), strict=True
    ):
        spread = 5.5 * (trials * chance * (1 - chance)) ** 0.5
        assert abs(drawn.count(answer) - trials * chance) < spread + 1


def test_half_of_the_noise_is_seen_in_the_law_of_a_proposed_median() -> None:
    values = (2,) * 40
    table = Listed([{"x": x} for x in values], SCHEMA)
    honest = make_proposed(Fraction(4), Fraction(1, 5), sensitivity=3)
    broken = replace(honest, noise=halve_noise)
    trials = 500
    chance = law_of_proposed(honest, values)[2]
    spread = 5.5 * (trials * chance * (1 - chance)) ** 0.5
    hits = [
        sum(json.loads(each.draw(table)) == 2 for _ in range(trials))
        for each in (honest, broken)
    ]
    assert abs(hits[0] - trials * chance) < spread
    assert abs(hits[1] - trials * chance) > spread


def test_the_smooth_sensitivity_of_nine_numbers_is_the_known_one() -> None:
    """Nissim, Raskhodnikova, Smith 2007, for a fixed number of values: .1, .2, … .9 in
    [0, 1] with β = .1, here in tenths.
    """
    padded = [0] * 20 + list(range(1, 10)) + [10] * 20
    middle = padded.index(5)

    def move(k: int) -> int:
        return max(
            padded[middle + t] - padded[middle + t - k - 1] for t in range(k + 2)
        )

    bound = bound_smoothly(move, beta=Fraction(1, 10), largest=10)
    assert bound.value / 10 == pytest.approx(0.406570, abs=5e-7)
