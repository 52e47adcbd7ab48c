"""SmartNoise SQL, its mechanisms as they come, one row a person, every question at the
same ε: the largest at which its own statement of the cost of all of them is (ε, δ).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

warnings.simplefilter("ignore")

import pandas as pd  # noqa: E402
import snsql  # noqa: E402
from answer_job import main, order_groups  # noqa: E402
from snsql import Privacy  # noqa: E402
from workload import BOUNDS, LABELS, Question  # noqa: E402

TABLE = "people.people"
FOUND_EPSILONS: dict[int, float] = {}


class SmartNoise:
    """A reader over a frame."""

    def __init__(self, task: dict[str, object], asked: list[Question]) -> None:
        self.epsilon, self.delta = float(task["epsilon"]), float(task["delta"])  # type: ignore[arg-type]
        self.frame = pd.read_parquet(str(task["rows"]))
        texts = [q.to_sql(TABLE) for q in asked if q.kind != "median"]
        self.reader = self.open_reader(self.find_epsilon(texts), len(texts))

    def find_epsilon(self, texts: Sequence[str]) -> float:
        """The ε of one question; found once, for all rounds ask the same."""
        if len(texts) in FOUND_EPSILONS:
            return FOUND_EPSILONS[len(texts)]
        # Its cost of small ε is all but proportional; a statement takes seconds.
        epsilon = self.epsilon / len(texts)
        spent, _ = self.open_reader(epsilon, len(texts)).get_privacy_cost(list(texts))
        epsilon *= self.epsilon / spent
        while not self.is_affordable(texts, epsilon):
            epsilon *= 0.99
        FOUND_EPSILONS[len(texts)] = epsilon
        return epsilon

    def open_reader(self, epsilon: float, questions: int) -> snsql.PrivateReader:
        # Its cost of a question has at most two of the δ that is set here.
        privacy = Privacy(epsilon=epsilon, delta=self.delta / (4 * questions))
        columns = {name: {"type": "string"} for name in LABELS} | {
            name: {"type": "int", "lower": low, "upper": high}
            for name, (low, high) in BOUNDS.items()
        }
        facts = {
            "row_privacy": True,
            "censor_dims": False,
            "clamp_counts": False,
            "rows": len(self.frame),
        }
        metadata = {"": {"people": {"people": {**facts, **columns}}}}
        return snsql.from_df(self.frame, privacy=privacy, metadata=metadata)

    def is_affordable(self, texts: Sequence[str], epsilon: float) -> bool:
        spent, delta = self.open_reader(epsilon, len(texts)).get_privacy_cost(
            list(texts)
        )
        return spent <= self.epsilon and delta <= self.delta

    def answer(self, question: Question) -> list[float] | None:
        if question.kind == "median":
            return None
        _, *rows = self.reader.execute(question.to_sql(TABLE))
        found = {tuple(row[:-1]): float(row[-1]) for row in rows}
        return order_groups(question, found)

    def count_affordable(self, within: float) -> int:
        """Its counts have discrete Laplace noise: ±w at 95 % is ε = ln 20 / w."""
        epsilon = math.log(20) / within
        text = Question("count").to_sql(TABLE)
        # Plain composition is where it begins; a statement of many takes seconds.
        questions = max(math.floor(self.epsilon / epsilon) - 1, 1)
        assert self.is_affordable([text] * questions, epsilon)
        while self.is_affordable([text] * (questions + 1), epsilon):
            questions += 1
        return questions


if __name__ == "__main__":
    main(SmartNoise)
