"""What a model can do: give any marginal, and rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.measurements import Clique
from understudy.schema import Schema

Codes = dict[str, NDArray[np.integer]]
"""Rows by column: the codes of each, all of one length."""


@runtime_checkable
class Model(Protocol):
    """A distribution over a schema's cells, scaled to an estimated number of rows."""

    @property
    def schema(self) -> Schema:
        """The closed schema it is about."""

    @property
    def total(self) -> float:
        """The estimated number of rows."""

    def marginal(self, clique: Clique) -> NDArray[np.float64]:
        """Expected counts over a clique; they sum to `total`."""

    def sample(self, rows: int, rng: Generator) -> Codes:
        """That many rows, by rounding rather than independent draws."""


@runtime_checkable
class Conditional(Model, Protocol):
    """A model that can also complete rows of which some codes are given."""

    def complete(self, given: Mapping[str, NDArray[np.integer]], rng: Generator) -> Codes:
        """One row for each given partial row, drawn exactly from the conditional distribution."""
