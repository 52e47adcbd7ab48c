"""Answers to questions that come after a release: an estimate with an interval, from
what was released alone. Nothing is spent.

The interval is the intersection of the confidence intervals from every measurement that
involves the question's columns (answers/interval.py). The estimate is that of the model
that rows are drawn from, so answers agree with the rows and with one another. If least
squares over the measurements says that the model is wrong, the estimate is that of
least squares instead; an answer says which. Either lies within the interval.

A bin that the question cuts counts by the share of it that is meant, as the release's
own rows lie in it (answers/cell_coverage.py), and the interval reaches from none of the
bin to all of it. So does the interval of a question that reaches beyond what was
learned of a column (answers/beyond_domain.py). What the schema calls impossible is no
row, whatever noise says, in cells and inside them (schema/simplify.py). In a run with
pure ε noise is Laplace's, whose 95 % quantile is a little larger than that of normal
noise. Noise is whole, and so are the ends, in rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

import numpy as np

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.releases.answers.cell_coverage import (
    MAX_QUESTION_CELLS,
    CellCoverage,
    cover_cells,
)
from understudy.releases.answers.cell_sums import CellSum, CellSums
from understudy.releases.answers.interval import (
    ERROR_PROBABILITY,
    confidence_interval,
)
from understudy.releases.answers.passes import apply_cell_passes
from understudy.releases.answers.question import Question, QuestionKind, question_of
from understudy.releases.evidence import Evidence
from understudy.schema.predicates.ast import Predicate

BASIS_MEASURED = "measured"
BASIS_MODEL_IN_INTERVAL = "from the model, within what was measured"
BASIS_MODEL_ALONE = "from the model: not measured"
BASIS_IMPOSSIBLE = "no row can be meant"
"""How an estimate was made, in words."""

_ROUNDING_SLACK = 1e-9
"""Slack before an end is rounded to whole rows: floating point may put a whole number a
little beyond itself.
"""


@dataclass(frozen=True)
class Answer:
    """An estimate and an interval that holds the truth 95 times in 100. `supported`:
    everything it needs was measured.

    `basis` says in words how the estimate was made.
    """

    question: str
    estimate: float
    low: float
    high: float
    supported: bool
    basis: str
    kind: QuestionKind = QuestionKind.COUNT

    def __str__(self) -> str:
        estimate, low, high = map(self._format, (self.estimate, self.low, self.high))
        return f"{estimate}, between {low} and {high} ({self.basis})"

    def _format(self, number: float) -> str:
        if self.kind is QuestionKind.SHARE:
            return f"{100 * number:.2f} %"
        return f"{number:,.0f}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.question)}: <b>{escape(str(self))}</b></p>"


def answer_question(evidence: Evidence, asked: str | Question | Predicate) -> Answer:
    """Answer one question from what is known of a release; see `Release.answer`."""
    question = question_of(asked, evidence.schema)
    clique = _question_clique(question, evidence)
    coverage = cover_predicate(question.predicate, evidence, clique)
    if not coverage.possible.any():
        return Answer(
            str(question), 0.0, 0.0, 0.0, True, BASIS_IMPOSSIBLE, question.kind
        )
    sums = CellSums(evidence, question.kind)
    low, high = _whole_interval(sums, clique, coverage)
    measured = sums.by_least_squares(clique, coverage.share)
    modelled = sums.by_model(evidence.marginal(clique), coverage.share)
    is_model_wrong = _contradicts(sums, measured, modelled)
    estimate = measured.rows if is_model_wrong else modelled
    estimate = min(max(estimate, low), high)
    if question.kind is QuestionKind.SHARE:
        estimate, low, high = (
            min(rows / evidence.rows, 1.0) for rows in (estimate, low, high)
        )
    return Answer(
        str(question),
        # Adding 0.0 turns -0.0 into 0.0, which no reader expects to see.
        estimate + 0.0,
        low + 0.0,
        high + 0.0,
        measured.is_measured,
        _estimate_basis(measured, is_model_wrong),
        question.kind,
    )


def _question_clique(question: Question, evidence: Evidence) -> Clique:
    """The columns that a question is about, in the schema's order."""
    if question.predicate is None:
        return ()
    schema, columns = evidence.schema, question.predicate.columns
    clique = tuple(name for name in schema if name in columns)
    cells = math.prod(schema.sizes(clique))
    if cells > MAX_QUESTION_CELLS:
        raise Refused(
            f"The question spans {cells:,} combinations, more than"
            f" {MAX_QUESTION_CELLS:,}. Ask about fewer columns at a time"
        )
    return clique


def cover_predicate(
    predicate: Predicate | None, evidence: Evidence, clique: Clique
) -> CellCoverage:
    """Which cells of a clique a predicate takes, surely and possibly, and which share
    of each; everything without one.
    """
    schema = evidence.schema
    if predicate is None:
        everything = np.ones(schema.sizes(clique), np.bool_)
        return CellCoverage(everything, everything, everything.astype(np.float64))
    closed, opened = apply_cell_passes(predicate, schema, clique)
    coverage = cover_cells(
        closed.predicate, schema, clique, closed.codecs, evidence.bin_densities
    )
    if opened == closed:
        return coverage
    # The estimate is of the rows inside what was learned; only the interval must hold
    # those that may lie beyond it.
    wider = cover_cells(opened.predicate, schema, clique, opened.codecs)
    return CellCoverage(
        coverage.sure & wider.sure, coverage.possible | wider.possible, coverage.share
    )


def _whole_interval(
    sums: CellSums, clique: Clique, coverage: CellCoverage
) -> tuple[float, float]:
    """The interval with ends in whole rows, none of them negative."""
    least = coverage.sure.astype(np.float64)
    most = coverage.possible.astype(np.float64)
    low, high = confidence_interval(sums, clique, least, most)
    # Noise is whole. If it is small, an end between two whole numbers is one that noise
    # cannot reach, rather than one that it seldom exceeds.
    low = max(float(np.floor(low + _ROUNDING_SLACK)), 0.0)
    high = max(float(np.ceil(high - _ROUNDING_SLACK)), low)
    return low, high


def _contradicts(sums: CellSums, measured: CellSum, modelled: float) -> bool:
    """Whether the measurements reject the model's sum, or there is no model.

    Where they do not, the model knows more than one noisy sum does.
    """
    if not measured.is_measured:
        return False
    if not sums.evidence.has_rows:
        return True
    reach = sums.tail_deviations(ERROR_PROBABILITY / 2) * measured.deviation
    return abs(modelled - measured.rows) > reach


def _estimate_basis(measured: CellSum, is_model_wrong: bool) -> str:
    if is_model_wrong:
        return BASIS_MEASURED
    return BASIS_MODEL_IN_INTERVAL if measured.is_measured else BASIS_MODEL_ALONE
