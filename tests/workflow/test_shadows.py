"""Shadow releases: a rare person is told from nobody where the budget is huge, and by
no more than a coin where it is tiny.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import understudy as us
from understudy.accounting.ledger import Ledger
from understudy.findings import Unavailable
from understudy.measurements import Measurements
from understudy.releases import Release
from understudy.schema import Categorical, Identifier, Integer, Schema, Unit
from understudy.synthesizers import MST, Independent, make
from understudy.synthesizers.workload import parse_targets
from understudy.workflow import evaluate as verb
from understudy.workflow.evaluation import Evaluation
from understudy.workflow.shadows import configured_synthesizer

SCHEMA = Schema(
    columns=(
        Categorical(name="job", values=("a", "b", "rare"), nullable=False),
        Categorical(name="town", values=("x", "y", "far"), nullable=False),
    )
)
AGE = Integer(name="age", min=0, max=89, nullable=False, bins=tuple(range(91)))


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "job": [*rng.choice(["a", "b"], 120), "rare"],
            "town": [*rng.choice(["x", "y"], 120), "far"],
        }
    )


def evaluate(rows: object, synthetic: object = None, **options: object) -> Evaluation:
    """Everything but classifiers, which have no say here."""
    return verb.evaluate(rows, synthetic, targets=(), **options)  # type: ignore[arg-type]


def released(
    rows: pl.DataFrame, folder: Path, schema: Schema = SCHEMA, **options: object
) -> Release:
    return us.synthesize(
        rows, schema, ledger=folder / "l", **({"synthesizer": "independent"} | options)
    )  # type: ignore[arg-type]


def area(rows: pl.DataFrame, release: Release, shadows: int = 40) -> float:
    found = evaluate(rows, release=release, intruder=us.Intruder(shadows=shadows)).risk
    assert found is not None
    value = found["membership_shadows"].value
    assert value is not None, found["membership_shadows"].reason
    return value


@pytest.mark.parametrize("synthesizer", ["independent", "mst"])
def test_a_huge_budget_gives_the_rarest_person_away(
    rows: pl.DataFrame, tmp_path: Path, synthesizer: str
) -> None:
    assert (
        area(rows, released(rows, tmp_path, epsilon=200, synthesizer=synthesizer))
        > 0.75
    )


def test_a_tiny_budget_does_not(rows: pl.DataFrame, tmp_path: Path) -> None:
    half = 20  # of the shadows judge
    deviation = np.sqrt((2 * half + 1) / (12 * half**2))
    assert (
        area(rows, released(rows, tmp_path, epsilon="0.001"))
        < 0.5 + norm.isf(1e-6) * deviation
    )


def test_nothing_is_charged_and_every_release_is_told(
    rows: pl.DataFrame, tmp_path: Path
) -> None:
    rows.write_csv(tmp_path / "people.csv")
    made = us.synthesize(
        tmp_path / "people.csv", SCHEMA, epsilon=1, synthesizer="independent"
    )
    book = tmp_path / "people.csv.ledger"
    with Ledger.open(book) as ledger:
        before = ledger.totals()
    stages: list[tuple[str, float]] = []
    evaluate(
        tmp_path / "people.csv",
        release=made,
        intruder=us.Intruder(shadows=8),
        progress=lambda s, d: stages.append((s, d)),
    )
    with Ledger.open(book) as ledger:
        after = ledger.totals()
    assert (after.epsilon, after.delta, after.entries) == (
        before.epsilon,
        before.delta,
        before.entries + 1,
    )
    assert [d for s, d in stages if s == "Membership by shadow releases"][1:] == [
        i / 16 for i in range(16)
    ]


@pytest.mark.parametrize(
    ("synthesizer", "workload"),
    [
        ("adaptive", ["label=job", "pairs*0.5"]),
        ("independent", "ranges=age"),
        (MST(public=(("job", "town"),)), ()),
    ],
)
def test_shadows_are_made_as_the_release_was_told(
    rows: pl.DataFrame, tmp_path: Path, synthesizer: object, workload: object
) -> None:
    people = rows.with_columns(age=pl.int_range(len(rows)) % 90)
    schema = Schema(columns=(*SCHEMA.columns, AGE))
    made = released(
        people, tmp_path, schema, epsilon=1, synthesizer=synthesizer, workload=workload
    )
    method, wanted = configured_synthesizer(made)
    assert method == (
        make(synthesizer) if isinstance(synthesizer, str) else synthesizer
    )
    assert wanted == parse_targets(workload)  # type: ignore[arg-type]
    found = evaluate(people, release=made, intruder=us.Intruder(shadows=8)).risk
    assert found is not None
    assert found["membership_shadows"].is_computed, found["membership_shadows"].reason


def test_bins_for_ranges_are_bought_again(
    rows: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = rows.with_columns(age=pl.int_range(len(rows)) % 90)
    schema = Schema(columns=(*SCHEMA.columns, AGE))
    made = released(people, tmp_path, schema, epsilon=1, workload="ranges=age")
    seen: list[Measurements] = []
    whole = Independent.estimate

    def watched(
        self: Independent, schema: Schema, found: Measurements, rng: np.random.Generator
    ) -> object:
        seen.append(found)
        return whole(self, schema, found, rng)

    monkeypatch.setattr(Independent, "estimate", watched)
    evaluate(people, release=made, intruder=us.Intruder(shadows=8))
    assert len(seen) == 16
    asked = [(m.clique, m.maps) for m in made.measurements]
    assert sum(clique == ("age",) for clique, _ in asked) > 1
    assert all([(m.clique, m.maps) for m in found] == asked for found in seen)


def test_a_public_table_and_unreadable_targets_are_reasons(
    rows: pl.DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(Unavailable, match="does not hold"):
        configured_synthesizer(
            released(rows, tmp_path, epsilon=1, public=rows.sample(60, seed=1))
        )
    for options in (
        {"workload": "wonders"},
        {"workload": "label=colour"},
        {"magic": 1},
    ):
        with pytest.raises(Unavailable, match="cannot be read back"):
            configured_synthesizer(
                replace(released(rows, tmp_path, epsilon=1), options=options)
            )


@pytest.mark.parametrize(
    ("options", "shadows", "reason"),
    [
        ({"epsilon": 1}, 0, "when asked for"),
        ({"epsilon": 1}, 7, "fewer than eight"),
        ({"epsilon": 1, "neighbours": "replace"}, 8, "not that there is one"),
        ({"epsilon": 1, "synthesizer": "random"}, 8, "without a budget"),
    ],
)
def test_where_it_is_not_done_the_reason_is_listed(
    rows: pl.DataFrame,
    tmp_path: Path,
    options: dict[str, object],
    shadows: int,
    reason: str,
) -> None:
    found = evaluate(
        rows,
        release=released(rows, tmp_path, **options),
        intruder=us.Intruder(shadows=shadows),
    )
    assert any(
        title == "Membership by shadow releases" and reason in why
        for title, why in found.not_computed
    )


def test_people_with_several_rows_and_tables_without_a_release(
    rows: pl.DataFrame, tmp_path: Path
) -> None:
    people = rows.with_columns(id=pl.int_range(len(rows)) // 2)
    schema = Schema(
        columns=(*SCHEMA.columns, Identifier(name="id")), unit=Unit(id="id", max_rows=2)
    )
    found = evaluate(
        people,
        release=released(people, tmp_path, schema, epsilon=1),
        intruder=us.Intruder(shadows=8),
    )
    assert any("bounded per unit" in why for _, why in found.not_computed)
    assert any(
        "how it was made is not known" in why
        for _, why in evaluate(rows, rows, intruder=us.Intruder(shadows=8)).not_computed
    )
