"""What a model can do: give any marginal, give rows, and travel as plain parts.

A model is a distribution (shares that sum to one) and an estimated number of rows.
Keeping the two apart means that a model always has something to sample from, even where
the estimated number of rows is zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.measurements import Clique
from understudy.schema import Schema

Codes = dict[str, NDArray[np.integer]]
"""Rows by column: the codes of each, all of one length."""

Facts = dict[str, object]
"""What JSON can hold: strings, numbers, lists and mappings of them."""

Arrays = dict[str, NDArray[np.generic]]
"""Arrays by a short plain name, safe as the name of a file."""

# Rows that are rounded in one piece at most.
MAX_ROUNDED_ROWS = 1 << 20


@runtime_checkable
class Model(Protocol):
    """A distribution over a schema's cells, scaled to an estimated number of rows."""

    @property
    def schema(self) -> Schema:
        """The closed schema it is about."""

    @property
    def total(self) -> float:
        """The estimated number of rows; never negative."""

    def marginal(self, clique: Clique) -> NDArray[np.float64]:
        """Expected counts over a clique; they sum to `total`."""

    def sample(self, rows: int, rng: Generator) -> Codes:
        """That many rows, by rounding rather than independent draws, in random order."""


@runtime_checkable
class ConditionalModel(Model, Protocol):
    """A model that can also complete rows of which some codes are given."""

    def complete(
        self, given: Mapping[str, NDArray[np.integer]], rng: Generator
    ) -> Codes:
        """One row for each given partial row, drawn exactly from the conditional
        distribution.
        """


@runtime_checkable
class RoundedModel(Model, Protocol):
    """A model that knows the error that rounding alone adds to its rows."""

    def rounding_variance(self, clique: Clique) -> NDArray[np.float64] | None:
        """The variance of each count of a clique in a sample of as many rows as the
        model has; None where more than rounding is at work.
        """


class PortableModel(Model, Protocol):
    """A model that can be written to a file as JSON and arrays, and rebuilt from them:
    no pickle, no code.
    """

    kind: ClassVar[str]

    def to_parts(self) -> tuple[Facts, Arrays]:
        """Everything but the schema; `facts["kind"]` names the class."""

    @classmethod
    def from_parts(
        cls,
        schema: Schema,
        facts: Mapping[str, object],
        arrays: Mapping[str, NDArray[np.generic]],
    ) -> Self:
        """The model again. Parts that no model of this kind could have written raise
        ReleaseError.
        """


def default_rows(model: Model) -> int:
    """How many rows to sample where nobody says: the estimated number, rounded; none
    where that is not positive.

    >>> from understudy.models.product import ProductModel
    >>> from understudy.schema import Boolean
    >>> default_rows(
    ...     ProductModel.uniform(Schema(columns=(Boolean(name="smoker"),)), total=17.4)
    ... )
    17
    """
    return max(0, round(model.total))


def is_rounded_in_one_piece(model: Model) -> bool:
    """Whether a sample of as many rows as the model has is rounded in one piece, and no
    row of it repaired.

    >>> from understudy.models.product import ProductModel
    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=(Boolean(name="smoker"),))
    >>> [
    ...     is_rounded_in_one_piece(ProductModel.uniform(schema, total=total))
    ...     for total in (17.0, 1e7)
    ... ]
    [True, False]
    """
    return (
        default_rows(model) <= MAX_ROUNDED_ROWS
        and not model.schema.impossible
        and not model.schema.rules
    )
