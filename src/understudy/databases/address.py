"""Addresses of tables in databases.

    postgresql://user@host/survey?table=public.people
    sqlite:///survey.db?table=people
    survey.duckdb::people
    spark:clinic.people

An address may hold a password. So whatever is shown of it, and the account of its table,
are made of the names of the database and of the table alone.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, quote, unquote, urlsplit

from understudy.errors import TableError

POSTGRES_SCHEMES = ("postgresql", "postgres")
DUCKDB_ENDINGS = (".duckdb", ".ddb")
SQLITE_ENDINGS = (".sqlite", ".sqlite3")
TABLE_SEPARATOR = "::"
"""What stands between the file of a database and the name of a table in it."""

DEFAULT_SCHEMA_NAME = "public"
"""The schema in which PostgreSQL looks for a table that is named without one."""

SPARK_SCHEME = "spark:"
SPARK_CATALOG = "spark_catalog"
SPARK_DATABASE = "default"
"""Where Spark looks for a table that is named alone, unless its session says otherwise."""

_SCHEME_REGEX = re.compile(r"(postgresql|postgres|sqlite)://", re.IGNORECASE)
_URL_REGEX = re.compile(
    r"([a-z][a-z0-9.+-]+):(?:[a-z0-9.+-]+:)?/|(postgres(?:ql)?|jdbc):", re.IGNORECASE
)
_STORAGE_REGEX = re.compile(r"s3[an]?|gs|gcs|az|abfss?|hdfs|https?")
_SECRET_REGEX = re.compile(
    r"(?:^|[\s?&;])\w*(?:password|passwd|pwd)\s*=|\?.*(?:key|secret|sig|token)="
    r"|^(?://)?[^\s/\\:]+:(?!:)[^\s/\\@]+@[^\s/\\]",
    re.IGNORECASE,
)
"""What a path does not hold, but a driver's own way of naming a database does, or an
address that lacks its scheme: `host=db password=word`, `Server=db;Pwd=word`,
`ann:word@db/survey`.
"""
_NAME_PATTERN = r'"(?:[^"]|"")+"|[^".=;&]+'
_KEYED_REGEX = re.compile(r"://[^/@]*:[^/]*@|\?.*=")
"""A user's name and password before a host, or options after a path; without "=", a
question mark stands for any letter.
"""
_SPARK_NAME_REGEX = re.compile(r"`(?:[^`]|``)+`|[^`.]+")
_TABLE_REGEX = re.compile(rf"(?:({_NAME_PATTERN})\.)?({_NAME_PATTERN})")


LAKE_MARKS = ("_delta_log", ".hoodie", "metadata/*.metadata.json*")
"""What lies in the folder of a Delta, Hudi or Iceberg table beside its rows."""


@dataclass(frozen=True, kw_only=True)
class DatabaseAddress:
    """A table in a database.

    `system` is postgresql, sqlite, duckdb or spark; `path` the file of a database that is one;
    `location` how to connect, which may hold a password and is never shown.

    >>> address = parse_address("postgresql://ann:secret@db/survey?table=people")
    >>> str(address), "secret" in repr(address)
    ('survey.people', False)
    """

    system: str
    database: str
    table: str
    schema: str | None = None
    path: Path | None = None
    location: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        if self.path is not None:
            return f"{self.path}{TABLE_SEPARATOR}{self.table}"
        return self.title

    @property
    def title(self) -> str:
        """A name for the table that says nothing about how to connect."""
        schema = None if self.schema == DEFAULT_SCHEMA_NAME else self.schema
        parts = (self.database, schema, self.table)
        return ".".join(part for part in parts if part)

    @property
    def ledger_path(self) -> Path:
        """The account of the table: beside the database where that is a file, else in
        the current folder. However a table is named, it has one account.
        """
        if self.path is None:
            if self.system == "spark":
                return name_spark_ledger(self.location)
            return Path(f"{quote(self.title, safe=' ')}.ledger")
        real = self.path.resolve() if self.path.is_symlink() else self.path
        # To SQLite, DuckDB and Spark, `People` and `people` are the same table.
        table = quote(self.table.casefold(), safe=" ")
        return real.with_name(f"{real.name}.{table}.ledger")


def is_address(text: object) -> bool:
    """Whether a text names a table in a database, or is another URL, and not a file.

    >>> [is_address(text) for text in ("people.csv", "shop.duckdb::visits")]
    [False, True]
    """
    if not isinstance(text, str):
        return False
    if text.startswith(SPARK_SCHEME):
        return True
    file, separator, _ = text.rpartition(TABLE_SEPARATOR)
    named = bool(separator) and _file_system(Path(file)) is not None
    bare = _file_system(Path(text)) is not None
    is_url = _URL_REGEX.match(text) is not None
    return named or bare or is_url or _SECRET_REGEX.search(text) is not None


def parse_address(text: str) -> DatabaseAddress:
    """The table that a text names; refused where it names none."""
    if text.startswith(SPARK_SCHEME):
        return _parse_spark_address(text.removeprefix(SPARK_SCHEME))
    if _SCHEME_REGEX.match(text) is None:
        refuse_remote(text)
        return _parse_file_address(text)
    parts = None
    # The library's message may quote the address, and a password in it.
    with suppress(ValueError):
        parts = urlsplit(text)
    if parts is not None and parts.scheme == "sqlite":
        if parts.netloc:
            raise TableError(
                "an address of SQLite has three slashes before its file:"
                " sqlite:///FILE?table=NAME. Nothing was read"
            )
        path = Path(unquote(parts.path)[1:])
        _, table = _split_table(_read_options(parts.query), path.name)
        return _file_address("sqlite", path, table)
    # A slash in a password ends the host's part, and what follows would be a name.
    if parts is None or re.search("[/@=]", unquote(parts.path[1:])):
        raise TableError(
            "the address of the database is no URL. Write it as"
            " postgresql://user@host/database?table=NAME, and in a password %2F for /"
            " and %40 for @. Nothing was read"
        )
    return _parse_postgres_address(parts)


def _parse_postgres_address(parts: SplitResult) -> DatabaseAddress:
    options = _read_options(parts.query)
    named = unquote(parts.path[1:]) or options.get("dbname") or parts.username
    database = named or "postgres"
    schema, table = _split_table(options, database)
    # PostgreSQL's own library does not know this option.
    pairs = [pair for pair in parts.query.split("&") if not pair.startswith("table=")]
    kept = f"?{'&'.join(pairs)}" if pairs else ""
    return DatabaseAddress(
        system="postgresql",
        database=database,
        schema=schema,
        table=table,
        # By hand: the standard library leaves out two slashes that no host follows.
        location=f"postgresql://{parts.netloc}{parts.path}{kept}",
    )


def _read_options(query: str) -> dict[str, str]:
    """The options of an address. A plus is a plus, as it is to PostgreSQL."""
    pairs = [pair.partition("=") for pair in query.split("&")]
    return {unquote(name): unquote(value) for name, _, value in pairs}


def _parse_spark_address(location: str) -> DatabaseAddress:
    """A table of Spark's catalogue, or a path of any file system that Spark reads."""
    name = _name_last_part(location)
    if not name or location.startswith("//"):
        raise TableError(
            "name a table or a path after spark:, such as spark:clinic.people. Where the"
            " cluster is, Spark's own settings say. Nothing was read"
        )
    if _KEYED_REGEX.search(location) is not None:
        raise TableError(
            "a key in an address would stand in Spark's plans and logs. Give it to"
            " Spark's settings, such as spark.hadoop.fs.s3a.secret.key. Nothing was read"
        )
    return DatabaseAddress(system="spark", database="", table=name, location=location)


def name_spark_ledger(
    location: str, catalog: str = SPARK_CATALOG, database: str = SPARK_DATABASE
) -> Path:
    """The account of a table or path of Spark; `catalog` and `database` are those in
    which the session looks for a table that is named alone.

    >>> names = "people", "default.People", "spark_catalog.default.`people`"
    >>> {str(name_spark_ledger(name)) for name in names}
    {'people.ledger'}
    >>> str(name_spark_ledger("people", database="clinic"))
    'clinic.people.ledger'
    """
    name = _name_last_part(location)
    if name == location:
        parts = [
            part[1:-1].replace("``", "`") if part.startswith("`") else part
            for part in _SPARK_NAME_REGEX.findall(location)
        ]
        # One name for each table, with what every session has left out.
        named = [*[catalog, database][: max(3 - len(parts), 0)], *parts]
        usual = (SPARK_CATALOG, SPARK_DATABASE)
        while 1 < len(named) <= 3 and named[0].casefold() == usual[3 - len(named)]:
            named = named[1:]
        name = ".".join(named)
    return Path(f"{quote(name.casefold(), safe=' ')}.ledger")


def _name_last_part(location: str) -> str:
    """The last part of a path, and the whole of a name.

    >>> [_name_last_part(each) for each in ("s3a://bucket", "s3a://bucket/p/", "people")]
    ['', 'p', 'people']
    """
    _, separator, place = location.partition("://")
    path = place.partition("/")[2] if separator else location
    return path.rstrip("/").rpartition("/")[2]


def _parse_file_address(text: str) -> DatabaseAddress:
    file, separator, table = text.rpartition(TABLE_SEPARATOR)
    path = Path(file if separator else text)
    system = _file_system(path)
    if system is None or not separator or not table:
        raise TableError(
            f"{path.name}: is a database. Name a table in it:"
            f" {path.name}{TABLE_SEPARATOR}TABLE. Nothing was read"
        )
    return _file_address(system, path, table)


def _file_address(system: str, path: Path, table: str) -> DatabaseAddress:
    return DatabaseAddress(system=system, database=path.name, table=table, path=path)


def _file_system(path: Path) -> str | None:
    """The system whose database a file is, by its name."""
    ending = path.suffix.lower()
    if ending in DUCKDB_ENDINGS:
        return "duckdb"
    return "sqlite" if ending in SQLITE_ENDINGS else None


def _split_table(options: dict[str, str], name: str) -> tuple[str | None, str]:
    """The schema, where one is named, and the table; a dot in a name is quoted."""
    found = _TABLE_REGEX.fullmatch(options.get("table", ""))
    if found is None:
        raise TableError(
            f"{name}: name a table of the database at the end of the address:"
            " ?table=NAME or ?table=SCHEMA.NAME. Nothing was read"
        )
    schema, table = (
        None if name is None else _unquote_name(name) for name in found.groups()
    )
    assert table is not None
    return schema, table


def _unquote_name(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def refuse_remote(text: str) -> None:
    """Refuse a place on the network, with what reads it; of a URL only its scheme is
    shown, since a password may stand in the rest.

    >>> refuse_remote("people.csv")
    """
    url = _URL_REGEX.match(text)
    if url is None:
        if _SECRET_REGEX.search(text) is not None:
            raise TableError(
                "a password in what is named: that is no path and no address. Write"
                " postgresql://user@host/database?table=NAME, or give an open connection"
                " (us.DatabaseTable). Nothing was read"
            )
        return
    scheme = url[1] or url[2]
    if _STORAGE_REGEX.fullmatch(scheme):
        raise TableError(
            f"a table at {scheme}:// is not on this machine. Copy it here, give a DuckDB"
            " relation that reads it (extensions httpfs, delta, iceberg), or let Spark"
            " read it (spark:PATH). Nothing was read"
        )
    raise TableError(
        f"{scheme}: is no address that is read or written here. Write a path,"
        " postgresql://user@host/database?table=NAME, sqlite:///FILE?table=NAME or"
        " FILE.duckdb::NAME, or give an open connection (us.DatabaseTable). Nothing was"
        " read"
    )


def refuse_lake(path: Path) -> None:
    """Refuse the folder of a table of a lake, and what lies in it: its files hold rows
    that the table no longer has, and rows twice that were changed.
    """
    real = Path()
    # What is no path at all is refused by whoever opens it.
    with suppress(OSError, ValueError):
        real = path.resolve()
    for folder in (real, *real.parents):
        if any(any(folder.glob(mark)) for mark in LAKE_MARKS):
            raise refuse_as_lake(path.name)


def list_lake_marks(location: str) -> list[str]:
    """The same for a path that Spark reads: patterns for its folder and the two above
    it, as where rows lie in a folder for each year and month.

    >>> list_lake_marks("s3a://bucket/people")
    ['s3a://bucket/people/{_delta_log,.hoodie,metadata/*.metadata.json*}']
    >>> [marks.partition("/{")[0] for marks in list_lake_marks("people/year=2020")]
    ['people/year=2020', 'people']
    """
    marks = f"/{{{','.join(LAKE_MARKS)}}}"
    scheme, separator, path = location.rstrip("/").rpartition("://")
    parts = path.split("/")
    # The host, or the root, is no folder of a table.
    first = 1 if separator or not parts[0] else 0
    depths = range(len(parts), max(len(parts) - 3, first), -1)
    return [f"{scheme}{separator}{'/'.join(parts[:n])}{marks}" for n in depths]


def refuse_as_lake(name: str) -> TableError:
    """What is said of a path in a lake."""
    return TableError(
        f"{name}: lies in a Delta, Iceberg or Hudi table, whose files hold deleted rows"
        " too. Give a DuckDB relation of the table (delta_scan or iceberg_scan), or let"
        " Spark read it by its name (spark:TABLE). Nothing was read"
    )
