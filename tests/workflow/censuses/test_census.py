"""A census from a file of persons to tables: charged first, exact where promised,
refused for free, and taken up where it was cut off.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.accounting.ledger import Ledger
from understudy.accounting.run import LedgerRun
from understudy.censuses.output.files import write_census
from understudy.curator import MechanismContext
from understudy.curator.mechanisms import geounits
from understudy.errors import BudgetExceeded, InvalidBudget, Refused, SchemaError
from understudy.workflow.censuses.census_check import read_census_budget
from understudy.workflow.run_options import RunOptions

SCHEMA = """
columns:
  state: {type: categorical, values: [n, s], nullable: false}
  county: {type: categorical, values: [a, b, c], nullable: false}
  age: {type: integer, min: 0, max: 89, bins: 9, nullable: false}
  kind: {type: categorical, values: [home, gq], nullable: false}
impossible: ["age < 10 and kind = 'gq'"]
census:
  hierarchy: {columns: [state, county], tree: {n: [a, b], s: [a, c]}}
  plan:
    levels: {nation: 1, state: 2, county: 3}
    queries: {total: 1, detail: 2}
  invariants:
    - {level: state, query: total, keep: counts}
    - {level: county, query: kind, keep: zeros}
"""


@pytest.fixture
def census_files(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    lines = ["state,county,age,kind"]
    for _ in range(600):
        state = rng.choice(["n", "s"])
        county = rng.choice(["a", "b"] if state == "n" else ["a", "c"])
        kind = "gq" if state == "n" and rng.random() < 0.1 else "home"
        lines.append(f"{state},{county},{rng.integers(10, 90)},{kind}")
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "people.yaml").write_text(SCHEMA)
    return tmp_path / "people.csv", tmp_path / "people.yaml"


def test_tables_agree_and_the_guarantee_names_what_it_leaves_out(census_files):
    people, schema = census_files
    release = us.census(people, schema, rho=1, delta="1e-10")
    rows = people.read_text().splitlines()[1:]
    states = [sum(row.startswith(state) for row in rows) for state in "ns"]
    assert release.counts("state").tolist() == states
    assert release.counts("county").sum() == release.persons == 600
    # Facilities are in the north alone, and stay there.
    assert not release.counts("county", "kind")[2:, 1].any()
    codes = release.microdata()
    assert len(codes["age"]) == 600
    assert (
        "among tables that agree on the number of rows, total by state (counts)"
        in release.sentence()
    )
    assert release.guarantee.amount == 1
    assert release.table("state", "kind")["standard_error"].shape == (4,)
    # A notebook shows it in a few lines, not with all its arrays.
    assert "600" in repr(release)
    assert len(repr(release)) < 500
    assert "total by state (counts)" in release._repr_html_()


def test_places_that_nobody_declared_count_nowhere(census_files):
    """They counted in the first state, and made its exact count wrong."""
    people, schema = census_files
    with people.open("a") as file:
        file.write("zz,a,30,home\n,a,30,home\nn,zz,30,home\n")
    release = us.census(people, schema, rho=1)
    assert release.persons == 600


def test_the_ledger_is_charged_for_each_query_and_no_more(census_files):
    people, schema = census_files
    release = us.census(people, schema, epsilon=2, run=RunOptions(run_id="r"))
    total = release.guarantee.amount
    spent = sum(step.cost.amount for step in release.statement.steps)
    assert total * Fraction(99, 100) < spent <= total
    assert len(release.statement.steps) == 6
    with Ledger.open(people.with_name("people.csv.ledger")) as ledger:
        events = [entry.kind for entry in ledger.entries()]
    assert events.count("reserve") == 1
    assert events.count("charge") == 6
    assert events.index("reserve") < events.index("charge")


def test_a_run_that_is_resumed_says_the_same_at_no_new_cost(census_files):
    people, schema = census_files
    first = us.census(people, schema, rho=1, run=RunOptions(run_id="r"))
    again = us.census(people, schema, rho=1, resume="r", workers=2)
    for one, other in zip(first.measurements, again.measurements, strict=True):
        assert (one.values == other.values).all()
    assert (first.counts("county", "detail") == again.counts("county", "detail")).all()
    with Ledger.open(people.with_name("people.csv.ledger")) as ledger:
        assert [e.kind for e in ledger.entries()].count("reserve") == 1


def test_a_large_level_is_stored_in_parts_and_resumed(census_files, monkeypatch):
    people, schema = census_files
    monkeypatch.setattr(geounits, "MAX_PART_CELLS", 5)
    first = us.census(people, schema, rho=1, run=RunOptions(run_id="r"))
    again = us.census(people, schema, rho=1, resume="r")
    for one, other in zip(first.measurements, again.measurements, strict=True):
        assert (one.values == other.values).all()
    assert (first.counts("county", "detail") == again.counts("county", "detail")).all()
    # Parts after the first cost nothing more: the budget is spent and not exceeded.
    shares = [step.share for step in first.statement.steps]
    assert 0 in shares
    assert sum(shares) <= 1


def test_what_is_exact_is_written_down_when_a_run_is_resumed_too(census_files):
    people, schema = census_files
    us.census(people, schema, rho=1, run=RunOptions(run_id="r"))
    schema.write_text(SCHEMA + "    - {level: county, query: age, keep: counts}\n")
    us.census(people, schema, rho=1, resume="r")
    with Ledger.open(people.with_name("people.csv.ledger")) as ledger:
        facts = [str(entry.facts) for entry in ledger.entries()]
    assert any("age by county (counts)" in fact for fact in facts)


def test_a_person_with_several_rows_is_protected_whole(tmp_path):
    """Noise is twice as wide for two rows a person, and the third row is left out."""
    people, schema = tmp_path / "people.csv", tmp_path / "people.yaml"
    people.write_text("who,state,sex\n" + "1,n,f\n" * 3 + "2,s,m\n")
    schema.write_text(
        "unit: {id: who, max_rows: 2}\n"
        "columns:\n"
        "  who: identifier\n"
        "  state: {type: categorical, values: [n, s], nullable: false}\n"
        "  sex: {type: categorical, values: [f, m], nullable: false}\n"
        "census: {hierarchy: {columns: [state]}}\n"
    )
    release = us.census(people, schema, rho=1)
    errors = us.plan_census(schema, rho=1)
    assert [m.scale for m in release.measurements] == [4.0] * 4
    assert [e.noise_sd for e in errors] == pytest.approx([4.0] * 4)
    assert release.guarantee.max_rows == 2
    assert release.guarantee.invariants == ()


@pytest.mark.parametrize("method", ["gls", "topdown"])
def test_a_country_without_people_is_released(census_files, method):
    people, schema = census_files
    people.write_text("state,county,age,kind\n")
    release = us.census(people, schema, rho=1, method=method)
    assert release.counts("state").tolist() == [0, 0]
    assert len(release.microdata()["age"]) == 0


KILLED = """
import os, signal, sys
from understudy.curator.mechanisms import geounits
from understudy.workflow.censuses.census import census
from understudy.workflow.run_options import RunOptions
real, calls = geounits.UnitHistogram.measure_units, []
def measure(self, level, clique, **options):
    answer = real(self, level, clique, **options)
    calls.append(answer)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer
geounits.UnitHistogram.measure_units = measure
census(sys.argv[1], sys.argv[2], rho=1, run=RunOptions(run_id="r"))
"""


def test_a_run_that_was_killed_is_taken_up(census_files):
    people, schema = census_files
    words = [sys.executable, "-c", KILLED, str(people), str(schema)]
    done = subprocess.run(words, env=dict(os.environ), check=False)
    assert done.returncode == -signal.SIGKILL
    ledger = people.with_name("people.csv.ledger")
    with Ledger.open(ledger) as account:
        assert [e.kind for e in account.entries()].count("charge") == 3
    release = us.census(people, schema, rho=1, resume="r")
    assert len(release.measurements) == 6
    with Ledger.open(ledger) as account:
        assert [e.kind for e in account.entries()].count("charge") == 6


@pytest.mark.parametrize("budget", [{"epsilon": 2}, {"rho": "1/10"}])
def test_a_run_is_resumed_at_the_delta_it_was_begun_with(census_files, budget):
    """A δ that was left out was the default: wider noise had been paid for, the answers
    after it were refused, and the run was lost.
    """
    people, schema = census_files
    begun = {**budget, "delta": "1e-12"}
    first = us.census(people, schema, **begun, run=RunOptions(run_id="r"))
    again = us.census(people, schema, **budget, resume="r")
    assert again.guarantee == first.guarantee
    for one, other in zip(first.measurements, again.measurements, strict=True):
        assert (one.values == other.values).all()


class Killed(BaseException):
    """Stands for a kill between a charge and its answer: no code of ours catches it."""


def cut_off(
    census_files, monkeypatch, after: int, place=(MechanismContext, "add_noise")
):
    """Begin a run that dies at this call: where noise is drawn for an answer that was
    paid for, unless another place is named.
    """
    people, schema = census_files
    real, calls = getattr(*place), []

    def die_in_time(*words, **options):
        if len(calls) == after:
            raise Killed
        calls.append(words)
        return real(*words, **options)

    with monkeypatch.context() as patched:
        patched.setattr(*place, die_in_time)
        with pytest.raises(Killed):
            us.census(people, schema, rho=1, run=RunOptions(run_id="r"))


@pytest.mark.parametrize(
    ("cells", "after", "place"),
    [
        (1 << 24, 3, (MechanismContext, "add_noise")),
        (
            5,
            4,
            (MechanismContext, "add_noise"),
        ),  # between two parts, the second charged
        (5, 4, (LedgerRun, "charge")),  # and before it was
    ],
)
def test_an_answer_that_was_paid_for_and_lost_is_left_out(
    census_files, monkeypatch, tmp_path, cells, after, place
):
    """It was paid for a second time, and the last query was refused for want of that:
    a kill in the middle of a level made the whole run useless.
    """
    people, schema = census_files
    monkeypatch.setattr(geounits, "MAX_PART_CELLS", cells)
    cut_off(census_files, monkeypatch, after, place)
    notices = []
    options = RunOptions(notify=notices.append)
    release = us.census(people, schema, rho=1, resume="r", run=options)
    assert release.lost_answers == ("state/detail",)
    assert "state/detail" in notices[-1].text
    assert len(release.measurements) == 5
    assert release.counts("county").sum() == 600
    _, errors = release.estimates("state", "detail")
    assert np.isfinite(errors).all()
    # The charge stands, and nothing is charged twice.
    with Ledger.open(people.with_name("people.csv.ledger")) as account:
        assert account.runs()[0].is_finished
        charged = [e.step for e in account.entries() if e.kind == "charge"]
    assert len(set(charged)) == len(charged)
    assert sum(step.share for step in release.statement.steps) <= 1
    again = us.census(people, schema, rho=1, resume="r")
    assert again.lost_answers == release.lost_answers
    write_census(release, tmp_path / "out", np.random.default_rng(0))
    assert "state/detail" in (tmp_path / "out" / "card.html").read_text()
    read = us.load_census(tmp_path / "out", schema)
    assert read.lost_answers == release.lost_answers
    assert (read.counts("county", "kind") == release.counts("county", "kind")).all()


def test_a_run_of_which_nothing_was_stored_cannot_be_taken_up(
    census_files, monkeypatch
):
    people, schema = census_files
    schema.write_text(
        schema.read_text()
        .replace("total: 1, detail: 2", "county: {detail: 1}")
        .replace("nation: 1, state: 2, county: 3", "county: 1")
    )
    cut_off(census_files, monkeypatch, 0)
    with pytest.raises(BudgetExceeded, match="begin a new run"):
        us.census(people, schema, rho=1, resume="r")


def test_without_noise_the_rows_come_back(census_files):
    """So narrow that its variance is 0 in doubles; least squares divided by it."""
    people, schema = census_files
    release = us.census(people, schema, rho=900_000)
    rows = [row.split(",") for row in people.read_text().splitlines()[1:]]
    kinds = [row[0] + row[1] + row[3] for row in rows]
    expected = [
        [kinds.count(place + kind) for kind in ("home", "gq")]
        for place in ("na", "nb", "sa", "sc")
    ]
    assert release.counts("county", "kind").tolist() == expected
    assert us.plan_census(schema, rho=900_000)[0].standard_error < 1e-4


FREE_REFUSALS = {
    "keep: counts}": ("keep: counts, at_most: 3}", "contradict"),
    "level: state": ("level: street", "no level"),
    "nation: 1": ("street: 1", "no level"),
    "detail: 2": ("height: 2", "no query"),
    "[a, c]}}": ("[a, zz]}}", "does not declare"),
    "keep: zeros}": ("keep: zeros, at_least: 5000, at_most: 20}", "contradict"),
    "total: 1, ": ("total: '1e-40', ", "wider than any"),
    "query: total, keep: counts": (
        "query: total, at_least: 1500000000",
        "ask for 3,000,000,000 persons",
    ),
}


@pytest.mark.parametrize("old", FREE_REFUSALS)
def test_contradictions_are_refused_for_free(census_files, old):
    people, schema = census_files
    new, words = FREE_REFUSALS[old]
    text = schema.read_text()
    assert old in text
    schema.write_text(text.replace(old, new))
    with pytest.raises(Refused, match=words):
        us.census(people, schema, rho=1)
    ledger = people.with_name("people.csv.ledger")
    if ledger.exists():
        with Ledger.open(ledger) as account:
            assert "reserve" not in [entry.kind for entry in account.entries()]


def test_people_made_up_of_noise_are_refused_for_free(census_files):
    people, schema = census_files
    schema.write_text(SCHEMA.replace("keep: counts", "keep: zeros"))
    with pytest.raises(Refused, match="number of persons would be off"):
        us.census(people, schema, rho="1e-16")
    assert not people.with_name("people.csv.ledger").exists()


def test_the_guarantee_names_bounds_as_public(census_files):
    people, schema = census_files
    bound = "    - {level: county, query: kind, at_most: {n/a: {gq: 50}}}\n"
    schema.write_text(SCHEMA + bound)
    release = us.census(people, schema, rho=1)
    bounds = [fact for fact in release.guarantee.public if " by " in fact]
    assert bounds == ["the bounds of kind by county"]


def test_an_exact_fact_is_written_down_before_it_can_refuse(census_files):
    """That a state has more than three persons is known from the refusal."""
    people, schema = census_files
    schema.write_text(SCHEMA.replace("keep: counts}", "keep: counts, at_most: 3}"))
    with pytest.raises(Refused, match="contradict"):
        us.census(people, schema, rho=1)
    with Ledger.open(people.with_name("people.csv.ledger")) as ledger:
        facts = [str(entry.facts) for entry in ledger.entries()]
    assert any("exact by declaration: total by state (counts)" in f for f in facts)


def test_exact_counts_under_add_remove_would_protect_nobody(census_files):
    people, schema = census_files
    with pytest.raises(Refused, match="neighbours: replace"):
        us.census(people, schema, rho=1, neighbours="add_remove")


def test_a_misspelt_key_is_named(census_files):
    people, schema = census_files
    schema.write_text(schema.read_text().replace("plan:", "plann:"))
    with pytest.raises(SchemaError, match="plann"):
        us.census(people, schema, rho=1)


@pytest.mark.parametrize(
    "budget", [{}, {"rho": 1, "epsilon": 1}, {"rho": 0}, {"rho": "x"}]
)
def test_what_is_no_budget_is_refused(census_files, budget):
    people, schema = census_files
    with pytest.raises(InvalidBudget):
        us.census(people, schema, **budget)


def test_the_published_figure_of_the_production_budget():
    budget, _ = read_census_budget("2.5562", None, "1e-10")
    assert float(budget.epsilon) == pytest.approx(17.14, abs=0.01)


def test_a_plan_costs_nothing_and_keeps_its_word(census_files):
    people, schema = census_files
    errors = us.plan_census(schema, rho=1)
    release = us.census(people, schema, rho=1)
    for error, measured in zip(errors, release.measurements, strict=True):
        assert error.noise_sd == pytest.approx(measured.variance**0.5, rel=1e-6)
        _, stated = release.estimates(error.level, error.query)
        assert error.standard_error == pytest.approx(
            np.sqrt(np.mean(stated**2)), rel=1e-6
        )
    assert sum(error.share for error in errors) == 1


def test_the_rounded_gaussian_is_accounted_in_gdp(census_files):
    """A little less noise for the same ε and δ: the conversion of μ is exact."""
    people, schema = census_files
    release = us.census(people, schema, epsilon=1, accounting="gdp")
    assert release.guarantee.accounting is Accounting.GDP
    assert {m.law for m in release.measurements} == {Law.ROUNDED_GAUSSIAN}
    spent = sum(step.cost.amount for step in release.statement.steps)
    assert spent <= release.guarantee.amount
    assert release.counts("county").sum() == 600
    errors = us.plan_census(schema, epsilon=1, accounting="gdp")
    for error, measured in zip(errors, release.measurements, strict=True):
        assert error.noise_sd == pytest.approx(measured.variance**0.5, rel=1e-6)
    zcdp = us.plan_census(schema, epsilon=1)
    for narrow, wide in zip(errors, zcdp, strict=True):
        assert 0.94 < narrow.noise_sd / wide.noise_sd < 0.97  # docs/census.md


@pytest.mark.parametrize(
    "budget", [{"rho": 1, "accounting": "gdp"}, {"epsilon": 1, "accounting": "pure"}]
)
def test_an_accounting_that_does_not_fit_is_refused(census_files, budget):
    people, schema = census_files
    with pytest.raises(InvalidBudget, match="gdp with an epsilon"):
        us.census(people, schema, **budget)
