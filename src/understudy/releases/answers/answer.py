"""Answers to questions that come after a release: estimates with intervals, from what
was released alone. Nothing is spent.

    count where age > 60 and sex = 'F'
    share where smoker = true

The interval is what everything that was bought about the question's columns has in
common (releases/answers/interval.py). The estimate is the one of the model that rows
are drawn from, so answers agree with the rows and with one another; where least squares
over what was measured says that the model is wrong, it is that of least squares. An
answer says which. Either lies within the interval. A bin that the question cuts counts
by the share of it that is meant, as rows of the release lie in it
(releases/answers/cell_coverage.py), and the interval reaches from none of it to all of
it. So does the interval of a question that reaches beyond what was learned of a column
(releases/answers/beyond_domain.py). What the schema calls impossible is nobody,
whatever noise says, in cells and inside them (schema/simplify.py). In a run with pure ε
noise is Laplace's, whose 95 of 100 reach a little further than those of normal noise.
Noise is whole, and so are the ends, in rows.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import Refused, SchemaError
from understudy.measurements import Clique
from understudy.models.uncertainty.intervals import BOUND_CONFIDENCE
from understudy.releases.answers.beyond_domain import open_beyond_domain
from understudy.releases.answers.cell_coverage import MAX_QUESTION_CELLS, cover_cells
from understudy.releases.answers.interval import (
    confidence_interval,
    least_squares_sum,
    model_sum,
    tail_deviations,
)
from understudy.releases.answers.spelling import normalise_question, suggest_quotes
from understudy.schema import Column, Schema, parse_predicate
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    Literal,
    Not,
    Or,
    Predicate,
)
from understudy.schema.predicates.comparable import check_predicate
from understudy.schema.simplify import simplify_by_rules

if TYPE_CHECKING:
    from understudy.releases.card.card import Card

BASIS_MEASURED, BASIS_MODEL_IN_INTERVAL, BASIS_MODEL_ALONE = (
    "measured",
    "from the model, within what was measured",
    "from the model: not measured",
)
BASIS_IMPOSSIBLE = "nobody can be meant"
"""How an estimate was made, in words."""

_QUESTION_FORM = re.compile(
    r"\s*(count|share)(?:\s+where\s+(.+))?\s*", re.IGNORECASE | re.DOTALL
)


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

    def __str__(self) -> str:
        share = self.question.lower().startswith("share")
        shown = [
            f"{100 * x:.2f} %" if share else f"{x:,.0f}"
            for x in (self.estimate, self.low, self.high)
        ]
        return f"{shown[0]}, between {shown[1]} and {shown[2]} ({self.basis})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.question)}: <b>{escape(str(self))}</b></p>"


def answer(card: Card, question: str) -> Answer:
    """Answer one question from a release's card; see `Release.answer`."""
    schema = card.release.schema
    form = _QUESTION_FORM.fullmatch(question) if isinstance(question, str) else None
    if form is None:
        raise Refused(
            "A question reads `count where …` or `share where …`, for example: count"
            " where age > 60"
        )
    share = form[1].lower() == "share"
    if form[2] is None:
        clique: Clique = ()
        least = most = middle = np.ones(())
    else:
        predicate = _parse_question(form[2], schema)
        clique = tuple(name for name in schema if name in predicate.columns)
        cells = math.prod(schema.sizes(clique))
        if cells > MAX_QUESTION_CELLS:
            raise Refused(
                f"The question spans {cells:,} combinations, more than"
                f" {MAX_QUESTION_CELLS:,}. Ask about fewer columns at a time"
            )
        predicate = simplify_by_rules(predicate, schema)
        codecs = {name: schema.codecs[name] for name in clique}
        found = cover_cells(predicate, schema, clique, codecs, card.release.spreads)
        sure, possible, middle = found.sure, found.possible, found.share
        opened, wider = open_beyond_domain(predicate, codecs)
        if (opened, wider) != (predicate, codecs):
            further = cover_cells(opened, schema, clique, wider)
            sure, possible = sure & further.sure, possible | further.possible
        if not possible.any():  # nobody can be meant
            return Answer(
                " ".join(question.split()), 0.0, 0.0, 0.0, True, BASIS_IMPOSSIBLE
            )
        least, most = sure.astype(np.float64), possible.astype(np.float64)
    rows, release = card.rows, card.release
    low, high = confidence_interval(card, clique, least, most, share=share)
    # Noise is whole: where it is small, an end between two numbers is one that it
    # cannot reach and not one that it seldom passes.
    low = max(float(np.floor(low + 1e-9)), 0.0)
    high = max(float(np.ceil(high - 1e-9)), low)
    looked, spread = least_squares_sum(card, clique, middle, share=share)
    made, supported = (
        model_sum(card, card.table(clique), middle, share=share),
        math.isfinite(spread),
    )
    # What was measured may say that the model is wrong, and then it is asked itself;
    # elsewhere the model knows more than one noisy sum.
    alone = release.model is None and release.microdata is None
    plain = supported and (
        alone
        or abs(made - looked)
        > tail_deviations(card, (1 - BOUND_CONFIDENCE) / 2) * spread
    )
    basis = (
        BASIS_MEASURED
        if plain
        else BASIS_MODEL_IN_INTERVAL
        if supported
        else BASIS_MODEL_ALONE
    )
    ends = (min(max(looked if plain else made, low), high), low, high)
    shown = [
        (min(x / rows, 1.0) if share else x) + 0.0 for x in ends
    ]  # adding nothing makes -0 a 0
    return Answer(
        " ".join(question.split()), shown[0], shown[1], shown[2], supported, basis
    )


def _parse_question(text: str, schema: Schema) -> Predicate:
    """The predicate as it stands or, where that makes no sense, as people write it;
    bare words that name no column are labels.
    """
    errors, aside = [], {column.name for column in schema.columns}.difference(schema)
    for said in (text, normalise_question(text, schema)):
        try:
            predicate = _names_to_labels(parse_predicate(said), schema)
            for name in sorted(predicate.columns & aside):
                raise SchemaError(
                    f'column "{name}" takes no part in this release, so nothing can be'
                    " said of it"
                )
            # What was learned is settled by now, so a constant that is none of a
            # column's kind is a mistake.
            check_predicate(
                predicate,
                {name: _without_learned_type(schema[name]) for name in schema},
            )
        except SchemaError as error:
            errors.append(str(error))
        else:
            return predicate
    # Places in a question are told in the words it was asked in.
    first, second = errors
    said = first if "character" in second else second
    raise Refused(f"The question cannot be read: {said}{suggest_quotes(text, schema)}")


def _without_learned_type(column: Column) -> Column:
    return replace(
        column, learned=tuple(part for part in column.learned if part != "type")
    )


def _names_to_labels(predicate: Predicate, schema: Schema) -> Predicate:
    match predicate:
        case And(left, right):
            return And(_names_to_labels(left, schema), _names_to_labels(right, schema))
        case Or(left, right):
            return Or(_names_to_labels(left, schema), _names_to_labels(right, schema))
        case IfThen(left, right):
            return IfThen(
                _names_to_labels(left, schema), _names_to_labels(right, schema)
            )
        case Not(part):
            return Not(_names_to_labels(part, schema))
        case ColumnComparison(name, operator, ColumnName(word)) if word not in schema:
            return ColumnComparison(name, operator, Literal(word))
    return predicate
