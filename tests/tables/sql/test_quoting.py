"""SQL text: whatever a name or value contains, it stays a name or a value."""

from __future__ import annotations

import math

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from understudy.tables.sql import quoting

CONNECTION = duckdb.connect()
texts = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
    min_size=1,
    max_size=20,
)


@given(texts, texts)
def test_names_and_texts_come_back_as_they_were(name, text):
    answer = CONNECTION.execute(
        f"SELECT {quoting.text_literal(text)} AS {quoting.quoted_identifier(name)}"
    )
    assert answer.description is not None
    assert (answer.description[0][0], answer.fetchall()) == (name, [(text,)])


@given(st.floats(allow_nan=False))
def test_doubles_come_back_to_the_last_bit(number):
    ((back,),) = CONNECTION.execute(
        f"SELECT {quoting.double_literal(number)}"
    ).fetchall()
    assert back == number
    assert math.copysign(1, back) == math.copysign(1, number)


@given(st.integers(-(2**126), 2**126))
def test_whole_numbers_come_back(number):
    assert CONNECTION.execute(
        f"SELECT 0 - {quoting.whole_literal(number)}"
    ).fetchall() == [(-number,)]
