"""Arrays of a release file are named by number and used exactly once."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.errors import ReleaseError
from understudy.releases.file.arrays import ArrayReader, ArrayWriter


def test_arrays_are_named_in_the_order_in_which_they_come() -> None:
    writer = ArrayWriter()
    names = [writer.add_array(np.arange(n)) for n in (2, 3)]
    assert names == ["arrays/00000.npy", "arrays/00001.npy"]
    assert [array.size for array in writer.arrays.values()] == [2, 3]


def test_an_array_that_two_fields_name_is_refused() -> None:
    reader = ArrayReader({"arrays/00000.npy": np.arange(3)})
    assert reader.take_integers("arrays/00000.npy", "values").tolist() == [0, 1, 2]
    with pytest.raises(ReleaseError, match="that nothing else uses"):
        reader.take_integers("arrays/00000.npy", "estimate")


@pytest.mark.parametrize("name", [None, 3, "arrays/00001.npy", ["arrays/00000.npy"]])
def test_a_name_of_no_array_is_refused(name: object) -> None:
    reader = ArrayReader({"arrays/00000.npy": np.arange(3)})
    with pytest.raises(ReleaseError, match=r"release\.json: values"):
        reader.take_array(name, "values")


def test_an_array_that_no_field_names_is_refused() -> None:
    reader = ArrayReader({"arrays/00000.npy": np.arange(3)})
    with pytest.raises(ReleaseError, match="does not name"):
        reader.refuse_unused()
    reader.take_array("arrays/00000.npy", "values")
    reader.refuse_unused()


def test_arrays_of_another_type_are_refused() -> None:
    arrays = {"f": np.array([1.0]), "i": np.arange(2), "u2": np.ones((2, 2), np.uint8)}
    with pytest.raises(ReleaseError, match="whole numbers"):
        ArrayReader(arrays).take_integers("f", "values")
    for name in ("i", "u2"):
        with pytest.raises(ReleaseError, match="column of codes"):
            ArrayReader(arrays).take_codes(name, "microdata.sex")
