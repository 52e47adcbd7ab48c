"""Questions as people write them: every spelling means what its plain form means, and
quotes protect what is inside.
"""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import Refused
from understudy.queries.spelling import normalise_question
from understudy.releases import Release
from understudy.releases.answers.answer import BASIS_IMPOSSIBLE
from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Identifier,
    Integer,
    Schema,
    Text,
    Time,
)

SCHEMA = Schema(
    columns=(
        Integer(
            name="age", min=0, max=99, bins=tuple(range(0, 101, 10)), nullable=False
        ),
        Categorical(name="sex", values=("F", "M")),
        Categorical(name="home town", values=("Ulm", "age between 1 and 2", "O'Hara")),
        Date(name="born", min=dt.date(1950, 1, 1), max=dt.date(1999, 12, 31)),
        Boolean(name="smoker", nullable=False),
        Categorical(name="night-shift", values=(">50 %", "seldom", "Käse")),
        Time(
            name="woke",
            resolution=dt.timedelta(minutes=1),
            bins=tuple(range(0, 1441, 60)),
            nullable=False,
        ),
        Text(name="remarks"),
        Identifier(name="patient"),
    )
)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    rng, n = np.random.default_rng(0), 2000
    days = rng.integers(0, 18_000, n)
    rows = pl.DataFrame(
        {
            "age": rng.integers(0, 100, n),
            "sex": rng.choice(np.array(["F", "M", None]), n),
            "home town": rng.choice(["Ulm", "age between 1 and 2", "O'Hara"], n),
            "born": [dt.date(1950, 1, 1) + dt.timedelta(days=int(day)) for day in days],
            "smoker": rng.random(n) < 0.3,
            "night-shift": rng.choice([">50 %", "seldom", "Käse"], n),
            "woke": [dt.time(int(hour), 30) for hour in rng.integers(5, 10, n)],
            "remarks": ["none"] * n,
            "patient": [f"p{i}" for i in range(n)],
        }
    )
    ledger = tmp_path_factory.mktemp("questions") / "l"
    return us.synthesize(
        rows, SCHEMA, epsilon=2, synthesizer="independent", ledger=ledger
    )


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("age between 20 and 39", "age >= 20 and age <= 39"),
        ("age BETWEEN 20 AND 39 or age = 50", "(age >= 20 and age <= 39) or age = 50"),
        ("not age between 20 and 39", "not (age >= 20 and age <= 39)"),
        ("age not between 20 and 39", "age < 20 or age > 39"),
        (
            "sex = F and born NOT BETWEEN 1960-01-01 AND 1969-12-31",
            "sex = 'F' and (born < '1960-01-01' or born > '1969-12-31')",
        ),
        ("20 <= age < 40", "age >= 20 and age < 40"),
        ("woke < 7:30", "woke < '07:30'"),
        ("woke between 6:15 and 8:00:00", "woke >= '06:15' and woke <= '08:00'"),
        ("born < 1980-01-01 6:30", "born < '1980-01-01 06:30'"),
        ("90 > age >= 40", "age < 90 and age >= 40"),
        ("AGE ≥ 60", "age >= 60"),
        ("age ≤ 59 && sex ≠ F", "age <= 59 and sex != 'F'"),
        ("age => 60 || age =< 9", "age >= 60 or age <= 9"),
        ("sex in (F, M)", "sex in ('F', 'M')"),
        ("sex not in (F)", "sex not in ('F')"),
        ("born < 1980-01-01", "born < '1980-01-01'"),
        (
            "born between 1960-01-01 and 1969-12-31",
            "born >= '1960-01-01' and born <= '1969-12-31'",
        ),
        ("smoker", "smoker = true"),
        ("not smoker and age > 9", "not smoker = true and age > 9"),
        ("(Smoker)", "smoker = true"),
        ("`home town` = Ulm", "\"home town\" = 'Ulm'"),
        (
            "\"home town\" = 'age between 1 and 2'",
            "\"home town\" in ('age between 1 and 2')",
        ),
        ("\"home town\" in ('O''Hara', Ulm)", "\"home town\" in ('O''Hara', 'Ulm')"),
        ("age > 1e1", "age > 10"),
        ("age > 81/2", "age > 40.5"),
        ("sex is null", "sex is missing"),
    ],
)
def test_a_spelling_means_what_its_plain_form_means(
    release: Release, said: str, plain: str
) -> None:
    one, other = (
        release.answer(f"count where {said}"),
        release.answer(f"count where {plain}"),
    )
    assert (one.estimate, one.low, one.high, one.supported) == (
        other.estimate,
        other.low,
        other.high,
        other.supported,
    )
    assert 0 < other.estimate < 2100


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("count where height between 1 and 2", 'column "height" is not in the schema'),
        (
            "count where born = 1980-02-30",
            "'1980-02-30' is none of its values. Write them in full, as '2024-12-31'",
        ),
        (
            "count where born >= 1980-07",
            "'1980-07' is none of its values. Write them in full, as '2024-12-31'",
        ),
        (
            "count where born between 1980-07 and 1980-08",
            "'1980-07' is none of its values",
        ),
        (
            "count where remarks = 'none'",
            'column "remarks" takes no part in this release, so nothing can be said of it',
        ),
        (
            "count where age > 60 and patient is missing",
            'column "patient" takes no part in this release',
        ),
        ("count where smoker = perhaps", "Write them as true or false"),
        ("count where sex = X", "not one of its values"),
        ("count where age > 60 if sex = F", "character 10"),
        ("count where home town = Ulm", "character 6: expected a comparison"),
        ("count where Home town = Ulm", 'Write "home town" in double quotes'),
        (
            "count where night-shift = 'seldom'",
            'found `night`. Write "night-shift" in double quotes',
        ),
        ("count where night-shift != seldom", 'Write "night-shift" in double quotes'),
        ('count where "night-shift" = >50 %', "Labels stand in single quotes: '>50 %'"),
        ('count where "night-shift" = Käse', "Labels stand in single quotes: 'Käse'"),
        (
            'count where "home town" = O\'Hara',
            "Labels stand in single quotes: 'O''Hara'",
        ),
        ("count where age between 20", "character 5"),
        ("sum of age", "reads `count where …` or `share where …`"),
        ("count where", "reads `count where …`"),
    ],
)
def test_what_makes_no_sense_is_refused_in_the_words_it_was_asked_in(
    release: Release, said: str, why: str
) -> None:
    with pytest.raises(Refused) as refused:
        release.answer(said)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_nobody_is_between_ends_that_are_turned_round(release: Release) -> None:
    """As in SQL; everybody who has a value is `not between` them."""
    found = release.answer("count where age between 39 and 20")
    assert (found.estimate, found.low, found.high, found.basis) == (
        0,
        0,
        0,
        BASIS_IMPOSSIBLE,
    )
    outside = release.answer("count where age not between 39 and 20")
    assert outside.estimate == release.answer("count where age is not missing").estimate


def test_every_form_that_the_page_shows_is_read(release: Release) -> None:
    """Those behind the words `some that people write anyway`."""
    page = (Path(__file__).parents[2] / "docs/card.md").read_text(encoding="utf-8")
    shown = re.findall(
        "`([^`]+)`",
        page.partition("some that people write anyway:")[2].partition(".")[0],
    )
    assert len(shown) >= 7
    for said in shown:
        assert release.answer(f"count where {said}").estimate > 0


def test_no_quotes_are_advised_for_what_has_them_or_needs_none(
    release: Release,
) -> None:
    for said in (
        "\"night-shift\" = '>50 %' or",
        "age > 60 if sex = F",
        "`home town` - 5",
    ):
        with pytest.raises(Refused) as refused:
            release.answer(f"count where {said}")
        assert "Write" not in str(refused.value)
        assert "Labels" not in str(refused.value)


def test_what_is_in_quotes_is_left_alone() -> None:
    text = "\"home town\" = 'age between 1 and 2 && smoker ≥ 1980-01-01'"
    assert normalise_question(text, SCHEMA) == text
