"""Independent columns: pooled, consistent, and by the textbook's noise where asked."""

from __future__ import annotations

import numpy as np
import pytest

from models.build import listed, measured, schema_of
from understudy.synthesizers import Independent

RNG = np.random.default_rng(0)


def test_columns_agree_on_one_total():
    looks = listed(measured(("a",), [30, 12]), measured(("b",), [20, 25, -4]))
    model = Independent().estimate(schema_of(2, 3), looks, RNG)
    assert model.total == pytest.approx((42 / 2 + 41 / 3) / (1 / 2 + 1 / 3))
    assert model.marginal(("a",)).sum() == pytest.approx(model.marginal(("b",)).sum())
    assert model.marginal(("b",))[2] == 0


def test_what_discovery_counted_is_used_too():
    """A sharp look at `a` and a vague one: the sharp one leads."""
    looks = listed(measured(("a",), [100, 0], scale=1), measured(("a",), [0, 100], scale=10))
    model = Independent().estimate(schema_of(2), looks, RNG)
    assert model.shares["a"][0] > 0.98
