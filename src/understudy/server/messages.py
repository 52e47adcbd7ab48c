"""What goes over the wire: a question read strictly, an answer written and read back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from understudy.accounting.chain import read_amount
from understudy.accounting.cost import Accounting, Cost
from understudy.queries.answer_rows import AnswerRow
from understudy.queries.estimates import NumberEstimate
from understudy.queries.results import AnswerTable
from understudy.server.catalogue import ServiceError

MAX_PURPOSE_LENGTH = 200
"""Characters of a purpose: it stands in an entry of the ledger."""

_QUESTION_FIELDS = {"question", "within", "epsilon", "purpose", "pictures"}


@dataclass(frozen=True)
class QuestionMessage:
    """A question as it was sent. Exactly one of `within` and `epsilon` is there."""

    question: str
    within: float | None
    epsilon: int | float | None
    purpose: str
    wants_pictures: bool = False


def read_question(body: bytes) -> QuestionMessage:
    """The question in the body of a request; ServiceError for anything else.

    >>> read_question(b'{"question": "SELECT COUNT(*) FROM t", "within": 50}').within
    50.0
    """
    sent = _load_object(body)
    question = _read_field(sent, "question", str, None)
    purpose = _read_field(sent, "purpose", str, "")
    pictures = _read_field(sent, "pictures", bool, False)
    if not _is_unicode(question):
        raise ServiceError("body")
    is_line = purpose.isprintable() and len(purpose) <= MAX_PURPOSE_LENGTH
    within = _read_number(sent.get("within"))
    epsilon = _read_number(sent.get("epsilon"))
    if not is_line or (within is None) == (epsilon is None):
        raise ServiceError("body")
    half_width = None if within is None else float(within)
    return QuestionMessage(question, half_width, epsilon, purpose, pictures)


def _load_object(body: bytes) -> dict[str, Any]:
    """The one JSON object of a body, of known fields, each at most once."""
    try:
        # Decoded here: json.loads would guess UTF-16, which a proxy may not.
        sent = json.loads(
            body.decode("utf-8"),
            parse_constant=_refuse_constant,
            object_pairs_hook=_refuse_repeated_fields,
        )
    # Deep nesting ends in a RecursionError.
    except (ValueError, RecursionError):
        raise ServiceError("body") from None
    if not isinstance(sent, dict) or not sent.keys() <= _QUESTION_FIELDS:
        raise ServiceError("body")
    return sent


def _refuse_repeated_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # A proxy that logs or checks a request may read the other of two equal fields.
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field stands twice")
    return fields


def _read_field(sent: dict[str, Any], name: str, kind: type, default: object) -> Any:
    value = sent.get(name, default)
    if not isinstance(value, kind):
        raise ServiceError("body")
    return value


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _is_unicode(text: str) -> bool:
    # JSON can escape half of a surrogate pair, which no text and no response can hold.
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _read_number(value: object) -> int | float | None:
    """A number above 0, or None where none was sent."""
    if value is None:
        return None
    # Python's booleans are integers, but true is no number here.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ServiceError("body")
    try:
        is_usable = math.isfinite(value) and value > 0
    except OverflowError:
        # A whole number beyond every float.
        is_usable = False
    if not is_usable:
        raise ServiceError("body")
    return value


def write_answer(answer: AnswerTable) -> dict[str, object]:
    """An answer as plain data."""
    return {
        "question": answer.question,
        "key_titles": list(answer.key_titles),
        "number_titles": list(answer.number_titles),
        "rows": [_write_row(row) for row in answer.rows],
        "basis": answer.basis,
        "cost": _write_cost(answer.cost),
        "limit_cost": _write_cost(answer.limit_cost),
        "counted": answer.counted,
        "account_line": answer.account_line(),
    }


def _write_cost(cost: Cost | None) -> dict[str, str] | None:
    if cost is None:
        return None
    return {"accounting": str(cost.accounting), "amount": str(cost.amount)}


def _read_cost(sent: Mapping[str, Any] | None) -> Cost | None:
    if sent is None:
        return None
    amount: Fraction = read_amount(sent["amount"])
    return Cost(Accounting(sent["accounting"]), amount)


def _write_row(row: AnswerRow) -> dict[str, object]:
    numbers = [
        [_write_end(end) for end in (number.value, number.low, number.high)]
        for number in row.numbers
    ]
    return {"keys": list(row.keys), "numbers": numbers}


def _write_end(end: float) -> float | str:
    # JSON has no infinity: an interval without an end says so in a word.
    return end if math.isfinite(end) else str(end)


def read_answer(sent: Mapping[str, Any]) -> AnswerTable:
    """The answer that `write_answer` wrote."""
    rows = []
    for row in sent["rows"]:
        numbers = [NumberEstimate(*map(float, ends)) for ends in row["numbers"]]
        rows.append(AnswerRow(tuple(row["keys"]), tuple(numbers)))
    return AnswerTable(
        sent["question"],
        tuple(sent["key_titles"]),
        tuple(sent["number_titles"]),
        tuple(rows),
        sent["basis"],
        _read_cost(sent["cost"]),
        _read_cost(sent["limit_cost"]),
        sent["counted"],
    )
