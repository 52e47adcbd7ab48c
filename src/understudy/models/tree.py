"""The marginal model: a distribution that factors over cliques, held by a junction
tree.

P(row) ∝ exp(Σ θ_c(row_c)): of all distributions with the same marginals on the cliques,
the one of maximum entropy. Sums, samples and conditional samples are exact. Structural
zeros are potentials of minus infinity; a declaration about columns that no clique
brings together becomes a clique of its own where the tree can hold it, and what it
cannot hold is kept in every row all the same (models/rules/structural_zeros.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused, ReleaseError
from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.inference.calibrated_tree import (
    Beliefs,
)
from understudy.models.inference.calibration import Calibration
from understudy.models.inference.elimination import eliminate_to_clique, pair_marginals
from understudy.models.inference.junction_tree import (
    JunctionTree,
    forecast_cells,
)
from understudy.models.model import (
    MAX_ROUNDED_ROWS,
    Arrays,
    Codes,
    Facts,
    default_rows,
    is_rounded_in_one_piece,
)
from understudy.models.sampling.conditions import check_given
from understudy.models.sampling.rounding_variance import (
    rounding_variances,
    variance_within,
)
from understudy.models.sampling.to_targets import (
    MAX_REFINED_ROWS,
    MIN_REFINED_ROWS,
    draw_matching_rows,
    draw_tree_rows,
    target_shares,
)
from understudy.models.sampling.tree_evidence import complete_tree
from understudy.models.sampling.tree_rows import drawing_order
from understudy.models.sampling.unmeasured import fill_columns
from understudy.models.serialization import check_part_names, read_total
from understudy.models.tree_potentials import (
    MAX_TREE_CELLS,
    marginals_to_potentials,
    read_potentials,
    store_potentials,
    with_zeros,
)
from understudy.schema import Schema

# From how many rows, and up to how many cells of the tree, chance errors between far
# columns are lowered, and with how many partners for each.
MIN_SWAP_ROWS, MAX_SWAP_TREE_CELLS, MAX_SWAP_PARTNERS = 1000, 1 << 22, 12

# Rows for each cell of the largest node up to which a sample is refined, and those
# that a cell must expect to be aimed at by itself.
CROWDED_ROWS_PER_CELL, RARE_CELL_ROWS = 2, 0.5

# The share of an even distribution that is mixed in where something was given that
# the model thinks impossible.
EVEN_MIXTURE_SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class TreeModel:
    """exp of a sum of `potentials`, normalised, for `total` rows; a column in no clique
    is uniform.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(
    ...     columns=(
    ...         Boolean(name="smoker", nullable=False),
    ...         Boolean(name="cough", nullable=False),
    ...     )
    ... )
    >>> model = TreeModel.from_marginals(
    ...     schema, 10.0, {("smoker", "cough"): np.array([[6.0, 1.0], [1.0, 2.0]])}
    ... )
    >>> model.marginal(("cough",)).round(9).tolist()
    [7.0, 3.0]
    """

    kind: ClassVar[str] = "tree"
    schema: Schema
    total: float
    potentials: Mapping[Clique, Array]

    def __post_init__(self) -> None:
        assert math.isfinite(self.total), "a total is a number"
        assert self.total >= 0, "a total is never negative"
        for clique, theta in self.potentials.items():
            assert len(set(clique)) == len(clique), "a clique names each column once"
            assert theta.shape == self.schema.sizes(clique), (
                "one potential for each cell"
            )

    @classmethod
    def from_potentials(
        cls,
        schema: Schema,
        total: float,
        cliques: Iterable[Clique],
        potentials: Mapping[Clique, Array],
        *,
        limit: int = MAX_TREE_CELLS,
    ) -> TreeModel:
        """The model with these log-potentials; a clique without one has none.
        Structural zeros of the schema are added.
        """
        known = {
            clique: potentials[clique]
            for clique in dict.fromkeys(cliques)
            if clique in potentials
        }
        if len(known) < len(potentials):
            raise ValueError("a potential belongs to a clique that is not listed")
        sizes = schema.column_sizes
        cells = forecast_cells([*known, *((name,) for name in schema)], sizes)
        if cells > limit:
            raise Refused(
                f"A model of these {len(known)} marginals needs {cells:,} cells, more"
                f" than {limit:,}. Use fewer or smaller ones"
            )
        return cls(schema, total, with_zeros(schema, known, limit))

    @classmethod
    def from_marginals(
        cls, schema: Schema, total: float, marginals: Mapping[Clique, Array]
    ) -> TreeModel:
        """The model that has these marginals, in closed form: Π marginals / Π
        separators. Their cliques must form a junction tree.

        Marginals need not sum to the same. Where two do not agree on what they share,
        the one nearer to the root decides, and the other gives the rest of its columns;
        where it has nothing to give, they are even.
        """
        potentials = marginals_to_potentials(schema, marginals)
        return cls.from_potentials(schema, total, potentials, potentials)

    @cached_property
    def beliefs(self) -> Beliefs:
        """The tree, and the marginal of each of its nodes."""
        sizes = self.schema.column_sizes
        tree = JunctionTree.of(
            [*self.potentials, *((name,) for name in self.schema)], sizes
        )
        return Beliefs(
            tree,
            tuple(Calibration(tree, self.potentials, sizes).beliefs(self.potentials)),
        )

    @property
    def cells(self) -> int:
        """Cells of the junction tree."""
        return self.beliefs.tree.cells

    def marginal(self, clique: Clique) -> Array:
        """Expected counts over any clique; refused where that takes too large a table."""
        return np.asarray(
            self.total
            * eliminate_to_clique(self.beliefs, self._canonical_clique(clique)),
            np.float64,
        )

    def marginals(self, cliques: Iterable[Clique]) -> dict[Clique, Array]:
        """Expected counts over many cliques: pairs that no node holds share the walks
        through the tree.
        """
        asked = [self._canonical_clique(clique) for clique in dict.fromkeys(cliques)]
        far = [
            clique
            for clique in asked
            if len(clique) == 2 and self.beliefs.tree.home(clique) is None
        ]
        shares = pair_marginals(self.beliefs, far)
        return {
            clique: np.asarray(
                self.total
                * (
                    shares[clique]
                    if clique in shares
                    else eliminate_to_clique(self.beliefs, clique)
                )
            )
            for clique in asked
        }

    def sample(self, rows: int, rng: Generator) -> Codes:
        """Column after column by rounding, the rows in random order."""
        if rows <= MAX_ROUNDED_ROWS:
            return self._sample_chunk(rows, rng)
        chunks = list(self.sample_chunks(rows, rng, MAX_ROUNDED_ROWS))
        whole: Codes = {}
        for name in self.schema:
            whole[name] = np.concatenate([chunk[name] for chunk in chunks])
        return whole

    def sample_chunks(
        self, rows: int, rng: Generator, size: int = MAX_ROUNDED_ROWS
    ) -> Iterator[Codes]:
        """The same a chunk at a time, each rounded for itself, for more rows than
        memory holds.
        """
        if size < 1:
            raise ValueError("a chunk holds at least one row")
        size = min(size, MAX_ROUNDED_ROWS)
        for start in range(0, rows, size):
            yield self._sample_chunk(min(size, rows - start), rng)

    def rounding_variance(self, clique: Clique) -> Array | None:
        """The variance that rounding adds to each count of a clique drawn together;
        None where rows are not drawn by rounding alone.
        """
        if self._needs_refining(default_rows(self)) or not is_rounded_in_one_piece(
            self
        ):
            return None
        return variance_within(self._rounding_variances, clique)

    def complete(
        self, given: Mapping[str, NDArray[np.integer]], rng: Generator
    ) -> Codes:
        """Every partial row completed from its exact conditional distribution; rows
        with the same given codes share it by rounding.

        Where the given codes have no mass, the other columns follow what the model says
        of them with the least doubt mixed in, over the cells that are possible.
        """
        rows = check_given(self.schema, given)
        codes, lost = complete_tree(self.beliefs, given, rows, rng, self._types)
        if np.any(lost):
            again = {name: np.asarray(column)[lost] for name, column in given.items()}
            second, beyond = complete_tree(
                self._smoothed_beliefs, again, int(lost.sum()), rng, self._types
            )
            if np.any(beyond):
                raise Refused(
                    f"{', '.join(given)}: the schema declares that no row has these"
                    " values together. Nothing was sampled"
                )
            for name, column in second.items():
                codes[name][lost] = column
        return fill_columns(
            self.schema, dict(codes) | dict(given), rows, rng, fixed=set(given)
        )

    def to_parts(self) -> tuple[Facts, Arrays]:
        """The potentials, by position; the tree is built again from them."""
        facts: Facts = {
            "kind": self.kind,
            "total": self.total,
            "cliques": [list(clique) for clique in self.potentials],
        }
        return facts, store_potentials(self.potentials.values())

    @classmethod
    def from_parts(
        cls,
        schema: Schema,
        facts: Mapping[str, object],
        arrays: Mapping[str, NDArray[np.generic]],
    ) -> TreeModel:
        """The model again; parts that do not fit the schema raise ReleaseError."""
        check_part_names(facts, {"kind", "total", "cliques"}, "facts")
        potentials = read_potentials(schema, facts["cliques"], arrays)
        try:
            model = cls.from_potentials(
                schema, read_total(facts), potentials, potentials
            )
            assert model.beliefs
        except Refused as error:
            raise ReleaseError(f"model: its parts make no model. {error}") from None
        return model

    def _canonical_clique(self, clique: Clique) -> Clique:
        assert len(set(clique)) == len(clique), "a clique names each column once"
        return tuple(self.schema[name].name for name in clique)

    def _sample_chunk(self, rows: int, rng: Generator) -> Codes:
        if self._needs_refining(rows):
            return draw_matching_rows(
                self.schema, self.beliefs, self._tables, rows, rng, rare=RARE_CELL_ROWS
            )
        # Few rows hold no table of far columns to speak of; in many rows chance errors
        # are small, and lowering them takes long.
        worth = (
            MIN_SWAP_ROWS <= rows <= MAX_REFINED_ROWS
            and self.cells <= MAX_SWAP_TREE_CELLS
        )
        return draw_tree_rows(
            self.schema, self.beliefs, rows, rng, self._far if worth else None
        )

    def _needs_refining(self, rows: int) -> bool:
        """Whether some node has so many cells that rows with the same parents are few,
        rounding keeps little, and more can be done.
        """
        tree = self.beliefs.tree
        crowded = (
            self.cells <= MAX_SWAP_TREE_CELLS
            and max(map(tree.size, tree.nodes), default=1) * CROWDED_ROWS_PER_CELL
            >= rows
        )
        return (
            crowded and self.total > 0 and MIN_REFINED_ROWS <= rows <= MAX_REFINED_ROWS
        )

    @cached_property
    def _rounding_variances(self) -> list[tuple[Clique, Array]]:
        return rounding_variances(self.beliefs, self.total)

    @cached_property
    def _tables(self) -> dict[Clique, Array]:
        """Everything a sample should meet, as shares, where rounding alone would not."""
        return target_shares(
            self.schema, self.beliefs, self.potentials, (), self.marginals
        )

    @cached_property
    def _far(self) -> dict[Clique, Array]:
        """Shares of the pairs that no node holds, up to a number of partners for each
        column, as they are drawn.
        """
        drawn = drawing_order(self.beliefs)
        pairs: list[Clique] = []
        for place, name in enumerate(drawn):
            before = [(other, name) for other in drawn[:place]]
            far = [pair for pair in before if self.beliefs.tree.home(pair) is None]
            # The nearest in drawing order: those before them agree through these.
            pairs += far[-MAX_SWAP_PARTNERS:]
        return pair_marginals(self.beliefs, pairs)

    @property
    def _types(self) -> dict[str, np.dtype[np.unsignedinteger]]:
        return {name: codec.dtype for name, codec in self.schema.codecs.items()}

    @cached_property
    def _smoothed_beliefs(self) -> Beliefs:
        """The same beliefs with a trace of everything that is possible."""
        tables = []
        for names, table in zip(
            self.beliefs.tree.nodes, self.beliefs.tables, strict=True
        ):
            zeros = self.schema.zeros(names)
            possible = (
                np.ones(table.shape) if zeros is None else (~zeros).astype(np.float64)
            )
            tables.append(
                table + possible * (EVEN_MIXTURE_SHARE / max(possible.sum(), 1.0))
            )
        return Beliefs(self.beliefs.tree, tuple(tables))
