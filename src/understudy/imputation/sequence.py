"""Sequential synthesis: each column given the kept ones and those before it.

A model is fitted on the original rows, with original predictors, and drawn from with
synthetic ones. A number with missing cells is two columns: which cells are missing, and
the values of the others. Without predictors a column is drawn from its own values.
Nowok, Raab, Dibben, "synthpop", Journal of Statistical Software, 2016.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.evaluation.utility.design import Design
from understudy.imputation.linear import fit_norm, fit_normrank
from understudy.imputation.logistic import fit_logistic
from understudy.imputation.ordered import fit_ordered
from understudy.imputation.tree import (
    DEFAULT_LEAVES,
    DonorLeaves,
    TreePredictors,
    fit_tree,
    tree_target,
)
from understudy.schema import Categorical, Column, Lattice, Schema
from understudy.tables import ABSENT_PLACE, Records

COLUMN_METHODS = ("cart", "norm", "normrank", "logit", "polr", "sample")
"""How one column may be drawn."""

TABLE_METHODS: Mapping[str, tuple[str, str]] = {
    "cart": ("cart", "cart"),
    "norm+logit": ("norm", "logit"),
    "da-mi": ("norm", "logit"),
    "normrank+logit": ("normrank", "logit"),
    "copula": ("norm", "logit"),
}
"""How a table is masked: the method of its numbers, and that of its labels."""

MAX_LOGIT_LABELS = 30
"""Labels of a column that a logistic model is fitted for; a column with more is drawn
by a tree: the information matrix grows with the square of their number.
"""


class ColumnModel(Protocol):
    """A fitted model of one column given its predictors."""

    def draw_parameters(self, rng: Generator) -> ColumnModel:
        """The same model with parameters drawn from their posterior."""

    def draw(self, x: NDArray[np.float64], rng: Generator) -> NDArray[Any]:
        """One value for each row of predictors."""


class Predictors(Protocol):
    """The predictors of a column out of records."""

    def matrix(self, records: Records) -> NDArray[np.float64]:
        """One row for each record."""


@dataclass(frozen=True, kw_only=True)
class ColumnPlan:
    """How one column is replaced: its method, and the columns it is predicted from."""

    name: str
    method: str
    predictors: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class SampleModel:
    """A column's own values, drawn with replacement."""

    values: NDArray[Any]

    def draw_parameters(self, rng: Generator) -> SampleModel:
        """The values of a bootstrap sample."""
        # A bootstrap approximates a draw of the distribution from its posterior.
        return SampleModel(rng.choice(self.values, len(self.values)))

    def draw(self, x: NDArray[np.float64], rng: Generator) -> NDArray[Any]:
        """One value for each row."""
        return rng.choice(self.values, len(x))


@dataclass(frozen=True, eq=False)
class FittedPart:
    """A model with its predictors."""

    model: ColumnModel
    predictors: Predictors

    def draw_parameters(self, rng: Generator) -> FittedPart:
        """The same part with parameters drawn."""
        return replace(self, model=self.model.draw_parameters(rng))

    def draw(self, records: Records, rng: Generator) -> NDArray[Any]:
        """One value for each record."""
        return self.model.draw(self.predictors.matrix(records), rng)


@dataclass(frozen=True, eq=False)
class FittedColumn:
    """The models of one column: of its labels or states, and of its numbers."""

    name: str
    states: FittedPart | None
    values: FittedPart | None

    def draw_parameters(self, rng: Generator) -> FittedColumn:
        """The same column with parameters drawn."""
        states = None if self.states is None else self.states.draw_parameters(rng)
        values = None if self.values is None else self.values.draw_parameters(rng)
        return replace(self, states=states, values=values)

    def replace_in(self, records: Records, rng: Generator) -> Records:
        """The records with this column drawn anew."""
        column = records.schema[self.name]
        if not isinstance(column, Lattice):
            assert self.states is not None
            drawn = self.states.draw(records, rng)
            return put_labels(records, self.name, drawn)
        places = np.full(records.rows, ABSENT_PLACE, np.int64)
        states = np.zeros(records.rows, np.int64)
        if self.states is not None:
            states = self.states.draw(records, rng)
        valued = states == 0
        if self.values is not None and valued.any():
            drawn = self.values.draw(records.take(valued), rng)
            places[valued] = _round_to_lattice(drawn, column)
        return _with_places(records, self.name, places, states)


def plan_columns(
    schema: Schema,
    replaced: Sequence[str],
    *,
    kept: Sequence[str] = (),
    method: str = "cart",
    methods: Mapping[str, str] | None = None,
    predictors: Mapping[str, Sequence[str]] | None = None,
) -> list[ColumnPlan]:
    """How each column is replaced, in the order of `replaced`: given the kept columns
    and those before it, unless `predictors` names others.
    """
    if method not in TABLE_METHODS:
        raise Refused(f"mask: the method is one of {', '.join(TABLE_METHODS)}")
    own = dict(methods or {})
    chosen = dict(predictors or {})
    numbers, labels = TABLE_METHODS[method]
    plans = []
    for place, name in enumerate(replaced):
        is_number = isinstance(schema[name], Lattice)
        how = own.pop(
            name, numbers if is_number else _label_method(schema[name], labels)
        )
        _check_method(name, how, is_number=is_number)
        # Columns replaced later still hold original values when this one is drawn.
        known = [*kept, *replaced[:place]]
        wanted = chosen.pop(name, known)
        _check_predictors(name, wanted, known)
        plans.append(ColumnPlan(name=name, method=how, predictors=tuple(wanted)))
    if own or chosen:
        stray = next(iter({**own, **chosen}))
        raise Refused(f'mask: column "{stray}" is not among the replaced ones')
    return plans


def _label_method(column: Column, method: str) -> str:
    """The method of a column of labels: regressions respect a declared order."""
    is_ordered = isinstance(column, Categorical) and column.ordered
    return "polr" if is_ordered and method == "logit" else method


def _check_method(name: str, method: str, *, is_number: bool) -> None:
    if method not in COLUMN_METHODS:
        raise Refused(
            f'mask: column "{name}": the method is one of {", ".join(COLUMN_METHODS)}'
        )
    unfit = ("logit", "polr") if is_number else ("norm", "normrank")
    if method in unfit:
        noun = "a number" if is_number else "a list of labels"
        raise Refused(
            f'mask: column "{name}" is {noun}, which `{method}` does not draw'
        )


def _check_predictors(name: str, wanted: Sequence[str], known: Sequence[str]) -> None:
    for predictor in wanted:
        if predictor not in known:
            raise Refused(
                f'mask: column "{name}" cannot be predicted from "{predictor}", which'
                " is neither kept nor replaced before it"
            )


def fit_column(
    plan: ColumnPlan,
    real: Records,
    *,
    leaves: DonorLeaves = DEFAULT_LEAVES,
    is_masked: bool = False,
) -> FittedColumn:
    """The models of one column on the original rows. A masked one has a regression also
    where it has no predictors, for its values are drawn near a mask.
    """
    column = real.schema[plan.name]
    codes = real.codes[plan.name].astype(np.int64)
    if not isinstance(column, Lattice):
        states = fit_part(
            plan, real, codes, is_number=False, leaves=leaves, is_masked=is_masked
        )
        return FittedColumn(plan.name, states, None)
    places = real.places[plan.name]
    valued = places != ABSENT_PLACE
    part = None
    if valued.any():
        part = fit_part(
            plan,
            real.take(valued),
            places[valued].astype(np.float64),
            is_number=True,
            leaves=leaves,
            is_masked=is_masked,
        )
    state_part = None
    if not valued.all():
        # 0 is a value; the others are the codes of missing cells, one above.
        states_of_cells = np.where(valued, 0, codes + 1)
        state_part = fit_part(
            plan, real, states_of_cells, is_number=False, leaves=leaves
        )
    return FittedColumn(plan.name, state_part, part)


def fit_part(
    plan: ColumnPlan,
    real: Records,
    y: NDArray[Any],
    *,
    is_number: bool,
    leaves: DonorLeaves,
    is_masked: bool = False,
) -> FittedPart:
    """One model with its predictors, by the method that fits what is modelled."""
    # A regression on a constant response is singular.
    is_constant = not len(y) or bool((y == y[0]).all())
    has_model = bool(plan.predictors) or is_masked
    if plan.method == "sample" or is_constant or not has_model:
        return FittedPart(SampleModel(y), Design(()))
    labels = 0 if is_number else len(np.unique(y))
    if plan.method == "cart" or labels > MAX_LOGIT_LABELS:
        target = tree_target(y, is_number=is_number)
        ordered = TreePredictors.of(plan.predictors, real, target)
        tree = fit_tree(y, ordered.matrix(real), is_number=is_number, leaves=leaves)
        return FittedPart(tree, ordered)
    design = Design.of(plan.predictors, real)
    x = design.matrix(real)
    if not is_number:
        if labels > 2 and _has_ordered_labels(plan, real, y):
            return FittedPart(fit_ordered(y, x), design)
        return FittedPart(fit_logistic(y, x, lambda: design.matrix(real)), design)
    fit = fit_normrank if plan.method == "normrank" else fit_norm
    return FittedPart(fit(y, x), design)


def _has_ordered_labels(plan: ColumnPlan, real: Records, y: NDArray[Any]) -> bool:
    # Codes beyond the values are missing or unlisted cells, which have no place in the
    # order.
    return plan.method == "polr" and y.max() < len(real.codec(plan.name).bins)


def draw_copy(
    fitted: Sequence[FittedColumn],
    real: Records,
    rng: Generator,
    *,
    proper: bool = True,
) -> Records:
    """One masked copy: row i stays row i, with the fitted columns drawn anew.

    `proper`: the parameters are drawn too, from their posterior.
    """
    copy = real
    for column in fitted:
        # With fixed parameters, the spread between copies would lack their uncertainty.
        drawn = column.draw_parameters(rng) if proper else column
        copy = drawn.replace_in(copy, rng)
    return copy


def _round_to_lattice(values: NDArray[Any], column: Lattice) -> NDArray[np.int64]:
    assert column.low is not None
    assert column.high is not None
    # A normal draw has no bounds, but the schema has.
    clipped = np.clip(values.astype(np.float64), column.low, column.high)
    return np.rint(clipped).astype(np.int64)


def put_labels(records: Records, name: str, codes: NDArray[Any]) -> Records:
    """Records whose column has these codes."""
    fitting = codes.astype(records.codes[name].dtype)
    return replace(records, codes={**records.codes, name: fitting})


def put_numbers(records: Records, name: str, values: NDArray[np.float64]) -> Records:
    """Records whose column has these values, rounded to its lattice; none is missing."""
    column = records.schema[name]
    assert isinstance(column, Lattice)
    places = _round_to_lattice(values, column)
    return _with_places(records, name, places, np.zeros(len(places), np.int64))


def _with_places(
    records: Records,
    name: str,
    places: NDArray[np.int64],
    states: NDArray[np.int64],
) -> Records:
    """Records whose column has these values, and codes to match."""
    codec = records.codec(name)
    edges = np.asarray(codec.edges, np.int64)
    inside = np.searchsorted(edges, places, side="right") - 1
    codes = np.where(states > 0, states - 1, np.clip(inside, 0, len(codec.bins) - 1))
    changed = put_labels(records, name, codes)
    return replace(changed, places={**records.places, name: places})
