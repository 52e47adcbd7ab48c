"""`understudy schema convert`: other tools' descriptions in and out, and what was left
out on stdout.
"""

from __future__ import annotations

import json
from pathlib import Path

from kit.cli import Shell
from kit.schema.formats import NIST, SDV
from understudy.schema import Schema


def test_a_dictionary_becomes_a_schema(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "dictionary.json").write_text(NIST)
    done = shell("schema", "convert", "dictionary.json", "-o", "people.yaml")
    assert done.code == 0, done.err
    assert 'column "CODE": no codes are listed' in done.out
    assert Schema.load(tmp_path / "people.yaml")["AGE"].max == 99  # type: ignore[attr-defined]


def test_from_one_tool_to_another(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_text(SDV)
    done = shell(
        "schema",
        "convert",
        "metadata.json",
        "-o",
        "fields.json",
        "--to",
        "frictionless",
        "--json",
    )
    assert done.code == 0, done.err
    assert (done.json["from"], done.json["to"], done.json["columns"]) == (
        "sdv",
        "frictionless",
        9,
    )
    fields = {
        field["name"]: field
        for field in json.loads((tmp_path / "fields.json").read_text())["fields"]
    }
    assert fields["sex"]["constraints"] == {"enum": ["F", "M", "X"]}
    assert any("`decimals`" in note for note in done.json["notes"])


def test_what_cannot_be_read_writes_nothing(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text('{"hello": 3}')
    done = shell("schema", "convert", "odd.json", "-o", "out.yaml")
    assert done.code == 1
    assert done.err.startswith("understudy: odd.json: no known format")
    assert shell("schema", "convert", "none.json", "-o", "out.yaml").code == 1
    assert shell("schema", "convert", "odd.json", "-o", "odd.json").code == 1
    assert (
        shell("schema", "convert", "odd.json", "-o", "out.json", "--to", "excel").code
        == 2
    )
    assert [path.name for path in tmp_path.iterdir()] == ["odd.json"]


def test_cliques_of_a_public_table_are_measured_by_mst(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    rows = people.read_text().splitlines()
    (tmp_path / "public.csv").write_text("\n".join(rows[:1] + rows[1:][::2]) + "\n")
    found = shell("schema", "cliques", "public.csv", "--schema", schema)
    assert found.code == 0, found.err
    pairs = shell("schema", "cliques", "public.csv", "--schema", schema, "--pairs-only")
    assert all(len(clique) == 2 for clique in json.loads(pairs.out))
    done = shell(
        *("synthesize", people, "--schema", schema, "--epsilon", 1, "-o", "rows.csv"),
        *("--synthesizer", "mst", "--set", f"public={found.out}"),
        *("--release", "r.understudy", "--json"),
    )
    assert done.code == 0, done.err


def test_cliques_need_a_closed_schema(
    shell: Shell, people: Path, tmp_path: Path
) -> None:
    (tmp_path / "open.yaml").write_text("columns:\n  sex: {type: categorical}\n")
    done = shell("schema", "cliques", people, "--schema", "open.yaml")
    assert done.code == 1
    assert "Nothing was spent" in done.err
