"""The whole way from a file to a file, and every way in which it should not be gone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.cli import CANARY, Shell, rows_of, spent


def test_with_a_schema(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    done = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        "-o",
        "out.csv",
        "--release",
        "out.understudy",
    )
    assert (done.code, done.out, done.err) == (0, "", "")
    rows = rows_of(tmp_path / "out.csv")
    assert list(rows[0]) == ["age", "sex", "smoker"]
    assert abs(len(rows) - 1_500) < 200
    assert {row["sex"] for row in rows} <= {"F", "M", ""}
    assert (tmp_path / "out.understudy").stat().st_size > 0
    assert spent(tmp_path / "people.csv.ledger") == 1.0


def test_rows_and_release_lie_beside_the_table_unless_told(
    shell: Shell, people: Path, schema: Path
) -> None:
    words = ("synthesize", people, "--schema", schema, "--epsilon", 1)
    assert shell(*words).code == 0
    assert rows_of(people.with_name("people-synthetic.csv"))
    release = people.with_name("people.understudy")
    paid = release.read_bytes()
    # Nobody named these files, so the next run does not write over them.
    people.with_name("people-synthetic.csv").unlink()
    done = shell(*words)
    assert (done.code, done.err) == (
        1,
        f"understudy: {release}: exists already. Name another file with -o. Nothing was"
        " spent.\n",
    )
    assert release.read_bytes() == paid
    assert spent(people.with_name("people.csv.ledger")) == 1.0


def test_without_a_schema_everything_is_learned(
    shell: Shell, people: Path, tmp_path: Path
) -> None:
    done = shell("synthesize", people, "--epsilon", 8, "-o", "out.csv", "--json")
    assert done.code == 0, done.err
    assert done.json["learned"]
    rows = rows_of(tmp_path / "out.csv")
    assert {"F", "M"} <= {row["sex"] for row in rows}
    assert CANARY not in (tmp_path / "out.csv").read_text()


def test_json_says_what_a_person_would_read(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    assert (
        shell("ledger", "init", "l.ledger", "--epsilon", 1, "--dataset", "people").code
        == 0
    )
    done = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        "0.5",
        "--ledger",
        "l.ledger",
        "-o",
        "out.csv",
        "--json",
    )
    assert done.code == 0, done.err
    told = done.json
    assert told["rows"] == len(rows_of(tmp_path / "out.csv"))
    assert told["guarantee"]["epsilon"] == 0.5
    assert told["guarantee"]["delta"] == 1e-9
    assert told["guarantee"]["sentence"].startswith("Private with ε = 0.5")
    assert told["ledger"]["spent"]["epsilon"] == 0.5
    assert sum(stage["share"] for stage in told["stages"]) == pytest.approx(1)
    assert told["public"]
    assert told["learned"] == ["the bins of age"]
    assert re.fullmatch(
        r"\d of 3 columns are good or usable; of 3 pairs .*[.]", told["card"]
    )


def test_numbers_whose_bounds_cannot_be_learned_are_said_to_be_lost(
    shell: Shell, tmp_path: Path
) -> None:
    """Noise alone is taken for a bound once in a thousand runs: never in all three
    columns (1e-9).
    """
    (tmp_path / "few.csv").write_text("a,b,c\n" + "30,40,50\n" * 5)
    (tmp_path / "few.yaml").write_text(
        "columns: {a: integer, b: integer, c: integer}\n"
    )
    words = (
        "--schema",
        "few.yaml",
        "--epsilon",
        "0.5",
        "--synthesizer",
        "independent",
        "-o",
        "out.csv",
        "--anyway",
        "--json",
    )
    done = shell("synthesize", "few.csv", *words)
    assert done.code == 0, done.err
    assert re.search(
        r"Nothing stood out of the noise in [abc, ]+: left empty\. Declare their values",
        done.json["warnings"][-1],
    )
    assert any("nothing stood out" in line for line in done.json["learned"])


def test_rows_and_seed(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    done = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        "--rows",
        77,
        "--seed",
        1,
        "-o",
        "out.parquet",
        "--json",
    )
    assert done.code == 0, done.err
    assert done.json["rows"] == 77


def test_a_second_run_pays_again(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    for total in (1.0, 2.0):
        assert (
            shell(
                "synthesize",
                people,
                "--schema",
                schema,
                "--epsilon",
                1,
                "-o",
                "out.csv",
            ).code
            == 0
        )
        assert spent(tmp_path / "people.csv.ledger") == total


def test_a_resumed_run_pays_nothing_and_gives_the_same(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    words = ("synthesize", people, "--schema", schema, "--epsilon", 1, "--seed", 5)
    first = shell(*words, "-o", "a.csv", "--json").json
    again = shell(*words, "-o", "b.csv", "--resume", first["run"], "--json")
    assert again.code == 0, again.err
    assert again.json["ledger"]["spent"]["epsilon"] == 1.0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_run_is_not_resumed_with_another_budget(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    words = (
        "synthesize",
        people,
        "--schema",
        schema,
        "-o",
        "a.csv",
        "--json",
        "--epsilon",
    )
    run = shell(*words, 1).json["run"]
    for budget in ((2,), (1, "--delta", "1e-6")):
        done = shell(*words, *budget, "--resume", run)
        assert done.code == 1
        assert (
            f"Run {run} was begun with ε = 1.00, δ = 1e-9: take it up with these. Nothing was spent."
            in done.err
        )
    done = shell(*words, 1, "--accounting", "zcdp", "--resume", run)
    assert done.code == 1
    assert (
        f"Run {run} uses gdp accounting: resume it without --accounting, or with this one. Nothing was spent."
        in done.err
    )
    assert (
        shell(*words, 1, "--delta", "1e-9", "--accounting", "gdp", "--resume", run).code
        == 0
    )
    assert spent(tmp_path / "people.csv.ledger") == 1.0


def test_random_needs_no_rows_and_no_ledger(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    words = (
        "--synthesizer",
        "random",
        "--epsilon",
        1,
        "--rows",
        10,
        "-o",
        "out.csv",
        "--json",
    )
    done = shell("synthesize", people, "--schema", schema, *words)
    assert done.code == 0, done.err
    assert done.json["ledger"] is None
    assert (
        done.json["card"] is None
    )  # nothing was measured, so nothing is known of how good it is
    assert done.json["guarantee"]["sentence"].startswith("No data used")
    assert not (tmp_path / "people.csv.ledger").exists()


@pytest.mark.parametrize(
    "words",
    [
        "--neighbours replace",
        "--delta 0",
        "--accounting pure --delta 1e-6",
        "--accounting zcdp",
        "--neighbours replace --accounting zcdp",
        "--synthesizer histogram",
        "--synthesizer histogram --delta 0 --neighbours replace",
        "--synthesizer stability",
        "--epsilon 1/3",
    ],
)
def test_every_way_of_paying_gives_rows(
    shell: Shell, people: Path, schema: Path, tmp_path: Path, words: str
) -> None:
    done = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        *words.split(),
        "-o",
        "out.csv",
        "--json",
    )
    assert done.code == 0, done.err
    assert done.json["rows"] == len(rows_of(tmp_path / "out.csv"))
    assert done.json["ledger"]["spent"]["epsilon"] == pytest.approx(
        1 / 3 if "1/3" in words else 1
    )
    assert done.json["exact"] == (["the number of rows"] if "replace" in words else [])
    if "replace" in words and "histogram" not in words:
        assert done.json["rows"] == 1_500


BAD_BUDGETS = [("--epsilon", bad) for bad in ("0", "-1", "nan", "inf", "x", "")] + [
    ("--delta", bad) for bad in ("-1", "1", "2", "nan", "x")
]


@pytest.mark.parametrize(("option", "value"), BAD_BUDGETS)
def test_a_budget_that_is_none_costs_nothing(
    shell: Shell, people: Path, schema: Path, tmp_path: Path, option: str, value: str
) -> None:
    budget = {"--epsilon": "1", "--delta": "1e-9", option: value}
    done = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        *(w for pair in budget.items() for w in pair),
        "-o",
        "out.csv",
    )
    assert done.code == 1
    assert done.err.startswith(
        f"understudy: {'ε' if option == '--epsilon' else 'δ'} must be"
    )
    assert done.err.rstrip().endswith("Nothing was spent.")
    nothing_happened(tmp_path)


def nothing_happened(folder: Path) -> None:
    assert spent(folder / "people.csv.ledger") == 0
    assert not (folder / "out.csv").exists()
    assert not list(folder.glob(".*partial"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["missing.csv"], "no such file"),
        (["."], "two names in this folder are one file"),
        (["folder"], "there is no CSV or Parquet file"),
        (["parts", "-o", "parts/out.csv"], "lies in the folder that is read"),
        (["parts/*.csv", "-o", "parts/out.csv"], "lies in the folder that is read"),
        (["people.csv", "--schema", "missing.yaml"], "missing.yaml"),
        (["people.csv", "--synthesizer", "magic"], "no synthesizer"),
        (["people.csv", "-o", "out.xlsx"], ".csv or .parquet"),
        (["people.csv", "-o", "nowhere/out.csv"], "no directory"),
        (["people.csv", "-o", "people.csv"], "Name another"),
        (["people.csv", "-o", "alias.csv"], "Name another"),
        (["people.csv", "--release", "out.csv"], "Name another"),
        (["people.csv", "--delta", "0"], "δ = 0"),
        (["people.csv", "--resume", "nobody"], "no run"),
    ],
)
def test_what_cannot_work_costs_nothing(
    shell: Shell, people: Path, tmp_path: Path, change: list[str], message: str
) -> None:
    before = people.read_bytes()
    (tmp_path / "alias.csv").symlink_to(people)
    (tmp_path / "folder").mkdir()
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "people.csv").write_bytes(before)
    output = [] if "-o" in change else ["-o", "out.csv"]
    done = shell("synthesize", "--epsilon", 1, *output, *change)
    assert done.code == 1
    assert message in done.err
    assert people.read_bytes() == before
    nothing_happened(tmp_path)


def test_names_that_parquet_cannot_tell_apart_cost_nothing(
    shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "cases.csv").write_text("Age,age\n1,2\n" * 50)
    done = shell("synthesize", "cases.csv", "--epsilon", 1, "-o", "out.parquet")
    assert done.code == 1
    # Without a schema the header line may be a row, so no name is shown.
    assert "out.parquet: the names of two columns differ only in case" in done.err
    assert "Nothing was spent" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cases.csv"]
    (tmp_path / "one.yaml").write_text(
        "columns:\n  Age: {type: integer, min: 0, max: 9}\n  age: identifier\n"
    )
    done = shell(
        "synthesize",
        "cases.csv",
        "--schema",
        "one.yaml",
        "--epsilon",
        1,
        "-o",
        "out.parquet",
    )
    assert done.code == 0, done.err


def test_a_schema_error_names_the_line(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    schema.write_text(
        schema.read_text().replace("min: 18, max: 90", "min: 90, max: 18")
    )
    done = shell(
        "synthesize", people, "--schema", schema, "--epsilon", 1, "-o", "out.csv"
    )
    assert done.code == 1
    assert "people.yaml:2" in done.err
    assert "age" in done.err
    nothing_happened(tmp_path)


def test_a_column_that_is_not_there_costs_nothing(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    schema.write_text(
        schema.read_text() + "  height: {type: integer, min: 0, max: 250}\n"
    )
    done = shell(
        "synthesize", people, "--schema", schema, "--epsilon", 1, "-o", "out.csv"
    )
    assert done.code == 1
    assert "height" in done.err
    nothing_happened(tmp_path)


def test_a_cap_holds(shell: Shell, people: Path, schema: Path, tmp_path: Path) -> None:
    assert (
        shell("ledger", "init", "l.ledger", "--epsilon", 1, "--dataset", "people").code
        == 0
    )
    words = (
        "synthesize",
        people,
        "--schema",
        schema,
        "--ledger",
        "l.ledger",
        "-o",
        "out.csv",
    )
    assert shell(*words, "--epsilon", "0.8").code == 0
    (tmp_path / "out.csv").unlink()
    done = shell(*words, "--epsilon", "0.5")
    assert done.code == 1
    assert (
        done.err
        == "understudy: This run would cost ε = 0.50 and only 0.20 of 1.00 is left in l.ledger. Nothing was spent.\n"
    )
    assert spent(tmp_path / "l.ledger") == 0.8
    assert not (tmp_path / "out.csv").exists()


def test_a_paid_run_whose_file_cannot_be_written_says_how_to_go_on(
    shell: Shell,
    people: Path,
    schema: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from understudy.errors import ReleaseError
    from understudy.releases import Release

    def full(*_: object, **__: object) -> int:
        raise ReleaseError("out.csv: No space left on device. Nothing was written.")

    monkeypatch.setattr(Release, "write", full)
    done = shell(
        "synthesize", people, "--schema", schema, "--epsilon", 1, "-o", "out.csv"
    )
    assert done.code == 1
    assert "stays spent" in done.err
    assert "--resume" in done.err


DRIVER = "import sys; from understudy.cli.root import run; print('ready', flush=True); sys.exit(run())"
"""The command, and a word when it is about to begin."""


def started(_: Path) -> bool:
    time.sleep(0.2)
    return True


def charged(folder: Path) -> bool:
    return spent(folder / "many.csv.ledger") > 0


def writing(folder: Path) -> bool:
    return any(folder.glob(".out.csv*.partial"))


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        (started, signal.SIGINT),
        (charged, signal.SIGINT),
        (writing, signal.SIGINT),
        (writing, signal.SIGTERM),
    ],
)
def test_an_interrupt_leaves_no_half_written_file(
    shell: Shell,
    people: Path,
    schema: Path,
    tmp_path: Path,
    moment: Callable[[Path], bool],
    number: signal.Signals,
) -> None:
    """A real process, a real signal; what is said about the account is what the account
    says.
    """
    many = tmp_path / "many.csv"
    head, *rows = people.read_text().splitlines()
    many.write_text("\n".join([head, *(rows * 120)]) + "\n")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = {p.name for p in tmp_path.iterdir()}
    words = [
        "synthesize",
        "many.csv",
        "--epsilon",
        "1",
        "--schema",
        str(schema),
        "-o",
        "out.csv",
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *words, "--rows", "2000000"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    end = time.monotonic() + 300
    while not moment(tmp_path) and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 128 + number, (out, err)
    assert out == ""
    assert err.startswith("understudy: interrupted.")
    assert err.count("\n") == 1
    assert CANARY not in err
    assert ("stays spent" in err) == charged(tmp_path)
    assert ("Nothing was spent" in err) == (not charged(tmp_path))
    left = {p.name for p in tmp_path.iterdir()} - before
    assert "out.csv" not in left
    assert not [name for name in left if name.endswith(".partial")]
    assert not list(scratch.iterdir()), "a private directory was left behind"
    offered = re.search(r"--resume (\w+)", err)
    assert (offered is not None) == charged(tmp_path)
    if offered:
        done = shell(*words, "--rows", 10, "--resume", offered[1], "--json")
        assert done.code == 0, done.err
        assert done.json["ledger"]["spent"]["epsilon"] == 1.0


SLOW = f"""
import sys
from understudy.accounting.run import LedgerRun

charge = LedgerRun.charge

def slowly(run, step, cost, digest):
    charge(run, step, cost, digest)
    print("charged", flush=True)
    sys.stdin.readline()

LedgerRun.charge = slowly
{DRIVER}
"""
"""The command, with a word after every charge and a wait for one before its draw."""


@pytest.mark.parametrize(
    ("step", "number"),
    [
        (1, signal.SIGINT),
        (1, signal.SIGTERM),
        (3, signal.SIGINT),
        (4, signal.SIGTERM),
        (2, signal.SIGKILL),
    ],
)
def test_between_paying_and_answering_an_interrupt_waits_and_a_kill_is_told(
    shell: Shell, people: Path, step: int, number: signal.Signals
) -> None:
    words = [
        "synthesize",
        people.name,
        "--epsilon",
        "1",
        "--synthesizer",
        "independent",
        "-o",
        "out.csv",
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, *words],
        cwd=people.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    for left in reversed(range(step)):
        assert process.stdout.readline() == "charged\n"
        if left:
            print(file=process.stdin, flush=True)
    process.send_signal(number)
    _, err = process.communicate(
        None if number is signal.SIGKILL else "\n" * 99, timeout=300
    )
    shown = shell("ledger", "show", "people.csv.ledger").out
    runs = shell("ledger", "show", "people.csv.ledger", "--json").json["runs"]
    # The rows are counted first, by a run of its own.
    run = runs[-1]
    name = run["run"].removesuffix("-rows")
    again = shell(*words, "--resume", name, "--json")
    if number is signal.SIGKILL:
        assert process.returncode == -number
        assert not run["resumable"]
        assert "not finished: cut off between paying and answering" in shown
        assert "--resume" not in shown
        assert again.code == 1
    else:
        assert process.returncode == 128 + number, err
        assert err.count("\n") == 1
        assert f"--resume {name} takes it up at no new cost" in err
        assert run["resumable"]
        assert "not finished: --resume takes it up at no new cost" in shown
        assert again.code == 0, again.err
    assert spent(people.parent / "people.csv.ledger") == 1.0


def test_columns_that_take_no_part_are_named(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(
        "patient_id,email,age,visits\n" + "".join(f"{i},m{i},3,4\n" for i in range(60))
    )
    (tmp_path / "p.yaml").write_text(
        "columns: {patient_id: identifier, email: {type: text}, age: {type: integer, min: 0, max: 9}}"
    )
    words = (
        "synthesize",
        "p.csv",
        "--epsilon",
        4,
        "--synthesizer",
        "independent",
        "-o",
        "out.csv",
        "--anyway",
        "--json",
    )
    told = shell(*words).json
    assert told["left_out"] == [
        "Left out: patient_id, email (identifiers by their names)."
    ]
    assert told["public"] == [
        "the names and order of 4 columns"
    ]  # nothing was declared
    told = shell(*words, "--schema", "p.yaml").json
    assert told["left_out"] == [
        "Left out: patient_id, email (by the schema); visits (not in the schema)."
    ]


def test_a_ledger_that_is_not_there_is_refused(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    """A mistyped name must not become a new account without a cap."""
    assert shell("ledger", "init", "people.ledger", "--epsilon", 1).code == 0
    done = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        9,
        "--ledger",
        "poeple.ledger",
        "-o",
        "out.csv",
    )
    assert done.code == 1
    assert done.err == (
        "understudy: poeple.ledger: there is no such ledger. Check its name, or open it first:"
        " understudy ledger init poeple.ledger --epsilon E. Nothing was spent.\n"
    )
    assert sorted(p.name for p in tmp_path.glob("*.ledger")) == ["people.ledger"]
    assert not (tmp_path / "out.csv").exists()


def test_another_ledger_beside_the_file_is_named_before_one_without_a_cap_is_made(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    """Somebody who opened an account with a cap under another name would otherwise
    spend past it.
    """
    (tmp_path / "others.csv").touch()
    for name in ("mine.ledger", "others.csv.ledger"):
        assert shell("ledger", "init", name, "--epsilon", 1).code == 0
    words = (
        "synthesize",
        people.name,
        "--schema",
        schema,
        "--epsilon",
        1,
        "--synthesizer",
        "independent",
        "-o",
        "out.csv",
    )
    line = "Another ledger lies beside this file: mine.ledger (--ledger mine.ledger spends from it)."
    assert line in shell(*words, "--json").json["warnings"]
    assert (
        line not in shell(*words, "--json").json["warnings"]
    )  # the account is there now


def test_an_account_that_was_opened_for_a_file_is_its_account_whatever_the_dataset_is_called(
    shell: Shell, people: Path, schema: Path
) -> None:
    assert (
        shell(
            "ledger",
            "init",
            f"{people.name}.ledger",
            "--epsilon",
            1,
            "--dataset",
            "survey",
        ).code
        == 0
    )
    words = (
        "synthesize",
        people.name,
        "--schema",
        schema,
        "--epsilon",
        1,
        "--synthesizer",
        "independent",
    )
    assert shell(*words, "-o", "out.csv").code == 0
    assert "is left in" in shell(*words, "-o", "again.csv").err


ODDLY = {
    "semicolons": ("city,note;town,age\n" + "Oslo;3\n" * 30, ("--delimiter", ";")),
    "tabs": ("city,note\tage\n" + "Oslo\t3\n" * 30, ("--delimiter", "tab")),
    "letters": (
        "city,age\nZürich,3\n".encode("latin-1") * 30,
        ("--encoding", "latin-1"),
    ),
    "lines": ('city,age\n"Os\nlo",3\n' * 30, ("--multiline",)),
}


@pytest.mark.parametrize("kind", ODDLY)
def test_a_file_that_is_not_as_most_are_can_be_described_and_synthesized(
    kind: str, shell: Shell, tmp_path: Path
) -> None:
    content, options = ODDLY[kind]
    (tmp_path / "odd.csv").write_bytes(
        content if isinstance(content, bytes) else content.encode()
    )
    drafted = shell(
        "describe", "odd.csv", "--public-domains", *options, "-o", "odd.yaml", "--json"
    )
    assert (drafted.code, len(drafted.json["columns"])) == (0, 2)
    words = {"letters": "Zürich", "lines": "Os\\nlo"}
    assert words.get(kind, "Oslo") in (tmp_path / "odd.yaml").read_text()
    done = shell(
        "synthesize",
        "odd.csv",
        "--schema",
        "odd.yaml",
        "--epsilon",
        5,
        *options,
        "-o",
        "out.csv",
        "--json",
    )
    assert (done.code, done.err) == (0, "")
    words = ("--schema", "odd.yaml", *options, "--json")
    looked = shell(
        "evaluate", "odd.csv", "out.csv", "--no-risk", "--holdout", "odd.csv", *words
    )
    assert (looked.code, looked.json["left_out"]) == (0, []), looked.err
    audited = shell(
        "audit",
        "odd.csv",
        "--epsilon",
        1,
        "--runs",
        100,
        "--canaries",
        20,
        "--synthesizer",
        "independent",
        *words,
    )
    assert audited.code == 0, audited.err


def test_how_a_csv_file_is_read_goes_with_no_other_file(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    import duckdb

    duckdb.sql("SELECT 1 AS a").write_parquet(str(tmp_path / "t.parquet"))
    done = shell("describe", "t.parquet", "--multiline", "-o", "t.yaml")
    assert done.code == 1
    assert "t.parquet: is no CSV file" in done.err
    wrong = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        "--encoding",
        "klingon",
        "-o",
        "out.csv",
    )
    assert wrong.code == 1
    assert '"klingon" is no known encoding' in wrong.err


@pytest.mark.parametrize("name", ["iso-2022-jp", "utf-7", "hz", "base64"])
def test_an_encoding_that_runs_lines_together_is_refused_in_one_line(
    shell: Shell, people: Path, schema: Path, tmp_path: Path, name: str
) -> None:
    for words in (("synthesize", "--schema", schema, "--epsilon", 1), ("describe",)):
        done = shell(*words, people, "--encoding", name, "-o", "out.csv")
        assert done.code == 1
        assert (
            f'"{name}" is no encoding in which each line can be read by itself. Convert the file to UTF-8'
            in done.err
        )
        assert not (tmp_path / "out.csv").exists()
        assert not [*tmp_path.glob("*.ledger")]


def test_a_workload_and_a_public_table_are_taken_and_written_down(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    shell("synthesize", people, "--schema", schema, "--epsilon", 1, "-o", "earlier.csv")
    words = (
        "--workload",
        "label=smoker",
        "--workload",
        "ranges=age*2",
        "--public",
        "earlier.csv",
    )
    done = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        *words,
        "-o",
        "out.csv",
        "--json",
    )
    assert done.code == 0, done.err
    assert done.json["options"]["workload"] == "label=smoker; ranges=age*2"
    assert any(
        "earlier.csv, used as a prior for age, sex, smoker" in line
        for line in done.json["public"]
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--workload", "everything"), "A workload is triples"),
        (("--workload", "label=nobody"), "takes no part"),
        (("--public", "nowhere.csv"), "there is no such file"),
    ],
)
def test_a_target_or_prior_that_cannot_be_is_refused_before_it_costs(
    shell: Shell,
    people: Path,
    schema: Path,
    tmp_path: Path,
    words: tuple[str, str],
    message: str,
) -> None:
    done = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        *words,
        "-o",
        "out.csv",
    )
    assert done.code == 1
    assert message in done.err
    assert "Nothing was spent" in done.err
    assert not (tmp_path / "people.csv.ledger").exists()


@pytest.mark.parametrize(
    "words", [("--delta", "0"), ("--accounting", "zcdp"), ("--neighbours", "replace")]
)
def test_the_default_works_in_every_accounting(
    shell: Shell, people: Path, schema: Path, tmp_path: Path, words: tuple[str, str]
) -> None:
    done = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        *words,
        "-o",
        "out.csv",
        "--json",
    )
    assert done.code == 0, done.err
    assert done.json["synthesizer"] == "adaptive"
    assert abs(len(rows_of(tmp_path / "out.csv")) - 1_500) < 200


def test_more_rows_than_any_disk_holds_cost_nothing(
    shell: Shell, people: Path, schema: Path, tmp_path: Path
) -> None:
    done = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        "-o",
        "out.csv",
        "--rows",
        10**20,
    )
    assert done.code == 1
    assert (
        done.err
        == "understudy: At most 1,000,000,000,000 rows are sampled at once. Nothing was sampled.\n"
    )
    assert not list(tmp_path.glob("*.ledger"))


def test_a_schema_declares_the_keys_of_json_lines(
    shell: Shell, schema: Path, tmp_path: Path
) -> None:
    line = '{"age": 31, "sex": "F", "smoker": true, "note": "x"}\n'
    (tmp_path / "t.jsonl").write_text(line * 60)
    words = ("synthesize", "t.jsonl", "--epsilon", 1, "-o", "out.csv")
    done = shell(*words)
    assert (done.code, "say --schema" in done.err) == (1, True)
    done = shell(*words, "--schema", schema)
    assert done.code == 0, done.err
