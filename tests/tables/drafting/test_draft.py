"""The owner's draft: types by majority, people dropped, and no value unless the owner
says they are public.
"""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Identifier,
    Integer,
    Real,
    Schema,
    Text,
    Time,
    UndeclaredColumn,
    dump_schema,
    schema_to_dict,
)
from understudy.tables.drafting.draft import draft_schema
from understudy.tables.drafting.draft_domain import declare_non_nullable
from understudy.tables.sources.open_table import open_table
from understudy.workflow.describe import describe

N = 400


def sentence(i):
    return f"patient {i * 7919 % 1009} came back on day {i} complaining"


CELLS = {
    "age": [str(20 + i % 50) for i in range(N)],
    "sex": ["FM"[i % 2] for i in range(N)],
    "smoker": [("yes", "no")[i % 2] for i in range(N)],
    "treated": ["01"[i % 3 == 0] for i in range(N)],
    "active": [("TRUE", "False")[i % 2] for i in range(N)],
    "children": [str(i % 20 // 19 * 2 + i % 2) for i in range(N)],
    "dose": [f"{i % 40 / 8:.3f}" for i in range(N)],
    "price": [f"{i % 40 / 10:.1f}" if i % 3 else str(i % 40) for i in range(N)],
    "ratio": [f"{i / 7:.12f}" for i in range(N)],
    "born": [str(date(1950, 1, 1) + timedelta(days=37 * i)) for i in range(N)],
    "seen": [str(datetime(2020, 1, 1) + timedelta(minutes=15 * i)) for i in range(N)],
    "woke": [f"{i % 24:02d}:{i % 60:02d}" for i in range(N)],
    "zip": [f"0{1000 + i % 30}" for i in range(N)],
    "code": [f"QX{i * 7919 % 100_003:05d}" for i in range(N)],
    "serial": [str(i + 1) for i in range(N)],
    "salary": [str(30_000 + i * 137 % 70_001) for i in range(N)],
    "remarks": [sentence(i) for i in range(N)],
    "email": ["a@b.c"] * N,
    "empty": [""] * N,
}
TYPES = {
    "age": Integer, "sex": Categorical, "smoker": Boolean, "treated": Integer, "active": Boolean, "children": Integer,
    "dose": Real, "price": Real, "ratio": Real, "born": Date, "seen": Datetime, "woke": Time, "zip": Categorical,
    "code": Identifier, "serial": Identifier, "salary": Integer, "remarks": Text, "email": Identifier, "empty": UndeclaredColumn,
}  # fmt: skip


def drafted(path, cells, *, public_domains=False, rare_below=10):
    rows = [
        ",".join(cells),
        *(",".join(row) for row in zip(*cells.values(), strict=True)),
    ]
    path.write_text("\n".join(rows) + "\n")
    with open_table(path) as source:
        return draft_schema(
            source, public_domains=public_domains, rare_below=rare_below
        )


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    return drafted(tmp_path_factory.mktemp("draft") / "people.csv", CELLS)


@pytest.mark.parametrize("name", CELLS)
def test_types_of_a_csv_file(schema, name):
    assert type(schema[name]) is TYPES[name]


def test_details_of_a_csv_file(schema):
    assert [schema[name].step for name in ("dose", "price", "ratio")] == [
        Fraction(1, 1000),
        Fraction(1, 10),
        Fraction(1, 10**6),
    ]
    assert schema["seen"].resolution == timedelta(minutes=15)
    assert (schema["smoker"].true[0], schema["smoker"].false[0]) == ("yes", "no")
    assert (schema["treated"].min, schema["treated"].max) == (0, 1)
    assert (schema["active"].true, schema["active"].false) == (("TRUE",), ("False",))
    assert all(column.nullable for column in schema.columns)
    assert [c.note for c in schema.columns if not c.is_modelled] == [
        *["nearly every cell is different"] * 2, "long or mostly different texts",
        "its name says so; it comes again: if it stands for a person, declare `unit: {id: email, max_rows: …}`",
    ]  # fmt: skip


def test_a_draft_is_a_page_that_reads_back(schema):
    assert Schema.parse(dump_schema(schema)) == schema


def test_no_value_is_drafted(tmp_path):
    """A canary in every column, often enough to be seen, in no draft."""
    canary = "ZEBRA"
    cells = {
        "label": [canary if i % 2 else "x" for i in range(N)],
        "number": [str(987_654_321 - i % 3) for i in range(N)],
        "day": [str(date(1987, 6, 5) + timedelta(days=i % 4)) for i in range(N)],
        "text": [f"{canary} {sentence(i)}" for i in range(N)],
        "key": [f"{canary}{i}" for i in range(N)],
    }
    found = drafted(tmp_path / "people.csv", cells)
    said = dump_schema(found) + json.dumps(schema_to_dict(found))
    assert not any(part in said for part in (canary, "987", "654", "1987"))
    assert not found.is_closed


def test_with_public_domains_values_and_bounds_are_written_down(tmp_path):
    found = drafted(tmp_path / "people.csv", CELLS, public_domains=True, rare_below=1)
    assert found["sex"].values == ("F", "M")
    assert (found["age"].min, found["age"].max) == (20, 69)
    assert (found["dose"].min, found["dose"].max) == (0, Fraction(39, 8))
    assert (found["born"].min, found["born"].max) == (
        date(1950, 1, 1),
        date(1950, 1, 1) + timedelta(days=37 * (N - 1)),
    )
    assert found["seen"].min == datetime(2020, 1, 1)
    assert found["zip"].values == tuple(sorted(set(CELLS["zip"])))
    assert not any(c.learned for c in found.columns)
    assert [c.name for c in found.columns if c.is_modelled and not c.is_closed] == [
        "empty"
    ]


@pytest.mark.parametrize(("odd", "same"), [(3, True), (40, False)])
def test_a_handful_of_odd_cells_does_not_flip_a_type(tmp_path, odd, same):
    names = ["age", "dose", "born", "seen", "woke"]
    cells = {name: [*["odd!"] * odd, *CELLS[name][odd:]] for name in names}
    found = drafted(tmp_path / "people.csv", cells)
    assert [type(found[name]) is TYPES[name] for name in names] == [same] * len(names)


def test_common_missing_codes_are_recognised(tmp_path):
    cells = {
        "age": ["NA" if i % 9 == 0 else str(i % 50) for i in range(N)],
        "sex": [("F", "M", "?")[i % 3] for i in range(N)],
        "smoker": [("yes", "no", "N/A", "-")[i % 4] for i in range(N)],
        "word": [("a", "b", "none", "unknown")[i % 4] for i in range(N)],
    }
    found = drafted(tmp_path / "people.csv", cells, public_domains=True, rare_below=1)
    assert found["age"] == Integer(name="age", min=0, max=49, missing=("NA",))
    assert found["sex"] == Categorical(name="sex", values=("F", "M"), missing=("?",))
    assert found["smoker"].missing == ("N/A", "-")
    assert found["word"].values == ("a", "b", "none", "unknown")


FRAME = pd.DataFrame(
    {
        "whole": pd.array([1, 2, None, 4] * 50, dtype="Int64"),
        "broken": [1.0, 2.0, np.nan, 4.0] * 50,
        "amount": [0.25, 0.5, 0.75, np.nan] * 50,
        "flag": [True, False] * 100,
        "label": ["a", "b", "c", None] * 50,
        "moment": pd.to_datetime(["2020-01-01 10:00", "2020-01-02 11:30"] * 100),
        "zoned": pd.to_datetime(["2020-01-01", "2020-01-02"] * 100).tz_localize(
            "Europe/Zurich"
        ),
        "serial": range(200),
        "name": ["x"] * 200,
    }
)
FRAME_TYPES = {
    "whole": Integer, "broken": Integer, "amount": Real, "flag": Boolean, "label": Categorical, "moment": Datetime,
    "zoned": Datetime, "serial": Identifier, "name": Identifier,
}  # fmt: skip


def parquet(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.Table.from_pandas(FRAME), path)
    return path


@pytest.mark.parametrize(
    "data",
    [
        lambda _: FRAME,
        lambda _: pl.from_pandas(FRAME),
        lambda _: pa.Table.from_pandas(FRAME),
        parquet,
    ],
    ids=["pandas", "polars", "pyarrow", "parquet"],
)
def test_frames_and_parquet(tmp_path, data):
    with open_table(data(tmp_path)) as source:
        found = draft_schema(source, public_domains=True)
    assert {c.name: type(c) for c in found.columns} == FRAME_TYPES
    assert found["amount"].step == Fraction(1, 4)
    assert (found["broken"].min, found["broken"].max) == (1, 4)
    assert found["label"].values == ("a", "b", "c")
    assert found["moment"].resolution == timedelta(minutes=30)
    assert found["zoned"].zone is not None
    assert found.is_closed
    assert Schema.parse(dump_schema(found)) == found


@pytest.mark.parametrize(
    ("seconds", "resolution"), [(3600, "1h"), (900, "15min"), (420, "1min"), (7, "1s")]
)
def test_times_of_day_are_as_fine_as_nearly_all_of_them(seconds, resolution, tmp_path):
    times = [
        (datetime(2024, 1, 1) + i * timedelta(seconds=seconds)).time()
        for i in range(300)
    ]
    texts = [str(t)[:5] if seconds >= 60 else str(t) for t in times]
    with open_table(pa.table({"at": times})) as source:
        assert draft_schema(source)["at"].resolution == {
            "1h": timedelta(hours=1),
            "15min": timedelta(minutes=15),
            "1min": timedelta(minutes=1),
        }.get(resolution, timedelta(seconds=1))
    (tmp_path / "t.csv").write_text("\n".join(["at", *texts]) + "\n")
    with open_table(tmp_path / "t.csv") as source:
        assert f"resolution: {resolution}" in dump_schema(draft_schema(source))


@pytest.mark.parametrize(
    ("decimals", "step"), [(0, 1), (1, Fraction(1, 10)), (2, Fraction(1, 100))]
)
def test_short_floats_have_the_decimals_they_show(decimals, step):
    values = (
        np.random.default_rng(1).normal(10, 4, 500).round(decimals).astype("float32")
    )
    values[::9] = np.nan
    for frame in (
        pa.table({"x": values}),
        pd.DataFrame({"x": values}),
        pl.DataFrame({"x": values}),
    ):
        with open_table(frame) as source:
            assert draft_schema(source)["x"].step == step


def test_an_empty_table_is_left_to_learn(tmp_path):
    found = drafted(tmp_path / "people.csv", {"a": [], "b": []}, public_domains=True)
    assert [type(c) for c in found.columns] == [UndeclaredColumn, UndeclaredColumn]


def test_a_column_of_nothing_but_odd_characters(tmp_path):
    found = drafted(
        tmp_path / "people.csv",
        {"a": ["\ufffd", "é", "'", "; DROP TABLE cells"] * 50},
        public_domains=True,
    )
    assert found["a"].values == tuple(
        sorted(["\ufffd", "é", "'", "; DROP TABLE cells"])
    )


def test_a_long_list_of_values_is_not_drafted(tmp_path):
    cells = {"town": [f"t{i % 1200}" for i in range(3600)]}
    found = drafted(tmp_path / "people.csv", cells, public_domains=True, rare_below=1)
    assert found["town"] == Categorical(
        name="town", note="more than 1,000 values, left to learn"
    )


def test_letters_that_stand_for_no_number_are_missing_codes_of_numbers(tmp_path):
    """N among incomes is not applicable; Y and N are answers, and a column of words
    stays one, N among them or not.
    """
    rows = [
        f"{i % 40},{'N' if i % 3 else i % 50},{'N' if i % 2 else 'Y'},{'N' if i % 3 else 'SW'},{i / 4 if i % 5 else ':'}"
        for i in range(600)
    ]
    (tmp_path / "t.csv").write_text(
        "\n".join(["age,income,vote,wind,rate", *rows]) + "\n"
    )
    found = {
        column.name: column
        for column in draft_schema(open_table(tmp_path / "t.csv")).columns
    }
    assert isinstance(found["income"], Integer)
    assert found["income"].missing == ("N",)
    assert isinstance(found["vote"], Boolean)
    assert found["vote"].missing == ()
    assert found["wind"] == Categorical(name="wind")
    assert isinstance(found["rate"], Real)
    assert found["rate"].missing == (":",)
    assert found["age"].missing == ()


def test_with_public_domains_a_column_without_an_empty_cell_is_declared_so(tmp_path):
    """A cell that cannot be read is a gap too: it would count as missing."""
    cells = {
        "full": [str(i % 50) for i in range(N)],
        "coded": ["NA" if i % 9 == 0 else str(i % 50) for i in range(N)],
        "gap": ["" if i == 7 else ("F", "M")[i % 2] for i in range(N)],
        "odd": ["surprise" if i == 7 else str(i % 50) for i in range(N)],
        "patient_id": [f"p{i}" for i in range(N)],
    }
    path = tmp_path / "people.csv"
    drafted(path, cells)
    with open_table(path) as source:
        found = declare_non_nullable(source, draft_schema(source, public_domains=True))
    assert [found[name].nullable for name in ("full", "coded", "gap", "odd")] == [
        False,
        False,
        True,
        True,
    ]
    assert found["coded"].missing == ("NA",)
    assert all(column.nullable for column in describe(path).columns)
    assert not describe(path, public_domains=True)["full"].nullable


def test_an_empty_table_says_nothing_of_its_cells(tmp_path):
    path = tmp_path / "people.csv"
    drafted(path, {"a": [], "b": []}, public_domains=True)
    assert all(
        column.nullable for column in describe(path, public_domains=True).columns
    )


def test_whole_numbers_and_steps_are_drafted_however_they_are_spelled(tmp_path):
    """Of 30 numbers or more; between the multiples of a step nothing may lie."""
    page = tmp_path / "steps.csv"
    lines = [f"{1 + i % 2}.0,{i % 7 * 500},{i % 6 / 2},{i}" for i in range(60)]
    page.write_text("arm,pay,rating,index\n" + "\n".join(lines) + "\n,,,")
    with open_table(page) as source:
        drafted = {c.name: c for c in draft_schema(source).columns}
    steps = {name: column.step for name, column in drafted.items()}
    assert steps == {"arm": 1, "pay": 500, "rating": Fraction(1, 2), "index": 1}
    assert isinstance(drafted["arm"], Integer)
    page.write_text("arm,pay,rating,index\n" + "\n".join(lines[:20]))
    with open_table(page) as source:
        assert draft_schema(source)["pay"].step == 1


@pytest.mark.parametrize("kind", ["csv", "pandas", "pyarrow"])
@pytest.mark.parametrize(
    ("values", "step"),
    [
        (np.arange(60) % 9 * 250, 250),
        (np.arange(60) % 7 * 15, 15),
        (np.arange(60) % 9 * 20, 20),
        (np.arange(60) % 9 * 10_000, 10_000),
        (np.arange(60) % 9 * 1_000_000, 1_000_000),
        (np.append(np.arange(59) % 9 * 250, 1260), 10),
        (np.arange(60) % 9 * 250 + 3, 1),
        (np.arange(12) * 250, 1),
    ],
)
def test_stored_whole_numbers_have_the_step_that_texts_have(
    kind, values, step, tmp_path
):
    """Of 30 numbers or more, and if nothing lies between its multiples."""
    cells = {"pay": values, "unit": np.arange(len(values)) % 2}
    made = {"pandas": pd.DataFrame, "pyarrow": pa.table}
    data = made.get(kind, pd.DataFrame)(cells)
    if kind == "csv":
        data.to_csv(tmp_path / "pay.csv", index=False)
        data = tmp_path / "pay.csv"
    with open_table(data) as source:
        drafted = draft_schema(source)
    assert drafted["pay"].step == step
    assert (drafted["unit"].min, drafted["unit"].max) == (0, 1)


def test_what_few_rows_hold_is_not_drafted_as_public(tmp_path):
    """Numbers of patients, sentences and single extremes: counted, never shown."""
    cells = {
        "ward": ["north"] * 60 + ["south"] * 31 + ["isolation"] * 9,
        "patient": [f"K-{i % 20}" for i in range(100)],
        "comment": [f"words that nobody else wrote {i % 30}" for i in range(100)],
        "income": [str(1000 + i % 7) for i in range(98)] + ["5", "987654"],
    }
    found = drafted(tmp_path / "people.csv", cells, public_domains=True)
    assert (found["ward"].values, found["ward"].other) == (("north", "south"), "other")
    assert found["ward"].note.startswith("1 values of fewer than 10 rows each")
    assert (found["income"].min, found["income"].max) == (1000, 1006)
    said = dump_schema(found)
    assert not any(part in said for part in ("isolation", "K-1", "nobody", "987654"))
    wide = drafted(tmp_path / "all.csv", cells, public_domains=True, rare_below=1)
    assert (wide["income"].min, wide["income"].max) == (5, 987654)
    assert "isolation" in wide["ward"].values


def test_an_identifier_that_comes_again_proposes_a_privacy_unit(tmp_path):
    """A few doublets are mistakes; several rows for each are visits of a person."""
    cells = {
        "patient_id": [f"p{i // 3}" for i in range(300)],
        "visit_id": [f"v{i}" for i in range(298)] + ["v1", "v2"],
        "age": [str(i % 60) for i in range(300)],
    }
    found = drafted(tmp_path / "visits.csv", cells)
    assert "declare `unit: {id: patient_id, max_rows: …}`" in found["patient_id"].note
    assert found["visit_id"].note == "its name says so"


def test_what_a_device_writes_where_it_measured_nothing_is_a_missing_code(tmp_path):
    cells = {"isig": ["nil", *(f"{18 + i % 9}.{i % 7}" for i in range(29))] * 10}
    found = drafted(tmp_path / "sensor.csv", cells)
    assert (found["isig"].type, found["isig"].missing) == ("real", ("nil",))


def test_a_flag_identifies_nobody_whatever_its_name_says(tmp_path):
    cells = {"Phone": ["1", "0"] * 30, "email": ["a@b", "c@d"] * 30}
    found = drafted(tmp_path / "gym.csv", cells)
    assert (found["Phone"].type, found["Phone"].max) == ("integer", 1)
    assert found["email"].type == "identifier"


def test_spellings_are_drafted_as_they_are(tmp_path):
    cells = {
        "asked": ["Yes", "No"],
        "sure": ["TRUE", "FALSE"],
        "only": ["Y", "Y"],
        "woke": ["6:25", "11:15"],
        "born": ["05.01.2024", "31.12.2024"],
        "seen": ["2024-01-05T10:00:00Z", "2024-01-06T11:00:00Z"],
        "left": ["1/13/2024 9:05", "2/28/2024 10:15"],
        "fixed": ["12.50", "3.07"],
        "short": ["12.5", "3.07"],
        "bare": ["7", "7.5"],
        "gaps": ["2.0", "9.0"],
        "flag": ["0.0", "1.0"],
        "either": ["05/01/2024", "06/02/2024"],
    }
    path = tmp_path / "t.csv"
    rows = [",".join(column[i % 2] for column in cells.values()) for i in range(400)]
    path.write_text("\n".join([",".join(cells), *rows]) + "\n")
    with open_table(path) as source:
        schema = draft_schema(source)
    assert (schema["asked"].true, schema["asked"].false) == (("Yes",), ("No",))
    assert (schema["sure"].true, schema["sure"].false) == (("TRUE",), ("FALSE",))
    assert (schema["only"].true, schema["only"].false) == (("Y",), ("N",))
    formats = {name: schema[name].format for name in ("woke", "born", "seen", "left")}
    assert formats == {
        "woke": "%-H:%M",
        "born": "%d.%m.%Y",
        "seen": "%Y-%m-%dT%H:%M:%SZ",
        "left": "%-m/%-d/%Y %-H:%M",
    }
    assert schema["seen"].resolution == timedelta(hours=1)
    zeros = [schema[name].trailing_zeros for name in ("fixed", "short")]
    assert zeros == [None, False]
    points = [schema[name].whole_point for name in ("bare", "gaps", "flag")]
    assert points == [False, True, True]
    assert (schema["flag"].min, schema["flag"].max) == (0, 1)
    assert isinstance(schema["either"], Categorical), "the order cannot be told"


def test_codes_of_which_few_begin_with_a_zero_are_no_numbers(tmp_path):
    """As a number 01234 would be 1234; of the others nothing tells them from numbers."""
    path = tmp_path / "codes.csv"
    rows = [f"{i % 1000 + 10_000},{i}" for i in range(1990)]
    rows += [f"{i:05},{i}" for i in range(10)]
    path.write_text("\n".join(["postcode,number", *rows]))
    with open_table(path) as source:
        drafted = draft_schema(source)
    assert not isinstance(drafted["postcode"], Integer)
    assert isinstance(drafted["number"], Integer)
