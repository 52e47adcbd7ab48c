"""What decides which rows are counted: the unit, and rules by which rows go."""

from __future__ import annotations

from understudy.schema import (
    Schema,
    describe_broken_rows,
    describe_counted_rows,
)

COLUMNS = """
columns:
  a: {type: integer, min: 0, max: 9}
  b: {type: integer, min: 0, max: 9}
  id: {type: identifier%s}
unit: {id: id, max_rows: 3}
"""
RULES = "impossible: [a > %s]\nbroken: %s\n"


def test_rows_that_are_counted_as_they_are_need_no_rules() -> None:
    kept = Schema.parse(COLUMNS % "" + RULES % (5, "keep"))
    assert describe_broken_rows(kept) == []
    assert describe_counted_rows(kept) == ["id", 3]


def test_every_way_to_leave_out_rows_is_another() -> None:
    texts = [COLUMNS % "", COLUMNS % ", missing: [none]"]
    texts += [
        COLUMNS % "" + RULES % (most, policy)
        for most in (4, 5)
        for policy in ("drop", "missing")
    ]
    texts.append(texts[-1].replace("max: 9", "max: 8", 1))
    described = [repr(describe_counted_rows(Schema.parse(text))) for text in texts]
    assert len(set(described)) == len(texts)
    other = texts[-2].replace("b: {type: integer, min: 0", "b: {type: integer, min: 1")
    assert repr(describe_counted_rows(Schema.parse(other))) == described[-2]
