"""No answer without a charge: through any entry point, with any option, whatever fails
on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from kit.curator.listed import Listed
from kit.privacy.cases import COLOURS, PEOPLE
from kit.privacy.faults import Fault, calls, fault_at
from kit.privacy.runs import SCHEMA
from understudy.accounting.budget import Budget
from understudy.accounting.filter import Filter
from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.cli.root import run as command
from understudy.curator import Curator, CuratorView, MechanismContext, Payments
from understudy.errors import BudgetExceeded, Refused, UnderstudyError
from understudy.releases import Release
from understudy.schema import Integer, Schema
from understudy.toolbox.moments import plan_moments
from understudy.workflow.preflight import ROW_COUNT_SHARE
from understudy.workflow.synthesize import synthesize

ROWS = b"sex,age\n" + b"F,42\nM,63\n" * 10
MANY_ROWS = b"sex,age\n" + b"F,42\nM,63\n" * 1500
"""Enough to learn from: 220 are needed at ε = 1, and the noise of the count falls this
far once in 10²⁴ runs.
"""
DECLARED = Schema(columns=tuple(SCHEMA[name] for name in ("sex", "age")))


@contextmanager
def spied(ledger: Path) -> Iterator[list[int]]:
    """Notes every draw of noise, and holds each to it that the ledger has more charges
    on disk than stored answers.
    """
    draws: list[int] = []
    original = MechanismContext.add_noise

    def noisy(self: MechanismContext, exact: np.ndarray, scale: Fraction) -> np.ndarray:
        with Ledger.open(ledger) as book:
            kinds = [e.kind for e in book.entries()]
        assert kinds.count("charge") > kinds.count("answer"), (
            "noise was drawn before it was paid for"
        )
        draws.append(exact.size)
        return original(self, exact, scale)

    MechanismContext.add_noise = noisy  # type: ignore[method-assign]
    try:
        yield draws
    finally:
        MechanismContext.add_noise = original  # type: ignore[method-assign]


def spent(path: Path) -> Fraction:
    if not path.exists():
        return Fraction(0)
    with Ledger.open(path) as ledger:
        ledger.verify()
        return ledger.totals().epsilon


def kinds(path: Path) -> list[str]:
    with Ledger.open(path) as ledger:
        return [e.kind for e in ledger.entries()]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_bytes(ROWS)
    DECLARED.save(tmp_path / "schema.yaml")
    return path


OPTIONS = [
    {"synthesizer": s, "neighbours": n, "accounting": c, "schema": d}
    for s, n, c, d in product(
        ("independent", "histogram", "stability", "adaptive"),
        Neighbours,
        ("pure", "gdp", "zcdp"),
        (True, False),
    )
]


@pytest.mark.parametrize(
    "options", OPTIONS[::7], ids=lambda o: "-".join(map(str, o.values()))
)
def test_every_release_is_on_the_ledger(options, people):
    """Every synthesizer, relation, accounting and kind of schema: a release, or a
    refusal that cost nothing; never a release for free.
    """
    check_options(options, people)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", OPTIONS, ids=lambda o: "-".join(map(str, o.values()))
)
def test_every_release_is_on_the_ledger_at_length(options, people):
    check_options(options, people)


def check_options(options: dict[str, object], people: Path) -> None:
    ledger = people.with_name("people.ledger")
    schema = DECLARED if options["schema"] else None
    chosen = {**options, "schema": schema, "delta": "1e-6", "anyway": True}
    release: Release | None = None
    with spied(ledger) as draws, suppress(Refused):
        release = synthesize(people, epsilon="0.5", ledger=ledger, **chosen)
    assert spent(ledger) == (Fraction(1, 2) if release or draws else 0)
    if release is not None:
        assert draws
        assert sum(kind == "charge" for kind in kinds(ledger)) == len(
            release.statement.steps
        )
        assert release.guarantee.epsilon == Fraction(1, 2)


# Failure at every function that is called from the reservation on


def make_release(
    people: Path, method: str, schema: Schema | None, **options: object
) -> Release:
    return synthesize(
        people,
        schema,
        epsilon=1,
        delta="1e-6",
        synthesizer=method,
        ledger=people.with_name("people.ledger"),
        **options,
    )


def write_files(people: Path, release: Release) -> None:
    release.save(people.with_name("people.understudy"))
    release.write(people.with_name("out.csv"), seed=1)


def attempt(
    people: Path, method: str, schema: Schema | None, **options: object
) -> Release:
    release = make_release(people, method, schema, **options)
    write_files(people, release)
    return release


def said_by(error: BaseException) -> str:
    """What somebody reads of an error: its text and its notes."""
    return " ".join([str(error), *getattr(error, "__notes__", ())])


@cache
def sites(method: str, declared: bool) -> list[str]:
    """Every function that such a run calls from the reservation on."""
    with TemporaryDirectory() as folder:
        people = Path(folder, "people.csv")
        people.write_bytes(ROWS if declared else MANY_ROWS)
        with calls() as found:
            attempt(people, method, DECLARED if declared else None)
    return found


def answers(path: Path) -> dict[tuple[str, int], bytes]:
    with Ledger.open(path) as ledger:
        runs = {run.id: run for run in ledger.runs()}
        return {
            (entry.run, entry.step): runs[entry.run].answer(
                entry.step, str(entry.facts["request"])
            )
            for entry in ledger.entries()
            if entry.kind == "answer"
        }


def check_fault(where: str, people: Path, method: str, schema: Schema | None) -> None:
    """After a failure: what was drawn is paid for, no file is half there, and resuming
    gives the stored answers again.

    And whoever reads the error learns what stays spent and which run to take up; where
    the release was made, it can be written once more.
    """
    ledger, release, error = people.with_name("people.ledger"), None, None
    with spied(ledger) as draws, fault_at(where):
        try:
            release = make_release(people, method, schema)
            write_files(people, release)
        except (Fault, UnderstudyError) as raised:
            error = raised
    outputs = [
        people.with_name(n)
        for n in ("people.understudy", "out.csv")
        if people.with_name(n).exists()
    ]
    if spent(ledger) == 0:  # it failed while reserving
        assert not draws
        assert not outputs
        return
    # Without a schema the rows are counted first, on a reservation of their own.
    whole = Fraction(1)
    reserved = spent(ledger)
    assert reserved == whole or (schema is None and reserved == ROW_COUNT_SHARE)
    charged = kinds(ledger).count("charge")
    if draws or outputs or release:
        assert charged > 0
    assert kinds(ledger).count("answer") <= charged
    left = {p.name for p in people.parent.iterdir()} - {
        "dry",
        "people.csv",
        "schema.yaml",
        "people.understudy",
        "out.csv",
    }
    assert {name for name in left if not name.startswith("people.ledger")} == set()
    stored = answers(ledger)
    with Ledger.open(ledger) as book:
        (run,) = {run.id.removesuffix("-rows") for run in book.runs()}
    budget = "ε = 1.00, δ = 1e-6" if reserved == whole else "ε = 0.02, δ = 0"
    if release is not None:
        write_files(people, release)
    elif error is not None:
        assert f"What run {run} reserved ({budget}) stays spent in {ledger}" in said_by(
            error
        ), where
        assert "Nothing was spent" not in said_by(error)
        assert f"--resume {run}" in said_by(error) or charged > kinds(ledger).count(
            "answer"
        )
        assert error.run == run if isinstance(error, UnderstudyError) else True
    with suppress(
        BudgetExceeded
    ):  # a charge whose answer was lost stays spent, and may leave too little
        attempt(people, method, schema, resume=run)
        reserved = whole
    assert {
        step: payload for step, payload in answers(ledger).items() if step in stored
    } == stored
    assert spent(ledger) == reserved


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # a finalizer that fails cannot raise
@pytest.mark.parametrize(
    ("method", "schema", "every"),
    [("independent", DECLARED, 45), ("stability", None, 90)],
    ids=["declared", "learned"],
)
def test_a_failure_anywhere_leaves_no_free_answer(method, schema, every, tmp_path):
    check_faults(method, schema, tmp_path, every=every)


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # a finalizer that fails cannot raise
@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "schema", "every"),
    [
        ("independent", DECLARED, 1),
        ("stability", None, 3),
        ("histogram", DECLARED, 6),
        ("independent", None, 6),
    ],
    ids=[
        "independent-declared",
        "stability-learned",
        "histogram-declared",
        "independent-learned",
    ],
)
def test_a_failure_at_every_function_leaves_no_free_answer(
    method, schema, every, tmp_path
):
    check_faults(method, schema, tmp_path, every=every)


def check_faults(
    method: str, schema: Schema | None, folder: Path, *, every: int
) -> None:
    found = sites(method, schema is not None)
    assert len(found) > 100  # the trace sees the run
    assert any("Run.charge" in where for where in found)
    for number, where in enumerate(found[::every]):
        (folder / str(number)).mkdir()
        people = folder / str(number) / "people.csv"
        people.write_bytes(ROWS if schema is not None else MANY_ROWS)
        check_fault(where, people, method, schema)


@pytest.mark.parametrize(
    "where",
    [
        "LedgerRun.charge",
        "LedgerRun.store",
        "Payments.pay",
        "MechanismContext.add_noise",
        "Table.counts",
        "estimate",
        "write_rows",
        "save",
        "finish",
    ],
)
def test_a_failure_at_a_turning_point_leaves_no_free_answer(where, tmp_path):
    found = sites("independent", True)
    people = tmp_path / "people.csv"
    people.write_bytes(ROWS)
    check_fault(
        next(name for name in found if name.endswith(where)),
        people,
        "independent",
        DECLARED,
    )


# A budget that is not there


def test_what_is_not_affordable_leaves_no_trace(people):
    path = people.with_name("people.ledger")
    Ledger.create(path, dataset="people.csv", cap=Budget.of(1)).close()
    with spied(path):
        synthesize(people, DECLARED, epsilon="0.6", ledger=path)
    before, listed = kinds(path), sorted(people.parent.iterdir())
    with spied(path) as draws, pytest.raises(BudgetExceeded, match="Nothing was spent"):
        synthesize(people, DECLARED, epsilon="0.6", ledger=path)
    assert draws == []
    assert kinds(path) == before
    assert sorted(people.parent.iterdir()) == listed
    assert spent(path) == Fraction(6, 10)


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "x", ""])
def test_what_is_no_budget_leaves_no_trace(epsilon, people, capsys):
    line = [
        "synthesize",
        str(people),
        "--epsilon",
        epsilon,
        "-o",
        str(people.with_name("out.csv")),
    ]
    assert command(line) != 0
    assert sorted(p.name for p in people.parent.iterdir()) == [
        "people.csv",
        "schema.yaml",
    ]
    assert "Traceback" not in capsys.readouterr().err


# The command line


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--json"],
        ["--synthesizer", "stability"],
        ["--neighbours", "replace"],
        ["--rows", "3"],
    ],
    ids=str,
)
def test_the_command_line_writes_only_what_was_paid_for(options, people, capsys):
    out, ledger = people.with_name("out.csv"), people.with_name("people.csv.ledger")
    line = [
        "synthesize",
        str(people),
        "--schema",
        str(people.with_name("schema.yaml")),
        "--epsilon",
        "1",
        "-o",
        str(out),
    ]
    with spied(ledger) as draws:
        assert command([*line, *options]) == 0
    capsys.readouterr()
    assert draws
    assert out.exists()
    assert spent(ledger) == 1


@pytest.mark.parametrize(
    "where",
    [
        "LedgerRun.charge",
        "MechanismContext.add_noise",
        "estimate",
        "write_rows",
        "LedgerRun.store",
    ],
)
def test_a_command_that_fails_writes_nothing_and_says_what_stays_spent(
    where, people, capsys
):
    found = sites("independent", True)
    out, ledger = people.with_name("out.csv"), people.with_name("people.csv.ledger")
    line = [
        "synthesize",
        str(people),
        "--schema",
        str(people.with_name("schema.yaml")),
        "--synthesizer",
        "independent",
        "--epsilon",
        "1",
        "-o",
        str(out),
    ]
    with fault_at(next(name for name in found if name.endswith(where))):
        assert command(line) != 0
    assert not out.exists()
    assert spent(ledger) == 1
    said = capsys.readouterr().err
    with Ledger.open(ledger) as book:
        (run,) = book.runs()
    assert len(said.splitlines()) == 1
    assert f"What run {run.id} reserved" in said
    assert "Nothing was spent" not in said


# Every question a curator answers

NUMBERS = Schema(
    columns=(*COLOURS.columns, Integer(name="age", min=0, max=99, nullable=False))
)
FIFTH = Fraction(1, 5)
QUESTIONS: dict[str, Callable[[Curator], object]] = {
    "measure": lambda c: c.measure([("colour",)], share=FIFTH),
    "count": lambda c: c.count(share=FIFTH),
    "sum": lambda c: c.sum("age", share=FIFTH),
    "mean": lambda c: c.mean("age", share=FIFTH),
    "quantiles": lambda c: c.quantiles("age", [Fraction(1, 2)], share=FIFTH),
    "choose value": lambda c: c.choose_value(
        ("colour",), np.eye(3, dtype=np.int64), share=FIFTH
    ),
    "moments": lambda c: c.moments(plan_moments("age ~ colour", NUMBERS), share=FIFTH),
    "sum in steps": lambda c: c.sum("age", share=FIFTH, granularity=10),
    "sparse": lambda c: c.sparse(("colour",), share=FIFTH),
    "errors": lambda c: c.errors({("colour",): np.zeros(3)}, share=FIFTH),
    "choose": lambda c: c.choose(
        {("colour",): np.zeros(3), ("smoker",): np.zeros(2)}, share=FIFTH
    ),
    "view measure": lambda c: CuratorView(c).measure([("colour",)], share=FIFTH),
    "view sparse": lambda c: CuratorView(c).sparse(("colour",), share=FIFTH),
    "view errors": lambda c: CuratorView(c).errors(
        {("colour",): np.zeros(3)}, share=FIFTH
    ),
    "view choose": lambda c: CuratorView(c).choose(
        {("colour",): np.zeros(3)}, share=FIFTH
    ),
}


def curator_on(ledger: Ledger, *, resumed: str | None = None) -> Curator:
    budget = Budget.of(1, "1e-6")
    filter = Filter.of(budget, threshold_delta=budget.delta / 2)
    run = (
        ledger.resume(resumed)
        if resumed
        else ledger.reserve(budget, event="test", filter=filter)
    )
    context = MechanismContext(
        table=Listed([{**row, "age": 30} for row in PEOPLE], NUMBERS),
        payments=Payments(run, replace(filter)),
        neighbours=Neighbours.ADD_REMOVE,
        accounting=filter.accounting,
        epsilon=budget.epsilon,
    )
    return Curator(context, NUMBERS)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_is_charged_stored_and_replayed(question, tmp_path):
    """Charged once, answered from the store when its run is resumed, and anew in a new
    run.
    """
    ask = QUESTIONS[question]
    with Ledger.create(tmp_path / "people.ledger", dataset="people") as ledger:
        first = repr(ask(curator_on(ledger)))
        once = [e.kind for e in ledger.entries()]
        (run,) = ledger.runs()
        assert repr(ask(curator_on(ledger, resumed=run.id))) == first
        assert [e.kind for e in ledger.entries()] == once
        assert once.count("charge") == once.count("answer") >= 1
        ask(curator_on(ledger))
        assert [e.kind for e in ledger.entries()].count("charge") == 2 * once.count(
            "charge"
        )


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_beyond_the_budget_draws_nothing(question, tmp_path):
    with Ledger.create(tmp_path / "people.ledger", dataset="people") as ledger:
        curator = curator_on(ledger)
        curator.measure([("age",)], share=Fraction(9, 10))
        before = [e.kind for e in ledger.entries()]
        with pytest.raises(BudgetExceeded):
            QUESTIONS[question](curator)
        assert [e.kind for e in ledger.entries()] == before


def test_the_spy_has_teeth(tmp_path, monkeypatch):
    """Payments that draw before it charge do not get past it."""

    def late(self, request, cost, count, draw):
        answer = draw(count())
        self._run.charge(0, cost, "digest")
        return answer

    monkeypatch.setattr(Payments, "pay", late)
    with Ledger.create(tmp_path / "people.ledger", dataset="people") as ledger:
        curator = curator_on(ledger)
        with (
            spied(ledger.path),
            pytest.raises(AssertionError, match="before it was paid for"),
        ):
            curator.measure([("colour",)], share=1)
