"""The file survives crowds, kills, forks and power cuts; what is no ledger is refused."""

import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from understudy.accounting import ledgerfile
from understudy.accounting.budget import Budget
from understudy.accounting.ledger import Ledger
from understudy.errors import BudgetExceeded, LedgerError

HERE = Path(__file__).parent
UNIT = Fraction(1, 10**9)


def program(name, *arguments):
    """Run one of the programs beside this file in a clean interpreter and read what it found."""
    done = subprocess.run(
        [sys.executable, HERE / name, *map(str, arguments)], capture_output=True, text=True, check=True, timeout=300
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("most", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_sixty_four_processes_spend_ten_thousand_units_and_not_one_more(tmp_path, most):
    path = tmp_path / "crowd.ledger"
    Ledger.create(path, dataset="crowd", cap=Budget(10_000 * UNIT, Fraction(0))).close()
    found = program("crowd.py", path, 64, most)
    assert found["codes"] == [0] * 64
    with Ledger.open(path) as ledger:
        logged = sum(entry.epsilon for entry in ledger.entries())
        assert sum(found["given"]) == logged == ledger.totals().epsilon / UNIT == 10_000
        assert sum(1 for given in found["given"] if given) > 32  # it was a crowd, not a queue of one


def test_the_crowd_catches_a_ledger_that_looks_first_and_pays_later(tmp_path):
    path = tmp_path / "crowd.ledger"
    Ledger.create(path, dataset="crowd").close()
    assert sum(program("crowd.py", path, 16, 3, 1000)["given"]) > 1000


def test_two_hundred_kills_leave_no_unpaid_answer(tmp_path):
    found = program("killed.py", tmp_path, 200, "honest", "SIGKILL")
    assert found["answers"] > 100  # most children answered before they were killed, however slow the disk
    assert found["unpaid"] == found["changed"] == found["lost"] == 0
    assert found["replayed"] == found["answers"]
    assert found["paid_not_answered"] > 0  # the kills did land between a charge and its answer


@pytest.mark.slow
def test_a_thousand_kills_leave_no_unpaid_answer(tmp_path):
    found = program("killed.py", tmp_path, 1000, "honest", "SIGKILL")
    assert found["unpaid"] == found["changed"] == found["lost"] == 0
    assert found["answers"] > 500


def test_the_kill_loop_catches_a_charge_that_comes_after_the_answer(tmp_path):
    assert program("killed.py", tmp_path, 60, "mutant", "SIGKILL")["unpaid"] > 0


def test_interrupts_leave_no_unpaid_answer(tmp_path):
    found = program("killed.py", tmp_path, 40, "honest", "SIGINT")
    assert found["answers"] > 20
    assert found["unpaid"] == found["changed"] == found["lost"] == 0


def test_threads_share_a_ledger(tmp_path):
    with Ledger.create(tmp_path / "a.ledger", dataset="a", cap=Budget(100 * UNIT, Fraction(0))) as ledger:
        given = []

        def spend():
            for _ in range(30):
                try:
                    ledger.reserve(Budget(UNIT, Fraction(0)), event="x")
                    given.append(1)
                except BudgetExceeded:
                    return

        threads = [threading.Thread(target=spend) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(given) == 100 == ledger.totals().epsilon / UNIT
        ledger.verify()


FORKED = """
import os, sys
from fractions import Fraction
from understudy.accounting.budget import Budget
from understudy.accounting.ledger import Ledger

one = Budget(Fraction(1, 10**9), Fraction(0))
with Ledger.create(sys.argv[1], dataset="a") as ledger:
    ledger.reserve(one, event="before")
    children = []
    for _ in range(5):
        child = os.fork()
        if child == 0:
            for _ in range(20):
                ledger.reserve(one, event="child")
            ledger.close()
            os._exit(0)
        children.append(child)
    for _ in range(20):
        ledger.reserve(one, event="parent")
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    ledger.reserve(one, event="after")
    ledger.verify()
    assert ledger.totals().runs == 122
"""


def test_a_fork_gets_a_connection_of_its_own(tmp_path):
    subprocess.run([sys.executable, "-c", FORKED, tmp_path / "a.ledger"], check=True, timeout=60)


def test_making_a_ledger_is_all_or_nothing_for_many_processes_at_once(tmp_path):
    script = (
        "import sys; from understudy.accounting.ledger import Ledger; "
        "Ledger.open_or_create(sys.argv[1], dataset='a').note('here', 'x')"
    )
    crowd = [subprocess.Popen([sys.executable, "-c", script, tmp_path / "a.ledger"]) for _ in range(6)]
    assert [process.wait(60) for process in crowd] == [0] * 6
    with Ledger.open(tmp_path / "a.ledger") as ledger:
        assert ledger.totals().entries == 7
    assert [file.name for file in tmp_path.iterdir()] == ["a.ledger"]


def test_a_disk_without_hard_links_holds_a_ledger_too(tmp_path, monkeypatch):
    def unsupported(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(ledgerfile.os, "link", unsupported)
    with Ledger.create(tmp_path / "a.ledger", dataset="a") as ledger:
        ledger.verify()
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(tmp_path / "a.ledger", dataset="a")
    assert [file.name for file in tmp_path.iterdir()] == ["a.ledger"]


@pytest.mark.parametrize(
    "content", [b"", b"id,age\n1,34\n", os.urandom(5000), b"SQLite format 3\0" + bytes(4000)], ids=range(4)
)
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(
        LedgerError, match=r"people\.csv (is not a ledger|is damaged|could not).*Nothing was spent\."
    ) as refusal:
        Ledger.open(path)
    assert "\n" not in str(refusal.value)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_another_database_is_refused(tmp_path):
    file = sqlite3.connect(tmp_path / "other.db")
    file.execute("CREATE TABLE account (x)")
    file.close()
    with pytest.raises(LedgerError, match="is not a ledger"):
        Ledger.open(tmp_path / "other.db")


def test_a_later_format_is_refused(tmp_path):
    path = tmp_path / "a.ledger"
    Ledger.create(path, dataset="a").close()
    file = sqlite3.connect(path)
    file.execute("PRAGMA user_version=2")
    file.close()
    with pytest.raises(LedgerError, match=r"later version \(format 2, this one reads 1\): update Understudy"):
        Ledger.open(path)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(LedgerError, match=r"a\.ledger does not exist: make it with `understudy ledger init`"):
        Ledger.open(tmp_path / "a.ledger")
    with pytest.raises(LedgerError, match="is not a file"):
        Ledger.open(tmp_path)
    with pytest.raises(LedgerError, match="its folder does not exist"):
        Ledger.create(tmp_path / "nowhere" / "a.ledger", dataset="a")
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_held_by_somebody_else_is_waited_for_and_then_named(tmp_path, monkeypatch):
    path = tmp_path / "a.ledger"
    Ledger.create(path, dataset="a").close()
    monkeypatch.setattr(ledgerfile, "PATIENCE", 0.05)
    with Ledger.open(path) as ledger:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="held by another process"):
            ledger.note("x", "y")
        holder.execute("ROLLBACK")
        holder.close()
        ledger.note("x", "y")


def spend_and_raise(ledger, error):
    with ledger._file.writing() as connection:
        ledgerfile.append(connection, kind="note", event="x", detail={}, epsilon=5)
        raise error


def test_an_error_inside_a_transaction_undoes_it(tmp_path):
    with Ledger.create(tmp_path / "a.ledger", dataset="a") as ledger:
        for error in (RuntimeError, KeyboardInterrupt):
            with pytest.raises(error):
                spend_and_raise(ledger, error)
        assert ledger.totals().entries == 1
        assert ledger.totals().epsilon == 0


def test_the_table_itself_refuses_to_overspend(tmp_path):
    """Should every check above it fail, the database still says no."""
    with Ledger.create(tmp_path / "a.ledger", dataset="a", cap=Budget(5 * UNIT, Fraction(0))) as ledger:
        with pytest.raises(BudgetExceeded, match="does not fit the account"), ledger._file.writing() as connection:
            ledgerfile.append(connection, kind="reserve", event="x", detail={}, epsilon=6)
        ledger.verify()


def acknowledged(path, spends):
    """Spend one unit at a time on an open ledger; how long the log was when each spend was acknowledged."""
    log, sizes = Path(f"{path}-wal"), []
    ledger = Ledger.create(path, dataset="a")
    for _ in range(spends):
        ledger.reserve(Budget(UNIT, Fraction(0)), event="x")
        sizes.append(log.stat().st_size)
    return ledger, sizes


@pytest.mark.parametrize("trials", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_a_power_cut_never_loses_an_acknowledged_spend(tmp_path, trials):
    """What a disk may hold after a cut: the file and its log, the log cut or torn anywhere past the last acknowledged commit."""
    chance = random.Random(13)
    ledger, sizes = acknowledged(tmp_path / "a.ledger", 30)
    whole, log = (tmp_path / "a.ledger").read_bytes(), (tmp_path / "a.ledger-wal").read_bytes()
    ledger.close()
    for trial in range(trials):
        cut = chance.randrange(len(log) + 1)
        after = tmp_path / f"{trial}.ledger"
        after.write_bytes(whole)
        tail = bytes(chance.randbytes(min(len(log) - cut, chance.randrange(5000)))) if trial % 2 else b""
        Path(f"{after}-wal").write_bytes(log[:cut] + tail)
        sure = sum(1 for size in sizes if size <= cut)
        with Ledger.open(after) as found:  # opens, and every digest and total follows
            assert found.totals().epsilon / UNIT >= sure
        for left in tmp_path.glob(f"{trial}.ledger*"):
            left.unlink()


@pytest.mark.slow
def test_a_power_cut_while_the_log_is_moved_into_the_file(tmp_path):
    """A checkpoint writes pages in any order after the log is on the disk; with the log, any half of them is enough."""
    chance = random.Random(15)
    ledger, sizes = acknowledged(tmp_path / "a.ledger", 30)
    before, log = (tmp_path / "a.ledger").read_bytes(), (tmp_path / "a.ledger-wal").read_bytes()
    ledger.close()
    after = (tmp_path / "a.ledger").read_bytes()
    page = 4096
    for trial in range(300):
        torn = bytearray(before.ljust(len(after), b"\0"))
        for start in range(0, len(after), page):
            if chance.random() < 0.5:
                torn[start : start + page] = after[start : start + page]
        path = tmp_path / f"{trial}.ledger"
        path.write_bytes(torn)
        Path(f"{path}-wal").write_bytes(log)
        with Ledger.open(path) as found:
            assert found.totals().epsilon / UNIT == len(sizes)
        for left in tmp_path.glob(f"{trial}.ledger*"):
            left.unlink()
