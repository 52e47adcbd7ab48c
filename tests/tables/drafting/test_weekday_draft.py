"""Weekdays are to be learned where they differ and noise leaves something of them."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pyarrow as pa
import pytest

from understudy.tables.drafting.draft import draft_schema
from understudy.tables.sources.open_table import open_table

MONDAY = date(1965, 1, 4)


def dates(count, weekdays, *, weeks=200):
    """Dates on these days of the week, from before 1970 on."""
    return [
        MONDAY + timedelta(days=7 * (i % weeks) + weekdays[i % len(weekdays)])
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("cells", "learned"),
    [
        (dates(1400, range(5)), True),
        (dates(1400, range(7)), False),
        (dates(900, range(5)), False),
        (dates(1400, range(5), weeks=8), False),
    ],
    ids=["workdays", "all days", "few dates", "few weeks"],
)
def test_weekdays_are_learned_where_it_pays(cells, learned):
    moments = [datetime(d.year, d.month, d.day, 12) for d in cells]
    table = pa.table({"day": cells, "seen": moments, "x": ["a"] * len(cells)})
    with open_table(table) as source:
        drafted = draft_schema(source)
    wanted = None if learned else ()
    assert drafted["day"].weekdays == drafted["seen"].weekdays == wanted
