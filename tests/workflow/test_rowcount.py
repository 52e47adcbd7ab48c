"""A declared number of rows: refused where the table shows it to be wrong for all to
see, told where answers do.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.accounting.ledger import Ledger
from understudy.notices import NoticeKind

ROWS = 400


def table() -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table({"a": rng.integers(0, 4, ROWS), "b": rng.integers(0, 3, ROWS)})


def schema(rows: int, **more: object) -> us.Schema:
    columns = (
        us.Integer(name="a", min=0, max=3, nullable=False),
        us.Integer(name="b", min=0, max=2, nullable=False),
    )
    return us.Schema(columns=columns, rows=rows, **more)  # type: ignore[arg-type]


def miscounts(made: us.Release) -> str:
    """What the run said about the number of rows."""
    notices = [n for n in made.notices if n.kind is NoticeKind.MISCOUNTED]
    return " ".join(notice.text for notice in notices)


def test_a_wrong_number_that_is_public_is_refused_before_anything_is_spent(
    tmp_path: Path,
):
    ledger = tmp_path / "a.ledger"
    for wrong in (ROWS - 1, 10 * ROWS):
        with pytest.raises(
            us.errors.Refused,
            match=rf"says {wrong:,} rows, and the table has 400: correct `rows`",
        ):
            us.synthesize(
                table(), schema(wrong), epsilon=1, ledger=ledger, neighbours="replace"
            )
    with Ledger.open(ledger) as account:
        assert account.totals().epsilon == 0
    assert (
        us.synthesize(
            table(), schema(ROWS), epsilon=1, ledger=ledger, neighbours="replace"
        ).rows
        == ROWS
    )


def test_an_account_that_protects_the_number_does_not_tell_it(tmp_path: Path):
    """Asked for under replace with a wrong number, the true one would else be had for
    nothing.
    """
    ledger = tmp_path / "a.ledger"
    us.synthesize(table(), schema(ROWS), epsilon=1, ledger=ledger)
    with pytest.raises(us.errors.UnderstudyError) as refused:
        us.synthesize(
            table(), schema(7), epsilon=1, ledger=ledger, neighbours="replace"
        )
    assert str(ROWS) not in str(refused.value)


@pytest.mark.parametrize("synthesizer", ["adaptive", "independent", "mst"])
def test_a_private_number_that_is_declared_wrong_is_told_after_the_run(
    tmp_path: Path, synthesizer: str
):
    def notes(rows: int) -> str:
        name = f"{synthesizer}{rows}.ledger"
        made = us.synthesize(
            table(),
            schema(rows),
            epsilon=10,
            ledger=tmp_path / name,
            synthesizer=synthesizer,
        )
        return miscounts(made)

    assert (
        "The number of rows is off: the schema says 4,000, and what was measured adds up to about "
        in notes(4000)
    )
    assert "off" not in notes(ROWS)
    assert "off" not in notes(ROWS + 4)  # nearly right is right enough


def test_at_a_small_budget_noise_is_no_reason_to_doubt(tmp_path: Path):
    for run in range(20):
        made = us.synthesize(
            table(), schema(ROWS), epsilon="0.05", ledger=tmp_path / f"{run}.ledger"
        )
        assert "off" not in miscounts(made)
