"""Small files whose numbers, lengths, counts, depths, ranges, bins and domains are
enormous; the same number is the same file.

Every file is sound where the syntax is concerned: it is what its words ask for that
would fill a memory, a disk or an afternoon.
"""

from __future__ import annotations

import json
import random
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kit.damage.interlocking import interlocking_schema
from kit.releases import builders
from kit.releases.hostile import rezip, unzip
from understudy.accounting.budget import Budget
from understudy.accounting.chain import (
    LEDGER_ENTRY_COLUMNS,
    LedgerEntry,
    canonical_json,
)
from understudy.accounting.ledger import Ledger
from understudy.models import ProductModel
from understudy.releases import Guarantee, Release
from understudy.releases.release import to_bytes
from understudy.schema import Schema

Words = dict[str, Any]

UNITS = ("hour", "day", "week", "month", "quarter", "year", "decade")
MOST_BYTES = 1 << 19
"""Files are small: what they hold is not what takes room."""


def number(rng: random.Random) -> int:
    """A number as large as it may be, or nearly."""
    return rng.choice(
        (
            2,
            65,
            1000,
            99_999,
            100_000,
            100_001,
            10**6,
            10**9,
            2**31,
            2**62,
            2**63,
            10**15,
            10**18,
            10**300,
        )
    )


def few(rng: random.Random) -> int:
    """How often a word of the file is repeated."""
    return rng.choice((1, 2, 3, 30, 300, 2000))


def labels(rng: random.Random, count: int) -> list[str]:
    long = rng.random() < 0.1
    return [f"v{i}" + ("x" * 100 if long else "") for i in range(count)]


def column(rng: random.Random) -> Words:
    """One column, with large words."""
    kind = rng.choice(
        (
            "integer",
            "integer",
            "real",
            "date",
            "datetime",
            "datetime",
            "time",
            "categorical",
            "boolean",
        )
    )
    bins: Words = (
        {"bins": rng.choice((number(rng), number(rng), rng.choice(UNITS)))}
        if rng.random() < 0.7
        else {}
    )
    match kind:
        case "integer":
            return {
                "type": kind,
                "min": rng.choice((0, -number(rng))),
                "max": number(rng),
                "step": rng.choice((1, number(rng))),
                **bins,
            }
        case "real":
            return {
                "type": kind,
                "min": 0,
                "max": number(rng),
                "step": rng.choice(("1/3", "1e-300", "0.1", f"1/{10**39}")),
                **bins,
            }
        case "date":
            return {"type": kind, "min": "0001-01-01", "max": "9999-12-31", **bins}
        case "datetime":
            resolution = rng.choice(
                ("1us", "1s", "7min", f"{rng.choice((1, 999_999_999_999))}us")
            )
            zone = {"zone": "Europe/Berlin"} if rng.random() < 0.3 else {}
            return {
                "type": kind,
                "min": "0002-01-01",
                "max": "9998-12-31",
                "resolution": resolution,
                **zone,
                **bins,
            }
        case "time":
            return {"type": kind, "resolution": rng.choice(("1us", "1s")), **bins}
        case "boolean":
            return {"type": kind, "true": labels(rng, few(rng)), "false": ["no"]}
    values = labels(rng, few(rng))
    words: Words = {"type": kind, "values": values, "ordered": rng.random() < 0.5}
    if rng.random() < 0.3:
        words["levels"] = {f"l{i}": {"g": values} for i in range(rng.choice((1, 3)))}
    if rng.random() < 0.3:
        words |= {"other": "rest", "unfold": {f"u{i}": 2**52 for i in range(few(rng))}}
    return words


def rule(rng: random.Random, names: list[str], columns: dict[str, Words]) -> Any:
    """One rule over columns that may be very large."""
    one, two = rng.choice(names), rng.choice(names)
    kind = rng.randrange(5)
    if kind == 0:
        return f"{one} <= {two}" if one != two else f"{one} is not missing"
    if kind == 1:
        return (
            " + ".join(dict.fromkeys(rng.choices(names, k=rng.choice((2, 20, 150)))))
            + f" <= {number(rng)}"
        )
    if kind == 2:
        return {"impossible": f"{one} = {number(rng)}"}
    values = columns[one].get("values", ["1"])
    if kind == 3:
        return {"from": one, "to": two, "map": dict.fromkeys(values[:3000], "1")}
    some = list(dict.fromkeys(rng.choices(names, k=rng.choice((2, 3, 70)))))
    return {
        "columns": some,
        "allowed": [["1"] * len(some) for _ in range(rng.choice((1, 50)))],
    }


def schema_words(rng: random.Random) -> Words:
    """A schema in our own words."""
    count = few(rng)
    same = column(rng)
    columns = {f"c{i}": same if count > 30 else column(rng) for i in range(count)}
    rules = [
        rule(rng, list(columns), columns) for _ in range(rng.choice((0, 0, 1, 5, 20)))
    ]
    words: Words = {"columns": columns}
    if rules:
        words["rules"] = rules
    if rng.random() < 0.3:
        words["rows"] = number(rng)
    return words


def foreign(rng: random.Random) -> Words:
    """The words of other tools."""
    count, big = few(rng), number(rng)
    names = [f"c{i}" for i in range(count)]
    categories = labels(rng, max(1, 6000 // count))
    match rng.randrange(6):
        case 0:
            fields = [
                {
                    "name": n,
                    "type": "integer",
                    "constraints": {"minimum": 0, "maximum": big},
                }
                for n in names
            ]
            return {"fields": fields, f"odd{big}": 1}
        case 1:
            return {
                "METADATA_SPEC_VERSION": "V1",
                "tables": {
                    "t": {
                        "columns": {n: {"sdtype": "numerical", "odd": 1} for n in names}
                    }
                },
            }
        case 2:
            return {
                n: {"min_value": 0, "max_value": big, "dtype": "int", "num_bins": big}
                for n in names
            }
        case 3:
            return {
                n: {"description": n, "values": dict.fromkeys(categories, "x")}
                for n in names
            }
        case 4:
            table = {
                n: {"type": "int", "lower": 0, "upper": big, "cardinality": big}
                for n in names
            }
            return {"": {"s": {"t": {"rows": big, "max_ids": big, **table}}}}
    made = [
        {
            "name": n,
            "datatype": {"base": "integer", "minimum": 0, "maximum": big},
            "odd": n,
        }
        for n in names
    ]
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "tableSchema": {"columns": made},
        "publicLength": big,
    }


def nested(rng: random.Random) -> bytes:
    """Depth, aliases and keys, in YAML."""
    deep = rng.choice((9, 11, 1000, 20_000))
    bomb = "a: &a [x, x]\n" + "".join(
        f"k{i}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(20)
    )
    wide = (
        "a: &a ["
        + "x, " * 5000
        + "x]\ncolumns: {"
        + ", ".join(f"c{i}: {{values: *a}}" for i in range(99))
        + "}"
    )
    return rng.choice((
        "columns: " + "[" * deep + "]" * deep,
        "columns: " + "{a: " * deep + "}" * deep,
        bomb,
        wide,
        f"columns: {{{'k' * 100_000}: {{{'t' * 100_000}: 1}}}}",
        "columns: {a: {type: categorical, values: [" + "x" * 200_000 + "]}}\nrules: [\"a = '" + "x" * 9_000 + "'\"]",
        "columns: {a: {type: integer, min: 0, max: 9}}\nrules: ['" + "not " * deep + "a = 1']",
        "columns: {a: {type: integer, min: 0, max: 9}}\nrules: ['" + " or ".join(["a = 1 and a < 3"] * 99) + "']",
        "rows: " + "9" * rng.choice((13, 390, 5000)) + "\ncolumns: {a: boolean}",
        "unit: {id: a, max_rows: " + "9" * rng.choice((6, 390)) + "}\ncolumns: {a: identifier, b: boolean}",
    )).encode()  # fmt: skip


def schema_file(seed: int) -> tuple[str, bytes]:
    """A schema file, YAML or JSON, ours or another tool's."""
    rng = random.Random(f"schema {seed}")
    if rng.random() < 0.15:
        return "s.yaml", nested(rng)
    words = foreign(rng) if rng.random() < 0.25 else schema_words(rng)
    return rng.choice(("s.yaml", "s.json")), json.dumps(words).encode()[:MOST_BYTES]


def rules_file(seed: int) -> tuple[str, bytes]:
    """A schema of up to several hundred rules that tie its columns."""
    return "s.json", json.dumps(interlocking_schema(seed)).encode()


def bins_file(seed: int) -> tuple[str, bytes]:
    """A schema with columns of up to 100,000 bins."""
    rng = random.Random(f"bins {seed}")
    counts = [
        rng.choice((2, 3000, 20_000, 100_000)) for _ in range(rng.choice((1, 2, 4)))
    ]
    columns = {
        f"c{i}": {"type": "integer", "min": 0, "max": 10**6, "bins": count}
        for i, count in enumerate([100_000, *counts])
    }
    return "s.json", json.dumps({"columns": columns}).encode()


def release_file(seed: int) -> tuple[str, bytes]:
    """A release with large words in its schema, its model or its measurements."""
    rng = random.Random(f"release {seed}")
    members = unzip(to_bytes(builders.release()))
    document = json.loads(members["release.json"])
    match rng.randrange(5):
        case 0:
            document["model"]["facts"]["total"] = rng.choice((1e9, 1e15, 1e300))
        case 1:
            tables = {
                "kind": "tables",
                "model": None,
                "measurements": [],
                "sparse": [],
                "gaps": [],
            }
            document |= tables | {"schema": schema_words(rng)}
            members = {}
        case 2:
            document["schema"]["rows"] = number(rng)
        case 3:
            entry = document["card"]["entries"][0]
            document["card"]["entries"] = [entry] * 3000
            document["notes"] = ["x" * 50_000] * rng.choice((1, 5))
        case 4:
            schema = Schema.parse(
                json.dumps(
                    {
                        "columns": {
                            f"c{i}": "boolean" for i in range(rng.choice((50, 400)))
                        }
                    }
                )
            )
            release = Release(
                guarantee=Guarantee.without_data(),
                schema=schema,
                model=ProductModel.uniform(schema, rng.choice((1e3, 1e18))),
            )
            return "r.understudy", to_bytes(release)
    members["release.json"] = json.dumps(document).encode()
    return "r.understudy", rezip(
        members, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    )


HEAVY = "length(printf('%.*c', 100000000, 'x')) > 0"
LOOP = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n)"


def ledger_file(seed: int, folder: Path) -> tuple[str, bytes]:
    """A ledger that demands much of whoever opens it."""
    rng = random.Random(f"ledger {seed}")
    path = folder / f"made-{seed}.ledger"
    with Ledger.create(path, dataset="people") as made:
        made.reserve(Budget.of(1), event="synthesize")
    huge = "1e99999999"
    acts: list[Callable[[sqlite3.Connection], object]] = [
        lambda c: _resealed(c, lambda facts: facts | {"total": huge}),
        lambda c: _resealed(c, lambda facts: facts | {"epsilon": huge}),
        lambda c: _resealed(
            c, lambda facts: facts | {"deep": json.loads("[" * 900 + "]" * 900)}
        ),
        lambda c: c.executescript(
            f"CREATE TABLE more (x CHECK ({HEAVY})); INSERT INTO more SELECT 1 FROM entry;"
        ),
        lambda c: c.executescript(f"CREATE VIEW more AS SELECT {LOOP}"),
        lambda c: c.executescript(
            f"CREATE TRIGGER entry BEFORE INSERT ON entry BEGIN SELECT {LOOP}; END"
        ),
        lambda c: c.executescript(f"CREATE INDEX more ON entry (time) WHERE {HEAVY}"),
        lambda c: c.execute(
            "UPDATE account SET dataset = printf('%.*c', 2000000, 'x')"
        ),
        lambda c: _resealed(c, lambda facts: facts, times=rng.choice((300, 2000))),
    ]
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    acts[seed % len(acts)](connection)
    connection.commit()
    connection.close()
    data = path.read_bytes()
    path.unlink()
    return "l.ledger", data


def _resealed(
    connection: sqlite3.Connection, change: Callable[[Words], Words], times: int = 1
) -> None:
    """Write the last entry anew with other facts, so many times, each with the digest
    that it ought to have.
    """
    names = ", ".join((*LEDGER_ENTRY_COLUMNS, "digest"))
    row = connection.execute(
        f"SELECT {names} FROM entry ORDER BY number DESC LIMIT 1"
    ).fetchone()
    entry = dict(zip((*LEDGER_ENTRY_COLUMNS, "digest"), row, strict=True))
    connection.execute("DELETE FROM entry WHERE number = ?", (entry["number"],))
    entry["detail"] = canonical_json(change(json.loads(entry["detail"]))).decode()
    first, run = entry["number"], entry["run"]
    for more in range(times):
        entry |= {"number": first + more, "run": run if times == 1 else f"{run}{more}"}
        entry["digest"] = LedgerEntry(**(entry | {"digest": ""})).seal()
        connection.execute(
            f"INSERT INTO entry ({names}) VALUES ({', '.join('?' * len(entry))})",
            [*entry.values()],
        )
        entry["previous"] = entry["digest"]
    connection.execute(
        "UPDATE account SET entries = ?, head = ?", (first + times - 1, entry["digest"])
    )
    connection.execute(
        "UPDATE account SET (spent_epsilon, spent_delta) = (SELECT SUM(epsilon), SUM(delta) FROM entry)"
    )
