"""Who may read what the commands write: every command that writes a file, on a system
that would let everybody read and write it.
"""

from __future__ import annotations

from pathlib import Path

from kit.cli import Shell, write_people, write_schema
from kit.permissions import PRIVATE, PRIVATE_FOLDER, PUBLIC, PUBLIC_FOLDER, modes
from understudy.attacks.puzzle import census_block_text
from understudy.cli.root import understudy

SYNTHESIZE = (
    "synthesize",
    "people.csv",
    "--schema",
    "people.yaml",
    "--epsilon",
    1,
    "--synthesizer",
    "independent",
)

CENSUS = """\
columns: {sex: {type: categorical, values: [F, M]}, smoker: boolean}
census: {hierarchy: {columns: [sex]}}
"""

WRITERS: dict[tuple[object, ...], dict[str, int]] = {
    ("describe", "people.csv", "-o", "draft.yaml"): {"draft.yaml": PRIVATE},
    ("describe", "people.csv", "--public-domains", "-o", "domains.yaml"): {
        "domains.yaml": PRIVATE
    },
    ("schema", "convert", "people.yaml", "--to", "csvw", "-o", "people.json"): {
        "people.json": PRIVATE
    },
    (*SYNTHESIZE, "-o", "rows.csv", "--release", "r.understudy"): {
        "rows.csv": PUBLIC,
        "r.understudy": PUBLIC,
        "people.csv.ledger": PRIVATE,
    },
    ("sample", "r.understudy", "-n", 50, "-o", "more.parquet"): {
        "more.parquet": PUBLIC
    },
    ("sample", "r.understudy", "-n", 50, "--partition-rows", 50, "-o", "parts"): {
        "parts": PUBLIC_FOLDER,
        "parts/part-00000.parquet": PUBLIC,
    },
    (
        "evaluate",
        "people.csv",
        "rows.csv",
        "--schema",
        "people.yaml",
        "--no-risk",
        "-o",
        "report.html",
    ): {
        "report.html": PRIVATE,
        "report.json": PRIVATE,
    },
    ("evaluate", "--without-real", "--release", "r.understudy", "-o", "public.html"): {
        "public.html": PUBLIC,
        "public.json": PUBLIC,
    },
    ("signoff", "r.understudy", "rows.csv", "-o", "sheet.html"): {
        "sheet.html": PUBLIC,
        "sheet.json": PUBLIC,
    },
    (
        "mask",
        "people.csv",
        "--schema",
        "people.yaml",
        "--replace",
        "age",
        "--copies",
        1,
        "-o",
        "masked",
        "--risk-list",
        "risks.csv",
    ): {
        "risks.csv": PRIVATE,
        "masked": PRIVATE_FOLDER,
        "masked/copies.json": PRIVATE,
        "masked/copy-01.csv": PRIVATE,
    },
    ("local", "plan", "t", "--values", "a,b", "--epsilon", 1, "-o", "plan.json"): {
        "plan.json": PUBLIC
    },
    ("local", "donate", "plan.json", "a", "--account", "own.db"): {"own.db": PRIVATE},
    ("local", "collect", "plan.json", "plan.json", "-o", "counts.json"): {
        "counts.json": PUBLIC
    },
    (
        *("census", "people.csv", "--schema", "census.yaml", "--rho", 1),
        *("--ledger", "census.ledger", "-o", "census"),
    ): {
        "census.ledger": PRIVATE,
        "census": PUBLIC_FOLDER,
        "census/card.html": PUBLIC,
        "census/census.json": PUBLIC,
        "census/measurements.npz": PUBLIC,
        "census/persons.csv": PUBLIC,
        "census/table-nation-total.csv": PUBLIC,
        "census/table-nation-detail.csv": PUBLIC,
        "census/table-sex-total.csv": PUBLIC,
        "census/table-sex-detail.csv": PUBLIC,
    },
    ("explain", "r.understudy", "-o", "gains.svg"): {"gains.svg": PUBLIC},
    ("attack", "ages", "-o", "made.svg"): {"made.svg": PUBLIC},
    ("attack", "reconstruct", "block.yaml", "-o", "people-found.json"): {
        "people-found.json": PRIVATE
    },
    (
        "ask",
        "people.csv",
        "SELECT COUNT(*) FROM people",
        "--schema",
        "people.yaml",
        "--within",
        50,
        "--budget",
        1,
        "--ledger",
        "asked.ledger",
    ): {"asked.ledger": PRIVATE},
    (
        *("toolbox", "median", "people.csv", "age", "--schema", "people.yaml"),
        *("--epsilon", 1, "--budget", 1, "--ledger", "toolbox.ledger"),
    ): {"toolbox.ledger": PRIVATE},
    ("ledger", "init", "other.ledger", "--dataset", "other", "--epsilon", 1): {
        "other.ledger": PRIVATE
    },
    ("analyst", "add", "other.ledger", "ada", "--epsilon", 1): {
        "other.ledger.tokens": PRIVATE
    },
}
"""Every command that writes, in an order in which they can be run, and the modes of all
it leaves behind.
"""

WRITES_NOTHING = {
    "infer",
    "plan",
    "price",
    "card",
    "answer",
    "audit",
    "synthesizers",
    "doctor",
}
ELSEWHERE = {
    "demo",
    "serve",
    "studio",
}
"""test_demo.py, tests/server/test_app.py and tests/studio/test_job.py look at the modes
of what these write.
"""


def test_only_its_owner_can_read_what_holds_real_numbers(
    tmp_path: Path, shell: Shell, permissive: None
) -> None:
    write_people(tmp_path)
    write_schema(tmp_path)
    (tmp_path / "block.yaml").write_text(census_block_text())
    (tmp_path / "census.yaml").write_text(CENSUS)
    for words, expected in WRITERS.items():
        before = modes(tmp_path)
        done = shell(*words)
        assert done.code == 0, (words, done.err)
        after = modes(tmp_path)
        assert {
            name: mode for name, mode in after.items() if name not in before
        } == expected, words


def test_a_file_that_everybody_could_read_is_its_owners_once_real_numbers_are_in_it(
    tmp_path: Path, shell: Shell, permissive: None
) -> None:
    write_people(tmp_path)
    (tmp_path / "draft.yaml").write_text("old")
    assert modes(tmp_path)["draft.yaml"] == PUBLIC
    assert shell("describe", "people.csv", "-o", "draft.yaml", "--overwrite").code == 0
    assert modes(tmp_path)["draft.yaml"] == PRIVATE


def test_no_command_is_forgotten() -> None:
    assert {str(words[0]) for words in WRITERS} | WRITES_NOTHING | ELSEWHERE == set(
        understudy.commands
    )
