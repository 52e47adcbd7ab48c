"""Mask a table: copies in which the columns that could identify a person are drawn from
models of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import randbits

from understudy.accounting.ledger import Ledger
from understudy.errors import Refused
from understudy.evaluation.risk.assessment import resolve_roles
from understudy.imputation.mask_strength import MaskStrength
from understudy.imputation.masked_table import MaskedTable, read_original
from understudy.imputation.risk_targeted import RiskStrengths, check_targeted
from understudy.imputation.sequence import plan_columns
from understudy.imputation.tree import DEFAULT_LEAF_ROWS, DonorLeaves
from understudy.schema import BrokenRowPolicy, Role, Schema
from understudy.tables import Records, Table, TableSource
from understudy.workflow.compare import common_schema
from understudy.workflow.open import TableLike, open_source

DEFAULT_MASKED_COPIES = 5
"""Copies that are drawn: from five on, intervals are hardly wider for having few."""

SEED_BITS = 128
"""Bits of the draws' entropy where no seed is given: as many as numpy takes itself."""

MASKING_NOTE = (
    "masked copies were made from the real rows: disclosure control without"
    " differential privacy"
)


def mask(
    data: TableLike,
    *,
    schema: Schema | str | Path | None = None,
    replaced: Sequence[str] | None = None,
    full: bool = False,
    method: str = "cart",
    methods: Mapping[str, str] | None = None,
    predictors: Mapping[str, Sequence[str]] | None = None,
    copies: int = DEFAULT_MASKED_COPIES,
    proper: bool = True,
    leaf_rows: int = DEFAULT_LEAF_ROWS,
    smooth: bool = False,
    imputations: int = 0,
    strength: MaskStrength | RiskStrengths | None = None,
    ledger: str | Path | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> MaskedTable:
    """Copies of a table in which the `replaced` columns are drawn from models given the
    others: disclosure control, and no differential privacy.

    By default the quasi-identifiers of the schema are replaced and the other columns
    kept; `full` replaces every column. Direct identifiers and free text are left out.
    `method` is `cart` (trees), `norm+logit`, `normrank+logit` or `da-mi`, which keeps
    draws near the original cells by masks of a `strength`, or `copula`, whose masks
    differ by how much a person stands out (`RiskStrengths`); `methods` says otherwise for
    single columns (`cart`, `norm`, `normrank`, `logit`, `polr`, `sample`), and `predictors`
    what each is predicted from. A label with a declared order has one model for all its
    labels (`polr`). Trees have leaves of `leaf_rows` people or more, and `smooth` draws
    numbers from a density of each leaf, so that no original value is handed out but by
    chance. Columns are drawn in the order of `replaced`. `proper`
    draws the parameters of the models too. Whoever knows the `seed` and the models knows
    the draws: keep it secret, or leave it out. With `imputations`, missing cells of all
    columns are imputed that many times, and each imputation gets `copies` copies.

    >>> import duckdb
    >>> people = duckdb.sql(
    ...     "SELECT 20 + i % 60 AS age, i % 2 = 0 AS smoker, i % 7 AS visits FROM range(500) t(i)"
    ... )
    >>> masked = mask(people, replaced=["age"], copies=2)
    >>> print(masked)  # doctest: +NORMALIZE_WHITESPACE
    2 copies of 500 rows: age replaced, smoker and visits kept. Disclosure control without
    differential privacy: there is no bound on what can be inferred.
    """
    _check_strength(method, strength)
    if copies < 1 or leaf_rows < 1:
        raise Refused("mask: give at least one copy, and leaves of at least one row")
    _check_imputations(imputations, copies, full=full)
    source = open_source(data)
    described = describe_rows(source, schema)
    chosen = choose_replaced(described, replaced, full=full)
    # Planned before a row is read: what cannot work costs nothing.
    plans = plan_columns(
        described,
        chosen,
        kept=[name for name in described if name not in chosen],
        method=method,
        methods=methods,
        predictors=predictors,
    )
    if method == "copula":
        if methods or predictors:
            raise Refused(
                "mask: a copula draws all columns together: leave methods out"
            )
        check_targeted(described, chosen)
        plans = [replace(plan, method="copula") for plan in plans]
    return MaskedTable(
        original=read_people(source, described, ledger, progress),
        plans=tuple(plans),
        method=method,
        copies=copies * max(imputations, 1),
        nest=copies if imputations else 0,
        proper=proper,
        leaves=DonorLeaves(rows=leaf_rows, smooth=smooth),
        strength=(
            (strength if isinstance(strength, MaskStrength) else MaskStrength())
            if method == "da-mi"
            else None
        ),
        risk_strengths=(
            (strength if isinstance(strength, RiskStrengths) else RiskStrengths())
            if method == "copula"
            else None
        ),
        # Chosen here, so that more copies of the same table continue these.
        entropy=randbits(SEED_BITS) if seed is None else seed,
        progress=progress,
    )


def _check_strength(method: str, strength: MaskStrength | RiskStrengths | None) -> None:
    if isinstance(strength, MaskStrength) and method != "da-mi":
        raise Refused('mask: a strength of masks is for method="da-mi"')
    if isinstance(strength, RiskStrengths) and method != "copula":
        raise Refused('mask: strengths by risk are for method="copula"')


def _check_imputations(imputations: int, copies: int, *, full: bool) -> None:
    if imputations == 0:
        return
    if imputations < 2 or copies < 2 or full:
        raise Refused(
            "mask: imputed tables are masked in part, with at least 2 imputations and 2"
            " copies of each"
        )


def read_people(
    source: TableSource,
    schema: Schema,
    ledger: str | Path | None,
    progress: Callable[[str], None],
) -> Records:
    """The rows that are masked, once it is written down that they are read."""
    _note_masking(ledger, source)
    progress("reading rows")
    original = read_original(Table(source, schema))
    if original.rows < 2:
        raise Refused(f"{source.title}: has no rows to fit a model on")
    return original


def describe_rows(source: TableSource, schema: Schema | str | Path | None) -> Schema:
    """A closed schema of the table; what the owner's leaves open is read off the rows."""
    described, _ = common_schema(source, source, schema=schema)
    # Direct identifiers have no place in a copy, whatever their type.
    columns = tuple(
        replace(column, use=False) if column.role is Role.DIRECT_IDENTIFIER else column
        for column in described.columns
    )
    # A row that breaks a rule is a row all the same: none is dropped.
    return replace(described, columns=columns, broken=BrokenRowPolicy.KEEP)


def choose_replaced(
    schema: Schema, replaced: Sequence[str] | None, *, full: bool = False
) -> list[str]:
    """The columns that are drawn: those named, all, or the quasi-identifiers."""
    if full:
        if replaced is not None:
            raise Refused("mask: `full` replaces every column; leave `replaced` out")
        return list(schema)
    if replaced is None:
        chosen, _, is_guess = resolve_roles(schema)
        if is_guess and not any(
            schema[name].role is Role.QUASI_IDENTIFIER for name in schema
        ):
            raise Refused(
                "mask: no column is a quasi-identifier. Name the columns to replace"
                " (`replaced`, `--replace`), or give them the role “quasi_identifier” in the schema"
            )
        return chosen
    for name in replaced:
        if name not in schema:
            raise Refused(
                f'mask: column "{name}" is not in the table, or is left out as an'
                " identifier or free text"
            )
    if not replaced or len(set(replaced)) < len(replaced):
        raise Refused("mask: name at least one column to replace, and each once")
    return list(replaced)


def _note_masking(ledger: str | Path | None, source: TableSource) -> None:
    """Write down that rows left without differential privacy, where there is a ledger."""
    path = None if ledger is None else Path(ledger)
    if path is None and source.path is not None and source.ledger_path.exists():
        path = source.ledger_path
    if path is not None:
        with Ledger.open(path) as account:
            account.note("mask", MASKING_NOTE)
