"""Correlations and mutual information against numpy on the rows themselves, and in
closed form.
"""

from __future__ import annotations

import numpy as np
import pytest

from kit.people import SCHEMA, Counts, made, table
from understudy.evaluation.utility.dependence import (
    assess_correlations,
    assess_mutual_information,
    matrix_of_pairs,
    mutual_information,
    scores_of_codec,
)
from understudy.findings import Unavailable
from understudy.schema import Boolean, Categorical, Schema, codec_of

BITS = Schema(
    columns=(Boolean(name="a", nullable=False), Boolean(name="b", nullable=False))
)


def two(*cells: int) -> Counts:
    return Counts(("a", "b"), np.array(cells, np.int64).reshape(2, 2))


def test_correlations_against_the_rows() -> None:
    real = table(made(400, 1))
    records = real.records()
    found = assess_correlations(real, table(made(300, 2, related=False)), SCHEMA)
    assert {part.columns for part in found.parts} == {
        ("age", "school"), ("age", "income"), ("age", "married"), ("school", "income"), ("school", "married"), ("income", "married"),
    }  # fmt: skip
    for part in found.parts:
        x, y = (
            scores_of_codec(SCHEMA.codecs[name])[records.codes[name]]
            for name in part.columns
        )
        known = ~(np.isnan(x) | np.isnan(y))
        assert part.facts["real"] == pytest.approx(
            np.corrcoef(x[known], y[known])[0, 1]
        )
        assert part.value == pytest.approx(
            abs(part.facts["real"] - part.facts["synthetic"])
        )


def test_bins_lose_little_of_a_correlation_of_values() -> None:
    real = table(made(2000, 1))
    records = real.records()
    age, income = records.numbers("age"), records.numbers("income")
    known = ~np.isnan(age)
    found = next(
        p
        for p in assess_correlations(real, real, SCHEMA).parts
        if p.columns == ("age", "income")
    )
    assert found.facts["real"] == pytest.approx(
        np.corrcoef(age[known], income[known])[0, 1], abs=0.01
    )


def test_information_in_closed_form() -> None:
    assert mutual_information(
        (np.argwhere(np.eye(4)), np.full(4, 3)), (4, 4)
    ) == pytest.approx(np.log(4))
    assert mutual_information(
        (np.argwhere(np.ones((2, 3))), np.full(6, 2)), (2, 3)
    ) == pytest.approx(0, abs=1e-15)
    found = assess_mutual_information(two(2, 0, 0, 2), two(1, 1, 1, 1), BITS)
    assert found.value == pytest.approx(np.log(2))
    assert found.parts[0].facts["synthetic"] == 0


def test_a_column_that_does_not_vary_is_listed_and_not_averaged() -> None:
    constant = [
        (age, sex, school, 7.0, married)
        for age, sex, school, _, married in made(100, 1)
    ]
    found = assess_correlations(table(made(100, 2)), table(constant), SCHEMA)
    left = {part.columns for part in found.left_out}
    assert left == {("age", "income"), ("school", "income"), ("income", "married")}
    assert all("the synthetic table" in part.reason for part in found.left_out)
    assert found.value == pytest.approx(
        np.mean([part.value for part in found.parts if part.is_computed])
    )


def test_nothing_varies_or_nothing_is_ordered() -> None:
    with pytest.raises(Unavailable, match="varies"):
        assess_correlations(two(4, 0, 0, 0), two(4, 0, 0, 0), BITS)
    letters = Schema(
        columns=tuple(
            Categorical(name=name, values=("x", "y"), nullable=False) for name in "ab"
        )
    )
    with pytest.raises(Unavailable, match="order"):
        assess_correlations(two(1, 1, 1, 1), two(1, 1, 1, 1), letters)
    assert scores_of_codec(codec_of(letters["a"])) is None


def test_a_matrix_is_symmetric() -> None:
    real = table(made(200, 1))
    found = assess_mutual_information(real, table(made(200, 2)), SCHEMA)
    names = tuple(SCHEMA)
    filled = matrix_of_pairs(found, names, "real", diagonal=1.0)
    assert np.allclose(filled, filled.T)
    assert not np.isnan(filled).any()
    assert np.isnan(matrix_of_pairs(found, ("age", "elsewhere"), "real")[0, 1])
