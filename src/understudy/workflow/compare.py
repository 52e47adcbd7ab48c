"""Compare a synthetic table with the original: an internal look at real rows, noted in
the ledger before it is taken.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from understudy.accounting.ledger import Ledger
from understudy.errors import Refused
from understudy.evaluation.utility import INTERNAL_MARKING, MarginalComparison
from understudy.evaluation.utility import compare_marginals as compare_tables
from understudy.schema import Categorical, Column, Lattice, Schema
from understudy.tables import Table, TableSource
from understudy.tables.drafting.draft import draft_schema
from understudy.workflow.open import open_source

LABEL_NOT_IN_REAL = "(not in the real table)"
"""Where labels go that only the synthetic table has, in a schema that was drafted for
the comparison.
"""


def compare(
    real: object, synthetic: object, schema: Schema, *, ledger: str | Path | None = None
) -> MarginalComparison:
    """How far every column and pair of `synthetic` is from `real`, under a release's
    closed schema. Internal, not private.

    Rows are compared as they are, whomever the schema protects: an id that a synthetic
    table does not have is not needed. With a `ledger` (or one beside the file) the look
    is noted before it is taken. Choosing among releases by it is a choice no guarantee
    covers.

    >>> import duckdb
    >>> from understudy.schema import Boolean, Identifier, Unit
    >>> real = duckdb.sql("SELECT i // 2 AS person, i % 4 = 0 AS smoker FROM range(400) t(i)")
    >>> fake = duckdb.sql("SELECT i % 2 = 0 AS smoker FROM range(400) t(i)")
    >>> schema = Schema(columns=(Identifier(name="person"), Boolean(name="smoker")), unit=Unit(id="person", max_rows=2))
    >>> compare(real, fake, schema).worst_columns(1)[0].distance
    0.25
    """
    original = open_source(real)
    other = open_source(synthetic).without_formula_guards(original.names)
    described, _ = common_schema(original, other, schema=schema)
    note_comparison(ledger, original, "compare")
    return compare_tables(
        Table(original, described), Table(other, described), described
    )


def common_schema(
    real: TableSource,
    synthetic: TableSource,
    *,
    holdout: TableSource | None = None,
    schema: Schema | str | Path | None = None,
) -> tuple[Schema, tuple[tuple[str, str], ...]]:
    """A closed schema of what both tables have, rows as units; and what had to be left
    out.
    """
    if schema is not None:
        known = schema if isinstance(schema, Schema) else Schema.load(schema)
    else:
        known = _draft_schema(real, holdout)
        known = replace(
            known,
            columns=tuple(_allow_other_labels(column) for column in known.columns),
        )
    if not known.is_closed:
        known = _close_schema(known, _draft_schema(real, holdout))
    known = known.with_row_units()
    left_out: list[tuple[str, str]] = []
    columns: list[Column] = []
    for column in known.columns:
        missing = [
            word
            for word, source in (("real", real), ("synthetic", synthetic))
            if column.name not in source.names
        ]
        reason = f"it is not in the {' or the '.join(missing)} table" if missing else ""
        if not reason and column.is_modelled and not column.is_closed:
            reason = "every cell of it is empty"
        if column.is_modelled and reason:
            left_out.append((column.name, reason))
        columns.append(replace(column, use=False) if reason else column)
    if not any(column.is_modelled for column in columns):
        why = f' (column "{left_out[0][0]}": {left_out[0][1]})' if left_out else ""
        raise Refused(
            f"{real.title} and {synthetic.title} have no column in common that could be"
            f" compared{why}. Nothing was read."
        )
    return replace(known, columns=tuple(columns), rows=None), tuple(left_out)


def _draft_schema(real: TableSource, holdout: TableSource | None) -> Schema:
    """What the real rows look like, those of the holdout too: a value that only one of
    them has must not set its rows apart.
    """
    known = draft_schema(real, public_domains=True, rare_below=1)
    if holdout is None:
        return known
    apart = {
        column.name: column
        for column in draft_schema(holdout, public_domains=True, rare_below=1).columns
    }
    return replace(
        known,
        columns=tuple(
            _widen_column(column, apart.get(column.name)) for column in known.columns
        ),
    )


def _widen_column(column: Column, other: Column | None) -> Column:
    if type(column) is not type(other):
        return column
    if (
        isinstance(column, Categorical)
        and isinstance(other, Categorical)
        and column.values
        and other.values
    ):
        missing = set(column.missing)
        return replace(
            column, values=tuple(sorted({*column.values, *other.values} - missing))
        )
    if (
        isinstance(column, Lattice)
        and isinstance(other, Lattice)
        and column.is_closed
        and other.is_closed
    ):
        low, high = (
            pick(getattr(column, side), getattr(other, side))
            for side, pick in (("min", min), ("max", max))
        )
        return replace(column, min=low, max=high)  # type: ignore[call-arg]
    return column


def _allow_other_labels(column: Column) -> Column:
    """Labels that only the synthetic table has are a difference of their own, not
    missing cells.
    """
    free = (
        isinstance(column, Categorical)
        and column.values is not None
        and LABEL_NOT_IN_REAL not in column.values
    )
    return replace(column, other=LABEL_NOT_IN_REAL) if free else column  # type: ignore[call-arg]


def _close_schema(known: Schema, drafted: Schema) -> Schema:
    """The schema with what it leaves open filled in from the real table: good for a
    comparison, and for nothing else.
    """
    columns: list[Column] = []
    for column in known.columns:
        seen = next(
            (other for other in drafted.columns if other.name == column.name), None
        )
        if column.is_closed or not column.is_modelled or seen is None:
            columns.append(column)
        elif isinstance(column, Categorical) and isinstance(seen, Categorical):
            columns.append(
                replace(
                    column,
                    values=tuple(
                        v for v in seen.values or () if v not in column.missing
                    ),
                )
            )
        elif isinstance(column, Lattice) and type(seen) is type(column):
            bounds = {
                side: (
                    getattr(column, side)
                    if getattr(column, side) is not None
                    else getattr(seen, side)
                )
                for side in ("min", "max")
            }
            columns.append(replace(column, **bounds))
        else:
            columns.append(replace(seen, role=column.role, note=""))
    return replace(known, columns=tuple(columns))


def note_comparison(
    ledger: str | Path | None, source: TableSource, event: str = "evaluate"
) -> Path | None:
    """Write the look down before it is taken, in the ledger given or the one beside the
    file.
    """
    beside = (
        source.ledger_path
        if source.kind in ("csv", "parquet") and source.ledger_path.exists()
        else None
    )
    path = Path(ledger) if ledger is not None else beside
    if path is not None:
        with Ledger.open(path) as book:
            book.note(
                event,
                "the real rows were compared with a synthetic table;"
                f" {INTERNAL_MARKING}",
            )
    return path
