"""The durable ledger: what has been spent on a dataset, written down so that no process
can forget it.

One file per dataset, under the name its owner gives it (never a hash of its rows), for
one neighbour relation and one unit. A run reserves its whole (ε, δ) in one committed
transaction; runs add up plainly. Nothing is ever paid back. The file holds noisy
answers that were paid for, and nothing else that comes from rows.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

from understudy.accounting.backup import back_up_ledger, restore_ledger
from understudy.accounting.budget import Budget
from understudy.accounting.chain import (
    DELTA_UNITS,
    EPSILON_UNITS,
    LedgerEntry,
)
from understudy.accounting.filter import Filter
from understudy.accounting.ledger_files.database import LedgerFile
from understudy.accounting.ledger_files.tables import append_entry, read_entries
from understudy.accounting.ledgercap import LedgerCap, LedgerTotals, count_run_units
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.questions.analyst import (
    OWNER_NAME,
    AnalystStatement,
    list_statements,
    read_limits,
)
from understudy.accounting.questions.grants import (
    append_grant,
    read_cap,
    refuse_overspent_units,
)
from understudy.accounting.questions.partition import PartitionScope
from understudy.accounting.questions.scoped_runs import weigh_scoped_run
from understudy.accounting.reservation import describe_reservation
from understudy.accounting.run import LedgerRun
from understudy.accounting.verify import audit_ledger
from understudy.errors import InvalidBudget, LedgerError, LedgerMismatch


class Ledger:
    """The account of one dataset.

    >>> import tempfile
    >>> from understudy.errors import UnderstudyError
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "people.ledger")
    >>> ledger = Ledger.create(path, dataset="people", cap=Budget.of(1))
    >>> run = ledger.reserve(Budget.of("0.8", 0), event="synthesize")
    >>> try:
    ...     ledger.reserve(Budget.of("0.5", 0), event="synthesize")
    ... except UnderstudyError as error:
    ...     print(str(error)[:57])
    This run would cost ε = 0.50 and only 0.20 of 1.00 is lef
    >>> ledger.close(); folder.cleanup()
    """

    def __init__(self, file: LedgerFile) -> None:
        self._file = file
        with file.read_transaction() as connection:
            row = connection.execute(
                "SELECT dataset, neighbours, unit FROM account"
            ).fetchone()
        self.path = file.path
        dataset, neighbours, unit = row
        self.dataset = str(dataset)
        self.neighbours = Neighbours(neighbours)
        self.unit = str(unit)

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        dataset: str,
        cap: Budget | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        unit: str = "row",
    ) -> Ledger:
        """A new ledger; without a cap it records and adds up, and refuses nothing."""
        if not dataset.strip():
            raise LedgerError(
                "A ledger needs the name of its dataset, as its owner calls it. No"
                " ledger was made."
            )
        cap_units = LedgerCap.of(cap)
        account: dict[str, object] = {
            "dataset": dataset,
            "neighbours": str(neighbours),
            "unit": unit,
            "cap_epsilon": cap_units.epsilon,
            "cap_delta": cap_units.delta,
        }
        return cls(LedgerFile.create(Path(path), account))

    @classmethod
    def open(cls, path: str | Path, *, anchor: str | None = None) -> Ledger:
        """An existing ledger, after checking that it adds up; `anchor` is a digest it
        had before and must still hold.
        """
        file = LedgerFile(Path(path))
        try:
            # Before any use: a file that was changed or put back must not be spent
            # from.
            audit_ledger(file, anchor=anchor)
            return cls(file)
        except BaseException:
            file.close()
            raise

    @classmethod
    def restore(
        cls, backup: str | Path, path: str | Path, *, anchor: str | None = None
    ) -> Ledger:
        """Make a backup the account, at a path where nothing is yet; an entry says so.

        What was spent after the backup was taken is not in it. Pass the last digest you
        have, from the newest release, as `anchor`: a backup that does not hold it is
        refused.
        """
        restore_ledger(Path(backup), Path(path), anchor=anchor)
        return cls.open(path)

    @classmethod
    def open_or_create(
        cls,
        path: str | Path,
        *,
        dataset: str,
        cap: Budget | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        unit: str = "row",
    ) -> Ledger:
        """The ledger at this path, made if there is none; LedgerMismatch if it belongs
        to something else.

        A cap of None takes whatever cap is there.
        """
        if not Path(path).exists():
            try:
                return cls.create(
                    path, dataset=dataset, cap=cap, neighbours=neighbours, unit=unit
                )
            except LedgerError:
                # Otherwise another process made it first.
                if not Path(path).exists():
                    raise
        ledger = cls.open(path)
        try:
            ledger.expect(dataset=dataset, neighbours=neighbours, unit=unit)
            if cap is not None and ledger._read_cap() != LedgerCap.of(cap):
                raise LedgerMismatch(
                    f"{ledger.path.name} has another cap: leave the cap out, or use"
                    " another ledger. Nothing was spent."
                )
        except LedgerMismatch:
            ledger.close()
            raise
        return ledger

    def expect(
        self,
        *,
        dataset: str | None = None,
        neighbours: Neighbours | None = None,
        unit: str | None = None,
    ) -> None:
        """Raise LedgerMismatch unless this ledger is for that dataset, neighbour
        relation and unit.

        Costs under two relations, or for two units, do not add up to any guarantee.
        """
        for what, mine, asked in (
            ("dataset", self.dataset, dataset),
            ("neighbour relation", self.neighbours, neighbours),
            ("privacy unit", self.unit, unit),
        ):
            if asked is not None and mine != asked:
                raise LedgerMismatch(
                    f'{self.path.name} is for the {what} "{mine}", not "{asked}": use'
                    " another ledger. Nothing was spent."
                )

    @property
    def cap(self) -> Budget | None:
        """What may be spent in all; None without a cap."""
        return self._read_cap().to_budget()

    def _read_cap(self) -> LedgerCap:
        # Read each time: another process may have granted more.
        with self._file.read_transaction() as connection:
            return read_cap(connection)

    @property
    def head(self) -> str:
        """Digest of the last entry: written down elsewhere, it shows later that the
        file was not put back.
        """
        with self._file.read_transaction() as connection:
            return str(connection.execute("SELECT head FROM account").fetchone()[0])

    def reserve(
        self,
        budget: Budget,
        *,
        event: str,
        filter: Filter | None = None,
        analyst: str = OWNER_NAME,
        scope: str | PartitionScope = "",
        purpose: str = "",
        run_id: str | None = None,
        table: Mapping[str, str] | None = None,
    ) -> LedgerRun:
        """Take the whole (ε, δ) of a run from the account, or raise BudgetExceeded and
        take nothing.

        Steps are charged against `filter`, by default `Filter.of(budget)`; it may not
        admit more than the budget is worth. `table` is what is public about the table
        the run is for, kept so that resuming on another one is noticed (`Run.table`).
        An `analyst` takes it from their own limit too. `scope` and `purpose` say what
        the run is about and why. A `PartitionScope` also confines its questions to
        those cells, and runs about other cells do not add up with it.
        """
        filter = Filter.of(budget) if filter is None else filter
        if not filter.fits_budget(budget):
            raise InvalidBudget(
                f"The run's filter would admit more than its budget of {budget}."
                " Nothing was spent."
            )
        units = count_run_units(budget)
        name = secrets.token_hex(8) if run_id is None else run_id
        detail = describe_reservation(budget, filter, table=table, purpose=purpose)
        part = scope if isinstance(scope, PartitionScope) else None
        with self._file.write_transaction() as connection:
            if not name or any(read_entries(connection, "WHERE run = ?", (name,))):
                raise LedgerError(
                    f"Run {name!r} is in {self.path.name} already: resume it, or take"
                    " another name. Nothing was spent."
                )
            if part is not None:
                units, facts = weigh_scoped_run(connection, units, part, analyst)
                detail.update(facts)
            # In the transaction that writes the entry: no other run comes in between.
            refuse_overspent_units(connection, units, analyst, self.path.name)
            entry = append_entry(
                connection,
                kind="reserve",
                event=event,
                run=name,
                analyst=analyst,
                scope=scope.column if isinstance(scope, PartitionScope) else scope,
                epsilon=units[0],
                delta=units[1],
                detail=detail,
            )
        return LedgerRun(self._file, entry)

    def refuse_overspending(self, budget: Budget, *, analyst: str = "") -> None:
        """Raise BudgetExceeded where `reserve` would, as long as no other run does."""
        with self._file.read_transaction() as connection:
            units = count_run_units(budget)
            refuse_overspent_units(connection, units, analyst, self.path.name)

    def resume(self, run_id: str) -> LedgerRun:
        """The run of that name, with the answers it has stored; nothing is charged for
        it again.
        """
        for run in self.runs():
            if run.id == run_id:
                return run
        raise LedgerError(
            f"{self.path.name} has no run {run_id!r}: `understudy ledger show` lists"
            " them. Nothing was spent."
        )

    def runs(self) -> Sequence[LedgerRun]:
        """Every run, in the order they began."""
        with self._file.read_transaction() as connection:
            return [
                LedgerRun(self._file, entry)
                for entry in read_entries(connection, "WHERE kind = 'reserve'")
            ]

    def grant(
        self, budget: Budget, *, analyst: str = OWNER_NAME, reason: str = ""
    ) -> Budget:
        """Raise the limit of an analyst by this much, or the cap of the account where no
        analyst is named; returns what it is now.

        A first grant is the limit itself. What was spent stays spent.
        """
        with self._file.write_transaction() as connection:
            return append_grant(
                connection,
                LedgerCap.of(budget),
                analyst=analyst,
                reason=reason,
                name=self.path.name,
            )

    def limits(self) -> dict[str, Budget]:
        """What each analyst who has a limit may be answered in all."""
        with self._file.read_transaction() as connection:
            limits = read_limits(connection)
        return {name: limit.require_budget() for name, limit in limits.items()}

    def statements(self) -> tuple[AnalystStatement, ...]:
        """What each analyst was answered, and may be; the owner has the empty name."""
        with self._file.read_transaction() as connection:
            return tuple(list_statements(connection))

    def note(
        self, event: str, text: str, *, analyst: str = "", scope: str = ""
    ) -> None:
        """Write something down that costs nothing here, such as an internal look at
        real rows.
        """
        with self._file.write_transaction() as connection:
            append_entry(
                connection,
                kind="note",
                event=event,
                analyst=analyst,
                scope=scope,
                detail={"text": text},
            )

    def entries(self) -> tuple[LedgerEntry, ...]:
        """Every entry, first to last."""
        with self._file.read_transaction() as connection:
            return tuple(read_entries(connection))

    def totals(self) -> LedgerTotals:
        """What has been spent, and what may be."""
        with self._file.read_transaction() as connection:
            epsilon, delta, count = connection.execute(
                "SELECT spent_epsilon, spent_delta, entries FROM account"
            ).fetchone()
            (runs,) = connection.execute(
                "SELECT COUNT(*) FROM entry WHERE kind = 'reserve'"
            ).fetchone()
        cap = self.cap
        return LedgerTotals(
            epsilon=Fraction(epsilon, EPSILON_UNITS),
            delta=Fraction(delta, DELTA_UNITS),
            cap_epsilon=None if cap is None else cap.epsilon,
            cap_delta=None if cap is None else cap.delta,
            runs=runs,
            entries=count,
        )

    def verify(self, *, anchor: str | None = None) -> None:
        """Raise LedgerTampered, naming the entry, unless every digest and total
        follows; see `open` for the anchor.
        """
        audit_ledger(self._file, anchor=anchor)

    @property
    def is_backup(self) -> bool:
        """Whether this is a backup: it shows and verifies, and nothing can be spent
        from it until it is restored.
        """
        return self._file.is_backup

    def backup(self, path: str | Path) -> str:
        """Write a whole, checked backup to a new file, also while others spend; returns
        the last digest in it.

        The backup is readable by its owner only, and nothing can be spent from it: see
        `restore`.
        """
        return back_up_ledger(self._file, Path(path))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
