"""A declared number of rows, held against the table: before a run where the number is
public anyway, after it by what was measured.
"""

from __future__ import annotations

import math
from dataclasses import replace

from understudy.accounting.neighbours import Neighbours
from understudy.curator.curator import agreed_rows
from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models.estimates.pooling import pool_total
from understudy.schema import Schema
from understudy.tables import Table

MIN_MISCOUNT_DEVIATIONS, MAX_MISCOUNT_SHARE = 5.0, 0.02
"""Deviations of noise beyond which it is not chance, and the share of all rows within
which a number is right enough.
"""


def refuse_miscounted(table: Table, schema: Schema, neighbours: Neighbours) -> None:
    """Where all neighbours have as many rows their number is public, and one that is
    declared has to be it.
    """
    rows = None if schema.rows is None else agreed_rows(table, schema, neighbours)
    if rows is not None and rows != schema.rows:
        raise Refused(
            f"The schema says {schema.rows:,} rows, and the table has {rows:,}: correct"
            " `rows`, or leave it out. Nothing was spent"
        )


def describe_miscount(schema: Schema, measurements: Measurements) -> str:
    """What a declared number of rows is off by, if what was measured cannot be squared
    with it: counts follow the number all the same.

    That answers disagree is told from what was paid for. A number that is nearly right
    is good enough.
    """
    if schema.rows is None:
        return ""
    rows, variance = pool_total(replace(schema, rows=None), measurements)
    if (
        not abs(rows - schema.rows)
        > MIN_MISCOUNT_DEVIATIONS * math.sqrt(variance)
        + MAX_MISCOUNT_SHARE * schema.rows
    ):
        return ""
    return (
        f"the schema says {schema.rows:,}, and what was measured adds up to about"
        f" {max(round(rows), 0):,}. Counts follow the schema: correct `rows`, or leave"
        " it out, before the next run"
    )
