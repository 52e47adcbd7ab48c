"""Numbers in a draft: codes that mean missing, natural limits, keys, and numbers that
are dates or times.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from understudy.schema import Date, Identifier, Integer, Real
from understudy.tables.drafting.draft import draft_schema
from understudy.tables.drafting.natural_limits import NumberRange, find_limits
from understudy.tables.drafting.number_draft import (
    CLOCK_NOTE,
    COMPACT_DATE_NOTE,
    LABEL_CODE_NOTE,
    NUMBER_CODE_NOTE,
)
from understudy.tables.sources.open_table import open_table

N = 600
RNG = np.random.default_rng(7)


def mix(values, *codes, share=0.03):
    """The values with each code in some of the rows."""
    cells = np.array(values)
    for code in codes:
        cells[RNG.random(N) < share] = code
    return cells.tolist()


CODED = {
    "income": (mix(RNG.lognormal(10, 1, N).astype(int), -99), ["-99"]),
    "age": (mix(RNG.integers(18, 80, N), 999), ["999"]),
    "likert": (mix(RNG.integers(1, 6, N), 9), ["9"]),
    "agree": (mix(RNG.integers(1, 8, N), 9), ["9"]),
    "asked": (mix(RNG.integers(1, 5, N), 7, 8, 9), ["9", "8", "7"]),
    "last_call": (mix(RNG.integers(1, 400, N), -1, share=0.5), ["-1"]),
    "celsius": (mix(RNG.normal(10, 8, N).round(1), -999), ["-999"]),
    "tens": (mix(RNG.integers(1, 30, N) * 10, 999), ["999"]),
    # Not codes: in a scale, on a tail, in a price, among few answers.
    "digit": (RNG.integers(0, 10, N).tolist(), []),
    "visits": (RNG.poisson(3, N).tolist(), []),
    "cylinders": (RNG.choice([4, 5, 6, 8], N, p=[0.4, 0.01, 0.3, 0.29]).tolist(), []),
    "opinion": (RNG.integers(-1, 2, N).tolist(), []),
    "price": (RNG.choice([9, 19, 49, 99, 999], N).tolist(), []),
    "change": (RNG.integers(-60, 60, N).tolist(), []),
    "once": ([999, *RNG.integers(0, 50, N - 1).tolist()], []),
}


@pytest.fixture(scope="module")
def coded(tmp_path_factory):
    path = tmp_path_factory.mktemp("codes") / "coded.csv"
    columns = [cells for cells, _ in CODED.values()]
    rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([",".join(CODED), *rows]) + "\n")
    with open_table(path) as source:
        return draft_schema(source)


@pytest.mark.parametrize("name", CODED)
def test_numbers_that_mean_missing(coded, name):
    assert list(coded[name].missing) == CODED[name][1]


def test_a_code_decides_neither_step_nor_limits(coded):
    assert coded["tens"].step == 10
    assert (coded["age"].min, coded["age"].max) == (0, 120)
    assert (coded["likert"].min, coded["likert"].max) == (1, 5)


LIMITS = {
    ("month", 3, 9): (1, 12), ("Geburtsmonat", 1, 12): (1, 12), ("mes", 1, 12): (1, 12),
    ("mois_de_naissance", 1, 12): (1, 12), ("maand", 1, 12): (1, 12), ("month", 0, 40): None,
    ("day", 1, 28): (1, 31), ("día", 1, 31): (1, 31), ("day_of_week", 0, 6): (0, 6), ("Wochentag", 1, 5): (1, 7),
    ("day of year", 2, 300): (1, 366), ("week", 1, 52): (1, 53), ("hour", 5, 20): (0, 23), ("hora", 1, 24): (1, 24),
    ("minute", 0, 59): (0, 59), ("hours", 0, 500): (0, None), ("age", 18, 95): (0, 120), ("Âge", 18, 95): (0, 120),
    ("età", 2, 80): (0, 120), ("leeftijd", 2, 80): (0, 120), ("idade", 2, 80): (0, 120), ("age_months", 2, 80): None,
    ("age", -2, 1): None, ("age", 0.19, 0.72): None, ("age_group", 1, 6): None, ("pct_minority", 1, 64): (0, 100),
    ("Prozent", 0, 99): (0, 100), ("percent", -5, 60): None, ("percentage", 0, 0.9): None, ("market share", 0, 0.8): (0, 1),
    ("Anteil", 0.1, 1): (0, 1), ("latitude", -40, 60): (-90, 90), ("lat", 44.2, 49): None, ("longitude", 0, 359): None,
    ("rating", 1, 5): (1, 5), ("stars", 0, 10): (0, 10), ("rating", 1, 4000): None, ("n_children", 0, 9): (0, None),
    ("Anzahl Kinder", 0, 9): (0, None), ("price", 2, 90): (0, None), ("weight", 45, 120): None, ("delta", 0, 9): None,
    ("year", 1950, 2010): "year", ("year", 2005, 2010): None, ("year", 1700, 2000): None, ("año", 1950, 2010): "year",
}  # fmt: skip


@pytest.mark.parametrize(("given", "wanted"), LIMITS.items())
def test_natural_limits_by_name(given, wanted):
    name, low, high = given
    found = find_limits(name, NumberRange(low, high, 50))
    if wanted == "year":
        wanted = (1900, datetime.now(UTC).year)
    assert (None if found is None else (found.low, found.high)) == wanted


def test_limits_never_cut_a_cell_off(tmp_path):
    """Whatever a column is called, its drafted bounds hold all its cells."""
    names = [name for name, *_ in LIMITS]
    rng = np.random.default_rng(3)
    cells = {}
    for place, name in enumerate(dict.fromkeys(names)):
        low, width = rng.integers(-5, 40), 1 + rng.integers(0, 400) * (place % 3)
        cells[name] = (low + rng.integers(0, width, 60)).tolist()
    rows = [",".join(map(str, row)) for row in zip(*cells.values(), strict=True)]
    path = tmp_path / "made.csv"
    path.write_text("\n".join([",".join(cells), *rows]) + "\n")
    with open_table(path) as source:
        drafted = draft_schema(source)
    bounded = [c for c in drafted.columns if isinstance(c, Integer | Real)]
    assert any(column.is_closed for column in bounded)
    for column in bounded:
        values = [v for v in cells[column.name] if str(v) not in column.missing]
        assert column.min is None or column.min <= min(values)
        assert column.max is None or column.max >= max(values)


def draft_of(tmp_path, name, cells, **options):
    path = tmp_path / "one.csv"
    path.write_text("\n".join([f"{name},x", *(f"{cell},a" for cell in cells)]) + "\n")
    with open_table(path) as source:
        return draft_schema(source, **options)[name]


def test_dates_and_clock_times_as_numbers_are_noted(tmp_path):
    days = [date(1990, 1, 1) + timedelta(days=7 * i) for i in range(200)]
    numbers = [int(f"{day:%Y%m%d}") for day in days]
    compact = draft_of(tmp_path, "day", numbers)
    assert compact == Date(name="day", format="%Y%m%d")
    with open_table(pa.table({"day": numbers})) as source:
        stored = draft_schema(source)["day"]
    assert (type(stored), stored.note) == (Integer, COMPACT_DATE_NOTE)
    clock = [100 * (i % 24) + i * 7 % 60 for i in range(300)]
    noted = draft_of(tmp_path, "dep_time", clock)
    assert (noted.min, noted.max, noted.note) == (0, 2359, CLOCK_NOTE)
    assert draft_of(tmp_path, "dep_time", [*clock, 1277]).note != CLOCK_NOTE


def test_what_numbers_rows_or_people_is_a_key_and_amounts_and_years_are_not(tmp_path):
    serial = range(1, 301)
    assert isinstance(draft_of(tmp_path, "obs", serial), Identifier)
    assert isinstance(draft_of(tmp_path, "year", [1700 + i for i in serial]), Integer)
    assert isinstance(draft_of(tmp_path, "time", serial), Integer)
    phones = [612_000_000 + 7919 * i for i in serial]
    assert isinstance(draft_of(tmp_path, "contact", phones), Identifier)
    fortunes = [1_000_003 * i for i in serial]
    assert isinstance(draft_of(tmp_path, "wealth", fortunes), Integer)
    people = draft_of(tmp_path, "subject", [i // 5 for i in serial])
    assert isinstance(people, Identifier)
    assert "declare `unit: {id: subject, max_rows: …}`" in people.note
    assert isinstance(draft_of(tmp_path, "subject", [i % 5 for i in serial]), Integer)


def test_codes_of_places_are_labels_where_rows_are_enough(tmp_path):
    """A number between two zip codes is nobody's."""
    few = draft_of(tmp_path, "zipcode", [98001 + i % 6 for i in range(N)])
    assert (few.type, few.note) == ("categorical", LABEL_CODE_NOTE)
    many = draft_of(tmp_path, "home_zip", [98001 + i % 60 for i in range(N)])
    assert (many.type, many.note) == ("integer", NUMBER_CODE_NOTE)


def test_with_public_domains_natural_limits_replace_what_few_rows_hold(tmp_path):
    """A bound that few rows hold would not be drafted: the natural limit is."""
    ages = [30 + i % 40 for i in range(300)] + [3, 99, 101]
    wide = draft_of(tmp_path, "age", ages, public_domains=True)
    assert (wide.min, wide.max) == (0, 120)
    plain = draft_of(tmp_path, "age", ages[:300], public_domains=True, rare_below=1)
    assert (plain.min, plain.max, plain.note) == (30, 69, "")
    months = draft_of(
        tmp_path, "month", [3 + i % 5 for i in range(300)], public_domains=True
    )
    assert (months.min, months.max) == (1, 12)


def test_decimal_limits_lie_on_the_lattice(tmp_path):
    share = draft_of(tmp_path, "share", [f"{i % 101 / 100:.2f}" for i in range(500)])
    assert (share.min, share.max, share.step) == (0, 1, Fraction(1, 100))
