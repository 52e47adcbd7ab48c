"""Means, proportions, differences and odds ratios for a population, from a private
release alone.

Each is a function of the shares of cells whose slope is known, so that the uncertainty
of the shares becomes its own (contrast_model.py). For a mean over a group G with share
P(G) the slope is 1_G (y − mean) / P(G); for the logarithm of an odds ratio it is ±1/p in
the four groups of cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.inference.contrast_model import ContrastModel
from understudy.inference.population import (
    InferenceSettings,
    describe_clocks,
    finish_estimate,
    list_binned,
    list_cell_values,
    model_columns,
)
from understudy.inference.population_estimate import PopulationEstimate
from understudy.measurements import Clique
from understudy.models.estimates.residuals import PooledResiduals
from understudy.schema import Schema

MAX_GROUPING_COLUMNS = 2
"""Columns that groups are made of: with the column itself they are a marginal of three."""


def estimate_means(
    pooled: PooledResiduals,
    column: str,
    *,
    by: str | Sequence[str] = (),
    settings: InferenceSettings,
) -> PopulationEstimate:
    """The mean of a numeric column, in each group of others; rows in which one of them
    is missing are left out.
    """
    cells = _GroupedCells.of(pooled, column, by, settings)
    numbers = list_cell_values(pooled.schema, column)
    if numbers.dtype == object:
        raise Refused(
            f'mean: column "{column}" has labels and no numbers. Ask for the proportion'
            " of one of them"
        )
    unit = describe_clocks(pooled.schema, [column])
    title = f"mean of {column}{unit}"
    binned = list_binned(pooled.schema, [column])
    return cells.estimate_groups(numbers.astype(np.float64), title, binned)


def estimate_proportions(
    pooled: PooledResiduals,
    column: str,
    value: object,
    *,
    by: str | Sequence[str] = (),
    settings: InferenceSettings,
) -> PopulationEstimate:
    """The proportion of rows with this value among those that have one, in each group."""
    cells = _GroupedCells.of(pooled, column, by, settings)
    is_value = _mark_value(pooled.schema, column, value)
    return cells.estimate_groups(is_value, f"proportion of {column} = {value}")


def estimate_difference(
    pooled: PooledResiduals,
    column: str,
    *,
    by: str,
    between: tuple[object, object] | None,
    value: object = None,
    settings: InferenceSettings,
) -> PopulationEstimate:
    """The mean, or the proportion of `value`, in the second group less that in the
    first.
    """
    means = (
        estimate_means(pooled, column, by=by, settings=settings)
        if value is None
        else estimate_proportions(pooled, column, value, by=by, settings=settings)
    )
    first, second = find_two_values(pooled.schema, by, between)
    names = [f"{by} = {label}" for label in (first, second)]
    for name in names:
        if name not in means.names:
            raise Refused(f"difference: the group {name} has no rows")
    # Both means come from one model, so their covariance enters the difference.
    contrast = np.zeros((1, len(means.names)))
    contrast[0, [means.names.index(name) for name in names]] = -1.0, 1.0
    # Groups have no rows in common, so what a sample would claim adds up.
    naive = np.sqrt(contrast**2 @ means.naive_error**2)
    is_modelled = any(
        means.basis[means.names.index(name)] != "measured" for name in names
    )
    return PopulationEstimate(
        names=(f"{second} − {first}",),
        estimates=contrast @ means.estimates,
        covariance=contrast @ means.covariance @ contrast.T,
        bias_covariance=(
            None
            if means.bias_covariance is None
            else contrast @ means.bias_covariance @ contrast.T
        ),
        naive_error=naive,
        title=f"difference of {means.title}",
        population=settings.population,
        level=settings.level,
        basis=("modelled" if is_modelled else "measured",),
        unmeasured=means.unmeasured,
        smoothed=means.smoothed,
        unit=means.unit,
        binned=means.binned,
    )


def estimate_odds_ratio(
    pooled: PooledResiduals,
    column: str,
    *,
    by: str,
    between: tuple[object, object] | None,
    value: object = None,
    settings: InferenceSettings,
) -> PopulationEstimate:
    """The odds of `value` against all other values in the second group, over those in
    the first.
    """
    schema = pooled.schema
    cells = _GroupedCells.of(pooled, column, by, settings)
    wanted = find_two_values(schema, column, None)[1] if value is None else value
    is_value = _mark_value(schema, column, wanted)[cells.codes[column]]
    first, second = find_two_values(schema, by, between)
    groups = []
    for label, group_sign in ((first, -1.0), (second, 1.0)):
        is_group = _mark_value(schema, by, label)[cells.codes[by]] > 0
        for is_wanted, value_sign in ((is_value > 0, 1.0), (is_value == 0, -1.0)):
            inside = cells.is_complete & is_group & is_wanted
            groups.append((inside, group_sign * value_sign))

    def find_logarithm(shares: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([sum(s * np.log(shares[inside].sum()) for inside, s in groups)])

    # The logarithm of the ratio is estimated, because it is closer to normal: a signed
    # sum of four logarithms, whose slope in a cell is ± 1 over the share of its group.
    slopes, shares = np.zeros(len(cells.is_complete)), cells.model.shares
    for inside, sign in groups:
        share = float(shares[inside].sum())
        if share <= 0:
            raise Refused("odds_ratio: one of the four groups can have no rows")
        slopes[inside] += sign / share
    return finish_estimate(
        cells.model,
        (f"{second} / {first}",),
        find_logarithm(shares),
        slopes[:, None],
        refit=find_logarithm,
        settings=settings,
        title=f"odds ratio of {column} = {wanted}",
        unmeasured=cells.unmeasured,
        is_ratio=True,
    )


@dataclass(frozen=True, eq=False)
class _GroupedCells:
    """The cells of a column and of those that make groups."""

    schema: Schema
    model: ContrastModel
    column: str
    by: Clique
    codes: dict[str, NDArray[np.int64]]
    is_complete: NDArray[np.bool_]
    unmeasured: tuple[Clique, ...]
    settings: InferenceSettings

    @classmethod
    def of(
        cls,
        pooled: PooledResiduals,
        column: str,
        by: str | Sequence[str],
        settings: InferenceSettings,
    ) -> _GroupedCells:
        groups = (by,) if isinstance(by, str) else tuple(by)
        cliques = _list_needed(pooled.schema, column, groups)
        model, unmeasured = model_columns(pooled, cliques, settings)
        indices = np.indices(model.shape).reshape(len(model.shape), -1)
        codes = dict(zip(model.columns, indices, strict=True))
        is_complete = np.ones(len(model.shares), np.bool_)
        for name in model.columns:
            is_complete &= pooled.schema.codecs[name].is_value[codes[name]]
        return cls(
            schema=pooled.schema,
            model=model,
            column=column,
            by=groups,
            codes=codes,
            is_complete=is_complete,
            unmeasured=unmeasured,
            settings=settings,
        )

    def estimate_groups(
        self, numbers: NDArray[np.float64], title: str, binned: Clique = ()
    ) -> PopulationEstimate:
        """The mean of numbers, one a code of the column, in every group that can have
        rows.
        """
        shares, values = self.model.shares, numbers[self.codes[self.column]]
        names, estimates, influence = [], [], []
        for name, is_group in self._list_groups():
            inside = is_group & self.is_complete
            share = float(shares[inside].sum())
            if share <= 0:
                continue
            mean = float((shares * values)[inside].sum()) / share
            names.append(name)
            estimates.append(mean)
            # The slope of Σpv / Σp in the share of a cell.
            influence.append(np.where(inside, (values - mean) / share, 0.0))
        return finish_estimate(
            self.model,
            tuple(names),
            np.array(estimates),
            np.column_stack(influence),
            settings=self.settings,
            title=title,
            unmeasured=self.unmeasured,
            binned=binned,
        )

    def _list_groups(self) -> list[tuple[str, NDArray[np.bool_]]]:
        if not self.by:
            return [(self.column, np.ones(len(self.is_complete), np.bool_))]
        codecs = [self.schema.codecs[name] for name in self.by]
        ranges = [np.flatnonzero(codec.is_value).tolist() for codec in codecs]
        found = []
        for chosen in product(*ranges):
            is_group = np.ones(len(self.is_complete), np.bool_)
            words = []
            for name, codec, code in zip(self.by, codecs, chosen, strict=True):
                is_group &= self.codes[name] == code
                words.append(f"{name} = {codec.labels()[code]}")
            found.append((", ".join(words), is_group))
        return found


def _list_needed(schema: Schema, column: str, by: Clique) -> list[Clique]:
    """What the answer depends on: the pairs, and all of them together."""
    named = (column, *by)
    for name in named:
        if name not in schema:
            raise Refused(f'column "{name}" takes no part in the release')
    if len(by) > MAX_GROUPING_COLUMNS or len(set(named)) < len(named):
        raise Refused(
            f"`by` names at most {MAX_GROUPING_COLUMNS} columns, each once and not the"
            " column itself"
        )
    ordered = tuple(name for name in schema if name in named)
    # With a single grouping column the only pair is the whole, which is listed once.
    pairs: list[Clique] = list(combinations(ordered, 2))
    return list(dict.fromkeys([*pairs, ordered]))


def find_two_values(
    schema: Schema, name: str, given: tuple[object, object] | None
) -> tuple[str, str]:
    """The labels of two values: those given, or those of a column with no others."""
    codec = schema.codecs[name]
    if given is None:
        codes = np.flatnonzero(codec.is_value).tolist()
        if len(codes) != 2:
            raise Refused(
                f'column "{name}" has {len(codes)} values: say which two with `between`,'
                " or which one with `value`"
            )
    else:
        codes = [_find_code(schema, name, value) for value in given]
    one, two = (codec.labels()[code] for code in codes)
    return one, two


def _mark_value(schema: Schema, name: str, value: object) -> NDArray[np.float64]:
    marks = np.zeros(schema.codecs[name].size)
    marks[_find_code(schema, name, value)] = 1.0
    return marks


def _find_code(schema: Schema, name: str, value: object) -> int:
    """The code of a value, by its label."""
    codec = schema.codecs[name]
    labels = list(codec.labels())
    # Python spells a boolean True; labels are lower case.
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if text not in labels or not codec.is_value[labels.index(text)]:
        # Labels are declared or were paid for, so an error may name them.
        known = ", ".join(np.array(labels)[codec.is_value][:5])
        raise Refused(
            f'column "{name}" has no such value or bin; it has {known}'
            + ("…" if codec.is_value.sum() > 5 else "")
        )
    return labels.index(text)
