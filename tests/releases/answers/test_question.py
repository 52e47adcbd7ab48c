"""A question is asked as a text, as an object or as a predicate, alone or among others,
and its predicate goes through the same passes each way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import Refused
from understudy.queries import conditions
from understudy.queries.conditions import READING_PASSES, read_predicate
from understudy.releases import Question, QuestionKind, Release, ReleaseKind
from understudy.releases.answers.passes import CELL_PASSES, apply_cell_passes
from understudy.releases.answers.question import question_of, read_question
from understudy.schema import Schema, parse_predicate

SCHEMA = Schema.parse(
    "columns:\n  sex: {type: categorical, values: [F, M]}\n"
    "  age: {type: integer, min: 0, max: 99, bins: 10}\n"
    "  admitted: {type: integer, min: 0, max: 9}\n"
    "  discharged: {type: integer, min: 0, max: 9}\n"
    "  name: {type: text}\n"
    "rules: [admitted <= discharged]\n"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Release:
    rng = np.random.default_rng(1)
    admitted = rng.integers(0, 9, 2000)
    people = pl.DataFrame(
        {
            "sex": rng.choice(["F", "M"], 2000),
            "age": rng.integers(0, 100, 2000),
            "admitted": admitted,
            "discharged": np.minimum(admitted + rng.integers(0, 4, 2000), 9),
            "name": ["x"] * 2000,
        }
    )
    book = tmp_path_factory.mktemp("question") / "l"
    return us.synthesize(people, SCHEMA, epsilon=2, ledger=book, seed=1)


@pytest.mark.parametrize("kind", list(QuestionKind))
@pytest.mark.parametrize("condition", ["age > 60 and sex = 'F'", "age in (3, 4)"])
def test_text_object_and_predicate_are_answered_alike(
    made: Release, kind: QuestionKind, condition: str
) -> None:
    asked = made.answer(f"{kind} where {condition}")
    predicate = parse_predicate(condition)
    assert made.answer(Question(kind, predicate)) == asked
    assert asked.kind is kind
    if kind is QuestionKind.COUNT:
        assert made.answer(predicate) == asked


def test_several_questions_give_a_list_in_their_order(made: Release) -> None:
    asked = ["count", parse_predicate("age > 60"), Question(QuestionKind.SHARE)]
    answers = made.answer(asked)
    assert answers == [made.answer(question) for question in asked]
    assert [answer.question for answer in answers] == [
        "count",
        "count where age > 60",
        "share",
    ]
    assert made.answer([]) == []


def test_a_predicate_with_a_bare_word_is_about_a_label(made: Release) -> None:
    bare, quoted = made.answer([parse_predicate("sex = F"), "count where sex = 'F'"])
    assert replace(bare, question=quoted.question) == quoted
    assert bare.question == "count where sex = F"


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("name = 'x'", "takes no part in this release"),
        ("height > 3", "not in the schema"),
        ("sex > 3", "sex"),
    ],
)
def test_a_predicate_that_does_not_fit_is_refused_with_the_reason(
    made: Release, condition: str, reason: str
) -> None:
    with pytest.raises(Refused, match=reason):
        made.answer(parse_predicate(condition))


def test_the_text_is_kept_as_it_was_asked_but_for_spaces() -> None:
    question = read_question("  Share  where\nAGE ≥ 60 ", SCHEMA)
    assert question.kind is QuestionKind.SHARE
    assert question.text == "Share where AGE ≥ 60"
    assert str(question.predicate) == "age >= 60"
    assert question_of(question, SCHEMA).text == question.text


def test_the_forgiving_spelling_is_made_only_if_the_strict_reading_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spelled = []

    def spell(text: str, schema: object) -> str:
        spelled.append(text)
        return "age >= 60"

    monkeypatch.setattr(conditions, "normalise_question", spell)
    assert str(read_predicate("age > 60", SCHEMA)) == "age > 60"
    assert spelled == []
    assert str(read_predicate("age ≥ 60", SCHEMA)) == "age >= 60"
    assert spelled == ["age ≥ 60"]


def test_the_passes_are_listed_in_the_order_in_which_they_are_taken() -> None:
    listed = [each.__name__ for each in (*READING_PASSES, *CELL_PASSES)]
    assert listed == [
        "label_bare_words",
        "check_columns",
        "simplify_on_cells",
        "open_on_cells",
    ]
    predicate = parse_predicate("discharged <= admitted")
    clique = ("admitted", "discharged")
    states = apply_cell_passes(predicate, SCHEMA, clique)
    assert [str(state.predicate) for state in states] == ["admitted = discharged"] * 2


def test_an_answer_says_its_kind_even_if_its_text_does_not(made: Release) -> None:
    predicate = parse_predicate("sex = 'F'")
    asked = Question(QuestionKind.SHARE, predicate, "how many of us are women?")
    answer = made.answer(asked)
    assert answer.question == "how many of us are women?"
    assert " %" in str(answer)
    assert 0 <= answer.low <= answer.estimate <= answer.high <= 1


def test_a_release_of_one_fixed_table_counts_its_rows() -> None:
    rows = {"sex": np.array([0, 0, 1], np.uint8)}
    schema = Schema.parse(
        "columns: {sex: {type: categorical, values: [F, M], nullable: false}}"
    )
    fixed = Release(
        guarantee=us.Guarantee.without_data(),
        schema=schema,
        kind=ReleaseKind.MICRODATA,
        microdata=rows,
    )
    assert fixed.answer("count").estimate == 3
    assert fixed.answer("count where sex = F").estimate == 2
