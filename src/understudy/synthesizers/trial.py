"""One run of a synthesizer on made-up rows, and what any model must satisfy: the ground the conformance checks stand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models import Codes, Model, default_rows
from understudy.models.possible import impossible_masks, impossible_rows
from understudy.schema import Boolean, Categorical, Column, Integer, Schema
from understudy.synthesizers.base import Curator, Synthesizer, Workload, silent

Rows = Mapping[str, Sequence[object]]
"""Values by column, None where missing."""

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)


class OpenCurator(Protocol):
    """Opens a real curator on rows: encodes them by the schema and hands over the whole budget."""

    def __call__(
        self, schema: Schema, rows: Rows, *, epsilon: Fraction, delta: Fraction, neighbours: Neighbours
    ) -> Curator: ...


@dataclass(frozen=True, eq=False)
class Trial:
    """One run on made-up rows."""

    schema: Schema
    curator: Curator
    measurements: Measurements
    model: Model


def mixed_table(count: int) -> tuple[Schema, dict[str, list[object]]]:
    """A small table of several types with missing values; all of it made up.

    >>> schema, rows = mixed_table(2)
    >>> schema.sizes(tuple(schema)), len(rows["age"])
    ((3, 2, 5), 2)
    """
    columns: tuple[Column, ...] = (
        Boolean(name="smoker"),
        Categorical(name="sex", values=("F", "M"), nullable=False),
        Integer(name="age", min=0, max=3),
    )
    draw = np.random.default_rng(3)
    smoker, sex, age = draw.random(count), draw.random(count), draw.integers(0, 4, count)
    rows: dict[str, list[object]] = {
        "smoker": [None if u < 0.1 else bool(u < 0.4) for u in smoker],
        "sex": ["F" if u < 0.5 else "M" for u in sex],
        "age": [int(min(a, 2)) if u < 0.4 else int(a) for a, u in zip(age, smoker, strict=True)],
    }
    return Schema(columns=columns), rows


def run(
    synthesizer: Synthesizer,
    open_curator: OpenCurator,
    schema: Schema,
    rows: Rows,
    *,
    epsilon: Fraction = EPSILON,
    delta: Fraction = DELTA,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Trial | None:
    """One run; None where the synthesizer refuses beforehand."""
    curator = open_curator(schema, rows, epsilon=epsilon, delta=delta, neighbours=neighbours)
    try:
        synthesizer.check(schema, delta=delta)
    except Refused as refusal:
        clear(synthesizer, refusal)
        assert curator.left == 1, f"{synthesizer.name}: it refused and had spent something"
        return None
    measurements = synthesizer.measure(curator, Workload.of_order(curator.schema), silent)
    model = synthesizer.estimate(curator.schema, measurements, np.random.default_rng(7))
    return Trial(curator.schema, curator, measurements, model)


def sound(synthesizer: Synthesizer, trial: Trial | None) -> None:
    """Marginals are non-negative and sum to the total; samples have the rows asked for and codes inside their domains."""
    if trial is None:
        return
    schema, model, name = trial.schema, trial.model, synthesizer.name
    assert isinstance(model, Model), f"{name}: what it estimates is no model"
    assert np.isfinite(model.total), f"{name}: its total is no number"
    assert model.total >= 0, f"{name}: its total is negative"
    columns = tuple(schema)
    for clique in [(), *((c,) for c in columns), columns[:2][::-1]]:
        marginal = model.marginal(clique)
        assert marginal.shape == schema.sizes(clique), (
            f"{name}: the marginal of {clique} has another shape than the schema"
        )
        assert np.all(marginal >= 0), f"{name}: the marginal of {clique} has a negative count"
        off = abs(float(marginal.sum()) - model.total)
        assert off <= 1e-6 * max(model.total, 1), f"{name}: the marginal of {clique} does not sum to the total"
    for rows in {0, 1, 137, default_rows(model)}:
        fits(synthesizer, schema, model.sample(rows, np.random.default_rng(1)), rows)


def fits(synthesizer: Synthesizer, schema: Schema, sample: Codes, rows: int) -> None:
    """A sample has the schema's columns, the rows asked for, codes inside their domains, and no row that is declared impossible."""
    assert list(sample) == list(schema), f"{synthesizer.name}: sampled columns are not the schema's, in its order"
    for column, codes in sample.items():
        where = f'{synthesizer.name}: sampled column "{column}"'
        assert isinstance(codes, np.ndarray), f"{where} is no array"
        assert np.issubdtype(codes.dtype, np.integer), f"{where} holds no codes"
        assert codes.shape == (rows,), f"{where} has {codes.size} rows, {rows} were asked for"
        inside = not rows or (int(codes.min()) >= 0 and int(codes.max()) < schema.codecs[column].size)
        assert inside, f"{where} has a code outside its domain"
    never = impossible_rows(impossible_masks(schema), sample, rows)
    assert not never.any(), f"{synthesizer.name}: sampled a row that the schema declares impossible"


def same(first: Codes, second: Codes) -> bool:
    """Whether two samples are the same rows."""
    return list(first) == list(second) and all(np.array_equal(first[name], second[name]) for name in first)


def clear(synthesizer: Synthesizer, refusal: Refused) -> None:
    """A refusal is one line, says what to do instead and that nothing was spent."""
    text = str(refusal)
    assert text, f"{synthesizer.name}: a refusal without a word"
    assert "\n" not in text, f"{synthesizer.name}: a refusal of several lines"
    assert "Nothing was spent" in text, f'{synthesizer.name}: a refusal does not say "Nothing was spent": {text}'
    assert text.count(". ") >= 1, f"{synthesizer.name}: a refusal names no remedy: {text}"
