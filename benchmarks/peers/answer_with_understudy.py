"""Our questions: one run of (ε, δ), all questions of a round asked together; timed one
by one, with a ledger on disk, as `understudy ask` answers them.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from answer_job import main, order_groups
from workload import BOUNDS, LABELS, Question

import understudy as us
from understudy.queries.results import AnswerTable
from understudy.schema import Categorical, Integer, Schema
from understudy.tables import open_table

COLUMNS = [
    Categorical(name=name, values=tuple(labels), nullable=False)
    for name, labels in LABELS.items()
] + [
    Integer(name=name, min=low, max=high, nullable=False)
    for name, (low, high) in BOUNDS.items()
]


class Understudy:
    """A session on a run of its own. Rows are read once, as the server reads them."""

    def __init__(self, task: dict[str, object], asked: list[Question]) -> None:
        self.epsilon, self.delta = str(task["epsilon"]), str(task["delta"])
        self.schema = Schema(columns=tuple(COLUMNS))
        self.folder = tempfile.TemporaryDirectory()
        self.session = us.session(
            open_table(str(task["rows"])).freeze_rows(),
            self.schema,
            ledger=Path(self.folder.name, "people.ledger"),
            budget=self.epsilon,
            delta=self.delta,
        )
        self.together: dict[Question, AnswerTable] = {}
        if task["together"]:
            texts = [question.to_sql("people") for question in asked]
            answers = self.session.ask(texts, epsilon=self.epsilon)
            self.together = dict(zip(asked, answers, strict=True))

    def answer(self, question: Question) -> list[float]:
        answer = self.together.get(question)
        if answer is None:
            answer = self.session.ask(question.to_sql("people"), epsilon="0.01")
        found = {row.keys: row.numbers[0].value for row in answer.rows}
        return order_groups(question, found)

    def count_affordable(self, within: float) -> int:
        text = Question("count").to_sql("people") + " WHERE age > 7"
        price = self.session.price(text, within=within)
        whole = us.Budget.of(self.epsilon, self.delta)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "empty.ledger")
            with us.Ledger.create(path, dataset="people") as ledger:
                from understudy.accounting.questions.question_run import open_questions

                left = open_questions(ledger, whole).filter.amount_left
        return math.floor(left / price.offer.cost.amount)


if __name__ == "__main__":
    main(Understudy)
