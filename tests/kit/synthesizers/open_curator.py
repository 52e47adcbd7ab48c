"""A real curator on made-up rows: table, noise and a ledger on disk, as a run has them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction

import pyarrow as pa
import pytest

from understudy.accounting.budget import Budget
from understudy.accounting.filter import Filter
from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator, CuratorView, MechanismContext, Payments
from understudy.schema import Schema
from understudy.tables import Table, open_table
from understudy.testing.trial import OpenCurator, TrialRows

THRESHOLDS = Fraction(1, 10)
"""Part of δ set aside for thresholds."""


def text(value: object) -> str | None:
    """A cell as a file would have it."""
    return (
        None
        if value is None
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


@pytest.fixture(scope="session")
def open_curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenCurator]:
    """Opens curators; every one has a run of its own, reserved in the ledger of its
    neighbour relation.
    """
    folder = tmp_path_factory.mktemp("ledgers")
    tables: dict[str, Table] = {}
    with ExitStack() as stack:
        ledgers = {
            relation: stack.enter_context(
                Ledger.create(
                    folder / f"{relation}.ledger",
                    dataset="made up",
                    neighbours=relation,
                )
            )
            for relation in Neighbours
        }

        def open_one(
            schema: Schema,
            rows: TrialRows,
            *,
            epsilon: Fraction,
            delta: Fraction,
            neighbours: Neighbours,
        ) -> CuratorView:
            budget = Budget.of(epsilon, delta)
            filter = Filter.of(budget, threshold_delta=delta * THRESHOLDS)
            run = ledgers[neighbours].reserve(
                budget, event="conformance", filter=filter
            )
            key = repr((schema, rows))
            if key not in tables:
                cells = {
                    name: pa.array(map(text, values), pa.string())
                    for name, values in rows.items()
                }
                tables[key] = Table(open_table(pa.table(cells)), schema)
            context = MechanismContext(
                table=tables[key],
                payments=Payments(run, filter),
                neighbours=neighbours,
                accounting=filter.accounting,
                epsilon=epsilon,
                max_rows=schema.unit.max_rows,
            )
            curator = Curator(context, schema)
            curator.hand_over()
            return CuratorView(curator)

        yield open_one
