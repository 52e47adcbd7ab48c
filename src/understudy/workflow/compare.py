"""Compare a stand-in with the original: an internal look at real rows, noted in the ledger before it is taken."""

from __future__ import annotations

from pathlib import Path

from understudy.accounting.ledger import Ledger
from understudy.schema import Schema
from understudy.tables import Table
from understudy.utility import INTERNAL, Comparison
from understudy.utility import compare as compare_tables
from understudy.workflow.opening import open_source


def compare(real: object, synthetic: object, schema: Schema, *, ledger: str | Path | None = None) -> Comparison:
    """How far every column and pair of `synthetic` is from `real`, under a release's closed schema. Internal, not private.

    With a `ledger` the look is noted there. Choosing among releases by it is a choice no guarantee covers.
    """
    if ledger is not None:
        with Ledger.open(ledger) as book:
            book.note("compare", f"marginals of the real rows compared with a release; {INTERNAL}")
    return compare_tables(Table(open_source(real), schema), Table(open_source(synthetic), schema), schema)
