"""Parts of a model as they come out of a file: anything may be in there, so everything
is checked before it is believed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError
from understudy.measurements import Clique
from understudy.schema import Schema

# How far shares may be from summing to one.
SHARE_SUM_TOLERANCE = 1e-6


def check_part_names(found: Mapping[str, object], wanted: set[str], what: str) -> None:
    """Refuse parts that miss a name or bring one too many.

    >>> check_part_names({"kind": "dense"}, {"kind"}, "facts")
    """
    # An unknown part may come from a later version, whose meaning cannot be guessed.
    if set(found) != wanted:
        raise ReleaseError(
            f"model: its {what} are not those of its kind. The file is damaged or was"
            " not written by Understudy"
        )


def read_total(facts: Mapping[str, object]) -> float:
    """The estimated number of rows.

    >>> read_total({"total": 12.5})
    12.5
    """
    total = facts.get("total")
    if (
        isinstance(total, bool)
        or not isinstance(total, int | float)
        or not math.isfinite(total)
        or total < 0
    ):
        raise ReleaseError(
            "model: its total is no number of rows. The file is damaged or was not"
            " written by Understudy"
        )
    return float(total)


def read_clique(facts: Mapping[str, object], schema: Schema) -> Clique:
    """The model's columns, in the order of its axes.

    >>> from understudy.schema import Boolean
    >>> read_clique({"clique": ["smoker"]}, Schema(columns=(Boolean(name="smoker"),)))
    ('smoker',)
    """
    # A file may come from anybody, so nothing in it is trusted to have its type.
    names = facts.get("clique")
    if not isinstance(names, list | tuple) or not all(
        isinstance(n, str) and n in schema for n in names
    ):
        raise ReleaseError(
            "model: its columns are not the schema's. The file is damaged or was not"
            " written by Understudy"
        )
    if len(set(names)) != len(names):
        raise ReleaseError(
            "model: a column stands twice in it. The file is damaged or was not written"
            " by Understudy"
        )
    return tuple(names)


def read_shares(
    arrays: Mapping[str, NDArray[np.generic]], name: str, shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """A distribution: floats of a known shape, finite, not negative, summing to one.

    >>> read_shares({"shares": np.array([0.25, 0.75])}, "shares", (2,)).tolist()
    [0.25, 0.75]
    """
    found = arrays.get(name)
    if (
        not isinstance(found, np.ndarray)
        or found.dtype != np.float64
        or found.shape != shape
    ):
        raise ReleaseError(
            f'model: array "{name}" has another type or shape than the schema says. The'
            " file is damaged"
        )
    shares = np.asarray(found, np.float64)
    if (
        not np.all(np.isfinite(shares))
        or np.any(shares < 0)
        or abs(float(shares.sum()) - 1) > SHARE_SUM_TOLERANCE
    ):
        raise ReleaseError(
            f'model: array "{name}" is no distribution. The file is damaged'
        )
    return shares


def read_codes(
    arrays: Mapping[str, NDArray[np.generic]], name: str, sizes: tuple[int, ...]
) -> NDArray[np.int64]:
    """Cells by their codes: one row per cell, one column per column of the model, every
    code inside its domain.

    >>> read_codes({"cells": np.array([[0, 2]])}, "cells", (2, 3)).tolist()
    [[0, 2]]
    """
    found = arrays.get(name)
    if (
        not isinstance(found, np.ndarray)
        or found.dtype != np.int64
        or found.ndim != 2
        or found.shape[1] != len(sizes)
    ):
        raise ReleaseError(
            f'model: array "{name}" has another type or shape than the schema says. The'
            " file is damaged"
        )
    # Checked here once: numpy takes a negative code for one from the end.
    codes = np.asarray(found, np.int64)
    if codes.size and (np.any(codes < 0) or np.any(codes >= np.array(sizes))):
        raise ReleaseError(
            f'model: array "{name}" holds a code outside its column\'s domain. The file'
            " is damaged"
        )
    return codes
