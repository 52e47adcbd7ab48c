"""One run of a synthesizer on simulated rows, and what any model must satisfy: what the
conformance checks are built from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models import Codes, Model, default_rows
from understudy.models.rules.structural_zeros import impossible_masks, impossible_rows
from understudy.schema import (
    Boolean,
    Categorical,
    Column,
    Identifier,
    Integer,
    Schema,
    Unit,
)
from understudy.synthesizers.base import (
    CuratorProtocol,
    Synthesizer,
    Workload,
    ignore_progress,
)

TrialRows = Mapping[str, Sequence[object]]
"""Values by column, None for a missing one."""

TRIAL_EPSILON, TRIAL_DELTA = Fraction(1), Fraction(1, 10**6)
"""The budget of a trial, unless a check needs another."""


class OpenCurator(Protocol):
    """Opens a real curator on rows: encodes them by the schema and grants it the whole
    budget.
    """

    def __call__(
        self,
        schema: Schema,
        rows: TrialRows,
        *,
        epsilon: Fraction,
        delta: Fraction,
        neighbours: Neighbours,
    ) -> CuratorProtocol: ...


class RecordingCurator:
    """A curator that keeps a copy of every marginal it measured."""

    def __init__(self, curator: CuratorProtocol) -> None:
        self._curator = curator
        self.measured = Measurements()

    # Everything but `measure` is the curator's own, so that nothing else changes.
    def __getattr__(self, name: str) -> object:
        return getattr(self._curator, name)

    def measure(self, *args: object, **how: object) -> Measurements:
        """As the curator does, and kept."""
        answers: Measurements = self._curator.measure(*args, **how)  # type: ignore[arg-type]
        self.measured += answers
        return answers


@dataclass(frozen=True, eq=False)
class Trial:
    """One run on simulated rows; `measured` is every marginal that was charged."""

    schema: Schema
    curator: CuratorProtocol
    measurements: Measurements
    model: Model
    measured: Measurements


def mixed_table(count: int) -> tuple[Schema, dict[str, list[object]]]:
    """A small simulated table of several types with missing values.

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
    smoker, sex = draw.random(count), draw.random(count)
    age = draw.integers(0, 4, count)
    # Smokers are never in the oldest group: a dependence that a model can find.
    oldest = np.where(smoker < 0.4, 2, 3)
    rows: dict[str, list[object]] = {
        "smoker": [None if u < 0.1 else bool(u < 0.4) for u in smoker],
        "sex": ["F" if u < 0.5 else "M" for u in sex],
        "age": [int(number) for number in np.minimum(age, oldest)],
    }
    return Schema(columns=columns), rows


def people_table(count: int) -> tuple[Schema, dict[str, list[object]]]:
    """The same table; three rows in a line belong to one person, and two of them count.

    >>> schema, rows = people_table(4)
    >>> schema.unit.max_rows, rows["person"]
    (2, [0, 0, 0, 1])
    """
    schema, rows = mixed_table(count)
    columns = (Identifier(name="person"), *schema.columns)
    return Schema(columns=columns, unit=Unit(id="person", max_rows=2)), {
        "person": [i // 3 for i in range(count)],
        **rows,
    }


def run_trial(
    synthesizer: Synthesizer,
    open_curator: OpenCurator,
    schema: Schema,
    rows: TrialRows,
    *,
    epsilon: Fraction = TRIAL_EPSILON,
    delta: Fraction = TRIAL_DELTA,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Trial | None:
    """One run; None if the synthesizer refuses beforehand."""
    curator = open_curator(
        schema, rows, epsilon=epsilon, delta=delta, neighbours=neighbours
    )
    try:
        synthesizer.check(schema, delta=delta)
    except Refused as refusal:
        assert_clear_refusal(synthesizer, refusal)
        assert curator.share_left == 1, (
            f"{synthesizer.name}: it refused and had spent something"
        )
        return None
    recording = RecordingCurator(curator)
    measurements = synthesizer.measure(
        cast(CuratorProtocol, recording),
        Workload.of_order(curator.schema),
        ignore_progress,
    )
    # The curator's schema, not the given one: it may have learned what was left open.
    model = synthesizer.estimate(curator.schema, measurements, np.random.default_rng(7))
    return Trial(curator.schema, curator, measurements, model, recording.measured)


def run_sound_trial(
    synthesizer: Synthesizer,
    open_curator: OpenCurator,
    schema: Schema,
    rows: TrialRows,
    *,
    delta: Fraction = TRIAL_DELTA,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Trial | None:
    """One run whose model is sound; None if the synthesizer refuses beforehand."""
    trial = run_trial(
        synthesizer, open_curator, schema, rows, delta=delta, neighbours=neighbours
    )
    assert_sound_model(synthesizer, trial)
    return trial


def unused_cost_part(synthesizer: Synthesizer, trial: Trial) -> Fraction:
    """The part of the privacy cost of marginals that no model depends on: never handed
    over, or other values give the same model.
    """
    returned = {id(measurement) for measurement in trial.measurements}
    charged = unused = Fraction(0)
    for measurement in trial.measured:
        charged += measurement.cost.amount
        if id(measurement) not in returned:
            unused += measurement.cost.amount
    before = _pair_marginals(trial.schema, trial.model)
    for i, measurement in enumerate(trial.measurements):
        if measurement.cost.amount == 0:
            continue
        other = _with_large_last_cell(trial.measurements, i)
        model = synthesizer.estimate(trial.schema, other, np.random.default_rng(7))
        if np.array_equal(before, _pair_marginals(trial.schema, model)):
            unused += measurement.cost.amount
    return unused / charged if charged else Fraction(0)


def _with_large_last_cell(measurements: Measurements, i: int) -> Measurements:
    """The same, but the last cell of one has far more rows than there are: a model that
    reads it at all has to change.
    """
    items = list(measurements.items)
    values = items[i].values.copy()
    values.flat[-1] += 1000 + values.sum()
    items[i] = replace(items[i], values=values)
    return replace(measurements, items=tuple(items))


def _pair_marginals(schema: Schema, model: Model) -> NDArray[np.float64]:
    """The marginals of all pairs, one behind the other."""
    # Pairs see what single columns do not: a measurement may move a dependence alone.
    pairs = combinations(schema, min(2, len(schema)))
    return np.concatenate(
        [[model.total], *(model.marginal(pair).ravel() for pair in pairs)]
    )


def assert_sound_model(synthesizer: Synthesizer, trial: Trial | None) -> None:
    """Marginals are non-negative and sum to the total; samples have the rows asked for
    and codes inside their domains.
    """
    if trial is None:
        return
    schema, model, name = trial.schema, trial.model, synthesizer.name
    assert isinstance(model, Model), f"{name}: what it estimates is no model"
    assert np.isfinite(model.total), f"{name}: its total is no number"
    assert model.total >= 0, f"{name}: its total is negative"
    columns = tuple(schema)
    # The total, every column, and a pair in the other order than the schema's.
    for clique in [(), *((c,) for c in columns), columns[:2][::-1]]:
        marginal = model.marginal(clique)
        assert marginal.shape == schema.sizes(clique), (
            f"{name}: the marginal of {clique} has another shape than the schema"
        )
        assert np.all(marginal >= 0), (
            f"{name}: the marginal of {clique} has a negative count"
        )
        difference = abs(float(marginal.sum()) - model.total)
        assert difference <= 1e-6 * max(model.total, 1), (
            f"{name}: the marginal of {clique} does not sum to the total"
        )
    # No rows, one, a number that no cell divides, and what a release would draw.
    for rows in {0, 1, 137, default_rows(model)}:
        assert_sample_fits(
            synthesizer, schema, model.sample(rows, np.random.default_rng(1)), rows
        )


def assert_sample_fits(
    synthesizer: Synthesizer, schema: Schema, sample: Codes, rows: int
) -> None:
    """A sample has the schema's columns, the rows asked for, codes inside their
    domains, and no row that is declared impossible.
    """
    assert list(sample) == list(schema), (
        f"{synthesizer.name}: sampled columns are not the schema's, in its order"
    )
    for column, codes in sample.items():
        where = f'{synthesizer.name}: sampled column "{column}"'
        assert isinstance(codes, np.ndarray), f"{where} is no array"
        assert np.issubdtype(codes.dtype, np.integer), f"{where} holds no codes"
        assert codes.shape == (rows,), (
            f"{where} has {codes.size} rows, {rows} were asked for"
        )
        inside = not rows or (
            int(codes.min()) >= 0 and int(codes.max()) < schema.codecs[column].size
        )
        assert inside, f"{where} has a code outside its domain"
    never = impossible_rows(impossible_masks(schema), sample, rows)
    assert not never.any(), (
        f"{synthesizer.name}: sampled a row that the schema declares impossible"
    )


def is_same_sample(first: Codes, second: Codes) -> bool:
    """Whether two samples are the same rows."""
    if list(first) != list(second):
        return False
    return all(np.array_equal(first[name], second[name]) for name in first)


def assert_clear_refusal(synthesizer: Synthesizer, refusal: Refused) -> None:
    """A refusal is one line, says what to do instead and that nothing was spent."""
    text = str(refusal)
    assert text, f"{synthesizer.name}: a refusal without a word"
    assert "\n" not in text, f"{synthesizer.name}: a refusal of several lines"
    assert "Nothing was spent" in text, (
        f'{synthesizer.name}: a refusal does not say "Nothing was spent": {text}'
    )
    # Two sentences at least: what is wrong, and what to do.
    assert text.count(". ") >= 1, (
        f"{synthesizer.name}: a refusal names no remedy: {text}"
    )
