"""Cells on their way out: what `other` unfolds to, in every kind of frame and within a
person.
"""

from __future__ import annotations

import numpy as np
import pytest

from understudy.models import ProductModel
from understudy.releases.output.frames import FRAME_KINDS, decode_all, to_frame
from understudy.schema import Schema

PUBLIC = [f"town {i:03}" for i in range(300)]
PAGE = f"""
columns:
  town: {{type: categorical, values: [Basel, town 001], other: elsewhere, missing: ["?"], unfold: {PUBLIC}}}
"""


def rows(schema, n=4000):
    return ProductModel.uniform(schema, n).sample(n, np.random.default_rng(1))


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_other_is_unfolded_in_every_frame(kind):
    schema = Schema.parse(PAGE)
    frame = to_frame(schema, rows(schema), kind=kind, rng=np.random.default_rng(2))
    column = frame.fetchnumpy()["town"] if kind == "duckdb" else frame["town"]
    found = {
        str(v)
        for v in (
            column.to_pylist() if kind == "pyarrow" else np.asarray(column).tolist()
        )
    }
    assert "elsewhere" not in found
    assert len(found & set(PUBLIC)) > 250
    assert "Basel" in found


def test_a_person_has_one_unfolded_value():
    schema = Schema.parse(
        "unit: {id: who, max_rows: 5, sizes: [1, 1, 5, 5, 9]}\n"
        + PAGE.replace(
            "columns:", "columns:\n  who: {type: identifier, generate: true}"
        ).replace("unfold:", "constant: true, unfold:")
    )
    cells = decode_all(schema, rows(schema), np.random.default_rng(3))
    towns: dict[int, set[int]] = {}
    for who, town in zip(
        cells["who"].index.tolist(), cells["town"].positions().tolist(), strict=True
    ):
        towns.setdefault(who, set()).add(town)
    assert len(towns) < 3000
    assert all(len(found) == 1 for found in towns.values())
