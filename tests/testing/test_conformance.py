"""Every synthesizer passes the suite, and the suite fails those that should not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models import DenseModel, ProductModel
from understudy.synthesizers import (
    SYNTHESIZER_CLASSES,
    Histogram,
    Independent,
    Stability,
    Workload,
    ignore_progress,
    make,
)
from understudy.testing import conformance
from understudy.testing.trial import (
    TRIAL_DELTA,
    TRIAL_EPSILON,
    mixed_table,
)

VARIANTS = {
    **{name: make(name) for name in SYNTHESIZER_CLASSES},
    "independent, equal": Independent(equal=True),
    "histogram, clamp": Histogram(fit="clamp"),
    "histogram, rescale": Histogram(fit="rescale"),
    "stability, half": Stability(total_share=Fraction(1, 2)),
}


@pytest.mark.usefixtures("shared_trials")
@pytest.mark.parametrize(
    "judge", conformance.CONFORMANCE_CHECKS, ids=lambda judge: judge.__name__
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_conforms(variant, judge, open_curator):
    judge(VARIANTS[variant], open_curator)


class _Wrong(ProductModel):
    """A product model with one method gone wrong."""


class ShortSample(_Wrong):
    def sample(self, rows, rng):
        return {name: codes[1:] for name, codes in super().sample(rows, rng).items()}


class BeyondDomain(_Wrong):
    def sample(self, rows, rng):
        return {name: codes + 5 for name, codes in super().sample(rows, rng).items()}


class NegativeMarginal(_Wrong):
    def marginal(self, clique):
        counts = super().marginal(clique)
        counts.flat[0] -= 2 * self.total
        counts.flat[-1] += 2 * self.total
        return counts


class ForgetsTotal(_Wrong):
    def marginal(self, clique):
        return super().marginal(clique) + 1


class SwappedAxes(_Wrong):
    def marginal(self, clique):
        return super().marginal(clique[::-1])


class IgnoresGiven(_Wrong):
    def complete(self, given, rng):
        return self.sample(len(next(iter(given.values()))), rng)


class LosesItself(_Wrong):
    def to_parts(self):
        facts, arrays = super().to_parts()
        return {**facts, "total": self.total + 1}, arrays


class Unordered(_Wrong):
    def sample(self, rows, rng):
        return dict(reversed(super().sample(rows, rng).items()))


@dataclass(frozen=True, kw_only=True)
class WrongModel(Independent):
    model: type[ProductModel]

    def estimate(self, schema, measurements, rng):
        right = super().estimate(schema, measurements, rng)
        return self.model(right.schema, right.total, right.shares)


class Wasteful(Independent):
    def measure(self, curator, workload, progress):
        every = [(name,) for name in curator.schema]
        return curator.measure(every, share=Fraction(1, 2))


class Forgetful(Independent):
    """Buys half of its answers and does not hand them over."""

    def measure(self, curator, workload, progress):
        every = [(name,) for name in curator.schema]
        curator.measure(every, share=Fraction(1, 2))
        return curator.measure(every, share=curator.share_left)


class Heedless(Independent):
    """Hands over what it bought, and looks at the first column alone."""

    def estimate(self, schema, measurements, rng):
        first = tuple(m for m in measurements if m.clique == (next(iter(schema)),))
        return super().estimate(schema, Measurements(first), rng)


class Rigid(ProductModel):
    """Keeps one given column, and no second."""

    def complete(self, given, rng):
        return super().complete(dict([next(iter(given.items()))]), rng)


class Whimsical(Independent):
    def estimate(self, schema, measurements, rng):
        model = super().estimate(schema, measurements, rng)
        return ProductModel(
            schema, model.total + np.random.default_rng().random(), model.shares
        )


class Mirrored(Independent):
    """Codes back to front: counts are plausible and wrong."""

    def estimate(self, schema, measurements, rng):
        model = super().estimate(schema, measurements, rng)
        return ProductModel(
            schema,
            model.total,
            {name: shares[::-1] for name, shares in model.shares.items()},
        )


class Mute(Independent):
    def check(self, schema, *, delta):
        raise Refused("No.")


class Freeloader(Independent):
    """Says it reads no rows, and does."""

    reads_rows: ClassVar[bool] = False


class Careless(Stability):
    """Needs δ and does not say so."""

    def check(self, schema, *, delta):
        Independent.check(Independent(), schema, delta=delta)


class Oblivious(Histogram):
    """Puts mass on what the schema declares impossible, and hands it out."""

    def estimate(self, schema, measurements, rng):
        loose = replace(schema, impossible=())
        model = super().estimate(loose, measurements, rng)
        shares = np.full(model.shares.shape, 1 / model.shares.size)
        return DenseModel(loose, model.total, model.clique, shares)


class Spendthrift(Independent):
    """Refuses nothing."""

    def check(self, schema, *, delta):
        pass


BROKEN = {
    WrongModel(model=ShortSample): (
        conformance.check_two_columns,
        "rows, 1 were asked for",
    ),
    WrongModel(model=BeyondDomain): (
        conformance.check_two_columns,
        "outside its domain",
    ),
    WrongModel(model=NegativeMarginal): (
        conformance.check_two_columns,
        "negative count",
    ),
    WrongModel(model=ForgetsTotal): (
        conformance.check_two_columns,
        "does not sum to the total",
    ),
    WrongModel(model=SwappedAxes): (conformance.check_mixed_table, "another shape"),
    WrongModel(model=Unordered): (conformance.check_two_columns, "in its order"),
    WrongModel(model=IgnoresGiven): (conformance.check_conditional, "were changed"),
    WrongModel(model=LosesItself): (conformance.check_parts, "total changed"),
    WrongModel(model=Rigid): (
        conformance.check_conditional,
        'of "smoker" and "sex" were changed',
    ),
    Forgetful(): (
        conformance.check_answers_are_used,
        "50.0% was spent on answers that are not used",
    ),
    Heedless(): (
        conformance.check_answers_are_used,
        "was spent on answers that are not used",
    ),
    Wasteful(): (conformance.check_budget, "50.0% of the budget was left unused"),
    Whimsical(): (conformance.check_estimate_is_pure, "another total"),
    Mirrored(): (conformance.check_learns, "without noise"),
    Mute(): (conformance.check_refusals, "Nothing was spent"),
    Freeloader(): (conformance.check_budget, "says it reads no rows"),
    Careless(): (conformance.check_refusals, "δ = 0 was not refused"),
    Oblivious(): (conformance.check_impossible, "impossible"),
    Spendthrift(): (conformance.check_refusals, "without any column"),
}


@pytest.mark.parametrize(
    "broken", BROKEN, ids=lambda b: getattr(b, "model", type(b)).__name__
)
def test_the_suite_has_teeth(broken, open_curator):
    """Each of these breaks one promise, and the check of that promise says so."""
    judge, words = BROKEN[broken]
    with pytest.raises(AssertionError, match=words):
        judge(broken, open_curator)


def test_the_whole_suite_stops_at_the_first_broken_promise(open_curator):
    with pytest.raises(AssertionError, match="Nothing was spent"):
        conformance.check_synthesizer(Mute(), open_curator)


def test_measuring_returns_all_that_estimating_needs(open_curator):
    """An estimate from nothing but the measurements of a run, on another machine, is
    the same model.
    """
    schema, rows = mixed_table(200)
    curator = open_curator(
        schema,
        rows,
        epsilon=TRIAL_EPSILON,
        delta=TRIAL_DELTA,
        neighbours=Neighbours.ADD_REMOVE,
    )
    found = Independent().measure(curator, Workload.of_order(schema), ignore_progress)
    copy = Measurements(tuple(replace(m, values=m.values.copy()) for m in found))
    first, second = (
        Independent().estimate(schema, m, np.random.default_rng(0))
        for m in (found, copy)
    )
    assert first.total == second.total
