"""What a synthesizer sees of the curator: public facts and questions with a price.

The view keeps plain functions, not the curator and not its bound methods: a bound
method's `__self__` would lead to the table, the noise and the payments. Python hides
nothing from code that opens a function's closure, so this guards against accidents, not
against a hostile synthesizer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.curator.curator import Curator
from understudy.measurements import AxisMap, Clique, Distance, Measurements

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


def _hide_owner(method: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """The same question as a plain function that names no owner."""

    # functools.wraps would keep the bound method as `__wrapped__`.
    def ask(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        return method(*args, **kwargs)

    return ask


class CuratorView:
    """The protocol `synthesizers.base.CuratorProtocol`, and nothing else."""

    # Without a __dict__ nothing can be added to a view.
    __slots__ = (
        "_choose",
        "_choose_cell",
        "_errors",
        "_measure",
        "_share_left",
        "_sparse",
        "accounting",
        "discovered_measurements",
        "neighbours",
        "rows",
        "schema",
    )

    def __init__(self, curator: Curator) -> None:
        def read_share_left() -> Fraction:
            return curator.share_left

        self.schema = curator.schema
        self.neighbours = curator.neighbours
        self.accounting = curator.accounting
        self.discovered_measurements = curator.discovered_measurements
        self.rows = curator.rows
        self._share_left = read_share_left
        self._measure = _hide_owner(curator.measure)
        self._sparse = _hide_owner(curator.sparse)
        self._errors = _hide_owner(curator.errors)
        self._choose = _hide_owner(curator.choose)
        self._choose_cell = _hide_owner(curator.choose_cell)

    @property
    def share_left(self) -> Fraction:
        """The share of the budget that is not spent yet."""
        return self._share_left()

    def measure(
        self,
        cliques: Sequence[Clique],
        *,
        share: Fraction | int,
        weights: Sequence[float] | None = None,
        maps: Sequence[tuple[AxisMap, ...]] | None = None,
    ) -> Measurements:
        """Noisy marginals."""
        return self._measure(cliques, share=share, weights=weights, maps=maps)

    def sparse(self, clique: Clique, *, share: Fraction | int) -> Measurements:
        """The cells of a large marginal that are safely above zero."""
        return self._sparse(clique, share=share)

    def errors(
        self,
        estimates: Mapping[Clique, NDArray[np.float64]],
        *,
        share: Fraction | int,
        maps: Mapping[Clique, tuple[AxisMap, ...]] | None = None,
    ) -> dict[Clique, Distance]:
        """Noisy L1 distances between the true marginals and estimates of them; where a
        clique has `maps`, of coarser bins.
        """
        return self._errors(estimates, share=share, maps=maps)

    def choose(
        self,
        estimates: Mapping[Clique, NDArray[np.float64]],
        *,
        share: Fraction | int,
        score: str = "l1",
        weights: Sequence[float] | None = None,
        penalties: Sequence[float] | None = None,
    ) -> Clique:
        """One clique, chosen privately."""
        return self._choose(
            estimates,
            share=share,
            score=score,
            weights=weights,
            penalties=penalties,
        )

    def choose_cell(
        self, estimates: Mapping[Clique, NDArray[np.float64]], *, share: Fraction | int
    ) -> tuple[Clique, tuple[int, ...]]:
        """One cell of one clique, chosen privately."""
        return self._choose_cell(estimates, share=share)
