"""Arrays beside the document of a release: named by number on the way into a file, each
used exactly once on the way out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError
from understudy.releases.file.json_fields import field_error

ArraysByFile = dict[str, NDArray[np.generic]]
"""Arrays by the name of their file."""


class ArrayWriter:
    """Arrays on their way into a file: each gets the next number for a name."""

    def __init__(self) -> None:
        self.arrays: ArraysByFile = {}

    def add_array(self, array: NDArray[Any]) -> str:
        """Add an array; returns the name that it will have."""
        name = f"arrays/{len(self.arrays):05d}.npy"
        self.arrays[name] = array
        return name


class ArrayReader:
    """Arrays out of a file: each is used exactly once, so that a file has no room for
    anything that its document does not name.
    """

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._unused = dict(arrays)

    def take_array(self, name: object, where: str) -> NDArray[np.generic]:
        """The array with that name."""
        if not isinstance(name, str) or name not in self._unused:
            raise field_error(
                where, "the name of an array in the file that nothing else uses"
            )
        return self._unused.pop(name)

    def take_integers(self, name: object, where: str) -> NDArray[np.int64]:
        """The array with that name, of whole numbers."""
        array = self.take_array(name, where)
        if array.dtype != np.int64:
            raise field_error(where, "an array of whole numbers")
        return array.astype(np.int64, copy=False)

    def take_codes(self, name: object, where: str) -> NDArray[np.integer]:
        """The array with that name, of one column's codes."""
        array = self.take_array(name, where)
        if array.dtype.kind != "u" or array.ndim != 1:
            raise field_error(where, "a column of codes")
        return array.astype(array.dtype, copy=False)

    def refuse_unused(self) -> None:
        """Refuse a file with arrays that nothing used."""
        if self._unused:
            raise ReleaseError(
                "The file holds arrays that release.json does not name. Nothing was"
                " loaded."
            )
