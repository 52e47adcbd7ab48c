"""The rule for how many rows, and the list of public names."""

from __future__ import annotations

import pytest

from kit.models.build import schema_of
from understudy import models
from understudy.models import ProductModel, default_rows


@pytest.mark.parametrize(
    ("total", "rows"), [(0.0, 0), (0.4, 0), (0.6, 1), (1234.4, 1234)]
)
def test_as_many_rows_as_estimated_and_none_where_that_is_nothing(total, rows):
    assert default_rows(ProductModel.uniform(schema_of(2), total)) == rows


def test_public_names():
    assert sorted(models.__all__, key=str.lower) == [
        "Arrays",
        "clamp_bias",
        "Codes",
        "ConditionalModel",
        "default_rows",
        "DenseModel",
        "Facts",
        "from_parts",
        "Model",
        "MODEL_KINDS",
        "NetworkModel",
        "PortableModel",
        "ProductModel",
        "RefinedTreeModel",
        "refuse_contradictions",
        "RowsModel",
        "SparseModel",
        "TreeModel",
    ]
