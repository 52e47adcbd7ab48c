"""What to believe of columns that nothing was measured of: every possible code equally
likely.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.models.model import Codes
from understudy.models.rules.structural_zeros import keep_possible
from understudy.models.sampling.rounding import draw_shuffled_codes
from understudy.schema import Schema


def uniform_shares(schema: Schema, clique: Clique) -> NDArray[np.float64]:
    """Every cell of a clique equally likely, structural zeros excepted; refused where
    that leaves none.

    >>> from understudy.schema import Boolean
    >>> uniform_shares(
    ...     Schema(columns=(Boolean(name="smoker", nullable=False),)), ("smoker",)
    ... ).tolist()
    [0.5, 0.5]
    """
    zeros = schema.zeros(clique)
    possible = (
        np.ones(schema.sizes(clique)) if zeros is None else (~zeros).astype(np.float64)
    )
    if not possible.any():
        raise Refused(
            f"{', '.join(clique)}: everything is declared impossible. Loosen what the"
            " schema says of it"
        )
    return np.asarray(possible / possible.sum(), np.float64)


def fill_columns(
    schema: Schema,
    codes: Mapping[str, NDArray[np.integer]],
    rows: int,
    rng: Generator,
    fixed: Collection[str] = (),
) -> Codes:
    """Whole rows in the schema's order and in compact types: the columns there are,
    uniform ones for the rest, none impossible.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(
    ...     columns=(
    ...         Boolean(name="smoker", nullable=False),
    ...         Boolean(name="cough", nullable=False),
    ...     )
    ... )
    >>> rows = fill_columns(schema, {"cough": np.array([1, 1])}, 2, np.random.default_rng(0))
    >>> rows["cough"].tolist(), sorted(rows["smoker"].tolist())
    ([1, 1], [0, 1])
    """
    # A column that nothing was measured of must not depend on the rows: it is uniform.
    whole: Codes = {
        name: (
            np.asarray(codes[name]).astype(codec.dtype)
            if name in codes
            else draw_shuffled_codes(
                uniform_shares(schema, (name,)), rows, rng, codec.dtype
            )
        )
        for name, codec in schema.codecs.items()
    }
    # Repaired last, since only whole rows can be judged by all rules.
    return keep_possible(schema, whole, rows, rng, fixed)
