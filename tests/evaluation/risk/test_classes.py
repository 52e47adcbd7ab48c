"""Classes of rows: k-anonymity, ℓ-diversity and uniqueness by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from kit.people import SCHEMA, made, table
from understudy.evaluation.risk.classes import (
    assess_k_anonymity,
    assess_l_diversity,
    assess_uniqueness,
    equivalence_classes,
)
from understudy.findings import Unavailable
from understudy.schema import Categorical, Integer, Schema
from understudy.tables import Records

SMALL = Schema(
    columns=tuple(
        Categorical(name=name, values=tuple("xyz"), nullable=False)
        for name in ("a", "b", "ill")
    )
)


def rows(*cells: str) -> Records:
    return table([tuple(cell) for cell in cells], SMALL).records()


def test_rows_are_in_one_class_exactly_where_they_agree() -> None:
    here, there = table(made(300, 1)).records(), table(made(200, 2)).records()
    names = ["age", "sex", "school"]
    one, two = equivalence_classes(names, here, there)
    keys = [
        tuple(int(r.codes[n][i]) for n in names)
        for r in (here, there)
        for i in range(r.rows)
    ]
    ids = [*one.tolist(), *two.tolist()]
    assert len(set(ids)) == len(set(keys)) == len(set(zip(ids, keys, strict=True)))


def test_a_domain_larger_than_a_machine_word() -> None:
    wide = Schema(
        columns=tuple(Integer(name=f"c{i}", min=0, max=60) for i in range(15))
    )
    cells = np.random.default_rng(1).integers(0, 61, (40, 15))
    cells[7] = cells[3]
    ids = equivalence_classes(
        list(wide), table([tuple(map(int, row)) for row in cells], wide).records()
    )[0]
    assert Counter(Counter(ids.tolist()).values()) == {1: 38, 2: 1}


def test_k_and_l_by_hand() -> None:
    real = rows("xxx", "xxy", "xxz", "yyx", "yyx")
    k = assess_k_anonymity(real, rows("xxx", "yyy"), ["a", "b"])
    assert k.value == 2
    assert k.parts[0].facts["mean_inverse"] == pytest.approx(2 / 5)
    assert k.parts[1].facts["unique"] == 1
    diverse = assess_l_diversity(real, ["a", "b"], ["ill"])
    assert diverse.value == 1
    assert diverse.parts[0].facts["rows_in_classes_of_one_value"] == pytest.approx(
        2 / 5
    )
    with pytest.raises(Unavailable, match="sensitive"):
        assess_l_diversity(real, ["a"], [])


def test_uniqueness_grows_with_what_is_known_and_a_copy_replicates_it() -> None:
    real = table(made(500, 1)).records()
    found = assess_uniqueness(real, real, list(SCHEMA), rng=np.random.default_rng(1))
    shares = [part.value for part in found.parts]
    assert shares == sorted(shares)
    assert all(
        part.facts["replicated"] == pytest.approx(part.value) for part in found.parts
    )
    assert found.parts[0].facts["of"] == 5
    other = assess_uniqueness(
        real, table([]).records(), list(SCHEMA), rng=np.random.default_rng(1)
    )
    assert other.parts[-1].facts["replicated"] == 0


def test_uniqueness_by_hand() -> None:
    found = assess_uniqueness(
        rows("xxx", "xyx", "yyx"),
        rows("xxz"),
        ["a", "b"],
        rng=np.random.default_rng(1),
        most=2,
    )
    # a: {x, x, y} one of three alone; b: {x, y, y} one of three alone; both: all three.
    assert found.parts[0].value == pytest.approx(1 / 3)
    assert found.parts[1].value == 1
    assert found.parts[1].facts["replicated"] == pytest.approx(1 / 3)
