"""The search for a row: right where brute force can tell, bounded where it cannot."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import numpy as np
import pytest

from kit.damage import interlocking
from understudy.errors import Refused, UnderstudyError
from understudy.models.rules import row_finder
from understudy.models.rules.domains import StepBudget
from understudy.models.rules.repair_values import broken_rows
from understudy.models.rules.row_finder import RowFinder, all_rules
from understudy.models.rules.row_search import SearchAnswer
from understudy.models.rules.satisfiability import find_row, refuse_contradictions
from understudy.schema import DecodedCells, Schema


def tiny_column(rng: random.Random) -> dict[str, Any]:
    nullable = rng.random() < 0.3
    match rng.randrange(4):
        case 0:
            return {"type": "boolean", "nullable": nullable}
        case 1:
            words = {"type": "categorical", "values": ["x", "y", "z"]}
            return words | {"nullable": nullable, "other": rng.choice((None, "w"))}
        case 2:
            words = {"type": "categorical", "values": ["x", "y", "z"], "ordered": True}
            return words | {"nullable": nullable}
    return {"type": "integer", "min": -1, "max": 3, "nullable": nullable}


def tiny_test(rng: random.Random, columns: dict[str, dict[str, Any]]) -> str:
    """One test that makes sense for its columns."""
    name = rng.choice(list(columns))
    kind = columns[name]
    order = ("=", "!=", "<", "<=", ">", ">=")
    if rng.random() < 0.15:
        return f"{name} is {rng.choice(('', 'not '))}missing"
    if kind["type"] == "boolean":
        return f"{name} = {rng.choice(('true', 'false'))}"
    same = [n for n, c in columns.items() if c["type"] == kind["type"] and n != name]
    if kind["type"] == "integer":
        if same and rng.random() < 0.6:
            other = rng.choice(same)
            if rng.random() < 0.5:
                return f"{name} + {other} {rng.choice(order)} {rng.randint(-2, 6)}"
            return f"{name} {rng.choice(order)} {other}"
        return f"{name} {rng.choice(order)} {rng.randint(-2, 4)}"
    if same and rng.random() < 0.5:
        return f"{name} {rng.choice(('=', '!='))} {rng.choice(same)}"
    return f"{name} {rng.choice(('=', '!='))} '{rng.choice('xyz')}'"


def tiny_schema(seed: int) -> Schema:
    rng = random.Random(seed)
    columns = {f"c{i}": tiny_column(rng) for i in range(rng.randint(2, 4))}
    for words in columns.values():
        if words.get("other", "") is None:
            del words["other"]
    rules: list[Any] = []
    for _ in range(rng.randint(1, 7)):
        tests = [tiny_test(rng, columns) for _ in range(rng.randint(1, 3))]
        joined = rng.choice((" and ", " or ")).join(tests)
        forms = (joined, {"impossible": joined}, f"if {tests[0]} then {joined}")
        rules.append(rng.choice(forms))
    return Schema.parse(json.dumps({"columns": columns, "rules": rules}))


def every_row(schema: Schema) -> dict[str, DecodedCells]:
    """All rows of a schema whose codes are single values."""
    sizes = [range(codec.size) for codec in schema.codecs.values()]
    codes = np.array(list(itertools.product(*sizes)), np.int64).T
    rng = np.random.default_rng(0)
    return {
        name: codec.decode(column, rng)
        for (name, codec), column in zip(schema.codecs.items(), codes, strict=True)
    }


@pytest.mark.parametrize("block", range(8))
def test_the_answer_is_that_of_brute_force(block: int) -> None:
    answers = set()
    for seed in range(block * 40, block * 40 + 40):
        schema = tiny_schema(seed)
        rows = every_row(schema)
        count = len(next(iter(rows.values())).index)
        exists = not broken_rows(schema, rows, count).all()
        finder = RowFinder(schema, all_rules(schema))
        answer = finder.decide(range(len(finder.rules)), valued=False)
        assert answer is (SearchAnswer.FOUND if exists else SearchAnswer.IMPOSSIBLE), (
            seed
        )
        found = find_row(schema)
        assert (found is not None) is exists, seed
        if found is not None:
            assert not broken_rows(schema, {**rows, **found}, 1)[0], seed
        answers.add(answer)
    assert answers == {SearchAnswer.FOUND, SearchAnswer.IMPOSSIBLE}


@pytest.mark.parametrize("seed", range(len(interlocking.FAMILIES)))
def test_hundreds_of_rules_are_decided_in_as_many_steps_each_time(seed: int) -> None:
    family = interlocking.FAMILIES[seed]
    schema = Schema.parse(json.dumps(family(random.Random(0), 150)))
    said = []
    for _ in range(2):
        finder = RowFinder(schema, all_rules(schema))
        finder.refill()
        answer = finder.decide(range(len(finder.rules)), valued=True)
        said.append((answer, finder.budget.left))
    assert said[0] == said[1]
    assert said[0][1] > -10_000, "the last step may be large, but not much"


def test_rules_that_are_not_decided_are_refused_with_the_remedy(monkeypatch) -> None:
    schema = Schema.parse(json.dumps(interlocking.chain(random.Random(0), 30)))
    refuse_contradictions(schema)
    monkeypatch.setattr(row_finder, "MAX_SEARCH_STEPS", 40)
    monkeypatch.setattr(RowFinder.refill, "__defaults__", (40,))
    with pytest.raises(
        Refused,
        match=r"^The 30 rules .* Remove some rules.*c0 <= c1; .*24 more. Nothing was spent$",
    ):
        refuse_contradictions(schema)
    assert find_row(schema) is None


def test_a_circle_of_orders_is_refuted_whatever_the_number_of_values() -> None:
    column = {"type": "integer", "min": 0, "max": 10**15, "nullable": False}
    columns = dict.fromkeys("abc", column)
    words = {"columns": columns, "rules": ["a < b", "b < c", "c < a"]}
    with pytest.raises(
        UnderstudyError,
        match="rule c < a: no row can keep it together with a < b; b < c",
    ):
        refuse_contradictions(Schema.parse(json.dumps(words)))


def test_only_the_rules_of_a_contradiction_are_named() -> None:
    column = {"type": "integer", "min": 0, "max": 99, "nullable": False}
    columns = {f"c{i}": column for i in range(40)}
    rules = [f"c{i} <= c{i + 1}" for i in range(39)]
    rules[20:20] = ["c5 > 60", "c9 < 50"]
    with pytest.raises(UnderstudyError) as caught:
        refuse_contradictions(
            Schema.parse(json.dumps({"columns": columns, "rules": rules}))
        )
    assert str(caught.value) == (
        "rule c9 < 50: no row can keep it together with c5 <= c6; c6 <= c7; c7 <= c8;"
        " c8 <= c9; c5 > 60. Loosen one. Nothing was spent"
    )


def test_a_row_is_found_as_like_another_as_rules_allow() -> None:
    column = {"type": "integer", "min": 0, "max": 99, "nullable": False}
    words = {"columns": dict.fromkeys("abc", column), "rules": ["a <= b", "b <= c"]}
    finder = RowFinder(schema := Schema.parse(json.dumps(words)), all_rules(schema))
    state = np.zeros(1, np.uint8)
    cells = {
        name: DecodedCells(np.array([value]), state)
        for name, value in (("a", 10), ("b", 70), ("c", 50))
    }
    found = finder.find_like(cells, 0)
    assert found is not None
    values = [int(found[name].index[0]) for name in "abc"]
    assert values == sorted(values)
    assert sum(abs(v - w) for v, w in zip(values, (10, 70, 50), strict=True)) == 20


def test_a_budget_ends_where_it_says() -> None:
    budget = StepBudget(3)
    budget.spend(3)
    assert budget.left == 0
