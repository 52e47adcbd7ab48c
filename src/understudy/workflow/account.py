"""The ledger that a run is charged to when none is named.

It is `<file>.ledger` beside the file. The same rows under another name would get
another, empty ledger, and a cap would not bind. What can be seen of that without a
digest of rows, which would say something about them, is refused or announced:

  * a symbolic link has the account of the file it leads to; one that has an account
    under its own name is refused;
  * a hard link whose other name, in the same folder, has an account is refused;
  * a new account beside that of a file that is gone, which may have been renamed, is
    refused;
  * any other new account is announced, since a copy, or a name in another folder,
    cannot be recognised.
"""

from __future__ import annotations

from pathlib import Path

from understudy.accounting.ledger import Ledger
from understudy.accounting.ledger_files.disk import find_ledgers_beside
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.notices import Notice, NoticeKind
from understudy.schema import Schema
from understudy.tables.sources.kind import table_kind
from understudy.tables.sources.source import TableSource


def open_ledger(
    path: str | Path | None,
    source: TableSource,
    *,
    dataset: str | None,
    neighbours: Neighbours,
    schema: Schema,
) -> Ledger:
    """The ledger asked for, or an uncapped one beside the file that records the running
    total. Refused where it protects another unit, or by another relation.

    A ledger of a file's own name is its account, whatever its owner calls the dataset.
    """
    unit = unit_words(schema)
    where = Path(path) if path is not None else source.ledger_path
    if path is None:
        refuse_second_account(source)
    # All frames share table.ledger: only their dataset's name tells them apart.
    is_own = path is not None or source.path is not None
    if dataset is None and is_own and where.exists():
        ledger = Ledger.open(where)
        ledger.expect(neighbours=neighbours, unit=unit)
        return ledger
    name = dataset or source.title
    return Ledger.open_or_create(where, dataset=name, neighbours=neighbours, unit=unit)


def unit_words(schema: Schema) -> str:
    """The privacy unit, as a ledger writes it down."""
    if schema.unit.id is None:
        return schema.unit.noun
    return f"{schema.unit.id}, at most {schema.unit.max_rows} rows"


def announce_account(source: TableSource) -> Notice | None:
    """What is said before a new account is made for a table; None where it has one.
    Refused where another may be its account.
    """
    refuse_second_account(source)
    path = source.ledger_path
    if path.exists():
        return None
    is_file = source.path is not None and source.path.is_file()
    link_count = source.path.stat().st_nlink if source.path and is_file else 1
    linked = ""
    if link_count > 1:
        linked = (
            f" {source.title} has {link_count} names (hard links), and each has an"
            " account of its own."
        )
    return Notice(
        NoticeKind.NEW_ACCOUNT,
        f"A new account, without a cap, is made for {source.title}: {path}.{linked} If"
        " these rows have an account already, name it (--ledger).",
    )


def refuse_second_account(source: TableSource) -> None:
    """Refuse an account by default where another one is, or may well be, that of the
    same rows.
    """
    if source.path is None:
        return
    _refuse_account_of_link(source.path, source.ledger_path)
    if source.ledger_path.exists():
        return
    if source.path.is_dir():
        _refuse_account_inside(source.path)
        return
    _refuse_account_of_alias(source.path.resolve())
    _refuse_account_of_gone(source.title, source.ledger_path)


def _refuse_account_of_link(path: Path, book: Path) -> None:
    """Refuse a link that has a ledger under its own name, besides or instead of that of
    the file it leads to.
    """
    own = _ledger_of(path)
    if not path.is_symlink() or not own.exists():
        return
    if book.exists() and own.samefile(book):
        return
    raise Refused(
        f"{path.name} is a link to {book.stem}, and an account lies under each name or"
        f" only under the link's: name the one to charge (--ledger {own}), or move it"
        f" to {book}. Nothing was spent."
    )


def _refuse_account_inside(folder: Path) -> None:
    """Refuse a new account for a folder in which a file has one: its rows would have
    two.
    """
    for book in sorted(folder.glob("*.ledger")):
        raise Refused(
            f"{book.name} is an account in the folder {folder.name}: name it (--ledger"
            f" {book}), or open one for the folder: understudy ledger init"
            f" {_ledger_of(folder)} --epsilon E. Nothing was spent."
        )


def _refuse_account_of_alias(real: Path) -> None:
    """Refuse a hard link whose other name, in the same folder, has an account. Names in
    other folders cannot be found.
    """
    if real.stat().st_nlink == 1:
        return
    # Only this folder: the file system does not say where other names are.
    for book in sorted(real.parent.glob("*.ledger")):
        other = book.with_suffix("")
        if other.is_file() and other.samefile(real):
            raise Refused(
                f"{real.name} and {other.name} are one file under two names, and"
                f" {book.name} is its account: name it (--ledger {book}). Nothing was"
                " spent."
            )


def _refuse_account_of_gone(title: str, book: Path) -> None:
    """Refuse a new account beside one whose file is gone: the file may have been
    renamed.
    """
    # A ledger without its table, beside a table without a ledger: most likely a rename.
    for other in find_ledgers_beside(book):
        gone = other.with_suffix("")
        if table_kind(gone) is not None:
            raise Refused(
                f"{other.name} is the account of {gone.name}, which is not there any"
                f" more. If {title} is that table under another name, rename the ledger"
                f" too or name it (--ledger {other}); if not, open an account for it:"
                f" understudy ledger init {book.name} --epsilon E. Nothing was spent."
            )


def _ledger_of(path: Path) -> Path:
    return path.with_name(path.name + ".ledger")
