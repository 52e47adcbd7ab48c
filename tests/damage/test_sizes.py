"""Small files that ask for much: none may compute for five seconds or take 500 MB,
whatever its numbers say.
"""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

from kit.damage import sizes
from kit.damage.large import MEGABYTES, SECONDS
from kit.releases import builders
from understudy.accounting.law import Law
from understudy.accounting.ledger import Ledger
from understudy.errors import LedgerTampered, Refused, SchemaError
from understudy.measurements import Identity, Measurement, Measurements
from understudy.models import ProductModel
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.rules.structural_zeros import keep_possible
from understudy.releases import Guarantee, Release
from understudy.schema import Boolean, Schema

TESTS = Path(__file__).resolve().parents[1]
FAST = {"schema": 30, "rules": 16, "bins": 2, "release": 20, "ledger": 9}
SLOW = {"schema": 1500, "rules": 640, "bins": 40, "release": 400, "ledger": 90}
NEVER_REFUSED = {"bins"}


def check(kind: str, first: int, last: int) -> None:
    words = (sys.executable, "-m", "kit.damage.large", kind, str(first), str(last))
    done = subprocess.run(
        words, cwd=TESTS, capture_output=True, text=True, timeout=3000, check=False
    )
    cases: list[dict[str, Any]] = [
        json.loads(line) for line in done.stdout.splitlines()
    ]
    assert done.returncode == 0, (
        f"ended ({done.returncode}) in case {first + len(cases)}: {done.stderr[-500:]}"
    )
    assert len(cases) == last - first
    assert [one for one in cases if "wrong" in one] == []
    assert [
        one for one in cases if one["seconds"] > SECONDS or one["megabytes"] > MEGABYTES
    ] == []
    assert any(one["said"] for one in cases) or kind in NEVER_REFUSED
    assert not all(one["said"] for one in cases)


@pytest.mark.parametrize("kind", sorted(FAST))
def test_no_small_file_takes_five_seconds_or_500_megabytes(kind: str) -> None:
    check(kind, 0, FAST[kind])


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(SLOW))
def test_no_other_small_file_does_either(kind: str) -> None:
    check(kind, FAST[kind], SLOW[kind])


def test_the_same_number_is_the_same_file() -> None:
    assert sizes.schema_file(17) == sizes.schema_file(17) != sizes.schema_file(18)


def test_hours_of_ten_thousand_years_are_counted_before_they_are_made() -> None:
    began = process_time()
    with pytest.raises(
        SchemaError,
        match=r"`bins: hour` makes more than 100,000 bins. Take a longer unit",
    ):
        Schema.parse(
            "columns: {a: {type: datetime, min: 0001-01-01, max: 9999-12-31, bins: hour}}"
        )
    assert process_time() - began < 1


def test_a_calendar_that_begins_before_the_first_year_is_refused_in_one_line() -> None:
    column = "{type: datetime, zone: Europe/Berlin, min: '0001-01-02', max: '0003-01-01', bins: year}"
    with pytest.raises(SchemaError, match=r"`bins: year` begins beyond the calendar"):
        Schema.parse(f"columns: {{a: {column}}}")


def test_bins_of_all_columns_are_bounded_together() -> None:
    page = "columns:\n" + "".join(
        f"  c{i}: {{type: integer, min: 0, max: 999999, bins: 100000}}\n"
        for i in range(20)
    )
    with pytest.raises(
        SchemaError,
        match=r':7: column "c5": with it the columns have more than 500,000 bins',
    ):
        Schema.parse(page)


def test_two_thousand_columns_and_100_000_values_in_one_are_read() -> None:
    values = ",".join(f"v{i}" for i in range(100_000))
    page = "columns:\n" + "".join(
        f"  c{i}: {{type: integer, min: 0, max: 99}}\n" for i in range(2000)
    )
    schema = Schema.parse(f"{page}  large: {{type: categorical, values: [{values}]}}\n")
    assert (len(schema), schema.sizes(("large",))) == (2001, (100_001,))


def test_reading_is_linear_in_columns_and_in_rules() -> None:
    """Each column and each rule once searched all the others: minutes for these."""
    columns = "columns:\n" + "".join(f"  c{i}: boolean\n" for i in range(3000))
    rules = "rules:\n" + "".join(
        f"  - c{i} = c{i + 1} or c{i + 2} = true\n" for i in range(1000)
    )
    began = process_time()
    schema = Schema.parse(columns + rules)
    assert all(schema[name].is_closed and name in schema for name in schema)
    assert process_time() - began < SECONDS


def test_a_rule_between_two_large_columns_makes_no_table_of_their_pairs() -> None:
    large = "{type: integer, min: 0, max: 999999, bins: 100000, nullable: false}"
    schema = Schema.parse(f"columns: {{a: {large}, b: {large}}}\nrules: [a <= b]")
    codes = {
        name: np.array(of, np.uint32)
        for name, of in (("a", [9, 0, 7]), ("b", [1, 2, 8]))
    }
    made = keep_possible(schema, codes, 3, np.random.default_rng(0))
    assert np.all(made["a"] <= made["b"])


def test_columns_of_one_value_have_no_parts_of_their_own() -> None:
    one = "{type: categorical, values: [x], nullable: false}"
    schema = Schema.parse(
        "columns: {" + ", ".join(f"c{i}: {one}" for i in range(30)) + "}"
    )
    names = tuple(schema)
    cost = builders.cost(Fraction(1, 1000))
    table = Measurement(
        names,
        (Identity(1),) * 30,
        np.full((1,) * 30, 7),
        Law.ROUNDED_GAUSSIAN,
        Fraction(3),
        cost,
    )
    pooled = PooledResiduals.of(schema, Measurements((table,)))
    assert (pooled.total, pooled.marginal(("c0",)).tolist()) == (7.0, [7.0])


def large_release() -> Release:
    schema = Schema(columns=(Boolean(name="smoker"),))
    return Release(
        guarantee=Guarantee.without_data(),
        schema=schema,
        model=ProductModel.uniform(schema, 1e15),
    )


def test_rows_that_only_a_file_asks_for_are_refused_with_the_remedy(
    tmp_path: Path,
) -> None:
    release = large_release()
    with pytest.raises(
        Refused,
        match=r"1e\+15 rows of 1 column are too many unasked: say how many \(rows=, --rows\)",
    ):
        release.write(tmp_path / "rows.csv")
    with pytest.raises(Refused, match="too many unasked"):
        release.sample(given={"smoker": True}, kind="numpy")
    assert list(tmp_path.iterdir()) == []


def test_rows_that_are_asked_for_are_given(tmp_path: Path) -> None:
    assert large_release().write(tmp_path / "rows.csv", 5) == 5


@pytest.mark.parametrize("act", range(7))
def test_a_ledger_that_demands_much_is_refused_or_read_at_once(
    act: int, tmp_path: Path
) -> None:
    path = tmp_path / "l.ledger"
    path.write_bytes(sizes.ledger_file(act, tmp_path)[1])
    began = process_time()
    if act == 2:  # deep facts are still facts
        Ledger.open(path).close()
    else:
        with pytest.raises(
            LedgerTampered,
            match="no entry can hold" if act < 2 else "the tables are not those",
        ):
            Ledger.open(path)
    assert process_time() - began < 1
