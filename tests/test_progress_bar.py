"""DuckDB's bar is off, and the connection is free afterwards."""

import duckdb
import numpy as np
import pytest

from understudy.progress_bar import SHOWN_SETTING, hide_progress_bar


@pytest.mark.parametrize("before", ["true", "false"])
def test_the_bar_is_off_and_nothing_is_left_unfinished(before):
    """In a notebook the bar is off to begin with, so that nothing else is executed:
    a result half read then refused the next table.
    """
    connection = duckdb.connect(":memory:")
    connection.execute(f"SET enable_progress_bar = {before}")
    hide_progress_bar(connection)
    connection.register("cells", {"a": np.arange(3)})
    assert connection.execute("SELECT sum(a) FROM cells").fetchall() == [(3,)]
    assert connection.execute(SHOWN_SETTING).fetchall() == [(False,)]
