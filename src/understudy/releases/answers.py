"""Answers to questions that come after a release: estimates with intervals, from what was released alone. Nothing is spent.

    count where age > 60 and sex = 'F'
    share where smoker = true

Where everything about the question's columns was measured, the estimate is the unbiased least-squares one and its interval comes from the
exact variance of that very sum. Elsewhere it is the model's, and the interval is as wide as the card's bound on that marginal, or as wide
as the table where there is none. A bin that the question cuts in two counts by half, and the interval reaches from none of it to all of it.
So does the interval of a question that reaches beyond what was learned of a column (releases/reach.py). Cells that the schema calls
impossible are empty, whatever noise says of them. In a run with pure ε noise is
Laplace's, whose 95 of 100 reach a little further than those of normal noise. Noise is whole, and so are the ends, in rows.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from understudy.accounting.cost import Currency
from understudy.errors import Refused, SchemaError
from understudy.measurements import Clique
from understudy.models.confidence import CONFIDENCE, deviation_of
from understudy.releases.questions import remedy, spelled
from understudy.releases.reach import reaching
from understudy.schema import Column, Schema, parse_predicate
from understudy.schema.predicate import And, Comparison, IfThen, Literal, Name, Not, Or, Predicate
from understudy.schema.scale import check
from understudy.schema.truth import possibly, surely

if TYPE_CHECKING:
    from understudy.releases.card import Card

_LAPLACE = -math.log(1 - CONFIDENCE) / math.sqrt(2)
"""Deviations of Laplace noise between which it lies so often; sums of it lie nearer."""

LARGEST = 10_000_000
"""Cells of the marginal that a question may be about."""

_FORM = re.compile(r"\s*(count|share)(?:\s+where\s+(.+))?\s*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Answer:
    """An estimate and an interval that holds the truth 95 times in 100. `supported`: everything it needs was measured."""

    question: str
    estimate: float
    low: float
    high: float
    supported: bool

    def __str__(self) -> str:
        share = self.question.lower().startswith("share")
        shown = [f"{100 * x:.2f} %" if share else f"{x:,.0f}" for x in (self.estimate, self.low, self.high)]
        basis = "measured" if self.supported else "from the model: not measured"
        return f"{shown[0]}, between {shown[1]} and {shown[2]} ({basis})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.question)}: <b>{escape(str(self))}</b></p>"


def answer(card: Card, question: str) -> Answer:
    """Answer one question from a release's card; see `Release.answer`."""
    schema = card.release.schema
    form = _FORM.fullmatch(question) if isinstance(question, str) else None
    if form is None:
        raise Refused("A question reads `count where …` or `share where …`, for example: count where age > 60")
    share = form[1].lower() == "share"
    if form[2] is None:
        clique: Clique = ()
        sure = possible = least = most = np.ones(())
    else:
        predicate = _understood(form[2], schema)
        clique = tuple(name for name in schema if name in predicate.columns)
        cells = math.prod(schema.sizes(clique))
        if cells > LARGEST:
            raise Refused(
                f"The question spans {cells:,} combinations, more than {LARGEST:,}. Ask about fewer columns at a time"
            )
        sure = surely(predicate, schema.codecs, clique).astype(np.float64)
        possible = possibly(predicate, schema.codecs, clique).astype(np.float64)
        opened, wider = reaching(predicate, {name: schema.codecs[name] for name in clique})
        least = np.minimum(sure, surely(opened, wider, clique))
        most = np.maximum(possible, possibly(opened, wider, clique))
        zeros = schema.zeros(clique)
        if zeros is not None:
            sure, possible, least, most = (np.where(zeros, 0.0, w) for w in (sure, possible, least, most))
        if not most.any():  # nobody can be meant
            return Answer(" ".join(question.split()), 0.0, 0.0, 0.0, True)
    middle = (sure + possible) / 2
    pure = card.release.guarantee.currency is Currency.PURE
    rows, width = card.rows, _LAPLACE if pure else float(ndtri((1 + CONFIDENCE) / 2))
    # Of a share the total's own noise cancels in part: the share p of a table is what its weights less p leave.
    table = card.pooled.marginal(clique)
    part = float((middle * table).sum()) / rows if share else 0.0
    spread = deviation_of(card.pooled, clique, middle - part)
    if math.isfinite(spread):
        ends = [float((w * table).sum()) for w in (least, middle, most)]
        below, above = (
            spread if np.array_equal(w, inner) else deviation_of(card.pooled, clique, w - part)
            for w, inner in ((least, sure), (most, possible))
        )
        low, high = ends[0] - width * below, ends[2] + width * above
        middle_rows, supported = ends[1], True
    else:
        released = card.table(clique)
        ends = [float((w * released).sum()) for w in (least, middle, most)]
        bound = card.bound(clique)
        # Rows that are wrongly in, or wrongly out, are at most half of all that are in a wrong cell, and what the total is off by.
        off = width * math.sqrt(card.pooled.total_variance)
        reach = math.inf if bound is None else (bound.rows + off) / 2
        low, high = ends[0] - reach, min(ends[2] + reach, rows + off)
        middle_rows, supported = ends[1], False
    # Noise is whole: where it is small, an end between two numbers is one that it cannot reach and not one that it seldom passes.
    low, high = float(np.floor(low + 1e-9)), float(np.ceil(high - 1e-9))
    low, middle_rows = max(low, 0.0), max(middle_rows, 0.0)
    high = max(high, low)
    unit = rows if share else 1.0
    shown = [min(x / unit, 1.0) if share else x for x in (middle_rows, low, high)]
    return Answer(" ".join(question.split()), shown[0], shown[1], shown[2], supported)


def _understood(text: str, schema: Schema) -> Predicate:
    """The predicate as it stands or, where that makes no sense, as people write it; bare words that name no column are labels."""
    errors = []
    for said in (text, spelled(text, schema)):
        try:
            predicate = _labelled(parse_predicate(said), schema)
            # What was learned is settled by now, so a constant that is none of a column's kind is a mistake.
            check(predicate, {name: _settled(schema[name]) for name in schema})
        except SchemaError as error:
            errors.append(str(error))
        else:
            return predicate
    # Places in a question are told in the words it was asked in.
    first, second = errors
    said = first if "character" in second else second
    raise Refused(f"The question cannot be read: {said}{remedy(text, schema)}")


def _settled(column: Column) -> Column:
    return replace(column, learned=tuple(part for part in column.learned if part != "type"))


def _labelled(predicate: Predicate, schema: Schema) -> Predicate:
    match predicate:
        case And(left, right):
            return And(_labelled(left, schema), _labelled(right, schema))
        case Or(left, right):
            return Or(_labelled(left, schema), _labelled(right, schema))
        case IfThen(left, right):
            return IfThen(_labelled(left, schema), _labelled(right, schema))
        case Not(part):
            return Not(_labelled(part, schema))
        case Comparison(name, operator, Name(word)) if word not in schema:
            return Comparison(name, operator, Literal(word))
    return predicate
