"""Distributions over a schema: what measurements become, and what rows are sampled
from.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError
from understudy.models.dense import DenseModel
from understudy.models.estimates.consistency import clamp_bias
from understudy.models.model import (
    Arrays,
    Codes,
    ConditionalModel,
    Facts,
    Model,
    PortableModel,
    default_rows,
)
from understudy.models.network import NetworkModel
from understudy.models.product import ProductModel
from understudy.models.refined_tree import RefinedTreeModel
from understudy.models.rows import RowsModel
from understudy.models.rules.satisfiability import refuse_contradictions
from understudy.models.sparse import SparseModel
from understudy.models.tree import TreeModel
from understudy.schema import Schema

# Every kind of model a release file may hold.
MODEL_KINDS: dict[str, type[PortableModel]] = {
    model.kind: model
    for model in (
        ProductModel,
        DenseModel,
        SparseModel,
        TreeModel,
        RefinedTreeModel,
        RowsModel,
        NetworkModel,
    )
}


def from_parts(
    schema: Schema,
    facts: Mapping[str, object],
    arrays: Mapping[str, NDArray[np.generic]],
) -> PortableModel:
    """A model from the parts `to_parts` gave, checked to the last cell; ReleaseError
    where they are not believable.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=(Boolean(name="smoker"),))
    >>> from_parts(schema, *ProductModel.uniform(schema, total=3.0).to_parts()).total
    3.0
    """
    kind = facts.get("kind")
    if not isinstance(kind, str) or kind not in MODEL_KINDS:
        raise ReleaseError(
            "model: its kind is not known here. It may be from a later version of"
            " Understudy"
        )
    return MODEL_KINDS[kind].from_parts(schema, facts, arrays)


__all__ = [
    "MODEL_KINDS",
    "Arrays",
    "Codes",
    "ConditionalModel",
    "DenseModel",
    "Facts",
    "Model",
    "NetworkModel",
    "PortableModel",
    "ProductModel",
    "RefinedTreeModel",
    "RowsModel",
    "SparseModel",
    "TreeModel",
    "clamp_bias",
    "default_rows",
    "from_parts",
    "refuse_contradictions",
]
