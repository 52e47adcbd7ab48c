"""A census release read from its folder: tables made again from the noisy measurements,
by whoever received them and at no cost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from understudy.accounting.chain import read_amount
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.censuses.output.measurement_file import (
    read_lost_answers,
    read_measurements,
)
from understudy.censuses.release import CensusRelease, estimate_census
from understudy.errors import ReleaseError, UnderstudyError
from understudy.releases import BudgetStatement, Guarantee
from understudy.schema import Schema
from understudy.workflow.censuses.census_check import read_design

MAX_CENSUS_CARD_BYTES = 10 * 2**20
"""Bytes of a card that is read: 5,000 places take less than one MiB."""


def load_census(
    folder: str | Path,
    schema: Schema | str | Path,
    design: Mapping[str, Any] | None = None,
    *,
    method: str = "gls",
) -> CensusRelease:
    """The census release in a folder. Nothing but noisy measurements and invariants is
    read, so it can be estimated by another `method`, for areas that were added to the
    design since, or for any query, as often as one likes.

    >>> import tempfile, duckdb, understudy as us
    >>> people = duckdb.sql(
    ...     "SELECT ['n', 's'][1 + i % 2] AS state, i > 9 AS old FROM range(90) t(i)"
    ... )
    >>> schema = Schema.parse(
    ...     "columns: {state: {type: categorical, values: [n, s]}, old: boolean}"
    ... )
    >>> design = {"hierarchy": {"columns": ["state"]}}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made = us.census(people, schema, design, rho=1, ledger=f"{place}/people.ledger")
    ...     _ = us.save_census(made, f"{place}/out")
    ...     again = load_census(f"{place}/out", schema, design)
    >>> bool((again.counts("state", "detail") == made.counts("state", "detail")).all())
    True
    """
    path = Path(folder, "measurements.npz")
    lost = read_lost_answers(path)
    read = read_design(schema, design).without_answers(lost)
    measured, linked, exact = read_measurements(path, read)
    guarantee, statement = _read_promise(Path(folder, "census.json"))
    return CensusRelease(
        design=read,
        guarantee=guarantee,
        statement=statement,
        measurements=measured,
        exact=exact,
        estimate=estimate_census(
            read, measured, exact, households=linked, method=method
        ),
        method=method,
        household_measurements=linked,
        lost_answers=lost,
    )


def _read_promise(path: Path) -> tuple[Guarantee, BudgetStatement]:
    """The guarantee as the card of the release has it."""
    try:
        # The size first: a huge file must not be read only to be refused.
        if path.stat().st_size > MAX_CENSUS_CARD_BYTES:
            raise ValueError
        facts = json.loads(path.read_text("utf-8"))
        epsilon = read_amount(facts["exact_epsilon"])
        delta = read_amount(facts["exact_delta"])
        guarantee = Guarantee(
            epsilon=epsilon,
            delta=delta,
            accounting=Accounting(facts["accounting"]),
            amount=read_amount(facts["exact_amount"]),
            neighbours=Neighbours(facts["neighbours"]),
            unit=str(facts["unit"]),
            max_rows=int(facts["max_rows"]),
            invariants=tuple(map(str, facts["invariants"])),
            public=tuple(map(str, facts["public"])),
        )
        run = str(facts["run"])
    except (
        *(OSError, ValueError, KeyError, TypeError),
        *(ArithmeticError, RecursionError, UnderstudyError),
    ):
        raise ReleaseError(f"{path}: is not the card of a census release") from None
    return guarantee, BudgetStatement(epsilon=epsilon, delta=delta, run=run)
