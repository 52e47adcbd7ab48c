"""Files of other programs, read by the library that knows them: Arrow and Feather files
as frames, files of Stata, SPSS and SAS as frames of their labels.

A library's own message or warning may quote a cell, so none is repeated.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from understudy.errors import TableError
from understudy.schema.columns.foreign_moments import find_moment_reader
from understudy.tables.sources.compressed import FREE_UNPACKED_BYTES, MAX_UNPACK_RATIO
from understudy.version import install_command

ARROW_ENDINGS = (".feather", ".arrow", ".ipc")
ARROW_FILE_MAGIC = b"ARROW1"
"""How an Arrow file begins; an Arrow stream does not."""

STATISTICS_READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""Files of Stata, SPSS and SAS, and the functions of pyreadstat that read them."""

ENDINGS_WITHOUT_LABELS = (".sas7bdat", ".xpt")
"""Files that hold no labels of codes; SAS keeps these in catalogues of their own."""


def load_foreign(path: Path) -> Any:
    """The frame in an Arrow, Feather, Stata, SPSS or SAS file."""
    ending = path.suffix.lower()
    if ending in ARROW_ENDINGS:
        return load_quietly(_load_arrow, path, extra="arrow")
    return load_quietly(_load_statistics, path, extra="statistics")


def load_quietly(load: Callable[[Path], Any], path: Path, *, extra: str) -> Any:
    """What a library reads from a file; its errors become one line that quotes
    nothing, with the command that installs it where it is missing.
    """
    failed = ""
    try:
        # Its warnings quote cells too.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load(path)
    except TableError:
        raise
    except ImportError:
        failed = f"needs a library that is not here: {install_command(extra)}"
    except Exception as error:
        failed = f"cannot be read ({type(error).__name__}). Save it as CSV"
    raise TableError(f"{path.name}: {failed}. Nothing was read")


def _load_arrow(path: Path) -> Any:
    with path.open("rb") as file:
        is_stream = file.read(len(ARROW_FILE_MAGIC)) != ARROW_FILE_MAGIC
    if find_spec("pyarrow") is None:
        polars = import_module("polars")
        return polars.read_ipc_stream(path) if is_stream else polars.read_ipc(path)
    ipc = import_module("pyarrow.ipc")
    with path.open("rb") as file:
        opened = ipc.open_stream(file) if is_stream else ipc.open_file(file)
        if is_stream:
            batches = iter(opened)
        else:
            batches = map(opened.get_batch, range(opened.num_record_batches))
        weighed = _weigh_batches(batches, path)
        return import_module("pyarrow").Table.from_batches(weighed, opened.schema)


def _weigh_batches(batches: Iterable[Any], path: Path) -> Iterator[Any]:
    """Batches of rows as they are unpacked, refused where they grow far larger than
    their file.
    """
    size = 0
    for batch in batches:
        size += batch.nbytes
        _refuse_heavy(size, path)
        yield batch


def _refuse_heavy(size: int, path: Path) -> None:
    if size > max(FREE_UNPACKED_BYTES, MAX_UNPACK_RATIO * path.stat().st_size):
        raise TableError(
            f"{path.name}: unpacks to more than {MAX_UNPACK_RATIO} times its size. Save"
            " it as CSV if you trust it. Nothing was read"
        )


def _load_statistics(path: Path) -> Any:
    pyreadstat = import_module("pyreadstat")
    ending = path.suffix.lower()
    read = getattr(pyreadstat, STATISTICS_READERS[ending])
    # The readers of such files take no word on labels.
    has_labels = ending not in ENDINGS_WITHOUT_LABELS
    settings = {"apply_value_formats": False} if has_labels else {}
    # What it states about itself is weighed before any row is loaded.
    _, stated = read(str(path), metadataonly=True, **settings)
    widths = stated.variable_storage_width.values()
    _refuse_heavy((stated.number_rows or 0) * sum(widths), path)
    # Its own conversion of dates stops at one beyond the calendar.
    frame, about = read(str(path), disable_datetime_conversion=True, **settings)
    for name, written in about.original_variable_types.items():
        read_cell = find_moment_reader(ending, written or "")
        if read_cell is not None:
            _replace_cells(frame, name, read_cell)
    for name, labels in about.variable_value_labels.items():
        # Cell by cell: the library's own conversion looks at which codes occur.
        _replace_cells(frame, name, partial(_name_code, labels))
    return frame


def _name_code(labels: Mapping[object, str], cell: object) -> object:
    """The label of a code; what has none as it is."""
    return labels.get(cell, cell)


def _replace_cells(frame: Any, name: str, read: Callable[[Any], object]) -> None:
    """Replace each cell of a column by what it stands for, which no other decides."""
    cells = [read(cell) for cell in frame[name].tolist()]
    frame[name] = import_module("pandas").Series(cells, dtype=object)
