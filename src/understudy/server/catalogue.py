"""Every error that the server sends: a status, a code and a sentence.

They are the same for every table with this schema. Only `question` has a text of its
own, which is made from the question and the schema before any row is read. Whatever
happens behind the charge is `failed`, in one sentence, because how it failed could
depend on rows.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_QUESTION_BYTES = 16 * 1024
"""Bytes of a request: a question is a line of SQL."""


@dataclass(frozen=True)
class CatalogueEntry:
    """The status and the sentence of one error."""

    status: int
    message: str


ERROR_CATALOGUE = {
    "token": CatalogueEntry(401, "Send a valid token: Authorization: Bearer TOKEN."),
    "path": CatalogueEntry(
        404,
        "There are GET /v1/schema, /v1/account and /v1/answers, POST /v1/price,"
        " /v1/try and /v1/ask, and a page at /.",
    ),
    "method": CatalogueEntry(405, "This address does not take this method."),
    "size": CatalogueEntry(413, f"A request has at most {MAX_QUESTION_BYTES:,} bytes."),
    "slow": CatalogueEntry(408, "The request did not arrive in time."),
    "body": CatalogueEntry(
        400,
        "Send a JSON object: question (SQL), and within or epsilon (a number above 0);"
        " purpose (a text) and pictures (true) if you like. Nothing was spent.",
    ),
    "question": CatalogueEntry(422, "This question is not answered."),
    "limit": CatalogueEntry(
        403,
        "This costs more than is left of your limit, or of the budget of all questions.",
    ),
    "busy": CatalogueEntry(429, "Your last question is not answered yet: wait for it."),
    "rate": CatalogueEntry(429, "Too many requests in a minute: wait."),
    "failed": CatalogueEntry(
        500,
        "The question could not be answered. If it was charged, it stays charged.",
    ),
}


class ServiceError(Exception):
    """A request that is refused, by its code in the catalogue."""

    def __init__(self, code: str, message: str | None = None) -> None:
        entry = ERROR_CATALOGUE[code]
        super().__init__(message or entry.message)
        self.code = code
        self.status = entry.status
