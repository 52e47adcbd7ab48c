"""The workspace: one folder with the tables, and beside each its schema, its ledger and
its runs. Nothing outside it is ever touched.

people.csv                   the table
people.csv.yaml              what its owner says of it
people.csv.ledger            what was spent on it
people.csv.runs/3/…          a run: release, rows, report
people.csv.masked/2/…        masked copies, and how they were made
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from understudy.accounting.budget import Budget
from understudy.accounting.ledger import Ledger
from understudy.atomic import PRIVATE_FOLDER_MODE
from understudy.errors import Refused, UnderstudyError
from understudy.schema import Schema, dump_schema
from understudy.schema.yaml.file import write_private_text
from understudy.scratch import HIDDEN_SCRATCH_PREFIX, Scratch
from understudy.tables.drafting.suggested_rules import (
    RuleSuggestions,
    suggest_rules,
)
from understudy.workflow.account import unit_words
from understudy.workflow.describe import describe
from understudy.workflow.open import open_source

TABLE_ENDINGS = (
    *(f".csv{packed}" for packed in ("", ".gz", ".bz2", ".xz", ".zip")),
    *(".tsv", ".parquet", ".xlsx", ".feather", ".arrow", ".dta", ".sav", ".por"),
    *(".sas7bdat", ".xpt"),
)
"""How the names of tables end, where a file alone says what its columns are called."""
MAX_UPLOAD_BYTES = 4 * 2**30
"""Bytes of an upload."""

MAX_STEM_BYTES = 100
"""Bytes of an upload's name before its suffix."""

_TABLE_NAME = re.compile(
    rf"[\w][\w .()+-]{{0,150}}({'|'.join(map(re.escape, TABLE_ENDINGS))})",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class TableAccount:
    """What was spent on a table, and what may be in all."""

    exists: bool = False
    epsilon: float = 0.0
    delta: float = 0.0
    cap: Budget | None = None

    def explain_refusal(self, epsilon: float, delta: float = 0.0) -> str:
        """Why this much more may not be spent; empty if it may.

        >>> TableAccount(exists=True, epsilon=0.75, cap=Budget.of(1)).explain_refusal(0.5)
        "This would cost ε = 0.5 and only 0.25 is left in this table's account. Nothing was spent."
        """
        if self.cap is None:
            return ""
        for letter, cost, spent, cap in (
            ("ε", epsilon, self.epsilon, float(self.cap.epsilon)),
            ("δ", delta, self.delta, float(self.cap.delta)),
        ):
            # The ledger compares exact fractions; this early check forgives rounding.
            if spent + cost > cap * (1 + 1e-9):
                left = max(cap - spent, 0.0)
                return (
                    f"This would cost {letter} = {cost:g} and only {left:g} is left in"
                    " this table's account. Nothing was spent."
                )
        return ""

    def sentence(self) -> str:
        """What was spent, of how much.

        >>> TableAccount(exists=True, epsilon=0.75, cap=Budget.of(1)).sentence()
        'spent ε = 0.75 of 1'
        """
        sentence = f"spent ε = {self.epsilon:.4g}"
        if self.cap is not None:
            sentence += f" of {float(self.cap.epsilon):.4g}"
        return sentence


@dataclass(frozen=True)
class Workspace:
    """One folder of tables."""

    folder: Path

    def tables(self) -> list[str]:
        """The names of the tables in it."""
        return [name for name in self._list_files() if _TABLE_NAME.fullmatch(name)]

    def misnamed_tables(self) -> list[str]:
        """The names of files that are tables by their ending and by nothing else."""
        return [
            name
            for name in self._list_files()
            if name.lower().endswith(TABLE_ENDINGS) and not _TABLE_NAME.fullmatch(name)
        ]

    def _list_files(self) -> list[str]:
        names = [
            entry.name
            for entry in os.scandir(self.folder)
            # A link could lead out of the folder.
            if entry.is_file(follow_symlinks=False)
        ]
        return sorted(names, key=str.lower)

    def path(self, name: str) -> Path:
        """Where a table is. Only a name the folder lists is one: no path, no link, no
        encoded dots.
        """
        if name not in self.tables():
            raise Refused("There is no such table here. Choose one from the list.")
        return self.folder / name

    async def add(self, name: str, chunks: AsyncIterator[bytes]) -> str:
        """Keep an upload under its own name, or one like it that is free; it appears
        whole or not at all.
        """
        safe = _safe_file_name(name)
        scratch = Scratch(self.folder, prefix=HIDDEN_SCRATCH_PREFIX)
        draft = scratch.rows / "upload"
        try:
            scratch.make()
            await _receive_upload(draft, chunks)
            free = self._find_free_name(safe)
            draft.rename(self.folder / free)
            return free
        finally:
            scratch.remove()

    def _find_free_name(self, name: str) -> str:
        stem, ending = _split_ending(name)
        count, free = 2, name
        while (self.folder / free).exists():
            free, count = f"{stem} ({count}){ending}", count + 1
        return free

    def schema_path(self, name: str) -> Path:
        """Where its schema is kept."""
        path = self.path(name)
        return path.with_name(f"{path.name}.yaml")

    def schema(
        self, name: str, *, fresh: bool = False, public_domains: bool = False
    ) -> Schema:
        """What its owner says of it; a draft if nothing was said yet."""
        where = self.schema_path(name)
        if where.exists() and not fresh:
            return Schema.load(where)
        return describe(self.path(name), public_domains=public_domains)

    def keep_schema(self, name: str, text: str) -> Schema:
        """Check and keep what the owner wrote; nothing is kept if it is wrong."""
        schema = Schema.parse(text)
        write_private_text(text, self.schema_path(name))
        return schema

    def schema_text(
        self, name: str, *, fresh: bool = False, public_domains: bool = False
    ) -> str:
        """The same as text to edit."""
        where = self.schema_path(name)
        if where.exists() and not fresh:
            return where.read_text(encoding="utf-8")
        return dump_schema(self.schema(name, fresh=True, public_domains=public_domains))

    def suggest_rules(self, name: str, schema: Schema) -> RuleSuggestions:
        """What all rows of a table keep, for its owner to accept."""
        with open_source(self.path(name)) as source:
            return suggest_rules(source, schema)

    def ledger_path(self, name: str) -> Path:
        """Where its account is kept."""
        path = self.path(name)
        return path.with_name(f"{path.name}.ledger")

    def account(self, name: str) -> TableAccount:
        """What was spent on it, and what may be."""
        where = self.ledger_path(name)
        if not where.exists():
            return TableAccount()
        with Ledger.open(where) as book:
            spent, cap = book.totals(), book.cap
        return TableAccount(
            exists=True, epsilon=float(spent.epsilon), delta=float(spent.delta), cap=cap
        )

    def list_accounts(self) -> list[tuple[str, TableAccount | None]]:
        """Every table with its account; None if the ledger cannot be read."""
        accounts: list[tuple[str, TableAccount | None]] = []
        for name in self.tables():
            try:
                accounts.append((name, self.account(name)))
            except UnderstudyError:
                accounts.append((name, None))
        return accounts

    def open_account(self, name: str, budget: Budget) -> None:
        """Set what may be spent on a table in all; refused once there is an account:
        raising a cap is a grant, which the ledger records.
        """
        where = self.ledger_path(name)
        if where.exists():
            raise Refused(
                "This table has an account already. `understudy ledger grant` raises"
                " its cap, and records that."
            )
        unit = unit_words(self.schema(name))
        Ledger.create(where, dataset=Path(name).stem, cap=budget, unit=unit).close()

    def free_mask_folder(self, name: str) -> Path:
        """Where the next masked copies go: a folder that is not there yet."""
        path = self.path(name)
        masked = path.with_name(f"{path.name}.masked")
        masked.mkdir(mode=PRIVATE_FOLDER_MODE, exist_ok=True)
        count = 1
        while (masked / str(count)).exists():
            count += 1
        return masked / str(count)

    def run_folder(self, name: str) -> Path:
        """A fresh folder for one run, for its owner alone: the comparison with the real
        rows goes there too.
        """
        path = self.path(name)
        runs = path.with_name(f"{path.name}.runs")
        runs.mkdir(mode=PRIVATE_FOLDER_MODE, exist_ok=True)
        count = 1
        while True:
            try:
                (runs / str(count)).mkdir(mode=PRIVATE_FOLDER_MODE)
            except FileExistsError:
                count += 1
                continue
            return runs / str(count)


async def _receive_upload(draft: Path, chunks: AsyncIterator[bytes]) -> None:
    """Write what arrives to a file of the owner's alone; refuse too much, or nothing."""
    size = 0
    with open(draft, "xb", opener=_open_private) as file:
        async for chunk in chunks:
            size += len(chunk)
            if size > MAX_UPLOAD_BYTES:
                raise Refused(
                    f"The table is larger than {MAX_UPLOAD_BYTES // 2**30} GiB."
                    " Nothing was kept."
                )
            file.write(chunk)
    if size == 0:
        raise Refused("The file is empty. Nothing was kept.")


def _open_private(path: str, flags: int) -> int:
    """Open a file that its owner alone may read."""
    return os.open(path, flags, 0o600)


def _safe_file_name(name: str) -> str:
    """A file name of ours from one a browser sent: its last part, plain characters, a
    kind that can be read.

    >>> _safe_file_name("../../etc/people.csv"), _safe_file_name("C:\\\\data\\\\p<b>.parquet")
    ('people.csv', 'p_b_.parquet')
    """
    last = re.split(r"[/\\\\]", name)[-1].replace("\x00", "")
    if not last.lower().endswith(TABLE_ENDINGS):
        raise Refused(
            f"Names of tables end with {', '.join(TABLE_ENDINGS)}. Nothing was kept."
        )
    stem, ending = _split_ending(last)
    stem = re.sub(r"[^\w .()+-]", "_", stem).strip(" .")[:MAX_STEM_BYTES]
    # File systems count bytes, and the ledger's name is longer than the table's.
    while len(stem.encode()) > MAX_STEM_BYTES:
        stem = stem[:-1]
    # The folder lists names that begin with a letter or a digit; no other would be
    # found again.
    if not re.match(r"\w", stem):
        stem = f"table {stem}".strip()
    return f"{stem}{ending.lower()}"


def _split_ending(name: str) -> tuple[str, str]:
    """A table's name before its ending, and the ending.

    >>> _split_ending("people.csv.gz")
    ('people', '.csv.gz')
    """
    ending = next(end for end in TABLE_ENDINGS if name.lower().endswith(end))
    return name[: -len(ending)], name[-len(ending) :]
