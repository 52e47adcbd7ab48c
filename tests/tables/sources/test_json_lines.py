"""JSON lines: declared keys only, each line by itself."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from understudy import Boolean, Categorical, Schema, describe, synthesize
from understudy.errors import TableError
from understudy.tables import open_table
from understudy.tables.sources import json_lines

LINES = [
    b'{"age": 31, "sex": "F", "secret": "canary"}',
    b'{"sex": "M", "age": 1.50}',
    b"",
    b'{"age": [1], "sex": null}',
    b'{"age": true, "sex": "a\\nb"}',
    b"no record",
    b'{"age": 12345678901234567890, "sex": "\\ud83d"}',
    b"[" * 100_000,
    b"[1]",
]
CELLS = [
    ("31", "F"),
    ("1.50", "M"),
    ("\ufffd", None),
    ("true", "a b"),
    (None, None),
    ("12345678901234567890", "\ufffd"),
    (None, None),
    (None, None),
]


def cells(path: Path) -> list[tuple[str | None, ...]]:
    with open_table(path, header=["age", "sex"]) as source:
        query = f"SELECT x0, x1 FROM {source.relation}"
        return sorted(source.engine.run(query, doing="reading"), key=str)


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.jsonl.gz"])
def test_declared_keys_are_read_line_by_line(name, tmp_path):
    path = tmp_path / name
    text = b"\n".join(LINES)
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert cells(path) == sorted(CELLS, key=str)


def test_a_line_that_is_too_long_has_no_cells(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "MAX_CSV_ROW_BYTES", 64)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"age": 1, "sex": "%s"}\n{"age": 2}\n' % (b"x" * 200))
    assert cells(path) == [("2", None), (None, None)]


def test_without_declared_names_nothing_is_read(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(LINES[0])
    for read in (open_table, describe, lambda data: synthesize(data, epsilon=1)):
        with pytest.raises(TableError, match="say --schema, or open_table") as caught:
            read(path)
        assert "canary" not in str(caught.value)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["people.jsonl", "people.json", "odd name.json"])
def test_the_conversion_that_a_refusal_names_works(name, tmp_path):
    """The command is run as it stands, in the folder of the file."""
    records = [{"age": 31, "sex": "F"}, {"sex": "M", "age": None}]
    written = json.dumps(records)
    if name.endswith("l"):
        written = "\n".join(map(json.dumps, records))
    (tmp_path / name).write_text(written)
    with pytest.raises(TableError, match="Nothing was read") as caught:
        open_table(tmp_path / name)
    code = re.search('python -c "(.*?)"', str(caught.value))[1]
    assert name in code or " " in name
    code = code.replace("'table.json'", repr(name))
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    (converted,) = tmp_path.glob("*.csv")
    with open_table(converted) as source:
        query = f"SELECT x0, x1 FROM {source.relation}"
        assert source.engine.run(query, doing="reading") == [("31", "F"), (None, "M")]


def test_a_schema_declares_the_keys(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"smoker": true, "sex": "F", "id": 1}\n' * 50)
    columns = (Boolean(name="smoker"), Categorical(name="sex", values=("F", "M")))
    schema = Schema(columns=columns)
    assert list(synthesize(path, schema, epsilon=5).schema) == ["smoker", "sex"]
    assert (tmp_path / "t.jsonl.ledger").exists()
