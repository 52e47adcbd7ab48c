"""The file survives crowds, kills, forks and power cuts; what is no ledger is refused."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from understudy.accounting.budget import Budget
from understudy.accounting.ledger import Ledger
from understudy.accounting.ledger_files import database, tables
from understudy.accounting.questions.question_run import open_questions
from understudy.errors import BudgetExceeded, LedgerError

TESTS = Path(__file__).resolve().parents[2]
UNIT = Fraction(1, 10**9)


def program(name, *arguments):
    """Run one of the programs of `kit.accounting` in a clean interpreter and read what
    it found.
    """
    words = [sys.executable, "-m", f"kit.accounting.{name}", *map(str, arguments)]
    done = subprocess.run(
        words, cwd=TESTS, capture_output=True, text=True, check=True, timeout=300
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("most", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_sixty_four_processes_spend_ten_thousand_units_and_not_one_more(scratch, most):
    path = scratch / "crowd.ledger"
    Ledger.create(path, dataset="crowd", cap=Budget(10_000 * UNIT, Fraction(0))).close()
    (scratch / "elsewhere").mkdir()
    alias = scratch / "elsewhere" / "link.ledger"
    alias.symlink_to(path)
    found = program("crowd", f"{path}:{alias}", 64, most)
    assert found["codes"] == [0] * 64
    with Ledger.open(path) as ledger:
        logged = sum(entry.epsilon for entry in ledger.entries())
        assert sum(found["given"]) == logged == ledger.totals().epsilon / UNIT == 10_000
        # It was a crowd and not a queue: the ledger changed hands time and again (about
        # 500 times; how many processes came to their turn depends on the machine).
        spenders = [entry.analyst for entry in ledger.entries()]
        handovers = sum(one != next_one for one, next_one in pairwise(spenders))
        assert handovers > 64


def test_the_crowd_catches_a_ledger_that_looks_first_and_pays_later(scratch):
    path = scratch / "crowd.ledger"
    Ledger.create(path, dataset="crowd").close()
    assert sum(program("crowd", path, 16, 3, 1000)["given"]) > 1000


def crowd_of_analysts(scratch, people, units, limit, honest):
    """What each of eight analysts was answered in one run of so many units."""
    path = scratch / "analysts.ledger"
    with Ledger.create(path, dataset="crowd") as ledger:
        open_questions(ledger, Budget(units * UNIT, Fraction(0)))
        for analyst in range(8):
            ledger.grant(Budget(limit * UNIT, Fraction(0)), analyst=f"a{analyst}")
    found = program("analysts", path, people, 8, "honest" if honest else "mutant")
    assert found["codes"] == [0] * people
    return path, found["given"]


def test_sixty_four_spenders_stay_within_their_run_and_their_limits(scratch):
    path, given = crowd_of_analysts(scratch, 64, units=600, limit=90, honest=True)
    assert sum(given.values()) == 600
    assert max(given.values()) <= 90
    with Ledger.open(path) as ledger:
        assert ledger.resume("questions").filter.amount_left == 0
        for one in ledger.statements()[1:]:
            assert one.epsilon == given[one.analyst] * UNIT


def test_limits_bind_where_the_run_has_room(scratch):
    _, given = crowd_of_analysts(scratch, 16, units=600, limit=20, honest=True)
    assert set(given.values()) == {20}


def test_the_crowd_catches_a_limit_that_is_looked_at_first(scratch):
    _, given = crowd_of_analysts(scratch, 16, units=600, limit=10, honest=False)
    assert max(given.values()) > 10


def test_kills_in_a_shared_run_leave_no_unpaid_answer(scratch):
    found = program("killed", scratch, 36, "honest", "questions")
    assert found["answers"] > 18
    assert found["unpaid"] == found["changed"] == 0
    assert found["paid_not_answered"] > 0


def test_the_shared_kill_loop_catches_an_answer_before_its_charge(scratch):
    assert program("killed", scratch, 16, "mutant", "questions")["unpaid"] > 0


def test_two_hundred_kills_leave_no_unpaid_answer(scratch):
    found = program("killed", scratch, 200, "honest", "SIGKILL")
    assert (
        found["answers"] > 100
    )  # most children answered before they were killed, however slow the disk
    assert (
        found["unpaid"] == found["changed"] == found["lost"] == found["forgotten"] == 0
    )
    assert (
        found["copies"] > 300
    )  # of 400; the others were taken in the middle of an entry, and refused
    assert found["replayed"] == found["answers"]
    assert (
        found["paid_not_answered"] > 0
    )  # the kills did land between a charge and its answer


@pytest.mark.slow
def test_a_thousand_kills_leave_no_unpaid_answer(scratch):
    found = program("killed", scratch, 1000, "honest", "SIGKILL")
    assert (
        found["unpaid"] == found["changed"] == found["lost"] == found["forgotten"] == 0
    )
    assert found["answers"] > 500


def test_the_kill_loop_catches_a_charge_that_comes_after_the_answer(scratch):
    assert program("killed", scratch, 60, "mutant", "SIGKILL")["unpaid"] > 0


def test_interrupts_leave_no_unpaid_answer(scratch):
    found = program("killed", scratch, 40, "honest", "SIGINT")
    assert found["answers"] > 20
    assert found["unpaid"] == found["changed"] == found["lost"] == 0


def test_threads_share_a_ledger(scratch):
    with Ledger.create(
        scratch / "a.ledger", dataset="a", cap=Budget(100 * UNIT, Fraction(0))
    ) as ledger:
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


def test_a_fork_gets_a_connection_of_its_own(scratch):
    subprocess.run(
        [sys.executable, "-c", FORKED, scratch / "a.ledger"], check=True, timeout=60
    )


def test_making_a_ledger_is_all_or_nothing_for_many_processes_at_once(tmp_path):
    script = (
        "import sys; from understudy.accounting.ledger import Ledger; "
        "Ledger.open_or_create(sys.argv[1], dataset='a').note('here', 'x')"
    )
    crowd = [
        subprocess.Popen([sys.executable, "-c", script, tmp_path / "a.ledger"])
        for _ in range(6)
    ]
    assert [process.wait(60) for process in crowd] == [0] * 6
    with Ledger.open(tmp_path / "a.ledger") as ledger:
        assert ledger.totals().entries == 7
    assert [file.name for file in tmp_path.iterdir()] == ["a.ledger"]


def test_a_disk_without_hard_links_holds_a_ledger_too(tmp_path, monkeypatch):
    def unsupported(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(database.os, "link", unsupported)
    with Ledger.create(tmp_path / "a.ledger", dataset="a") as ledger:
        ledger.verify()
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(tmp_path / "a.ledger", dataset="a")
    assert [file.name for file in tmp_path.iterdir()] == ["a.ledger"]


@pytest.mark.parametrize(
    "content",
    [b"", b"id,age\n1,34\n", os.urandom(5000), b"SQLite format 3\0" + bytes(4000)],
    ids=range(4),
)
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(
        LedgerError,
        match=r"people\.csv (is not a ledger|is damaged|could not).*Nothing was spent\.",
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
    file.execute("PRAGMA user_version=3")
    file.close()
    with pytest.raises(
        LedgerError,
        match=r"later version \(format 3, this one reads 2\): update Understudy",
    ):
        Ledger.open(path)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(
        LedgerError,
        match=r"a\.ledger does not exist: make it with `understudy ledger init`",
    ):
        Ledger.open(tmp_path / "a.ledger")
    with pytest.raises(LedgerError, match="is not a file"):
        Ledger.open(tmp_path)
    with pytest.raises(LedgerError, match="its folder does not exist"):
        Ledger.create(tmp_path / "nowhere" / "a.ledger", dataset="a")
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_held_by_somebody_else_is_waited_for_and_then_named(
    tmp_path, monkeypatch
):
    path = tmp_path / "a.ledger"
    Ledger.create(path, dataset="a").close()
    monkeypatch.setattr(database, "MAX_LEDGER_WAIT_SECONDS", 0.05)
    with Ledger.open(path) as ledger:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="held by another process"):
            ledger.note("x", "y")
        holder.execute("ROLLBACK")
        holder.close()
        ledger.note("x", "y")


def spend_and_raise(ledger, error):
    with ledger._file.write_transaction() as connection:
        tables.append_entry(connection, kind="note", event="x", detail={}, epsilon=5)
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
    with Ledger.create(
        tmp_path / "a.ledger", dataset="a", cap=Budget(5 * UNIT, Fraction(0))
    ) as ledger:
        with (
            pytest.raises(BudgetExceeded, match="does not fit the account"),
            ledger._file.write_transaction() as connection,
        ):
            tables.append_entry(
                connection, kind="reserve", event="x", detail={}, epsilon=6
            )
        ledger.verify()


def test_a_hard_link_is_refused_before_anything_is_spent_under_it(tmp_path):
    path, alias = tmp_path / "a.ledger", tmp_path / "b.ledger"
    with Ledger.create(path, dataset="a", cap=Budget.of(1, 0)) as ledger:
        ledger.reserve(Budget.of("0.5", 0), event="x")
        alias.hardlink_to(path)
        for refused in (
            lambda: Ledger.open(alias),
            lambda: ledger.reserve(Budget.of("0.4", 0), event="x"),
        ):
            with pytest.raises(
                LedgerError, match=r"has 2 names \(hard links\).*Nothing was spent\."
            ):
                refused()
        alias.unlink()
        ledger.reserve(Budget.of("0.4", 0), event="x")
        assert ledger.totals().epsilon == Fraction(9, 10)


def test_a_ledger_whose_maker_was_killed_before_it_dropped_the_draft_opens(tmp_path):
    path = tmp_path / "a.ledger"
    Ledger.create(path, dataset="a").close()
    (tmp_path / ".a.ledger.0123456789abcdef").hardlink_to(path)
    with Ledger.open(path) as ledger:
        ledger.note("x", "y")
    assert list(tmp_path.iterdir()) == [path]


def test_a_ledger_that_was_moved_while_open_takes_no_entry(tmp_path):
    path = tmp_path / "a.ledger"
    with Ledger.create(path, dataset="a") as ledger:
        path.rename(tmp_path / "b.ledger")
        with pytest.raises(
            LedgerError, match=r"moved .*while it was open.*Nothing was spent\."
        ):
            ledger.note("x", "y")
        Ledger.create(path, dataset="a").close()
        with pytest.raises(
            LedgerError, match=r"moved .*while it was open.*Nothing was spent\."
        ):
            ledger.note("x", "y")


def test_a_copy_of_an_open_ledger_shows_everything_that_was_acknowledged(tmp_path):
    path = tmp_path / "a.ledger"
    with Ledger.create(path, dataset="a") as ledger:
        for count in range(1, 6):
            ledger.reserve(Budget(UNIT, Fraction(0)), event="x")
            copy = shutil.copyfile(path, tmp_path / f"{count}.copy")
            assert list(tmp_path.glob("a.ledger?*")) == []
            with Ledger.open(copy) as copied:
                assert copied.totals().epsilon == count * UNIT


def old_ledger(path, spends):
    """A ledger as earlier versions left it when they were killed: everything but its
    first entry in a write-ahead log.
    """
    making = path.with_name("making")
    Ledger.create(making, dataset="a").close()
    writer = sqlite3.connect(making, isolation_level=None)
    writer.execute("PRAGMA journal_mode=WAL")
    for run in range(spends):
        writer.execute("BEGIN IMMEDIATE")
        detail = {
            "epsilon": "1/1000000000",
            "delta": "0",
            "accounting": "pure",
            "total": "1/1000000000",
        }
        detail["total_delta"] = "0"
        tables.append_entry(
            writer, kind="reserve", event="x", run=str(run), epsilon=1, detail=detail
        )
        writer.execute("COMMIT")
    shutil.copyfile(making, path)
    shutil.copyfile(f"{making}-wal", f"{path}-wal")
    writer.close()
    making.unlink()


def test_the_log_of_an_earlier_version_is_moved_into_the_file(tmp_path):
    path = tmp_path / "a.ledger"
    old_ledger(path, 5)
    with Ledger.open(path) as ledger:
        assert ledger.totals().epsilon == 5 * UNIT
        assert list(tmp_path.iterdir()) == [path]
        shutil.copyfile(path, tmp_path / "copy")
        ledger.reserve(Budget(UNIT, Fraction(0)), event="x")
    with Ledger.open(tmp_path / "copy") as copied:
        assert copied.totals().epsilon == 5 * UNIT


def test_many_processes_that_meet_over_the_log_of_an_earlier_version(tmp_path):
    path = tmp_path / "a.ledger"
    old_ledger(path, 5)
    script = "import sys; from understudy.accounting.ledger import Ledger; Ledger.open(sys.argv[1]).note('here', 'x')"
    crowd = [subprocess.Popen([sys.executable, "-c", script, path]) for _ in range(6)]
    assert [process.wait(60) for process in crowd] == [0] * 6
    with Ledger.open(path) as ledger:
        assert (ledger.totals().epsilon, ledger.totals().entries) == (5 * UNIT, 12)
    assert list(tmp_path.iterdir()) == [path]


def test_an_earlier_version_that_takes_the_file_back_to_a_log_is_noticed(tmp_path):
    path = tmp_path / "a.ledger"
    with Ledger.create(path, dataset="a") as ledger:
        earlier = sqlite3.connect(path, isolation_level=None)
        earlier.execute("PRAGMA journal_mode=WAL")
        with pytest.raises(LedgerError, match=r"earlier version .*close it there"):
            ledger.note("x", "y")
        earlier.close()
    with Ledger.open(path) as ledger:
        ledger.note("x", "y")
    assert list(tmp_path.iterdir()) == [path]


def as_another_user(task):
    """Run it in a child that may write nothing here; True if it did not raise."""
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            task()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def test_a_ledger_where_nothing_may_be_written_is_shown_and_not_spent_from():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.ledger")
        Ledger.create(path, dataset="a").close()
        path.chmod(0o444)
        Path(folder).chmod(0o555)

        def look():
            with Ledger.open(path) as ledger:
                assert ledger.totals().entries == 1
                with pytest.raises(LedgerError, match="may not be written"):
                    ledger.note("x", "y")

        assert as_another_user(look)
        Path(folder).chmod(0o700)


@pytest.fixture
def cut(scratch):
    """A power cut in the middle of an entry: the file before it, the file half-way, and
    the journal, before and after it is on the disk.
    """
    path = scratch / "cut.ledger"
    with Ledger.create(path, dataset="a") as ledger:
        for _ in range(30):
            ledger.reserve(Budget(UNIT, Fraction(0)), event="x")
    before = path.read_bytes()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=EXTRA")
    connection.execute("BEGIN IMMEDIATE")
    tables.append_entry(connection, kind="note", event="x", detail={})
    unsure = Path(f"{path}-journal").read_bytes()
    connection.execute(
        "PRAGMA cache_size=1"
    )  # writes pages to the file before the entry is whole, after the journal
    connection.execute("PRAGMA cache_spill=1")
    for _ in range(20):
        tables.append_entry(connection, kind="note", event="x" * 3000, detail={})
    sure, during = Path(f"{path}-journal").read_bytes(), path.read_bytes()
    connection.execute("ROLLBACK")
    connection.close()
    assert during != before
    return before, during, unsure, sure


def spent_after(path, file, journal):
    """Units that a ledger shows when these are what the disk holds."""
    path.write_bytes(file)
    Path(f"{path}-journal").write_bytes(journal)
    with Ledger.open(path) as found:  # opens, and every digest and total follows
        units = found.totals().epsilon / UNIT
    path.unlink()
    return units


@pytest.mark.parametrize("trials", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_a_power_cut_while_the_journal_is_written_loses_no_acknowledged_spend(
    scratch, cut, trials
):
    """The file is untouched until the journal is on the disk; the journal may be cut or
    torn anywhere.
    """
    before, _, unsure, _ = cut
    chance = random.Random(13)
    for trial in range(trials):
        end = chance.randrange(len(unsure) + 1)
        tail = chance.randbytes(chance.randrange(5000)) if trial % 2 else b""
        assert spent_after(scratch / "a.ledger", before, unsure[:end] + tail) == 30


@pytest.mark.parametrize("trials", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_a_power_cut_while_the_file_is_written_loses_no_acknowledged_spend(
    scratch, cut, trials
):
    """The journal is on the disk; the file's pages are written in any order, and any of
    them may be torn.
    """
    before, during, _, sure = cut
    chance = random.Random(15)
    page = 4096
    pages = range(0, len(during), page)
    for _ in range(trials):
        torn = bytearray(before.ljust(len(during), b"\0"))
        for start in pages:
            written = during[start : start + page]
            if written != torn[start : start + page]:
                end = chance.choice([0, page, chance.randrange(page)])
                torn[start : start + end] = written[:end]
        assert spent_after(scratch / "a.ledger", bytes(torn), sure) == 30


def test_every_entry_waits_for_the_disk_and_for_the_journal_to_be_gone(tmp_path):
    with (
        Ledger.create(tmp_path / "a.ledger", dataset="a") as ledger,
        ledger._file.read_transaction() as connection,
    ):
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
