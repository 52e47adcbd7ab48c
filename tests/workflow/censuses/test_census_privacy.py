"""A whole census between two neighbours, from the file of persons to the last byte of what
is written: it loses what it was charged and no more, and nothing but the answers and the
invariants is in its files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from understudy.accounting.cost import Cost, Sensitivity
from understudy.accounting.neighbours import Neighbours
from understudy.censuses import bias
from understudy.censuses.output.files import write_census
from understudy.curator import MechanismContext
from understudy.curator.mechanisms import geounits, households
from understudy.curator.mechanisms.geounits import UnitHistogram
from understudy.workflow.run_options import RunOptions

SCHEMA = """
columns:
  home: identifier
  county: {type: categorical, values: [a, b], nullable: false}
  kind: {type: categorical, values: [own, rent], nullable: false}
  role: {type: categorical, values: [head, other], nullable: false}
census:
  hierarchy: {columns: [county]}
  plan: {queries: {detail: 1}}
  households:
    key: home
    max_persons: 2
    columns: [kind]
    householder: {role: head}
    plan: {levels: {nation: 1}, queries: {kind: 1}}
"""
HERE = ("1,a,own,head", "1,b,rent,other", "2,b,own,head")
# The worst case: two households that leave one kind for the other, and a person of
# another cell at every level.
THERE = {
    Neighbours.REPLACE: ("2,a,rent,head", *HERE[1:]),
    Neighbours.ADD_REMOVE: HERE[1:],
}

Asked = tuple[np.ndarray[Any, Any], Fraction]
"""Exact counts on their way to the noise, and its scale."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """Everything that would get noise. All answers are alike whatever the rows are, so
    that two runs differ only by what leaves without noise.
    """
    seen: list[Asked] = []

    def answer_alike(
        self: MechanismContext, exact: np.ndarray[Any, Any], scale: Fraction
    ) -> np.ndarray[Any, Any]:
        seen.append((exact.copy(), scale))
        return (np.arange(exact.size) % 5).reshape(exact.shape)

    monkeypatch.setattr(MechanismContext, "add_noise", answer_alike)
    # Three simulated releases for a card, as of a large country, and not fifty.
    monkeypatch.setattr(bias, "MIN_SIMULATED_PLACES", 1)
    return seen


def release(
    folder: Path, rows: Sequence[str], schema: str = SCHEMA, **options: Any
) -> us.CensusRelease:
    """A census of these persons, under names that are the same for all."""
    folder.mkdir()
    (folder / "people.csv").write_text("home,county,kind,role\n" + "\n".join(rows))
    (folder / "people.yaml").write_text(schema)
    run = RunOptions(run_id="r", dataset="people")
    return us.census(
        folder / "people.csv", folder / "people.yaml", rho=1, run=run, **options
    )


def lose(
    folder: Path, asked: list[Asked], relation: Neighbours
) -> tuple[Fraction, Fraction]:
    """What a run loses between two neighbours, Σ ‖difference‖²/2σ², and what it was
    charged.
    """
    release(folder / "here", HERE, neighbours=relation)
    here = asked.copy()
    asked.clear()
    made = release(folder / "there", THERE[relation], neighbours=relation)
    lost = Fraction(0)
    for (one, scale), (other, _) in zip(here, asked, strict=True):
        lost += Fraction(int(np.square(one - other).sum())) / (2 * scale**2)
    charged = sum((step.cost.amount for step in made.statement.steps), Fraction(0))
    return lost, charged


@pytest.mark.parametrize("relation", Neighbours)
def test_a_run_loses_what_it_is_charged_and_no_more(tmp_path, asked, relation):
    lost, charged = lose(tmp_path, asked, relation)
    assert len(asked) == 3
    assert Fraction(999, 1000) * charged < lost <= charged <= 1


def forget_counties(real: Callable[..., Cost]) -> Callable[..., Cost]:
    calls: list[int] = []

    def price(law: Any, scale: Any, sensitivity: Any, accounting: Any) -> Cost:
        calls.append(1)
        # Two prices an answer: where a lost one is looked for, and where it is measured.
        is_county = len(calls) % 6 in (3, 4)
        paid = real(law, scale, sensitivity, accounting)
        return Cost(accounting, Fraction(0)) if is_county else paid

    return price


BROKEN = {
    "level not charged": (geounits, "price", forget_counties(geounits.price)),
    "person priced as a household": (
        households,
        "find_household_sensitivity",
        lambda *_, **__: Sensitivity(l1=Fraction(1), l2_squared=Fraction(1)),
    ),
    "scale of add/remove": (
        MechanismContext,
        "unit_vector",
        lambda self: Sensitivity(l1=Fraction(1), l2_squared=Fraction(1)),
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_run_that_loses_more_is_noticed(tmp_path, asked, monkeypatch, broken):
    monkeypatch.setattr(*BROKEN[broken])
    lost, charged = lose(tmp_path, asked, Neighbours.REPLACE)
    assert lost > Fraction(101, 100) * charged


DECLARED = """\
  invariants:
    - {level: nation, query: kind, keep: counts}
    - {level: county, query: kind, keep: zeros}
    - {level: county, query: total, at_most: 9}
  areas: {school: school.csv}
"""
# These agree on the kinds of the nation and on the empty cells of the counties.
AGREEING = (
    ("1,a,own,head", "1,a,own,other", "2,b,own,head", "3,b,rent,head"),
    ("1,a,own,other", "1,a,own,other", "2,b,own,head", "3,b,rent,head"),
    ("1,b,own,other", "1,a,own,other", "2,b,own,head", "3,b,rent,head"),
    ("2,b,own,head", "1,a,own,other", "2,b,own,head", ",b,rent,head"),
)


def write(folder: Path, rows: Sequence[str]) -> dict[str, bytes]:
    """Every file of a census of these persons."""
    folder.parent.mkdir(exist_ok=True)
    schema = SCHEMA + DECLARED.replace("school.csv", "../school.csv")
    (folder.parent / "school.csv").write_text("county,school\na,oak\n")
    made = release(folder, rows, schema)
    write_census(made, folder / "out", np.random.default_rng(1))
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def test_files_hold_nothing_but_answers_and_invariants(tmp_path, asked):
    first, *others = (write(tmp_path / str(i), rows) for i, rows in enumerate(AGREEING))
    assert {"persons.csv", "households.csv", "table-school-total.csv"} <= {*first}
    for other in others:
        assert other == first


def test_an_invariant_that_says_more_shows_in_the_files(tmp_path, asked, monkeypatch):
    """A broken twin that reads counts where zeros are declared."""
    real = UnitHistogram.read_invariant
    monkeypatch.setattr(
        UnitHistogram,
        "read_invariant",
        lambda self, level, clique, only_zeros: real(
            self, level, clique, only_zeros=False
        ),
    )
    first, other = (write(tmp_path / str(i), AGREEING[2 * i]) for i in range(2))
    assert other != first
