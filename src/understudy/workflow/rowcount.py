"""A declared number of rows, compared with the table: before a run where the number is
public anyway, after it with what was measured.
"""

from __future__ import annotations

import math
from dataclasses import replace

from understudy.accounting.neighbours import Neighbours
from understudy.curator.curator import agreed_rows
from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models.estimates.pooling import pool_total
from understudy.notices import Notice, NoticeKind
from understudy.schema import Schema
from understudy.tables import Table

MIN_MISCOUNT_DEVIATIONS, MAX_MISCOUNT_SHARE = 5.0, 0.02
"""Standard deviations of the noise that a miscount must exceed, besides this share of
the declared rows: a number that is nearly right does no harm.
"""


def refuse_miscounted(table: Table, schema: Schema, neighbours: Neighbours) -> None:
    """Where all neighbours have the same number of rows it is public, and a declared
    number must equal it.

    Call it only after the ledger has agreed to the relation: the message names the
    exact number of rows.
    """
    if schema.rows is None:
        return
    rows = agreed_rows(table, schema, neighbours)
    if rows is not None and rows != schema.rows:
        raise Refused(
            f"The schema says {schema.rows:,} rows, and the table has {rows:,}: correct"
            " `rows`, or leave it out. Nothing was spent"
        )


def find_miscount(schema: Schema, measurements: Measurements) -> Notice | None:
    """That the declared number of rows contradicts what was measured; None where it
    does not, or where no number is declared. Counts follow the number all the same.

    The comparison uses paid answers alone. A number that is nearly right is good enough.
    """
    if schema.rows is None:
        return None
    # Without the declared number, which would otherwise count as exact.
    rows, variance = pool_total(replace(schema, rows=None), measurements)
    noise = MIN_MISCOUNT_DEVIATIONS * math.sqrt(variance)
    if abs(rows - schema.rows) <= noise + MAX_MISCOUNT_SHARE * schema.rows:
        return None
    return Notice(
        NoticeKind.MISCOUNTED,
        f"The number of rows is off: the schema says {schema.rows:,}, and what was"
        f" measured adds up to about {max(round(rows), 0):,}. Counts follow the schema:"
        " correct `rows`, or leave it out, before the next run.",
    )
