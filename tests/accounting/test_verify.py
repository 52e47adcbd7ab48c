"""Tampering is found and named."""

import random
import shutil
import sqlite3
from dataclasses import replace
from fractions import Fraction

import pytest

from understudy.accounting.budget import Budget
from understudy.accounting.chain import digest_of
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.ledger import Ledger
from understudy.accounting.ledger_files.database import LedgerFile
from understudy.accounting.ledger_files.tables import read_entries
from understudy.accounting.questions.partition import PartitionScope
from understudy.accounting.questions.question_run import open_questions
from understudy.accounting.verify import audit_ledger
from understudy.errors import LedgerError, LedgerTampered


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A ledger with some history, closed."""
    path = tmp_path_factory.mktemp("audit") / "people.ledger"
    with Ledger.create(path, dataset="people", cap=Budget.of(10)) as ledger:
        for number in range(6):
            run = ledger.reserve(Budget.of("0.5", 0), event="synthesize", analyst="Ada")
            for step in range(3):
                run.charge(
                    step,
                    Cost(Accounting.PURE, Fraction(1, 10)),
                    digest_of([number, step]),
                )
                run.store(step, digest_of([number, step]), bytes([number, step] * 10))
            run.finish()
            ledger.note("evaluate", "internal")
    return path


@pytest.fixture
def copy(original, tmp_path):
    return shutil.copy(original, tmp_path / "people.ledger")


def edit(path, *statements):
    """Change a ledger behind its back."""
    file = sqlite3.connect(path, isolation_level=None)
    file.execute("PRAGMA ignore_check_constraints=ON")
    file.execute("PRAGMA synchronous=OFF")
    for statement in statements:
        file.execute(*statement) if isinstance(statement, tuple) else file.execute(
            statement
        )
    file.close()


def found(path, anchor=None):
    try:
        Ledger.open(path, anchor=anchor).close()
    except LedgerTampered as error:
        return str(error)
    return None


def test_an_honest_ledger_passes(copy):
    assert found(copy) is None


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE entry SET epsilon = 1 WHERE number = 9", "entry 9 was changed"),
        ("UPDATE entry SET detail = replace(detail, '1/10', '1/99') WHERE number = 3", "entry 3 was changed"),
        ("UPDATE entry SET analyst = 'Eve' WHERE number = 2", "entry 2 was changed"),
        ("DELETE FROM entry WHERE number = 5", "entry 5 is missing"),
        ("DELETE FROM entry WHERE number = (SELECT max(number) FROM entry)", "is not the last one written"),
        ("UPDATE account SET spent_epsilon = 0", "the total does not equal the sum"),
        ("UPDATE account SET spent_delta = 5", "the total does not equal the sum"),
        ("UPDATE account SET cap_epsilon = cap_epsilon * 10", "entry 1 opened another account"),
        ("UPDATE account SET cap_epsilon = NULL", "entry 1 opened another account"),
        ("UPDATE account SET neighbours = 'replace'", "entry 1 opened another account"),
        ("UPDATE account SET unit = 'person'", "entry 1 opened another account"),
        ("UPDATE account SET dataset = 'other'", "entry 1 opened another account"),
        ("UPDATE account SET entries = entries - 1", "is not the last one written"),
        ("UPDATE account SET one = 2", "was changed|exactly one line|damaged"),
        ("DELETE FROM account", "exactly one line"),
        ("DELETE FROM answer WHERE step = 1", "the answer of entry 6 is missing"),
        ("UPDATE answer SET payload = x'00' WHERE step = 2", "the answer of entry 8 was changed"),
        ("UPDATE answer SET request = 'x'", "the answer of entry 4 was changed"),
        ("INSERT INTO answer VALUES ('r', 1, 'x', x'00')", "an answer is stored that no entry describes"),
        ("UPDATE entry SET step = 'one' WHERE number = 3", "entry 3 was changed"),
        ("UPDATE entry SET detail = 'x' WHERE number = 3", "entry 3 was changed"),
        ("UPDATE entry SET event = x'00' WHERE number = 3", "holds something no entry can hold"),
        ("CREATE TRIGGER t AFTER UPDATE ON account BEGIN UPDATE account SET spent_epsilon = 0; END", "tables are not those"),
        ("CREATE TABLE extra (x)", "tables are not those"),
        ("DROP INDEX entry_by_run", "tables are not those"),
    ],
)  # fmt: skip
def test_an_edit_is_found_and_named(copy, statement, named):
    edit(copy, statement)
    with pytest.raises(
        LedgerTampered, match=rf"people\.ledger: .*({named}).*Nothing was spent\."
    ):
        Ledger.open(copy)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A ledger with grants, analysts in a shared run, scopes and replays, closed."""
    path = tmp_path_factory.mktemp("shared") / "people.ledger"
    with Ledger.create(path, dataset="people", cap=Budget.of(10)) as ledger:
        run = open_questions(ledger, Budget.of(2))
        ledger.grant(Budget.of(1))
        for analyst in ("ada", "bob"):
            ledger.grant(Budget.of(1), analyst=analyst)
        for number in range(5):
            scope = PartitionScope("region", "d", 3, frozenset({number % 3}))
            cost = Cost(Accounting.GDP, Fraction(1, 500))
            digest = digest_of(number)
            step = run.charge(cost, digest, analyst="ada", purpose="p", scope=scope)
            run.store(step, digest, bytes([number] * 10))
            run.recall(digest, analyst="bob")
    return path


def test_five_hundred_random_edits(original, tmp_path):
    """Any one cell of any table, any entry deleted, any two exchanged, any one
    repeated.
    """
    assert miss_random_edits(original, tmp_path, 500) == []


def test_random_edits_of_a_shared_account(shared, tmp_path):
    assert miss_random_edits(shared, tmp_path, 200) == []


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ('"gdp":"1/250"', '"gdp":"1/500"', "charge"),
        ('"amount":"1/500"', '"amount":"1/900"', "charge"),
        ('"cells":[1]', '"cells":[0]', "charge"),
        ('"gdp":"1/250"', '"gdp":"1/500"', "replay"),
        ('"limit_epsilon":1000000000', '"limit_epsilon":9000000000', "grant"),
    ],
)
def test_entries_that_were_sealed_anew_still_have_to_add_up(
    shared, tmp_path, before, after, kind
):
    """Somebody who knows the format computes the chain anew: the sums give it away."""
    copy = shutil.copy(shared, tmp_path / "people.ledger")
    file = sqlite3.connect(copy, isolation_level=None)
    file.execute(
        "UPDATE entry SET detail = replace(detail, ?, ?) WHERE kind = ?",
        (before, after, kind),
    )
    previous = "0" * 64
    for entry in list(read_entries(file)):
        sealed = replace(entry, previous=previous)
        previous = sealed.seal()
        file.execute(
            "UPDATE entry SET previous = ?, digest = ? WHERE number = ?",
            (sealed.previous, previous, entry.number),
        )
    file.execute("UPDATE account SET head = ?", (previous,))
    file.close()
    assert found(copy)


def miss_random_edits(original, tmp_path, trials):
    """The edits, of this many, that opening the ledger did not find."""
    chance = random.Random(14)
    file = sqlite3.connect(original)
    columns = [
        (table, row[1])
        for table in ("account", "entry", "answer")
        for row in file.execute(f"PRAGMA table_info({table})")
    ]
    rows = {
        table: [r[0] for r in file.execute(f"SELECT rowid FROM {table}")]
        for table in ("account", "entry", "answer")
    }
    file.close()
    missed = []
    for trial in range(trials):
        copy = shutil.copy(original, tmp_path / f"{trial}.ledger")
        kind = chance.choice(["cell", "cell", "cell", "delete", "swap", "repeat"])
        if kind == "cell":
            table, column = chance.choice(columns)
            row = chance.choice(rows[table])
            value = chance.choice(
                [0, 1, 10**15, "x", "", b"\0", None, "0" * 64, chance.getrandbits(40)]
            )
            changed = change_cell(copy, table, column, row, value)
        else:
            changed = change_entries(copy, kind, chance.sample(rows["entry"], 2))
        if changed and found(copy) is None:
            missed.append((trial, kind))
        copy.unlink()
    return missed


def change_cell(path, table, column, row, value):
    """Whether the cell now holds something else."""
    file = sqlite3.connect(path, isolation_level=None)
    file.execute("PRAGMA ignore_check_constraints=ON")
    file.execute("PRAGMA synchronous=OFF")
    read = f"SELECT typeof({column}), {column} FROM {table} WHERE rowid = ?"
    before = file.execute(read, (row,)).fetchone()
    try:
        file.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row))
        after = file.execute(read, (row,)).fetchone()
    except sqlite3.IntegrityError:
        after = before
    file.close()
    return after != before


def change_entries(path, kind, pair):
    one, other = pair
    names = "time, kind, event, run, step, analyst, scope, epsilon, delta, detail, previous, digest"
    if kind == "delete":
        edit(path, ("DELETE FROM entry WHERE number = ?", (one,)))
    elif kind == "swap":
        edit(
            path,
            ("UPDATE entry SET number = -1 WHERE number = ?", (one,)),
            ("UPDATE entry SET number = ? WHERE number = ?", (one, other)),
            ("UPDATE entry SET number = ? WHERE number = -1", (other,)),
        )
    else:
        edit(
            path,
            (
                f"INSERT INTO entry ({names}) SELECT {names} FROM entry WHERE number = ?",
                (one,),
            ),
        )
    return True


def test_a_chain_that_is_not_checked_would_miss_it(copy):
    """The teeth: without its seal an edited entry adds up as well as before."""
    edit(copy, "UPDATE entry SET analyst = 'Eve' WHERE number = 2")
    file = sqlite3.connect(copy)
    total, spent = file.execute(
        "SELECT (SELECT sum(epsilon) FROM entry), spent_epsilon FROM account"
    ).fetchone()
    file.close()
    assert total == spent
    assert found(copy)


def test_a_file_put_back_to_an_older_state_is_found_by_its_anchor(original, tmp_path):
    path = shutil.copy(original, tmp_path / "people.ledger")
    older = shutil.copy(path, tmp_path / "older")
    with Ledger.open(path) as ledger:
        ledger.reserve(Budget.of(1, 0), event="x")
        printed = ledger.head
        ledger.note("later", "the anchor need not be the last entry")
        ledger.verify(anchor=printed)
    shutil.copy(older, path)
    assert found(path) is None
    assert "put back to an older state" in found(path, anchor=printed)


@pytest.mark.parametrize("where", [0.3, 0.6, 0.9])
def test_damaged_pages_are_refused_or_found(copy, where):
    data = bytearray(copy.read_bytes())
    middle = int(len(data) * where)
    data[middle : middle + 2000] = bytes(2000)
    copy.write_bytes(data)
    with pytest.raises(LedgerError):
        Ledger.open(copy)


def test_an_audit_can_be_repeated_while_the_ledger_is_used(copy):
    with Ledger.open(copy) as ledger:
        ledger.reserve(Budget.of(1, 0), event="x")
        ledger.verify()
        file = LedgerFile(copy)
        audit_ledger(file)
        file.close()


def test_a_tampered_ledger_takes_no_money(copy):
    with Ledger.open(copy) as ledger:
        before = ledger.totals().epsilon
    edit(copy, "UPDATE account SET spent_epsilon = 0")
    with pytest.raises(LedgerTampered):
        Ledger.open_or_create(copy, dataset="people")
    assert before == 3
