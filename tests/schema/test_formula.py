"""Guarding against formulas: nothing runs, and what was guarded comes back."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from understudy.schema.formula import FORMULA_OPENERS, guard_formula, unguard_formula

texts = st.text(
    st.sampled_from([*FORMULA_OPENERS, "'", "1", ".", "e", "a"]), max_size=6
)


@given(texts)
def test_what_is_guarded_opens_no_formula_unless_it_is_a_number(text):
    written = guard_formula(text)
    number = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text) is not None
    assert not written.startswith(tuple(FORMULA_OPENERS)) or number
    assert written == text if number else True


@given(st.lists(texts, unique=True))
def test_two_texts_never_become_one(some):
    assert len({guard_formula(text) for text in some}) == len(some)


@given(texts)
def test_what_was_guarded_comes_back(text):
    written = guard_formula(text)
    assert written == text or unguard_formula(written) == text


def test_a_nul_is_guarded_too():
    assert guard_formula("\0=A1") == "'\0=A1"
