"""DuckDB's own progress bar, switched off: only the command line prints.

In a notebook kernel DuckDB 2 wants `ipywidgets` before the setting may even be written,
and without that package the bar is off to begin with. So the setting is read first, and
written only where there is a bar to switch off.
"""

from __future__ import annotations

import duckdb

SHOWN_SETTING = "SELECT current_setting('enable_progress_bar')"


def hide_progress_bar(connection: duckdb.DuckDBPyConnection) -> None:
    """Switch the bar off where it is on.

    >>> connection = duckdb.connect(":memory:")
    >>> hide_progress_bar(connection)
    >>> connection.execute(SHOWN_SETTING).fetchall()
    [(False,)]
    """
    # All of the answer is fetched: a result that is still open blocks registering.
    ((shown,),) = connection.execute(SHOWN_SETTING).fetchall()
    if shown:
        connection.execute("SET enable_progress_bar = false")
