"""The service behind the addresses: who may ask, one question at a time, and what is
written to the log.

Charging is the session's (workflow/asking/questions.py) and nobody else's: the service adds
names, turns and limits on requests, and chooses the words of errors. A question goes
two steps. Its price is public, made from schema and ledger alone, and says what is
wrong with the question. Behind it every error is one of two: no budget is left, or
`failed`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from understudy.accounting.chain import digest_of
from understudy.accounting.ledger import Ledger
from understudy.accounting.questions.analyst import OWNER_NAME
from understudy.errors import BudgetExceeded, LedgerError, UnderstudyError
from understudy.queries.results import AnswerTable
from understudy.schema import schema_to_dict
from understudy.server.catalogue import ServiceError
from understudy.server.messages import QuestionMessage, write_answer
from understudy.server.tokens import TokenFile
from understudy.workflow.asking.question_price import Price
from understudy.workflow.asking.session import Session
from understudy.workflow.asking.simulated_table import SimulatedTable

DEFAULT_REQUESTS_PER_MINUTE = 120
"""Requests of one analyst: more than a person writes, fewer than a program tries."""

RATE_WINDOW_SECONDS = 60.0


class QuestionService:
    """One session of questions for many analysts. `write_log` is called with a line for
    each question: who, its digest, its price, and how it ended; never an answer.
    """

    def __init__(
        self,
        session: Session,
        ledger: Ledger,
        tokens: TokenFile,
        *,
        write_log: Callable[[str], None],
        requests_per_minute: int = DEFAULT_REQUESTS_PER_MINUTE,
    ) -> None:
        self._session = session
        self._ledger = ledger
        self._tokens = tokens
        self._write_log = write_log
        self._requests_per_minute = requests_per_minute
        self._requests: dict[str, deque[float]] = {}
        self._busy: set[str] = set()
        self._turns = threading.Lock()
        # Rows are counted for one question at a time, whoever asks.
        self._counting = threading.Lock()
        self._simulated = SimulatedTable(
            session.schema,
            budget=session.budget,
            accounting=session.accounting,
            neighbours=ledger.neighbours,
            public=session.public,
        )
        # Made-up rows have a turn of their own: nobody who tries delays an answer.
        self._practicing = threading.Lock()

    def admit_request(self, token: str) -> str:
        """The analyst who sends this token, if they may send a request now."""
        analyst = self._tokens.find_analyst(token)
        # The empty name is the owner's, who has no limit.
        if analyst is None or analyst == OWNER_NAME:
            raise ServiceError("token")
        now = time.monotonic()
        with self._turns:
            times = self._requests.setdefault(analyst, deque())
            while times and now - times[0] > RATE_WINDOW_SECONDS:
                times.popleft()
            if len(times) >= self._requests_per_minute:
                raise ServiceError("rate")
            times.append(now)
        return analyst

    def describe_schema(self) -> dict[str, object]:
        """The public schema, without notes, and the public tables that may be joined."""
        described = schema_to_dict(self._session.schema)
        tables = [
            {"name": table.name, "key": table.key, "attributes": list(table.attributes)}
            for table in self._session.public
        ]
        return {**described, "public_tables": tables} if tables else described

    def price_question(
        self, analyst: str, message: QuestionMessage
    ) -> dict[str, object]:
        """What a question would cost this analyst's budget."""
        with self._take_turn(analyst):
            price = self._price(self._session.for_analyst(analyst), message)
            self._log_question(analyst, price, "price")
            return {**price.to_dict(), "lines": price.lines()}

    def try_question(self, analyst: str, message: QuestionMessage) -> dict[str, object]:
        """The answer to a question about made-up rows: no real row is looked at, and
        nothing is charged.
        """
        with self._take_turn(analyst), self._practicing, _name_refusals():
            return _write_view(
                self._simulated.ask(
                    message.question, within=message.within, epsilon=message.epsilon
                ),
                message,
            )

    def answer_question(
        self, analyst: str, message: QuestionMessage
    ) -> dict[str, object]:
        """The answer to a question, charged to this analyst and to the run."""
        with self._take_turn(analyst), self._counting:
            session = self._session.for_analyst(analyst)
            price = self._price(session, message)
            # A name without a limit would be free in a ledger in which nobody has one.
            if analyst not in self._ledger.limits():
                raise ServiceError("limit")
            outcome = "failed"
            try:
                answer = session.ask(
                    message.question,
                    within=message.within,
                    epsilon=message.epsilon,
                    purpose=message.purpose,
                )
                outcome = "answered"
                return _write_view(answer, message)
            except BudgetExceeded:
                outcome = "limit"
                raise ServiceError("limit") from None
            # Whatever it is, its text may say how rows were counted.
            except Exception:
                raise ServiceError("failed") from None
            finally:
                self._log_question(analyst, price, outcome)

    def describe_account(self, analyst: str) -> dict[str, object]:
        """The limit of an analyst, what they were answered and what is left."""
        statements = [
            one for one in self._ledger.statements() if one.analyst == analyst
        ]
        if not statements:
            raise ServiceError("limit")
        statement = statements[0]
        accounting = self._session.accounting
        left = statement.amount_left(accounting)
        limit = statement.limit
        return {
            "analyst": analyst,
            "limit_epsilon": None if limit is None else float(limit.epsilon),
            "limit_delta": None if limit is None else float(limit.delta),
            "epsilon": float(statement.epsilon),
            "accounting": str(accounting),
            "amount_left": None if left is None else float(left),
            "questions": statement.questions,
            "replays": statement.replays,
        }

    def list_answers(self, analyst: str) -> list[dict[str, object]]:
        """What was charged to an analyst, charge by charge; asked again, it is free."""
        entries = []
        for entry in self._ledger.entries():
            if entry.analyst == analyst and entry.kind in ("charge", "replay"):
                facts = entry.facts
                entries.append(
                    {
                        "time": entry.time,
                        "digest": facts["request"],
                        "accounting": facts["currency"],
                        "amount": facts["amount"],
                        "purpose": facts.get("purpose", ""),
                    }
                )
        return entries

    @contextmanager
    def _take_turn(self, analyst: str) -> Iterator[None]:
        """One question of an analyst at a time; a second one is refused, not queued."""
        with self._turns:
            if analyst in self._busy:
                raise ServiceError("busy")
            self._busy.add(analyst)
        try:
            yield
        finally:
            with self._turns:
                self._busy.discard(analyst)

    @staticmethod
    def _price(session: Session, message: QuestionMessage) -> Price:
        """The price of a question. No row is read: what is refused here is refused by
        the schema, in its words.
        """
        with _name_refusals():
            return session.price(
                message.question, within=message.within, epsilon=message.epsilon
            )

    def _log_question(self, analyst: str, price: Price, outcome: str) -> None:
        digest = digest_of(price.question)[:16]
        cost = price.offer.cost
        amount = f"{cost.accounting} {float(cost.amount):.3g}"
        self._write_log(f"{analyst} {digest} {amount} {outcome}")


@contextmanager
def _name_refusals() -> Iterator[None]:
    """What the schema refuses in its own words, and everything else as `failed`: for
    what is done before any row is read.
    """
    try:
        yield
    # Words about the ledger are for its owner.
    except LedgerError:
        raise ServiceError("failed") from None
    except UnderstudyError as error:
        raise ServiceError("question", str(error)) from None
    except Exception:
        raise ServiceError("failed") from None


def _write_view(answer: AnswerTable, message: QuestionMessage) -> dict[str, object]:
    written = write_answer(answer)
    if message.wants_pictures:
        written["pictures"] = answer.figures()
    return written
