"""Whatever fails once the budget is reserved names the run and what stays spent, and the
run can be taken up at no new cost.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import understudy as us
from understudy.accounting.aftermath import find_spent_note
from understudy.synthesizers import Independent
from understudy.workflow import synthesize as workflow

SCHEMA = us.Schema(columns=(us.Boolean(name="smoker"), us.Integer(name="age", min=0)))

ERRORS = (KeyboardInterrupt, MemoryError, ZeroDivisionError, us.errors.Refused)


def fail_in_progress(stage: str, done: float) -> Callable[..., dict[str, object]]:
    def arrange(error: BaseException) -> dict[str, object]:
        def stop(told: str, share: float) -> None:
            if (told, share) == (stage, done):
                raise error

        return {"progress": stop}

    return arrange


def fail_while_spending(error: BaseException) -> dict[str, object]:
    def stop(share: float) -> None:
        raise error

    return {"spending": stop}


def fail_in_measure(error: BaseException) -> dict[str, object]:
    class Failing(Independent):
        def measure(self, curator, workload, progress):
            super().measure(curator, workload, progress)
            raise error

    return {"synthesizer": Failing()}


def fail_in_estimate(error: BaseException) -> dict[str, object]:
    class Failing(Independent):
        def estimate(self, schema, measurements, rng):
            raise error

    return {"synthesizer": Failing()}


POINTS = {
    "discovery": fail_in_progress("schema", 1.0),
    "first spending": fail_while_spending,
    "measuring begins": fail_in_progress("measuring", 0.0),
    "measured": fail_in_measure,
    "measuring ends": fail_in_progress("measuring", 1.0),
    "fit begins": fail_in_progress("fitting", 0.0),
    "fit": fail_in_estimate,
    "fit ends": fail_in_progress("fitting", 1.0),
}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("smoker,age\n" + "yes,40\nno,50\n" * 200)
    return path


def run(people: Path, *, spending=None, **options: object) -> us.Release:
    watch = {} if spending is None else {"spending": spending}
    return us.synthesize(
        people,
        SCHEMA,
        epsilon=1,
        **{"synthesizer": Independent(), **options},  # type: ignore[arg-type]
        run=us.RunOptions(run_id="r", **watch),
    )


def spent(people: Path) -> Fraction:
    with us.Ledger.open(people.with_name("people.csv.ledger")) as ledger:
        return ledger.totals().epsilon


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("point", POINTS)
def test_a_failure_names_the_run_and_it_is_taken_up(
    people: Path, point: str, kind: type[BaseException]
) -> None:
    with pytest.raises(kind) as caught:
        run(people, **POINTS[point](kind("boom. Nothing was spent")))
    said = find_spent_note(caught.value) or str(caught.value)
    assert "What run r reserved (ε = 1.00, δ = 1e-9) stays spent in" in said
    assert "resume='r'" in said
    assert spent(people) == 1
    if isinstance(caught.value, us.UnderstudyError):
        assert caught.value.run == "r"
        assert "Nothing was spent" not in str(caught.value)
    again = us.synthesize(
        people, SCHEMA, epsilon=1, synthesizer="independent", resume="r"
    )
    assert again.statement.run == "r"
    assert spent(people) == 1


@pytest.mark.parametrize("part", ["make_guarantee", "make_statement", "Release"])
def test_a_failure_after_the_fit_names_the_run_too(
    people: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(workflow, part, fail)
    with pytest.raises(MemoryError) as caught:
        run(people)
    assert "resume='r'" in find_spent_note(caught.value)


def test_versions_are_looked_up_before_anything_is_reserved(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError

    monkeypatch.setattr(workflow, "environment", fail)
    with pytest.raises(RuntimeError) as caught:
        run(people)
    assert find_spent_note(caught.value) == ""
    assert spent(people) == 0
