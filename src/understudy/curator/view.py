"""The window: the curator as a synthesizer sees it. It holds functions, not the table
behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.curator.curator import Curator
from understudy.measurements import AxisMap, Clique, Distance, Measurements
from understudy.schema import Schema


class CuratorView:
    """The narrow protocol of `synthesizers.base.Curator`, and nothing else."""

    __slots__ = (
        "_ask",
        "accounting",
        "discovered_measurements",
        "neighbours",
        "rows",
        "schema",
    )

    schema: Schema
    neighbours: Neighbours
    accounting: Accounting
    discovered_measurements: Measurements
    rows: int | None

    def __init__(self, custody: Curator) -> None:
        self.schema = custody.schema
        self.neighbours = custody.neighbours
        self.accounting = custody.accounting
        self.discovered_measurements = custody.discovered_measurements
        self.rows = custody.rows
        self._ask: dict[str, Callable[..., object]] = {
            "measure": lambda *args, **kwargs: custody.measure(*args, **kwargs),
            "sparse": lambda *args, **kwargs: custody.sparse(*args, **kwargs),
            "errors": lambda *args, **kwargs: custody.errors(*args, **kwargs),
            "choose": lambda *args, **kwargs: custody.choose(*args, **kwargs),
            "choose_cell": lambda *args, **kwargs: custody.choose_cell(*args, **kwargs),
            "share_left": lambda: custody.share_left,
        }

    @property
    def share_left(self) -> Fraction:
        """The share of the budget that is not spent yet."""
        return self._ask["share_left"]()  # type: ignore[return-value]

    def measure(
        self,
        cliques: Sequence[Clique],
        *,
        share: Fraction | int,
        weights: Sequence[float] | None = None,
        maps: Sequence[tuple[AxisMap, ...]] | None = None,
    ) -> Measurements:
        """Noisy marginals."""
        return self._ask["measure"](cliques, share=share, weights=weights, maps=maps)  # type: ignore[return-value]

    def sparse(self, clique: Clique, *, share: Fraction | int) -> Measurements:
        """The cells of a large marginal that are safely above zero."""
        return self._ask["sparse"](clique, share=share)  # type: ignore[return-value]

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
        return self._ask["errors"](estimates, share=share, maps=maps)  # type: ignore[return-value]

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
        return self._ask["choose"](
            estimates, share=share, score=score, weights=weights, penalties=penalties
        )  # type: ignore[return-value]

    def choose_cell(
        self, estimates: Mapping[Clique, NDArray[np.float64]], *, share: Fraction | int
    ) -> tuple[Clique, tuple[int, ...]]:
        """One cell of one clique, chosen privately."""
        return self._ask["choose_cell"](estimates, share=share)  # type: ignore[return-value]
