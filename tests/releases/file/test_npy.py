"""Arrays as bytes."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from understudy.errors import ReleaseError
from understudy.releases.file.npy import NPY_DTYPES, array_from_npy, array_to_npy

DTYPES = st.sampled_from([np.dtype(t) for t in NPY_DTYPES])
ARRAYS = DTYPES.flatmap(
    lambda t: hnp.arrays(
        t,
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
        elements=st.floats(allow_nan=False, allow_infinity=False)
        if t.kind == "f"
        else None,
    )
)


@given(ARRAYS)
@settings(max_examples=200)
def test_the_bytes_are_those_of_numpy_and_come_back(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    assert array_to_npy(array) == buffer.getvalue()
    back = array_from_npy(array_to_npy(array), "x")
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_a_transposed_array_is_written_row_by_row():
    array = np.arange(6).reshape(2, 3).T
    assert array_from_npy(array_to_npy(array), "x").tolist() == array.tolist()


@given(st.binary(max_size=300))
def test_any_bytes_are_an_array_or_refused(data):
    with pytest.raises(ReleaseError):
        array_from_npy(data, "x")


@given(ARRAYS, st.data())
def test_one_changed_byte_is_an_array_or_refused(array, data):
    packed = bytearray(array_to_npy(array))
    at = data.draw(st.integers(0, len(packed) - 1))
    packed[at] ^= data.draw(st.integers(1, 255))
    try:
        found = array_from_npy(bytes(packed), "x")
    except ReleaseError:
        return
    assert found.nbytes <= len(packed)


@pytest.mark.parametrize(
    "array", [np.array(["a"]), np.array([object()]), np.array([1j]), np.array([True])]
)
def test_other_types_have_no_place(array):
    with pytest.raises(ReleaseError, match="no place"):
        array_to_npy(array)
