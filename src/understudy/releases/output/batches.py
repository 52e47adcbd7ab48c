"""Rows of codes in batches, so that memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from understudy.models.model import Codes


def batch_sizes(rows: int, most: int) -> Iterator[int]:
    """The sizes of batches that make up a number of rows. Each batch is rounded to whole
    rows by itself.
    """
    # No rows are one empty batch: a file needs its header, a frame its columns.
    for start in range(0, max(rows, 1), most):
        yield min(most, rows - start)


def batch_slices(codes: Codes, rows: int, most: int) -> Iterator[Codes]:
    """Fixed rows in batches."""
    for start in range(0, max(rows, 1), most):
        yield {name: array[start : start + most] for name, array in codes.items()}


def report_written(
    batches: Iterator[Codes], rows: int, progress: Callable[[str, float], None]
) -> Iterator[Codes]:
    """The same batches; progress is reported whenever the next one is asked for."""
    done = 0
    for batch in batches:
        progress("writing", done / max(rows, 1))
        yield batch
        done += len(next(iter(batch.values())))
    progress("writing", 1.0)
