"""Synthetic rows to a Spark table, drawn in the workers: no row passes the driver.

A worker gets the release, which is public, and the seed of its part. So a task that is
retried, or runs twice by speculation, draws the same rows again. The workers need this
package.
"""

from __future__ import annotations

import secrets
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from understudy.atomic import write_file_atomically
from understudy.databases.address import DatabaseAddress
from understudy.databases.spark_session import find_spark_session
from understudy.errors import ReleaseError
from understudy.scratch import Scratch

SPARK_PART_ROWS = 250_000
"""Rows of one task: some seconds of work, and some megabytes of memory."""

FIRST_SEED_BITS = 62
"""Bits of a seed, so that adding the number of a part keeps it a 64-bit integer."""


FileSampler = Callable[[Path, int, int], Any]
"""Draws rows from the file of a release: its path, the number of rows, a seed."""


def write_spark_table(
    save_release: Callable[[Path], object],
    sample_file: FileSampler,
    address: DatabaseAddress,
    rows: int,
    seed: int | None,
) -> None:
    """Make a new table of so many rows, drawn from a release by Spark's workers."""
    session = find_spark_session(address.title, "Nothing was written")
    refuse_existing_spark_table(session, address)
    # Drawn here and not in a task: a retried task has to draw the same rows.
    first_seed = secrets.randbits(FIRST_SEED_BITS) if seed is None else seed
    release = _read_release(save_release)
    draw = _make_drawing(release, sample_file, rows, first_seed)
    parts = -(-rows // SPARK_PART_ROWS)
    failed = ""
    try:
        # Spark warns about a version of pandas, which takes no part here.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            example = next(_draw_parts(release, sample_file, [(1, first_seed)]))
            schema = session.createDataFrame(example).schema
            numbers = session.range(0, parts, 1, max(parts, 1))
            numbers.mapInArrow(draw, schema).write.saveAsTable(address.location)
    except Exception as error:
        failed = type(error).__name__
    if failed:
        raise ReleaseError(
            f"{address}: the Spark job did not work ({failed}). Spark's own log says why."
            " Nothing was written"
        )


def refuse_existing_spark_table(session: Any, address: DatabaseAddress) -> None:
    """Refuse a table that is there already, and a path: Spark writes tables."""
    if "/" in address.location:
        raise ReleaseError(
            f"{address}: name a table of Spark's catalogue. Nothing was written"
        )
    if session.catalog.tableExists(address.location):
        raise ReleaseError(
            f"{address}: the table exists already. Name another, or drop it first."
            " Nothing was written"
        )


def _read_release(save_release: Callable[[Path], object]) -> bytes:
    scratch = Scratch(Path(tempfile.gettempdir()))
    try:
        scratch.make()
        path = scratch.rows / "release.understudy"
        save_release(path)
        return path.read_bytes()
    finally:
        scratch.remove()


def _make_drawing(
    release: bytes, sample_file: FileSampler, rows: int, seed: int
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a worker runs: the numbers of parts to batches of rows."""

    def draw(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            parts = [
                (min(SPARK_PART_ROWS, rows - part * SPARK_PART_ROWS), seed + part)
                for part in batch.column(0).to_pylist()
            ]
            for table in _draw_parts(release, sample_file, parts):
                yield from table.to_batches()

    return draw


def _draw_parts(
    release: bytes, sample_file: FileSampler, parts: Iterable[tuple[int, int]]
) -> Iterator[Any]:
    """The rows of parts, each by its number of rows and its seed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.understudy"
        with (
            write_file_atomically(path, private=True) as draft,
            draft.open("wb") as file,
        ):
            file.write(release)
        for rows, seed in parts:
            yield _to_plain_table(sample_file(path, rows, seed))


def _to_plain_table(table: Any) -> Any:
    """The table without dictionaries, which Spark does not take."""
    import pyarrow as pa

    columns = []
    for column in table.columns:
        is_coded = pa.types.is_dictionary(column.type)
        columns.append(column.cast(column.type.value_type) if is_coded else column)
    return pa.table(columns, names=table.column_names)
