"""Small tables stop once their rows are counted.

Five rows of twenty columns without a type: at any ε a value has to be in so many rows
that the count's noise of scale 50/ε would have to be 17 scales off for the run to go on,
less than once in 10⁷ runs.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import understudy as us
from understudy.accounting.budget import Budget
from understudy.accounting.conversion import total_for
from understudy.accounting.cost import Accounting
from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.reservation import row_count_run
from understudy.errors import BudgetExceeded, TooFewRows
from understudy.schema import Integer, Schema, UndeclaredColumn
from understudy.workflow.preflight import (
    ROW_COUNT_SHARE,
    RunDesign,
    check_design,
    choose_synthesizer,
)
from understudy.workflow.small_tables import RowNeeds, row_count_cost

NAMES = [f"c{i}" for i in range(20)]
UNDECLARED = Schema(columns=tuple(UndeclaredColumn(name=n) for n in NAMES))
DECLARED = Schema(columns=tuple(Integer(name=n, min=0, max=9) for n in NAMES))


@pytest.fixture
def few(tmp_path: Path) -> Path:
    path = tmp_path / "few.csv"
    lines = [",".join(NAMES), *[",".join("3" * len(NAMES))] * 5]
    path.write_text("\n".join(lines) + "\n")
    return path


def design_of(
    schema: Schema,
    *,
    epsilon: object = 1,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    accounting: str | None = None,
) -> RunDesign:
    return check_design(
        schema,
        choose_synthesizer("independent"),
        budget=Budget.of(epsilon),
        neighbours=neighbours,
        accounting=accounting,
        workload=(),
    )


def spent(path: Path) -> tuple[Fraction, Fraction]:
    with Ledger.open(path) as ledger:
        ledger.verify()
        totals = ledger.totals()
    return totals.epsilon, totals.delta


def test_a_small_table_stops_and_only_the_count_is_spent(few):
    ledger = few.with_name("few.ledger")
    with pytest.raises(TooFewRows) as stopped:
        us.synthesize(few, epsilon=1, synthesizer="independent", ledger=ledger)
    assert spent(ledger) == (ROW_COUNT_SHARE, 0)
    with Ledger.open(ledger) as account:
        assert [run.id for run in account.runs() if run.is_finished] == [
            row_count_run(str(stopped.value.run))
        ]
    said = str(stopped.value)
    assert "too small to learn its 20 open columns at ε = 1.00" in said
    assert "Counting the rows cost ε = 0.02, which stays spent" in said
    assert "\n" not in said
    # The run goes on where it stopped: the count is not paid for again.
    release = us.synthesize(
        few,
        epsilon=1,
        synthesizer="independent",
        ledger=ledger,
        resume=stopped.value.run,
        anyway=True,
    )
    assert spent(ledger) == (1, Fraction(1, 10**9))
    assert release.statement.steps[0].asked == "rows"
    assert release.guarantee.epsilon == 1
    assert release.statement.total_cost.amount <= release.guarantee.amount
    assert release.guarantee.amount <= total_for(Budget.of(1), Accounting.GDP)


def test_a_run_that_goes_on_anyway_counts_nothing_first(few):
    ledger = few.with_name("few.ledger")
    release = us.synthesize(
        few, epsilon=1, synthesizer="independent", ledger=ledger, anyway=True
    )
    assert "rows" not in {step.asked for step in release.statement.steps}
    with Ledger.open(ledger) as account:
        assert [run.id for run in account.runs()] == [release.statement.run]


def test_a_declared_table_goes_through_whatever_its_size(few):
    release = us.synthesize(few, DECLARED, epsilon=1, synthesizer="independent")
    assert "rows" not in {step.asked for step in release.statement.steps}


def test_a_number_of_rows_that_is_public_stops_a_run_for_nothing(few):
    ledger = few.with_name("few.ledger")
    with pytest.raises(TooFewRows, match=r"it has 5 rows.* Nothing was spent"):
        us.synthesize(few, replace(UNDECLARED, rows=5), epsilon=1, ledger=ledger)
    assert spent(ledger) == (0, 0)
    with pytest.raises(TooFewRows, match="Nothing was spent"):
        us.synthesize(
            few, epsilon=1, neighbours="replace", ledger=few.with_name("other.ledger")
        )


def test_a_cap_that_refuses_the_run_refuses_its_count(few):
    ledger = few.with_name("few.ledger")
    Ledger.create(ledger, dataset="few.csv", cap=Budget.of("0.5")).close()
    with pytest.raises(BudgetExceeded, match="Nothing was spent"):
        us.synthesize(few, epsilon=1, ledger=ledger)
    assert spent(ledger) == (0, 0)


@pytest.mark.parametrize("accounting", Accounting)
def test_count_and_rest_are_the_whole_budget(accounting):
    """Plainly, as the ledger adds them, and together within the run's own accounting."""
    design = design_of(UNDECLARED, accounting=str(accounting))
    assert design.row_count is not None
    assert design.row_count.epsilon + design.main_budget.epsilon == 1
    assert design.main_budget.delta == design.budget.delta
    assert design.filter.fits_budget(design.main_budget)
    count = row_count_cost(design.row_count, accounting)
    whole = design.budget.epsilon
    if accounting is not Accounting.PURE:
        whole = total_for(design.budget, accounting)
    assert design.filter.total + count.amount <= whole


def test_rows_are_counted_only_where_their_number_decides():
    assert design_of(UNDECLARED).row_count is not None
    assert design_of(DECLARED).row_count is None
    assert design_of(replace(UNDECLARED, rows=9)).row_count is None
    assert design_of(UNDECLARED, neighbours=Neighbours.REPLACE).row_count is None
    half = Schema(columns=(*UNDECLARED.columns[:10], *DECLARED.columns[10:]))
    assert design_of(half).row_count is None


def test_most_columns_decide_whether_a_table_is_too_small():
    needs = RowNeeds({"a": 100, "b": 100, "c": 300}, columns=4)
    assert [needs.exceed(rows) for rows in (199, 200, 599)] == [True, False, False]
    assert needs.typical == 100


def test_a_plan_says_that_a_run_would_stop():
    def plan(schema: Schema, rows: int) -> us.Plan:
        return us.plan(
            schema, epsilon=1, rows=rows, synthesizer="independent", outlook=False
        )

    planned = plan(UNDECLARED, 300)
    assert planned.warnings[0].startswith("A run would stop")
    assert dict(planned.stages)["rows"] < Fraction(1, 40)
    assert not any("would stop" in text for text in plan(UNDECLARED, 5000).warnings)
    assert f"from about {planned.rows_to_learn} rows on" in str(planned)
    assert plan(DECLARED, 300).rows_to_learn is None
