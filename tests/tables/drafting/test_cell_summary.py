"""Votes of all columns in one query are those of each column alone."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import polars as pl

from understudy.tables.drafting.cell_summary import count_ballots, count_table_ballots
from understudy.tables.sources.open_table import open_table

CELLS = {
    "labels": ["low", "mid", "NA", "", " high "],
    "truths": ["yes", "No", "t", "true", None],
    "numbers": ["1", "0", "-0", "12.50", "1e3"],
    "moments": [
        "2024-02-30",
        "2024-02-29",
        "3.4.2021",
        "12:30",
        "2020-01-01T00:00:00Z",
    ],
    "empty": [None, None, None, None, None],
}


def test_votes_of_all_columns_at_once_are_those_of_each(tmp_path):
    frame = pd.DataFrame(CELLS).assign(
        double=[1.0, np.nan, 2.5, -0.0, 1e300],
        single=np.array([0.1, 1, 2, np.nan, 3], np.float32),
    )
    frame.to_csv(tmp_path / "cells.csv", index=False)
    days = pl.DataFrame({"day": [date(2020, 1, 1)], "kind": ["a"]})
    for data in (frame, tmp_path / "cells.csv", days, days.select("day")):
        source = open_table(data)
        found = count_table_ballots(source, source.names)
        for name in source.names:
            # Single precision votes by texts of its own, and is counted by itself.
            if name in found:
                assert found[name] == count_ballots(source, name), name
        assert set(found) >= set(source.names) - {"single"}
