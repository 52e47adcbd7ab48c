"""Refusals come in the order in which preflight lists them, and before anything is
reserved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import understudy as us
from understudy.errors import Refused, UnderstudyError
from understudy.schema import BrokenRowPolicy
from understudy.synthesizers import Independent
from understudy.workflow.preflight import check_seed, choose_synthesizer

GOOD = us.Schema.parse(
    "columns:\n"
    "- {name: smoker, type: boolean}\n"
    "- {name: age, type: integer, min: 0, max: 99}\n"
)
CONTRADICTORY = us.Schema.parse(
    "columns:\n"
    "- {name: smoker, type: boolean}\n"
    "- {name: age, type: integer, min: 0, max: 99}\n"
    "rules:\n"
    "- age > 200\n"
    "broken: drop\n",
)
OPEN = GOOD.with_column(us.Categorical(name="smoker"))
BREAKABLE = replace(
    GOOD,
    broken=BrokenRowPolicy.DROP,
    rules=us.Schema.parse(
        "columns:\n- {name: age, type: integer, min: 0, max: 99}\nrules:\n- age > 20\n"
    ).rules,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "smoker,age\n" + "yes,40\nno,50\n" * 50
    (tmp_path / "people.csv").write_text(rows)
    (tmp_path / "public.csv").write_text("name\nAda\n")
    (tmp_path / "damaged.csv.gz").write_bytes(b"\x1f\x8b not packed")
    with us.Ledger.create(
        tmp_path / "small.ledger",
        dataset="people",
        cap=us.Budget.of("0.1"),
        neighbours=us.Neighbours.REPLACE,
    ):
        pass
    return tmp_path


STEPS: list[tuple[str, Callable[[Path], dict[str, object]]]] = [
    ("There is no synthesizer", lambda _: {"synthesizer": "independent"}),
    ("A seed is a whole number", lambda _: {"seed": 1}),
    ("The neighbour relation is one of", lambda _: {"neighbours": "replace"}),
    ("ε must be a number", lambda _: {"epsilon": "1e-15"}),
    ("there is no such file", lambda at: {"data": at / "people.csv"}),
    ("is in the schema and not in the table", lambda _: {"schema": us.Schema(columns=())}),
    ("The accounting is one of", lambda _: {"accounting": None}),
    ("No column is left", lambda _: {"schema": CONTRADICTORY}),
    ("no row can keep it", lambda _: {"schema": OPEN}),
    ("every answer would be noise alone", lambda _: {"epsilon": 1}),
    ("cannot be done with δ = 0", lambda _: {"schema": BREAKABLE}),
    ("broken: drop changes the number of rows", lambda _: {"schema": GOOD}),
    ("workload", lambda _: {"workload": "pairs"}),
    ("has 0 of the table's columns", lambda _: {"public": None}),
    ("ledger", lambda at: {"schema": replace(GOOD, rows=7), "ledger": at / "small.ledger"}),
    ("The schema says 7 rows, and the table has 100", lambda _: {"schema": GOOD}),
    ("has no run", lambda _: {"resume": None}),
    ("only 0.10 of 0.10 is left", lambda _: {"epsilon": "0.1"}),
]  # fmt: skip
"""What a refusal says, and what mends it; the next one is then met."""


def test_refusals_come_in_order_and_nothing_is_spent(folder: Path) -> None:
    (folder / "wrong.ledger").write_text("no ledger")
    request: dict[str, object] = {
        "synthesizer": "nonsense",
        "seed": -1,
        "neighbours": "twins",
        "epsilon": 0,
        "delta": 0,
        "data": folder / "nowhere.csv",
        "schema": us.Schema(columns=(us.Boolean(name="height"),)),
        "accounting": "barter",
        "workload": "label=height",
        "public": folder / "public.csv",
        "ledger": folder / "wrong.ledger",
        "resume": "nobody",
    }
    for said, mend in STEPS:
        with pytest.raises(UnderstudyError, match=said) as caught:
            us.synthesize(**request)  # type: ignore[arg-type]
        assert caught.value.run is None
        request |= mend(folder)
    with us.Ledger.open(folder / "small.ledger") as ledger:
        assert ledger.totals().epsilon == 0


def test_a_file_that_cannot_be_read_is_refused_before_an_account_is_made(
    folder: Path,
) -> None:
    with pytest.raises(UnderstudyError, match=r"damaged\.csv\.gz"):
        us.synthesize(folder / "damaged.csv.gz", GOOD, epsilon=1)
    assert not list(folder.glob("damaged*ledger"))


def test_options_go_with_a_name() -> None:
    assert choose_synthesizer("independent", {"equal": True}) == Independent(equal=True)
    with pytest.raises(Refused, match="Leave `options` out"):
        choose_synthesizer(Independent(), {"equal": True})
    with pytest.raises(Refused, match=r"`rounds` takes a whole number"):
        us.synthesize(
            "nowhere.csv", epsilon=1, synthesizer="aim", options={"rounds": "many"}
        )


@pytest.mark.parametrize("seed", [-1, True, 1.5, "1"])
def test_a_seed_that_numpy_would_refuse_later_is_refused_now(seed: object) -> None:
    with pytest.raises(Refused, match="whole number"):
        check_seed(seed)  # type: ignore[arg-type]
