"""Mechanisms that are no noisy sums: all are charged before a row is read, cost nothing
where they have no room, and are stored; who gets a stored answer pays from their limit.
All are told how many rows a unit has, and what a neighbour is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import understudy as us
from understudy.accounting.neighbours import Neighbours
from understudy.curator.mechanisms.smooth_median import buy_pure_epsilon
from understudy.errors import BudgetExceeded
from understudy.tables import Table
from understudy.workflow.asking.session import Session

ENDS = {"source": "a", "target": "b"}
ANSWERS: dict[str, Callable[[Session], object]] = {
    "smooth median": lambda s: us.smooth_median(s, "a", epsilon=1),
    "proposed median": lambda s: us.propose_median(s, "a", sensitivity=3, epsilon=1),
    "edges": lambda s: us.measure_graph(s, "edges", **ENDS, epsilon=1),
    "edges for a node": lambda s: us.measure_graph(
        s, "edges", **ENDS, epsilon=1, max_degree=3
    ),
    "degrees": lambda s: us.measure_graph(s, "degrees", **ENDS, epsilon=1),
    "triangles": lambda s: us.measure_graph(s, "triangles", **ENDS, epsilon=1),
    "itemsets": lambda s: us.find_itemsets(s, ["t"], top=1, epsilon=1),
    "online counts": lambda s: us.ask_online(s, [us.count().where("t")], epsilon=1),
}
READERS = ("lattice", "sparse_counts", "counts", "cell_sums")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text("a,b,t\n" + "1,2,yes\n3,4,no\n" * 20)
    (tmp_path / "rows.yaml").write_text(
        "columns:\n  a: {type: integer, min: 0, max: 9}\n"
        "  b: {type: integer, min: 0, max: 9}\n  t: boolean\n"
    )
    return path


def open_rows(rows: Path, *, budget: int = 4, analyst: str = "") -> Session:
    schema = rows.with_suffix(".yaml")
    return us.session(rows, schema, budget=budget, private_keys=True, analyst=analyst)


def spent_in(rows: Path) -> Fraction:
    with us.Ledger.open(f"{rows}.ledger") as ledger:
        return sum((run.filter.spent for run in ledger.runs()), Fraction(0))


@pytest.mark.parametrize("name", ANSWERS)
def test_it_is_charged_before_a_row_is_read_and_stays_charged(
    rows: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Fraction] = []

    def fail(*given: object) -> None:
        seen.append(spent_in(rows))
        raise KeyboardInterrupt

    with open_rows(rows) as session:
        for reader in READERS:
            monkeypatch.setattr(Table, reader, fail)
        with pytest.raises(KeyboardInterrupt):
            ANSWERS[name](session)
    assert spent_in(rows) == seen[0] > 0


@pytest.mark.parametrize("name", ANSWERS)
def test_without_room_it_costs_nothing_and_reads_no_row(
    rows: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Room for the choice of itemsets, which is half, and not for their supports.
    with us.session(
        rows, rows.with_suffix(".yaml"), budget="0.8", private_keys=True
    ) as session:
        for reader in READERS:
            monkeypatch.delattr(Table, reader)
        with pytest.raises(BudgetExceeded):
            ANSWERS[name](session)
    assert spent_in(rows) == 0


@pytest.mark.parametrize("name", ANSWERS)
def test_who_gets_a_stored_answer_pays_from_their_limit(rows: Path, name: str) -> None:
    with open_rows(rows) as session:
        first = ANSWERS[name](session)
        spent = spent_in(rows)
        with us.Ledger.open(f"{rows}.ledger") as ledger:
            ledger.grant(us.Budget.of(3), analyst="rich")
            ledger.grant(us.Budget.of("0.01"), analyst="poor")
        with pytest.raises(BudgetExceeded):
            ANSWERS[name](session.for_analyst("poor"))
        for _ in range(2):
            again = ANSWERS[name](session.for_analyst("rich"))
            assert again.to_dict() == first.to_dict()  # type: ignore[attr-defined]
    assert spent_in(rows) == spent
    with us.Ledger.open(f"{rows}.ledger") as ledger:
        ledger.verify()
        handed = [each.analyst for each in ledger.entries() if each.kind == "replay"]
    answers = 2 if name == "itemsets" else 1
    assert handed == ["rich"] * answers


CLAIMS: dict[str, Callable[[Any, int, Neighbours], bool]] = {
    "smooth median": lambda m, rows, relation: (
        m.column.changes == count_changed(rows, relation)
    ),
    "proposed median": lambda m, rows, relation: (
        m.column.changes == count_changed(rows, relation)
    ),
    # As many edges come as go at most.
    "edges": lambda m, rows, _: (
        (m.sensitivity.l1, m.sensitivity.l2_squared) == (rows, rows**2)
    ),
    "degrees": lambda m, rows, relation: (
        m.sensitivity.l1 == 2 * (k := count_changed(rows, relation))
        and m.sensitivity.l2_squared == k**2 + k
    ),
    # One edge after another, each for a part of ε.
    "triangles": lambda m, rows, relation: (
        m.epsilon * count_changed(rows, relation)
        == buy_pure_epsilon(Fraction(1), us.Accounting.PURE)
        == 1 / price_scale(m)
    ),
    "itemsets": lambda m, rows, relation: (
        (m.sensitivity, m.is_monotone) == (rows, relation is Neighbours.ADD_REMOVE)
    ),
    "online counts": lambda m, rows, _: m.sensitivity == rows,
}


def count_changed(rows: int, relation: Neighbours) -> int:
    """Rows that are added or removed: a replaced unit leaves and comes."""
    return rows if relation is Neighbours.ADD_REMOVE else 2 * rows


def price_scale(mechanism: Any) -> Fraction:
    """The scale whose price in ε is what is charged."""
    return Fraction(1) / mechanism.cost.amount


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("name", CLAIMS)
def test_it_is_told_how_far_a_neighbour_reaches(
    rows: Path,
    name: str,
    max_rows: int,
    relation: Neighbours,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[Any] = []

    def keep(session: Session, mechanism: Any, **_: object) -> None:
        found.append(mechanism)
        raise KeyboardInterrupt

    declared = rows.with_suffix(".yaml").read_text()
    rows.write_text("p," + rows.read_text().replace("\n", "\n9,").removesuffix("9,"))
    schema = us.Schema.parse(
        f"unit: {{id: p, max_rows: {max_rows}}}\n{declared}  p: identifier\n"
    )
    monkeypatch.setattr(Session, "draw_single", keep)
    with (
        us.session(
            rows,
            schema,
            budget=4,
            delta="1e-6",
            private_keys=True,
            neighbours=relation,
            accounting="pure",
        ) as session,
        pytest.raises(KeyboardInterrupt),
    ):
        ANSWERS[name](session)
    assert CLAIMS[name](found[0], max_rows, relation)


@pytest.mark.parametrize("name", [*ANSWERS, "count", "count by group"])
def test_an_answer_is_not_given_for_other_rows(rows: Path, name: str) -> None:
    """Rules that drop rows make another table of them."""
    asked = {
        **ANSWERS,
        "count": lambda s: s.ask(us.count(), epsilon=1),
        "count by group": lambda s: s.ask(
            "SELECT b, COUNT(*) FROM v GROUP BY b", epsilon=1
        ),
    }
    schema = rows.with_suffix(".yaml")
    with open_rows(rows) as session:
        asked[name](session)
    before = spent_in(rows)
    ruled = (
        schema.read_text()
        + "impossible: [a > 2 and b > 2 and t = false]\nbroken: drop\n"
    )
    schema.write_text(ruled)
    with open_rows(rows) as session:
        asked[name](session)
    assert spent_in(rows) > before * Fraction(3, 2)
