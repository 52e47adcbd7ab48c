"""The summary of a run says what its release, its statement and its ledger say."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
from kit.releases.builders import release as handmade
from kit.releases.builders import statement
from understudy.accounting.ledger import Ledger
from understudy.cli.terminal.layout import report_json
from understudy.releases import BudgetStatement, Guarantee, Release
from understudy.releases.card.degenerate_columns import degenerate_column_lines
from understudy.releases.summary import (
    RunSummary,
    list_stages,
    list_warnings,
    spending_by_question,
)
from understudy.releases.warnings import list_numbered_people
from understudy.schema import Integer, Schema

ROWS = 3000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, Path]:
    """A real run that learns lists of values and a pair of bounds."""
    rng = np.random.default_rng(3)
    people = pl.DataFrame(
        {
            "sex": rng.choice(["F", "M"], ROWS),
            "age": rng.integers(18, 91, ROWS),
            "code": [f"x{i}" for i in range(ROWS)],
            "job": [f"y{i}" if i % 5 == 0 else "clerk" for i in range(ROWS)],
        }
    )
    schema = Schema.parse(
        "columns:\n  sex: {type: categorical, values: [F, M]}\n"
        "  age: {type: integer, min: 18, bounds: learn}\n"
        "  code: {type: categorical, values: learn}\n"
        "  job: {type: categorical, values: learn}\n"
    )
    book = tmp_path_factory.mktemp("run") / "people.ledger"
    return us.synthesize(people, schema, epsilon=2, ledger=book, seed=1), book


def test_stages_share_out_the_whole_budget(run: tuple[Release, Path]) -> None:
    made, _ = run
    stages = list_stages(made)
    assert [stage.name for stage in stages] == ["schema", "selection", "measuring"]
    asked = sum(float(step.share) for step in made.statement.steps)
    assert sum(stage.share for stage in stages) == pytest.approx(asked)
    assert stages[0].text == (
        "4 columns; 2 lists of values, 1 pair of bounds and 1 set of bins learned"
    )


def test_the_account_is_the_ledgers(run: tuple[Release, Path]) -> None:
    made, book = run
    summary = RunSummary.of(made, ledger=book)
    with Ledger.open(book) as ledger:
        head, spent = ledger.head, ledger.totals().epsilon
    assert summary.account is not None
    assert summary.account.facts["head"] == head
    assert summary.account.facts["spent"] == {
        "epsilon": spent,
        "delta": made.guarantee.delta,
    }
    assert summary.guarantee_line() == (
        f"{made.guarantee.sentence()} Spent: 2.00, no cap ({book})."
    )


def test_without_a_ledger_nothing_is_said_of_an_account(
    run: tuple[Release, Path],
) -> None:
    made, _ = run
    summary = RunSummary.of(made)
    assert summary.account is None
    assert summary.to_dict()["ledger"] is None
    assert summary.guarantee_line() == made.guarantee.sentence()


def test_lines_end_with_the_card_and_where_to_look_next(
    run: tuple[Release, Path],
) -> None:
    made, _ = run
    summary = RunSummary.of(made)
    lines = summary.closing_lines(release_file=Path("r.understudy"))
    assert lines[-1] == f"{made.card.sentence()} See `understudy card`."
    assert summary.closing_lines()[-1] == made.card.sentence()
    assert any(line.startswith("Learned from the rows and paid") for line in lines)
    assert set(summary.recoded) <= set(lines)


def test_warnings_hold_the_columns_that_are_lost(run: tuple[Release, Path]) -> None:
    made, _ = run
    lost = degenerate_column_lines(made.card.degenerate_columns)
    assert any(line.startswith("code: ") for line in lost)
    assert set(lost) <= set(list_warnings(made))


def test_learned_numbers_of_people_are_said_to_be_made_up() -> None:
    learned = Integer(name="subject", min=0, max=1023, learned=("type", "bounds"))
    columns = (
        learned,
        replace(learned, name="client", max=1),
        replace(learned, name="visits"),
        # Whoever declares the type of a column knows what its numbers are.
        replace(learned, name="patient", learned=("bounds",)),
    )
    assert list_numbered_people(Schema(columns=columns)) == ["subject"]


def test_a_program_can_read_all_of_it(
    run: tuple[Release, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    made, book = run
    report_json(RunSummary.of(made, ledger=book).to_dict())
    facts = json.loads(capsys.readouterr().out)
    assert facts["run"] == made.statement.run
    assert facts["other"]["job"] > 0
    assert facts["guarantee"]["epsilon"] == 2
    assert facts["stages"][0]["stage"] == "schema"


def test_a_run_that_reads_no_rows_has_no_card_no_account_and_no_warnings(
    tmp_path: Path,
) -> None:
    plain = Release(
        guarantee=Guarantee.without_data(),
        schema=handmade().schema,
        model=handmade().model,
    )
    summary = RunSummary.of(plain, ledger=tmp_path / "none.ledger")
    assert summary.account is None
    assert summary.card_sentence is None
    assert summary.warnings == ()
    assert [stage.name for stage in summary.stages] == ["schema"]


def test_spending_is_added_up_by_question() -> None:
    steps = statement().steps
    listed = spending_by_question(BudgetStatement(steps=(*steps, *steps)))
    assert [asked for asked, _, _ in listed] == list(
        dict.fromkeys(step.asked for step in steps)
    )
    assert sum(count for _, count, _ in listed) == 2 * len(steps)
    total = sum((step.share for step in steps), Fraction(0))
    assert sum(share for _, _, share in listed) == pytest.approx(2 * float(total))
