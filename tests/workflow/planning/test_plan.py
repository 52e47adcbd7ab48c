"""A plan is a dry run: the same code asks and pays, on imagined rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import understudy as us
from understudy.accounting import Accounting, Cost, Law
from understudy.errors import Refused
from understudy.measurements import Centring, Measurement, Measurements, Partition
from understudy.schema import (
    Boolean,
    Categorical,
    Identifier,
    Integer,
    Schema,
    Unit,
    parse_predicate,
)
from understudy.workflow.planning.planned_marginals import plan_marginals
from understudy.workflow.planning.precision import known_marginals

LAW = Law.DISCRETE_GAUSSIAN

SCHEMA = Schema(
    columns=(
        *(Integer(name=n, min=0, max=9, nullable=False) for n in "abcd"),
        Categorical(name="sex", values=("F", "M"), nullable=False),
    )
)


def test_shares_of_the_stages_add_up_to_the_budget() -> None:
    made = us.plan(SCHEMA, epsilon=1, rows=5000, synthesizer="privsyn")
    assert {name for name, _ in made.stages} == {"marginals", "errors"}
    assert 0.99 < sum(share for _, share in made.stages) <= 1


def test_an_adaptive_synthesizer_is_rehearsed_through_its_rounds() -> None:
    made = us.plan(SCHEMA, epsilon=3, rows=20_000, synthesizer="aim")
    assert any(len(m.clique) >= 2 for m in made.marginals)


def test_more_budget_means_less_noise_and_smaller_groups() -> None:
    poor, rich = (
        us.plan(SCHEMA, epsilon=e, rows=5000, synthesizer="mst") for e in (0.1, 10)
    )
    assert poor.noise is not None
    assert rich.noise is not None
    assert poor.noise > 5 * rich.noise
    assert (poor.smallest_group() or 0) > 5 * (rich.smallest_group() or 0)


def test_the_forecast_names_every_stage() -> None:
    made = us.plan(SCHEMA, epsilon=10, rows=50_000, synthesizer="mst").forecast
    assert made is not None
    assert set(made.seconds) == {"counting", "measuring", "fitting", "sampling"}
    assert all(s > 0 for s in made.seconds.values())
    assert 0 < made.error < made.independent


def test_without_rows_nothing_is_forecast() -> None:
    made = us.plan(SCHEMA, epsilon=1)
    assert (made.forecast, made.noise) == (None, None)
    assert made.smallest_group() is not None


def test_the_epsilon_for_an_accuracy_reaches_it_and_hardly_more() -> None:
    made = us.plan(SCHEMA, accuracy=0.02, rows=5000, synthesizer="independent")
    assert made.noise is not None
    assert 0.01 < made.noise <= 0.02
    less = us.plan(
        SCHEMA,
        epsilon=made.budget.epsilon * 4 / 5,
        rows=5000,
        synthesizer="independent",
    )
    assert less.noise is not None
    assert less.noise > 0.02


def test_an_accuracy_nobody_can_reach_is_refused() -> None:
    wide = Schema(
        columns=tuple(
            Integer(name=f"c{i}", min=0, max=9, nullable=False) for i in range(100)
        )
    )
    with pytest.raises(Refused, match="Not even"):
        us.plan(wide, accuracy=1e-9, rows=10, synthesizer="independent")
    with pytest.raises(Refused, match="between 0 and 1"):
        us.plan(SCHEMA, accuracy=2, rows=10)


def test_bins_that_are_learned_are_assumed_and_said() -> None:
    made = us.plan(
        Schema(
            columns=(
                Integer(name="income", min=0, max=10**6),
                Integer(name="k", min=0, max=9),
            )
        ),
        epsilon=1,
    )
    assert made.assumed == ("income: at most 64 bins, as many as noise allows",)
    assert made.discovery > 0
    assert made.marginals[0].cells > 12


def test_what_is_left_open_is_assumed_and_said() -> None:
    open_schema = Schema(
        columns=(Categorical(name="town"), Integer(name="age", min=0, max=99))
    )
    made = us.plan(open_schema, epsilon=1, rows=5000)
    assert any(line.startswith("town") for line in made.assumed)
    assert 0 < made.discovery < 1


def test_a_table_with_keys_is_rehearsed_with_all_its_rows() -> None:
    keyed = Schema(
        columns=(*SCHEMA.columns, Identifier(name="pid")),
        unit=Unit(id="pid", max_rows=3),
    )
    made = us.plan(keyed, epsilon=1, rows=1_200, synthesizer="mst")
    assert made.forecast is not None
    assert 0 < made.forecast.least <= made.forecast.error


def test_a_table_with_columns_that_are_constant_within_a_person_is_forecast() -> None:
    keyed = Schema(
        columns=(
            Identifier(name="pid", generate=True),
            Boolean(name="smoker", constant=True),
            SCHEMA["sex"],
        ),
        unit=Unit(id="pid", max_rows=3),
    )
    assert (
        us.plan(keyed, epsilon=1, rows=900, synthesizer="independent").forecast
        is not None
    )


def test_what_is_impossible_does_not_spoil_a_forecast() -> None:
    """Imagined rows break no rule either: an error that a large budget leaves is small,
    with rules as without.
    """
    columns = (
        Integer(
            name="age", min=0, max=99, bins=tuple(range(0, 101, 10)), nullable=False
        ),
        Categorical(name="married", values=("no", "yes", "once"), nullable=False),
        Categorical(name="job", values=tuple("abcdef"), nullable=False),
    )
    rules = (
        parse_predicate("age < 20 and married != 'no'"),
        parse_predicate("age < 10 and job != 'a'"),
    )
    for impossible in ((), rules):
        made = us.plan(
            Schema(columns=columns, impossible=impossible), epsilon=20, rows=20_000
        )
        assert made.forecast is not None
        assert made.forecast.error < 0.005
        assert made.forecast.independent > 0.1


def test_a_plan_of_one_column_speaks_of_no_pairs() -> None:
    made = us.plan(Schema(columns=(SCHEMA["sex"],)), accuracy=0.01, rows=900)
    assert "would move a measured column by" in str(made)
    assert "pair" not in str(made)
    assert "pairs of columns would be off by" in str(
        us.plan(SCHEMA, epsilon=1, rows=900, synthesizer="independent")
    )


def test_a_plan_shows_itself_in_a_few_lines_and_in_a_notebook_whole() -> None:
    made = us.plan(
        Schema(
            columns=(Boolean(name="a<b"), Categorical(name="sex", values=("F", "M")))
        ),
        epsilon=1,
        rows=900,
    )
    assert "Fraction" not in repr(made)
    assert len(repr(made).splitlines()) <= 6
    assert repr(made).startswith("adaptive would spend ε = 1.00, δ = 1e-9")
    assert str(made).splitlines() == made.lines()
    page = made._repr_html_()
    assert "a&lt;b" in page
    assert "a<b" not in page
    assert made.meaning.to_svg() in page
    assert made.lines()[-1] in page
    assert not [
        word for word in ("<script", "<link", "src=", "url(", "https:") if word in page
    ]


@pytest.mark.parametrize("epsilon", [1, 10])
def test_a_marginal_stands_once_with_its_noise_in_rows(epsilon: int) -> None:
    """Differences and residuals are numbers many times as large as counts: none of that
    may be read as noise on a cell.
    """
    people = Schema(
        columns=(
            Integer(name="age", min=18, max=90),
            Categorical(name="sex", values=("F", "M")),
            Boolean(name="smoker"),
            Integer(name="visits", min=0, max=20),
        )
    )
    made = us.plan(people, epsilon=epsilon, rows=2000, outlook=False)
    cliques = [frozenset(m.clique) for m in made.marginals]
    assert len(set(cliques)) == len(cliques)
    left = {k.clique: k.deviation for k in made.known}
    for m in made.marginals:
        assert m.deviation == left.get(m.clique)
    # A marginal that gets the smallest part of a budget, 1e-4, has 100 times the noise
    # of one that gets all; differences and residuals are off by thousands.
    assert all(
        m.deviation is None or m.deviation < 600 / epsilon for m in made.marginals
    )
    assert (made.noise_of(2) or 1) < (0.5 if epsilon == 1 else 0.1)


@pytest.mark.parametrize(("epsilon", "power"), [(1, 1), (40, 2)])
def test_noise_much_smaller_than_a_row_moves_few_cells(
    epsilon: int, power: int
) -> None:
    """Noise is whole. Its mean size is 0.8 deviations where it is large; where it is
    small, the few cells that have any are off by one.
    """
    made = us.plan(
        Schema(columns=(SCHEMA["a"],)),
        epsilon=epsilon,
        rows=100_000,
        synthesizer="independent",
    )
    (one,) = made.marginals
    assert one.deviation is not None
    per_cell = (made.noise or 0) * 2 * 100_000 / one.cells
    assert per_cell == pytest.approx(
        one.deviation**2 if power == 2 else 0.797 * one.deviation, rel=0.01
    )
    assert made.forecast is not None
    assert made.forecast.least <= (made.noise or 0) * 1.01


def test_a_residual_alone_tells_no_count_and_says_none() -> None:
    """Of a pair by its residual alone, neither column known, nothing is said in rows;
    of coarser bins what was asked for is.
    """
    cost = Cost(Accounting.GDP, Fraction(1, 2))
    pair = Measurement(
        ("a", "sex"),
        (Centring(10), Centring(2)),
        np.zeros((10, 2), np.int64),
        LAW,
        Fraction(400),
        cost,
    )
    bins = Measurement(
        ("b",),
        (Partition((0,) * 5 + (1,) * 5),),
        np.zeros(2, np.int64),
        LAW,
        Fraction(4),
        cost,
    )
    measured = Measurements((pair, bins, bins))
    first, second = plan_marginals(
        measured, known_marginals(SCHEMA, measured), Fraction(2)
    )
    assert (first.deviation, first.cells, first.share) == (None, 20, Fraction(1, 4))
    assert (second.deviation, second.cells, second.share) == (
        pytest.approx(4 / 2**0.5),
        2,
        Fraction(1, 2),
    )
