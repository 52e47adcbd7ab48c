"""A question that is asked of a release: which rows, counted or as a share of all.

    count where age > 60 and sex = 'F'
    share where smoker = true
    count

What becomes of its predicate on the way to an answer is in queries/conditions.py and
answers/passes.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from understudy.errors import Refused
from understudy.queries.conditions import check_predicate_columns, read_predicate
from understudy.schema import Schema
from understudy.schema.predicates.ast import Predicate

_QUESTION_FORM = re.compile(
    r"\s*(count|share)(?:\s+where\s+(.+))?\s*", re.IGNORECASE | re.DOTALL
)


class QuestionKind(StrEnum):
    """Whether a question asks for a number of rows or for their share of all rows."""

    COUNT = "count"
    SHARE = "share"


@dataclass(frozen=True)
class Question:
    """A predicate whose rows are counted, or whose share is asked for; without a
    predicate, all rows. `text` is the question as it was asked.

    >>> from understudy.schema import parse_predicate
    >>> str(Question(QuestionKind.SHARE, parse_predicate("age > 60")))
    'share where age > 60'
    """

    kind: QuestionKind = QuestionKind.COUNT
    predicate: Predicate | None = None
    text: str = ""

    def __str__(self) -> str:
        if self.text:
            return self.text
        if self.predicate is None:
            return self.kind.value
        return f"{self.kind.value} where {self.predicate}"


def read_question(text: str, schema: Schema) -> Question:
    """The question in a text, as a schema's columns and labels let it be understood."""
    form = _QUESTION_FORM.fullmatch(text) if isinstance(text, str) else None
    if form is None:
        raise Refused(
            "A question reads `count where …` or `share where …`, for example: count"
            " where age > 60"
        )
    kind, condition = QuestionKind(form[1].lower()), form[2]
    predicate = None if condition is None else read_predicate(condition, schema)
    return Question(kind, predicate, " ".join(text.split()))


def question_of(asked: str | Question | Predicate, schema: Schema) -> Question:
    """What was asked, as a question that fits a schema; a bare predicate asks for the
    count of its rows.
    """
    if isinstance(asked, Predicate):
        asked = Question(QuestionKind.COUNT, asked)
    if not isinstance(asked, Question):
        return read_question(asked, schema)
    if asked.predicate is None:
        return asked
    # The predicate gets its labels, and the text stays as it was asked.
    checked = check_predicate_columns(asked.predicate, schema)
    return Question(asked.kind, checked, str(asked))
