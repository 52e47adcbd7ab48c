"""The file of noisy measurements: written with every release, and read again by whoever
wants to estimate otherwise.

Anybody may have written a file that is read. An array is unpacked only once its header
says the type and the shape that the design asks for, and to no more than those take.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.law import Law
from understudy.censuses.design import CensusDesign
from understudy.censuses.level_measurement import LevelMeasurement
from understudy.censuses.measurement_plan import HOUSEHOLD_PREFIX, name_answer
from understudy.censuses.release import CensusRelease, ExactCounts
from understudy.errors import ReleaseError
from understudy.measurements import Clique

_LAW_NAME = "noise_law"
_LOST_NAME = "lost_answers"

MAX_LISTED_BYTES = 1 << 24
"""Bytes of the list of lost answers: thousands of names."""

_ARCHIVE_ERRORS = (
    OSError,
    ValueError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a damaged archive raises; an unknown way of packing is a RuntimeError."""


def write_measurements(release: CensusRelease, path: Path) -> None:
    """Every noisy answer as it was drawn with the deviation of its noise, and the counts
    that are invariant.
    """
    design, arrays = release.design, dict[str, NDArray[Any]]()
    groups = [(release.measurements, design.columns, "")]
    if design.households is not None:
        columns = design.households.table_columns
        groups.append((release.household_measurements, columns, HOUSEHOLD_PREFIX))
    for measured, columns, prefix in groups:
        for each in measured:
            name = name_answer(each.level, each.query, columns, prefix)
            arrays[name] = each.values
            arrays[f"{name}/noise_sd"] = np.sqrt(each.variance)
            arrays[f"{name}/noise_scale"] = np.array(each.scale)
            arrays[_LAW_NAME] = np.array(each.law.value)
    for place, counts in release.exact.items():
        arrays[f"invariant: {design.invariants[place]}"] = counts
    if release.lost_answers:
        arrays[_LOST_NAME] = np.array(release.lost_answers)
    np.savez_compressed(path, allow_pickle=False, **arrays)


def read_measurements(
    path: Path, design: CensusDesign
) -> tuple[tuple[LevelMeasurement, ...], tuple[LevelMeasurement, ...], ExactCounts]:
    """The measurements of persons and of households, and the invariant counts."""
    try:
        with zipfile.ZipFile(path) as arrays:
            return _read_arrays(arrays, design)
    except (KeyError, *_ARCHIVE_ERRORS):
        raise ReleaseError(
            f"{path}: is not the measurement file of this design. Give the schema that the"
            " release was made with"
        ) from None


def read_lost_answers(path: Path) -> tuple[str, ...]:
    """The names of answers that were paid for and lost when the run was cut off."""
    try:
        with zipfile.ZipFile(path) as arrays:
            if f"{_LOST_NAME}.npy" not in arrays.namelist():
                return ()
            return tuple(map(str, _take(arrays, _LOST_NAME, None, kinds="U")))
    except _ARCHIVE_ERRORS:
        raise ReleaseError(f"{path}: is no measurement file of a census") from None


def _read_arrays(
    arrays: zipfile.ZipFile, design: CensusDesign
) -> tuple[tuple[LevelMeasurement, ...], tuple[LevelMeasurement, ...], ExactCounts]:
    persons = [
        (
            level,
            query,
            name_answer(level, query, design.columns),
            design.schema.sizes(query),
        )
        for level, query, _ in design.plan.steps()
    ]
    linked = []
    if design.households is not None:
        columns, plan = design.households.table_columns, design.households.plan
        linked = [
            (
                level,
                query,
                name_answer(level, query, columns, HOUSEHOLD_PREFIX),
                design.households.find_sizes(query, design.schema),
            )
            for level, query, _ in plan.steps()
        ]
    exact = {}
    for place, each in enumerate(design.invariants):
        if each.reads_rows:
            shape = _find_shape(design, each.level, design.schema.sizes(each.query))
            exact[place] = _take(arrays, f"invariant: {each}", shape)
    return (
        _read_group(arrays, design, persons),
        _read_group(arrays, design, linked),
        exact,
    )


def _read_group(
    arrays: zipfile.ZipFile,
    design: CensusDesign,
    asked: Sequence[tuple[str, Clique, str, tuple[int, ...]]],
) -> tuple[LevelMeasurement, ...]:
    measured = []
    for level, query, name, sizes in asked:
        values = _take(arrays, name, _find_shape(design, level, sizes))
        scale = float(_take(arrays, f"{name}/noise_scale", (), kinds="f"))
        law = Law(str(_take(arrays, _LAW_NAME, (), kinds="U")))
        measured.append(LevelMeasurement(level, query, values, scale, law))
    return tuple(measured)


def _find_shape(
    design: CensusDesign, level: str, sizes: tuple[int, ...]
) -> tuple[int, ...]:
    place = design.hierarchy.levels.index(level)
    return (design.hierarchy.count_units(place), *sizes)


def _take(
    arrays: zipfile.ZipFile,
    name: str,
    shape: tuple[int, ...] | None,
    *,
    kinds: str = "iu",
) -> NDArray[Any]:
    """An array of this shape, or a list where none is known, of one of these kinds."""
    with arrays.open(f"{name}.npy") as member:
        np.lib.format.read_magic(member)
        stated, by_column, dtype = np.lib.format.read_array_header_1_0(member)
        size = math.prod(stated) * dtype.itemsize
        is_listed = shape is None and len(stated) == 1
        is_text = dtype.kind == "U"
        if (
            (stated != shape and not is_listed)
            or dtype.kind not in kinds
            or by_column
            or ((is_listed or is_text) and size > MAX_LISTED_BYTES)
        ):
            raise ValueError(name)
        # One byte more: an array that goes on is refused by its length.
        data = member.read(size + 1)
    if len(data) != size:
        raise ValueError(name)
    return np.frombuffer(data, dtype).reshape(stated)
