"""A backup is whole, checked, marked as one, and of no use for spending until it is
restored.
"""

import stat
import threading
from fractions import Fraction

import pytest

from understudy.accounting.budget import Budget
from understudy.accounting.ledger import Ledger
from understudy.errors import LedgerError, LedgerTampered

HALF = Budget.of("0.5", 0)


@pytest.fixture
def ledger(tmp_path):
    with Ledger.create(tmp_path / "a.ledger", dataset="a", cap=Budget.of(2, 0)) as made:
        made.reserve(HALF, event="x")
        yield made


def test_a_backup_holds_everything_and_only_its_owner_may_read_it(tmp_path, ledger):
    head = ledger.backup(tmp_path / "a.backup")
    with Ledger.open(tmp_path / "a.backup", anchor=head) as kept:
        assert kept.is_backup
        assert not ledger.is_backup
        assert kept.entries() == ledger.entries()
        assert kept.head == ledger.head == head
    assert stat.S_IMODE((tmp_path / "a.backup").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.backup", "a.ledger"]


def test_a_backup_never_overwrites(tmp_path, ledger):
    (tmp_path / "a.backup").write_text("mine")
    with pytest.raises(LedgerError, match="exists already"):
        ledger.backup(tmp_path / "a.backup")
    assert (tmp_path / "a.backup").read_text() == "mine"


def test_nothing_can_be_spent_from_a_backup(tmp_path, ledger):
    ledger.backup(tmp_path / "a.backup")
    with Ledger.open(tmp_path / "a.backup") as kept:
        for spend in (
            lambda: kept.reserve(HALF, event="x"),
            lambda: kept.note("x", "y"),
        ):
            with pytest.raises(
                LedgerError,
                match=r"is a backup, taken at entry 2: .*restore.*Nothing was spent\.",
            ):
                spend()
        kept.verify()


def test_a_restored_backup_is_the_account_and_says_so(tmp_path, ledger):
    ledger.backup(tmp_path / "a.backup")
    with Ledger.restore(
        tmp_path / "a.backup", tmp_path / "b.ledger", anchor=ledger.head
    ) as account:
        assert not account.is_backup
        assert account.entries()[:2] == ledger.entries()
        assert account.entries()[2].kind == "restore"
        account.reserve(HALF, event="x")
        assert account.totals().epsilon == Fraction(1)


def test_a_backup_that_lacks_a_later_digest_is_not_restored(tmp_path, ledger):
    ledger.backup(tmp_path / "a.backup")
    ledger.reserve(HALF, event="x")
    with pytest.raises(LedgerTampered, match="older state"):
        Ledger.restore(tmp_path / "a.backup", tmp_path / "b.ledger", anchor=ledger.head)
    assert not (tmp_path / "b.ledger").exists()


def test_only_a_backup_is_restored_and_only_where_nothing_is(tmp_path, ledger):
    with pytest.raises(
        LedgerError, match=r"is a ledger and no backup.*No ledger was made"
    ):
        Ledger.restore(tmp_path / "a.ledger", tmp_path / "b.ledger")
    ledger.backup(tmp_path / "a.backup")
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.restore(tmp_path / "a.backup", tmp_path / "a.ledger")
    assert ledger.totals().entries == 2


def test_a_backup_taken_while_others_spend_is_of_one_moment(scratch):
    one = Budget(Fraction(1, 10**9), Fraction(0))
    with Ledger.create(scratch / "a.ledger", dataset="a") as ledger:
        done = threading.Event()

        def spend():
            with Ledger.open(scratch / "a.ledger") as mine:
                while not done.is_set():
                    mine.reserve(one, event="x")

        spender = threading.Thread(target=spend)
        spender.start()
        for number in range(3):
            before = ledger.totals().entries
            ledger.backup(scratch / f"{number}.backup")
            with Ledger.open(scratch / f"{number}.backup") as kept:
                assert before <= kept.totals().entries <= ledger.totals().entries
        done.set()
        spender.join()


def test_nothing_is_made_where_a_crash_left_the_journal_of_another_ledger(
    tmp_path, ledger
):
    """SQLite would play it back: a new account had the cap of the old one, and a
    restored one was damaged.
    """
    ledger.backup(tmp_path / "a.backup")
    for ending in ("-journal", "-wal"):
        (tmp_path / f"b.ledger{ending}").write_bytes(b"x")
        for make in (
            lambda: Ledger.restore(tmp_path / "a.backup", tmp_path / "b.ledger"),
            lambda: Ledger.create(tmp_path / "b.ledger", dataset="b"),
            lambda: ledger.backup(tmp_path / "b.ledger"),
        ):
            with pytest.raises(
                LedgerError,
                match=rf"b\.ledger{ending} is what a crash left .*No ledger was made\.",
            ):
                make()
        assert not (tmp_path / "b.ledger").exists()
        (tmp_path / f"b.ledger{ending}").unlink()
