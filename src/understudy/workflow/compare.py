"""Compare a synthetic table with the original: an internal comparison that reads real
rows, recorded in the ledger before it is made.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from understudy.accounting.ledger import Ledger
from understudy.errors import Refused
from understudy.evaluation.utility import INTERNAL_MARKING, MarginalComparison
from understudy.evaluation.utility import compare_marginals as compare_tables
from understudy.schema import Categorical, Column, Lattice, Schema
from understudy.tables import TableSource, describe_rows
from understudy.tables.drafting.draft import draft_observed_schema
from understudy.workflow.open import TableLike, open_source

LABEL_NOT_IN_REAL = "(not in the real table)"
"""Where labels go that only the synthetic table has, in a schema that was drafted for
the comparison.
"""


def compare(
    real: TableLike,
    synthetic: TableLike,
    schema: Schema,
    *,
    ledger: str | Path | None = None,
) -> MarginalComparison:
    """How far every column and pair of `synthetic` is from `real`, under a release's
    closed schema. Internal, not private.

    Rows are compared as they are, whomever the schema protects: an id that a synthetic
    table does not have is not needed. With a `ledger` (or one beside the file) the
    comparison is recorded before it is made. No guarantee covers choosing among releases
    by it.

    >>> import duckdb
    >>> from understudy.schema import Boolean, Identifier, Unit
    >>> real = duckdb.sql("SELECT i // 2 AS person, i % 4 = 0 AS smoker FROM range(400) t(i)")
    >>> fake = duckdb.sql("SELECT i % 2 = 0 AS smoker FROM range(400) t(i)")
    >>> columns = (Identifier(name="person"), Boolean(name="smoker"))
    >>> schema = Schema(columns=columns, unit=Unit(id="person", max_rows=2))
    >>> compare(real, fake, schema).worst_columns(1)[0].distance
    0.25
    """
    original = open_source(real)
    other = open_source(synthetic).without_formula_guards(original.names)
    described, _ = common_schema(original, other, schema=schema)
    note_comparison(ledger, original, "compare")
    return compare_tables(
        describe_rows(original, described),
        describe_rows(other, described),
        described,
    )


def common_schema(
    real: TableSource,
    synthetic: TableSource,
    *,
    holdout: TableSource | None = None,
    schema: Schema | str | Path | None = None,
) -> tuple[Schema, tuple[tuple[str, str], ...]]:
    """A closed schema of what both tables have, rows as units; and what had to be left
    out, with the reason.
    """
    known = _load_or_draft(schema, real, holdout)
    # A schema of the owner may leave domains open, that of a release never does.
    if not known.is_closed:
        known = _close_schema(known, _draft_schema(real, holdout))
    # A synthetic table may lack the id; distances are between rows, not people.
    known = known.with_row_units()
    left_out: list[tuple[str, str]] = []
    kept: list[Column] = []
    for column in known.columns:
        reason = _why_incomparable(column, real, synthetic)
        if reason and column.is_modelled:
            left_out.append((column.name, reason))
        kept.append(replace(column, use=False) if reason else column)
    if not any(column.is_modelled for column in kept):
        why = f' (column "{left_out[0][0]}": {left_out[0][1]})' if left_out else ""
        raise Refused(
            f"{real.title} and {synthetic.title} have no column in common that could be"
            f" compared{why}. Nothing was read."
        )
    # Each table has its own number of rows.
    return replace(known, columns=tuple(kept), rows=None), tuple(left_out)


def _load_or_draft(
    schema: Schema | str | Path | None, real: TableSource, holdout: TableSource | None
) -> Schema:
    """The schema given, or one of what the real rows look like."""
    if schema is not None:
        return schema if isinstance(schema, Schema) else Schema.load(schema)
    drafted = _draft_schema(real, holdout)
    columns = [_allow_other_labels(column) for column in drafted.columns]
    return replace(drafted, columns=tuple(columns))


def _why_incomparable(column: Column, real: TableSource, synthetic: TableSource) -> str:
    """Why a column cannot be compared; empty where it can."""
    missing = []
    if column.name not in real.names:
        missing.append("real")
    if column.name not in synthetic.names:
        missing.append("synthetic")
    if missing:
        return f"it is not in the {' or the '.join(missing)} table"
    if column.is_modelled and not column.is_closed:
        return "every cell of it is empty"
    return ""


def _draft_schema(real: TableSource, holdout: TableSource | None) -> Schema:
    """What the real rows look like, those of the holdout too: a value that only one of
    them has must not set its rows apart.
    """
    known = draft_observed_schema(real)
    if holdout is None:
        return known
    apart = {column.name: column for column in draft_observed_schema(holdout).columns}
    return replace(
        known,
        columns=tuple(
            _widen_column(column, apart.get(column.name)) for column in known.columns
        ),
    )


def _widen_column(column: Column, other: Column | None) -> Column:
    """The column with the labels or bounds of the other one as well."""
    if type(column) is not type(other):
        return column
    if isinstance(column, Categorical) and isinstance(other, Categorical):
        if not column.values or not other.values:
            return column
        labels = {*column.values, *other.values} - set(column.missing)
        return replace(column, values=tuple(sorted(labels)))
    if isinstance(column, Lattice) and isinstance(other, Lattice):
        if not column.is_closed or not other.is_closed:
            return column
        bounds = {}
        for side, widest in (("min", min), ("max", max)):
            bounds[side] = widest(getattr(column, side), getattr(other, side))
        return replace(column, **bounds)
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
    drafts = {column.name: column for column in drafted.columns}
    columns = [_close_column(c, drafts.get(c.name)) for c in known.columns]
    return replace(known, columns=tuple(columns))


def _close_column(column: Column, drafted: Column | None) -> Column:
    """The column with labels or bounds of its draft where it has none of its own."""
    if column.is_closed or not column.is_modelled or drafted is None:
        return column
    if isinstance(column, Categorical) and isinstance(drafted, Categorical):
        labels = [v for v in drafted.values or () if v not in column.missing]
        return replace(column, values=tuple(labels))
    if isinstance(column, Lattice) and type(drafted) is type(column):
        return _fill_bounds(column, drafted)
    # A type that was to be learned is that of the draft.
    return replace(drafted, role=column.role, note="")


def _fill_bounds(column: Lattice, drafted: Lattice) -> Lattice:
    """The column with bounds of its draft where it has none of its own."""
    bounds = {}
    for side in ("min", "max"):
        own = getattr(column, side)
        bounds[side] = getattr(drafted, side) if own is None else own
    return replace(column, **bounds)


def note_comparison(
    ledger: str | Path | None, source: TableSource, event: str = "evaluate"
) -> Path | None:
    """Record the comparison before it is made, in the ledger given or the one beside
    the file; the ledger, or None where there is none.
    """
    is_file = source.path is not None
    if ledger is not None:
        path = Path(ledger)
    elif is_file and source.ledger_path.exists():
        path = source.ledger_path
    else:
        return None
    with Ledger.open(path) as account:
        account.note(
            event,
            f"the real rows were compared with a synthetic table; {INTERNAL_MARKING}",
        )
    return path
