"""Whole runs that race for one account: the cap holds, whoever is first, and who comes
too late has read and written nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit.privacy.runs import OTHER, PLAIN, csv
from understudy.accounting.budget import Budget
from understudy.accounting.ledger import Ledger

RACER = """
import sys
import understudy as us
from understudy.workflow.synthesize import synthesize
folder, number = sys.argv[1:]
schema = us.Schema.load(f"{folder}/people.yaml")
print("ready", flush=True)
sys.stdin.readline()
try:
    release = synthesize(f"{folder}/people.csv", schema, epsilon="0.4", delta="1e-7", ledger=f"{folder}/people.ledger", seed=1)
except us.UnderstudyError as error:
    print("refused:", error)
else:
    release.write(f"{folder}/out{number}.csv", 10)
    print("released", release.statement.run)
"""


def race(folder: Path, racers: int) -> list[str]:
    """What each of so many processes ended with, all let go at once."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(folder), str(i)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for i in range(racers)
    ]
    for one in started:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n", one.communicate()[1]
    for one in started:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    ended = [one.communicate(timeout=600) for one in started]
    assert all(one.returncode == 0 for one in started), [err for _, err in ended]
    return [out.strip() for out, _ in ended]


def check(folder: Path, racers: int) -> None:
    """ε = 1 for runs of 0.4 each: two are answered, however many ask."""
    (folder / "people.csv").write_bytes(csv(*[PLAIN, OTHER] * 50))
    (folder / "people.yaml").write_text(
        "columns: {sex: {type: categorical, values: [F, M]}, smoker: boolean, remarks: {type: text}}\n"
    )
    Ledger.create(
        folder / "people.ledger", dataset="people", cap=Budget.of(1, "1e-6")
    ).close()
    told = race(folder, racers)
    released, refused = (
        [t for t in told if t.startswith(word)] for word in ("released", "refused")
    )
    assert (len(released), len(refused)) == (2, racers - 2)
    assert len(set(released)) == 2
    assert all("is left" in t and "Nothing was spent" in t for t in refused)
    assert len(list(folder.glob("out*.csv"))) == 2
    with Ledger.open(folder / "people.ledger") as ledger:
        totals = ledger.totals()
        kinds = [entry.kind for entry in ledger.entries()]
    assert (float(totals.epsilon), float(totals.delta), totals.runs) == (0.8, 2e-7, 2)
    assert (
        kinds.count("charge") == kinds.count("answer") > 0
    )  # every answer was charged, and nobody else's was


def test_two_of_four_runs_are_answered(tmp_path):
    check(tmp_path, 4)


@pytest.mark.slow
@pytest.mark.parametrize("round", range(5))
def test_two_of_twelve_runs_are_answered(round, tmp_path):
    check(tmp_path, 12)
