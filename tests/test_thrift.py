"""Thrift's compact encoding: read and written to the last byte, and nothing believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy import thrift

INTEGERS = st.integers(-(2**63), 2**63 - 1)
SCALARS = st.one_of(
    st.tuples(st.sampled_from([thrift.THRIFT_TRUE]), st.booleans()),
    st.tuples(st.just(6), INTEGERS),
    st.tuples(st.just(thrift.THRIFT_DOUBLE), st.binary(min_size=8, max_size=8)),
    st.tuples(st.just(thrift.THRIFT_BINARY), st.binary(max_size=300)),
    st.tuples(
        st.just(thrift.THRIFT_LIST),
        st.lists(INTEGERS, max_size=40).map(lambda items: (6, items)),
    ),
    st.tuples(
        st.just(thrift.THRIFT_MAP),
        st.lists(st.tuples(INTEGERS, st.binary()), min_size=1, max_size=5).map(
            lambda p: (0x68, p)
        ),
    ),
)
STRUCTURES = st.recursive(
    st.dictionaries(st.integers(1, 300), SCALARS, max_size=5),
    lambda inner: st.dictionaries(
        st.integers(1, 300),
        st.one_of(SCALARS, st.tuples(st.just(thrift.THRIFT_STRUCT), inner)),
        max_size=4,
    ),
    max_leaves=8,
)


@given(STRUCTURES)
def test_what_is_written_is_read_again(fields):
    data = thrift.write_struct(fields)
    assert thrift.write_struct(thrift.read_struct(data)) == data
    found = thrift.read_struct(data)
    assert {n: v for n, (_, v) in found.items() if not isinstance(v, dict)} == {
        n: v for n, (_, v) in fields.items() if not isinstance(v, dict)
    }


@pytest.mark.parametrize(
    "data", [b"", b"\x15", b"\x1f\x00", b"\x19\xfc\xff\xff\xff\xff\x0f", b"\x1c" * 50]
)
def test_what_is_none_is_refused(data):
    with pytest.raises((ValueError, IndexError)):
        thrift.read_struct(data)
