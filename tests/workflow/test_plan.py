"""A plan is a rehearsal: the same code asks and pays, on imagined rows."""

from __future__ import annotations

import pytest

import understudy as us
from understudy.errors import Refused
from understudy.schema import Categorical, Identifier, Integer, Schema, Unit, parse_predicate
from understudy.workflow.plan import epsilon_for

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
    poor, rich = (us.plan(SCHEMA, epsilon=e, rows=5000, synthesizer="mst") for e in (0.1, 10))
    assert poor.noise is not None
    assert rich.noise is not None
    assert poor.noise > 5 * rich.noise
    assert (poor.group() or 0) > 5 * (rich.group() or 0)


def test_the_forecast_names_every_stage() -> None:
    made = us.plan(SCHEMA, epsilon=10, rows=50_000, synthesizer="mst").forecast
    assert made is not None
    assert set(made.seconds) == {"counting", "measuring", "fitting", "sampling"}
    assert all(s > 0 for s in made.seconds.values())
    assert 0 < made.error < made.independent


def test_without_rows_nothing_is_forecast() -> None:
    made = us.plan(SCHEMA, epsilon=1)
    assert (made.forecast, made.noise) == (None, None)
    assert made.group() is not None


def test_the_epsilon_for_an_accuracy_reaches_it_and_hardly_more() -> None:
    made = epsilon_for(SCHEMA, accuracy=0.02, rows=5000, synthesizer="independent")
    assert made.noise is not None
    assert 0.01 < made.noise <= 0.02
    less = us.plan(SCHEMA, epsilon=made.budget.epsilon * 4 / 5, rows=5000, synthesizer="independent")
    assert less.noise is not None
    assert less.noise > 0.02


def test_an_accuracy_nobody_can_reach_is_refused() -> None:
    wide = Schema(columns=tuple(Integer(name=f"c{i}", min=0, max=9, nullable=False) for i in range(100)))
    with pytest.raises(Refused, match="Not even"):
        epsilon_for(wide, accuracy=1e-9, rows=10, synthesizer="independent")
    with pytest.raises(Refused, match="between 0 and 1"):
        epsilon_for(SCHEMA, accuracy=2, rows=10)


def test_bins_that_are_learned_are_assumed_and_said() -> None:
    made = us.plan(
        Schema(columns=(Integer(name="income", min=0, max=10**6), Integer(name="k", min=0, max=9))), epsilon=1
    )
    assert made.assumed == ("income: at most 64 bins, as many as noise allows",)
    assert made.discovery > 0
    assert made.marginals[0].cells > 12


def test_what_is_left_open_is_assumed_and_said() -> None:
    open_schema = Schema(columns=(Categorical(name="town"), Integer(name="age", min=0, max=99)))
    made = us.plan(open_schema, epsilon=1, rows=5000)
    assert any(line.startswith("town") for line in made.assumed)
    assert 0 < made.discovery < 1


def test_a_table_with_keys_is_rehearsed_with_all_its_rows() -> None:
    keyed = Schema(columns=(*SCHEMA.columns, Identifier(name="pid")), unit=Unit(id="pid", max_rows=3))
    made = us.plan(keyed, epsilon=1, rows=1_200, synthesizer="mst")
    assert made.forecast is not None
    assert 0 < made.forecast.least <= made.forecast.error


def test_what_is_impossible_does_not_spoil_a_forecast() -> None:
    """Imagined rows break no rule either: an error that a large budget leaves is small, with rules as without."""
    columns = (
        Integer(name="age", min=0, max=99, bins=tuple(range(0, 101, 10)), nullable=False),
        Categorical(name="married", values=("no", "yes", "once"), nullable=False),
        Categorical(name="job", values=tuple("abcdef"), nullable=False),
    )
    rules = (parse_predicate("age < 20 and married != 'no'"), parse_predicate("age < 10 and job != 'a'"))
    for impossible in ((), rules):
        made = us.plan(Schema(columns=columns, impossible=impossible), epsilon=20, rows=20_000)
        assert made.forecast is not None
        assert made.forecast.error < 0.005
        assert made.forecast.independent > 0.1
