"""DA-MI: multiple imputation that transfers some of each original cell through a mask.

The replaced columns X are modelled in sequence given the kept ones Z, and a noisy
version W of each cell is drawn once for all copies. A copy is a draw from

    p(X | Z, W; θ) ∝ Π_j p(x_j | Z, x_1 … x_{j-1}; θ) p(W_j | x_j),    θ ~ p(θ | X, Z).

θ is drawn given the original X, which is observed, so only X needs a Markov chain: it
begins at a draw without the masks and visits each column in turn. A label is drawn from
its chances given everything else; a number is proposed from its own model and mask, and
accepted by what the later columns say (Metropolis). Starting at the original cells would
leave traces of them.

The analyst's response is a kept column and so among the predictors: p(x | z, o) stands
for p(x | z) p(o | x, z). With masks that say nothing the draw is that of multiple
imputation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.imputation.linear import NormModel
from understudy.imputation.logistic import LogisticModel
from understudy.imputation.mask_strength import LabelMask, MaskStrength, NumberMask
from understudy.imputation.ordered import OrderedModel
from understudy.imputation.sequence import (
    MAX_LOGIT_LABELS,
    FittedColumn,
    draw_copy,
    put_labels,
    put_numbers,
)
from understudy.schema import Lattice
from understudy.tables import ABSENT_PLACE, Records

AUGMENTATION_SWEEPS = 10
"""Visits of each column. Cells of different rows are independent, and a row's few
columns forget their start in three or four visits.
"""


@dataclass(frozen=True, eq=False)
class MaskedColumn:
    """A column's model, and the mask that its cells are drawn near."""

    fitted: FittedColumn
    mask: NumberMask | LabelMask | None


def mask_columns(
    fitted: Sequence[FittedColumn],
    original: Records,
    strength: MaskStrength,
    rng: Generator,
) -> list[MaskedColumn]:
    """The masks of all columns, drawn once for all copies."""
    return [
        MaskedColumn(column, _draw_mask(column, original, strength, rng))
        for column in fitted
    ]


def _draw_mask(
    column: FittedColumn, original: Records, strength: MaskStrength, rng: Generator
) -> NumberMask | LabelMask | None:
    name = column.name
    if isinstance(original.schema[name], Lattice):
        places = original.places[name]
        if (places == ABSENT_PLACE).any():
            raise Refused(
                f'mask: column "{name}" has missing numbers, which da-mi does not'
                " draw. Say `imputations`, or choose another method"
            )
        if _number_model(column) is None and (places != places[0]).any():
            raise Refused(_describe_unmasked(name, "numbers by `norm`"))
        return NumberMask.draw(places.astype(np.float64), strength, rng)
    model = _label_model(column)
    codes = original.codes[name].astype(np.int64)
    if model is None:
        if (codes != codes[0]).any():
            raise Refused(
                _describe_unmasked(name, f"up to {MAX_LOGIT_LABELS} labels by `logit`")
            )
        return None
    return LabelMask.draw(
        # Models know only the labels that occur, in sorted order.
        np.searchsorted(model.labels, codes),
        len(model.labels),
        strength,
        rng,
    )


def _describe_unmasked(name: str, masked: str) -> str:
    """Why a column cannot be masked, where it would silently be drawn without a mask."""
    return (
        f'mask: column "{name}" is drawn by a model that da-mi cannot mask, which draws'
        f" {masked} or `polr`. Join rare labels, leave `methods` out, or choose another"
        " method for the table"
    )


def _label_model(column: FittedColumn) -> LogisticModel | OrderedModel | None:
    """The regression model of a column of labels; None if it never varies."""
    model = None if column.states is None else column.states.model
    return model if isinstance(model, LogisticModel | OrderedModel) else None


def _number_model(column: FittedColumn) -> NormModel | None:
    """The normal model of a column of numbers; None if it never varies."""
    model = None if column.values is None else column.values.model
    return model if isinstance(model, NormModel) else None


def draw_augmented(
    columns: Sequence[MaskedColumn], original: Records, rng: Generator
) -> Records:
    """One copy: parameters and replaced cells drawn given the masks."""
    drawn = [column.fitted.draw_parameters(rng) for column in columns]
    # The parameters are drawn already; drawing them again would mix two models.
    copy = draw_copy(drawn, original, rng, proper=False)
    for _ in range(AUGMENTATION_SWEEPS):
        for place, column in enumerate(columns):
            later = drawn[place + 1 :]
            if isinstance(column.mask, LabelMask):
                copy = _visit_label(drawn[place], column.mask, later, copy, rng)
            elif _number_model(drawn[place]) is not None:
                copy = _visit_number(drawn[place], column.mask, later, copy, rng)
    return copy


def _visit_number(
    column: FittedColumn,
    mask: NumberMask | None,
    later: Sequence[FittedColumn],
    copy: Records,
    rng: Generator,
) -> Records:
    """The copy with one column of numbers proposed anew, and accepted row by row."""
    model = _number_model(column)
    assert model is not None
    assert column.values is not None
    mean = model.predict(column.values.predictors.matrix(copy))
    variance = model.deviation**2
    if mask is not None:
        # Two normal densities multiply to one: precisions add up.
        precision = 1 / variance + 1 / mask.variance
        mean = (mean / variance + mask.mean / mask.variance) / precision
        variance = 1 / precision
    values = mean + np.sqrt(variance) * rng.standard_normal(copy.rows)
    proposed = put_numbers(copy, column.name, values)
    gain = _sum_likelihoods(later, proposed) - _sum_likelihoods(later, copy)
    # Metropolis: the proposal holds the model and the mask already, so that only the
    # later columns enter the ratio.
    is_accepted = np.log(rng.random(copy.rows)) < gain
    here, there = copy.places[column.name], proposed.places[column.name]
    chosen = np.where(is_accepted, there, here).astype(np.float64)
    return put_numbers(copy, column.name, chosen)


def _visit_label(
    column: FittedColumn,
    mask: LabelMask,
    later: Sequence[FittedColumn],
    copy: Records,
    rng: Generator,
) -> Records:
    """The copy with one column of labels drawn given everything else."""
    model = _label_model(column)
    assert model is not None
    assert column.states is not None
    score = model.log_chances(column.states.predictors.matrix(copy))
    score += mask.log_likelihood
    for place, label in enumerate(model.labels):
        candidate = put_labels(copy, column.name, np.full(copy.rows, label))
        score[:, place] += _sum_likelihoods(later, candidate)
    # The largest score plus Gumbel noise is a draw by the chances.
    chosen = (score + rng.gumbel(size=score.shape)).argmax(axis=1)
    return put_labels(copy, column.name, model.labels[chosen])


def _sum_likelihoods(
    columns: Sequence[FittedColumn], records: Records
) -> NDArray[np.float64]:
    """What the models of these columns say of each row."""
    total = np.zeros(records.rows)
    for column in columns:
        total += _log_likelihood(column, records)
    return total


def _log_likelihood(column: FittedColumn, records: Records) -> NDArray[np.float64]:
    """Log-density of one column's cells, but for what is the same in every row."""
    number, label = _number_model(column), _label_model(column)
    if number is not None:
        assert column.values is not None
        mean = number.predict(column.values.predictors.matrix(records))
        distance = (records.places[column.name] - mean) / number.deviation
        return np.asarray(-0.5 * distance**2)
    if label is not None:
        assert column.states is not None
        chances = label.log_chances(column.states.predictors.matrix(records))
        places = np.searchsorted(label.labels, records.codes[column.name])
        return np.asarray(chances[np.arange(records.rows), places])
    return np.zeros(records.rows)
