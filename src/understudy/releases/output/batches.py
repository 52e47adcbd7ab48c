"""Rows of codes in batches, so that memory does not grow with how many are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from understudy.models.model import Codes


def batch_sizes(rows: int, most: int) -> Iterator[int]:
    """A number of rows in batches; each is sampled by rounding on its own."""
    return (min(most, rows - start) for start in range(0, max(rows, 1), most))


def batch_slices(codes: Codes, rows: int, most: int) -> Iterator[Codes]:
    """Fixed rows in batches."""
    starts = range(0, max(rows, 1), most)
    return (
        {name: array[start : start + most] for name, array in codes.items()}
        for start in starts
    )


def report_written(
    batches: Iterator[Codes], rows: int, progress: Callable[[str, float], None]
) -> Iterator[Codes]:
    """The same batches; how far it has come is told whenever the next one is asked for."""
    done = 0
    for batch in batches:
        progress("writing", done / max(rows, 1))
        yield batch
        done += len(next(iter(batch.values())))
    progress("writing", 1.0)
