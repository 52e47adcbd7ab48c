"""From measurements to a model, and from nothing else: estimation is post-processing
and costs no budget.

The number of rows is the public one, or the pooled one of all measurements. The model's
cliques are those that were measured, as many as the limit lets into one junction tree,
in the order they were measured; of a clique that does not fit, what it says of its
single columns is used. The base that answers lean to is itself a model: the strongest
of the measured cliques that form a tree have a solution in closed form
(models/fitting/closed_form.py), a little smoothed, and the columns they leave out come
alone. So a fit of tree-shaped measurements starts where it ends, and any other has only
to learn what the tree does not say. Structural zeros are potentials of minus infinity
from the start.

Sparse measurements say nothing of the cells they do not show and take no part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.errors import Refused
from understudy.measurements import Clique, Identity, Measurements
from understudy.models.estimates.consistency import project_simplex
from understudy.models.estimates.loss_terms import (
    MIN_TERM_VARIANCE,
    Array,
    Question,
    Term,
    merge_terms,
    single_column_terms,
    terms_of,
)
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.estimates.pooling import likely_total
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.fitting.closed_form import (
    direct_marginals,
    direct_potentials,
    select_tree_cliques,
)
from understudy.models.fitting.marginal_strength import independent_counts
from understudy.models.fitting.max_entropy import (
    DEFAULT_GAP_TOLERANCE,
    DEFAULT_SHRINKAGE,
    MaxEntropyFit,
    fit_max_entropy,
)
from understudy.models.fitting.one_way_prior import denoise_one_ways
from understudy.models.fitting.public_prior import prior_terms
from understudy.models.fitting.staged import fit_in_stages
from understudy.models.inference.calibration import Calibration
from understudy.models.inference.junction_tree import JunctionTree, forecast_cells
from understudy.models.inference.log_calibration import align_axes
from understudy.models.progress import Progress, progress_reporter
from understudy.models.tree import TreeModel, with_zeros
from understudy.schema import Schema

MAX_FIT_CELLS = 1 << 22
"""Cells of the largest junction tree a fit works on, unless told otherwise: about 100
MB of working memory.
"""

BASE_DOUBT_DEVIATIONS = 0.5
"""Parts of a standard deviation that a cell of the base may be in doubt by."""

DENOISED_DOUBT_DEVIATIONS = 0.1
"""The same where counts were told with their noise in mind."""

BASE_SMOOTHING_SHARE = 0.2
"""Parts of that doubt that a table of the base is smoothed by, towards the product of
its columns.
"""


@dataclass(frozen=True, eq=False)
class TreeEstimate:
    """A model and how it came about; `weights` let a later fit with more measurements
    start from here.

    `left_out` lists the measured cliques that no junction tree within the limit could
    hold together with the others.
    """

    model: TreeModel
    weights: Mapping[Question, Array]
    left_out: tuple[Clique, ...]
    passes: int
    loss: float
    gap: float


def fit_measurements(
    schema: Schema,
    measurements: Measurements,
    *,
    cliques: Sequence[Clique] | None = None,
    limit_cells: int = MAX_FIT_CELLS,
    warm: TreeEstimate | None = None,
    shrinkage: float = DEFAULT_SHRINKAGE,
    tolerance: float = DEFAULT_GAP_TOLERANCE,
    empirical: bool = False,
    progress: Progress | None = None,
) -> TreeEstimate:
    """The maximum-entropy model of some measurements.

    `cliques` fixes what the model ties together; without it, that is what was measured.
    `warm` is an earlier estimate from some of the same measurements. `empirical` leans
    step by step to simpler models, on every marginal as strongly as its own noise and
    the strength of its interaction suggest (models/fitting/staged.py); `shrinkage` has
    no say then.

    >>> from fractions import Fraction
    >>> from understudy.accounting import Cost, Accounting, Law
    >>> from understudy.measurements import Identity, Measurement
    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=tuple(Boolean(name=n, nullable=False) for n in ("smoker", "cough")))
    >>> counts, two = np.array([[600, 100], [100, 200]]), Identity(2)
    >>> look = Measurement(("smoker", "cough"), (two, two), counts, Law.DISCRETE_GAUSSIAN, Fraction(2),
    ...     Cost(Accounting.GDP, Fraction(1, 4)))
    >>> fit_measurements(schema, Measurements((look,))).model.marginal(("cough",)).round().tolist()
    [700.0, 300.0]
    """
    total = likely_total(schema, measurements)
    public = prior_terms(schema, measurements)
    own = terms_of(schema, measurements)
    asked = merge_terms(
        [
            *(_denoise_columns(schema, measurements, own, total) if empirical else own),
            *public,
        ]
    )
    sizes = schema.column_sizes
    if cliques is not None and public:
        cliques, _ = select_fitting_cliques(
            [*cliques, *(term.clique for term in public)], sizes, limit_cells
        )
    kept = _model_cliques(schema, asked, cliques, limit_cells)
    nodes = JunctionTree.of(kept, sizes).nodes
    left_out = tuple(
        dict.fromkeys(term.clique for term in asked if not _is_held(term.clique, nodes))
    )
    terms = merge_terms(
        part
        for term in asked
        for part in (
            [term] if _is_held(term.clique, nodes) else single_column_terms(term)
        )
    )
    base = _base_potentials(schema, measurements, total, kept, terms, limit_cells)
    warmth = {} if warm is None else warm.weights
    shown = _gap_reporter(progress_reporter(progress))
    every = list(
        dict.fromkeys(
            [*base, *((name,) for name in schema), *(term.clique for term in terms)]
        )
    )
    # Of the nodes that said what is held: made of the cliques anew, with others beside
    # them, it may close its loops by other pairs.
    tree = JunctionTree.of([*nodes, *base, *((name,) for name in schema)], sizes)
    oracle = Calibration(tree, every, sizes)
    if empirical and total > 0 and terms:
        pooled = PooledResiduals.of(schema, measurements)
        known = {
            term.clique[0]: term.values
            for term in asked
            if len(term.clique) == 1 and term.plain
        }
        columns = {
            name: _column_counts(schema, pooled, name, total, known.get(name))
            for name in schema
        }
        first = warmth or _warm_start_weights(base, terms, columns, total)
        base = _independent_potentials(schema, kept, columns, total, limit_cells)
        found = fit_in_stages(
            oracle,
            terms,
            columns,
            total,
            base=base,
            warm=first,
            tolerance=tolerance,
            progress=shown,
        )
    else:
        found = fit_max_entropy(
            oracle,
            terms,
            total,
            base=base,
            warm=warmth,
            shrinkage=shrinkage,
            tolerance=tolerance,
            progress=shown,
        )
    model = TreeModel.from_potentials(
        schema,
        total,
        *_gather_potentials(schema, found, kept),
        limit=max(tree.cells, limit_cells),
    )
    shown(found.passes, 1.0)
    return TreeEstimate(
        model, found.weights, left_out, found.passes, found.loss, found.gap
    )


def estimate_tree(
    schema: Schema,
    measurements: Measurements,
    *,
    cliques: Sequence[Clique] | None = None,
    limit_cells: int = MAX_FIT_CELLS,
    warm: TreeEstimate | None = None,
    progress: Progress | None = None,
) -> TreeModel:
    """The model of `fit_measurements`, without its history.

    >>> from understudy.schema import Boolean
    >>> nothing = estimate_tree(Schema(columns=(Boolean(name="smoker", nullable=False),), rows=10), Measurements())
    >>> nothing.marginal(("smoker",)).tolist()
    [5.0, 5.0]
    """
    return fit_measurements(
        schema,
        measurements,
        cliques=cliques,
        limit_cells=limit_cells,
        warm=warm,
        progress=progress,
    ).model


def select_fitting_cliques(
    cliques: Iterable[Clique], sizes: Mapping[str, int], limit_cells: int
) -> tuple[list[Clique], list[Clique]]:
    """Those cliques, taken in order, whose junction tree stays within a limit, and
    those left out.

    >>> select_fitting_cliques([("a", "b"), ("b", "c"), ("c", "a")], {"a": 20, "b": 20, "c": 20}, 1000)
    ([('a', 'b'), ('b', 'c')], [('c', 'a')])
    """
    wanted = list(dict.fromkeys(cliques))
    if forecast_cells(wanted, sizes) <= limit_cells:
        return wanted, []
    kept: list[Clique] = []
    left: list[Clique] = []
    for clique in wanted:
        held = any(set(clique) <= set(other) for other in kept)
        (
            kept
            if held or forecast_cells([*kept, clique], sizes) <= limit_cells
            else left
        ).append(clique)
    return kept, left


def _model_cliques(
    schema: Schema, terms: Sequence[Term], cliques: Sequence[Clique] | None, limit: int
) -> list[Clique]:
    """The cliques the model is made of: only the largest, for one inside another ties
    nothing more together.
    """
    sizes = schema.column_sizes
    single = [(name,) for name in schema]
    if cliques is None:
        kept, _ = select_fitting_cliques(
            [*single, *(term.clique for term in terms)], sizes, limit
        )
    else:
        kept = [*single, *dict.fromkeys(cliques)]
        cells = forecast_cells(kept, sizes)
        if cells > limit:
            raise Refused(
                f"A model of these {len(cliques)} marginals needs {cells:,} cells, more"
                f" than {limit:,}. Use fewer or smaller ones"
            )
    columns = list(dict.fromkeys(map(frozenset, kept)))
    largest = {
        names for names in columns if not any(names < other for other in columns)
    }
    return [
        clique
        for i, clique in enumerate(kept)
        if set(clique) in largest and not _is_held(clique, kept[:i])
    ]


def _is_held(clique: Clique, among: Sequence[Clique]) -> bool:
    return any(set(clique) <= set(other) for other in among)


def _base_potentials(
    schema: Schema,
    measurements: Measurements,
    total: float,
    kept: Sequence[Clique],
    terms: Sequence[Term],
    limit: int,
) -> dict[Clique, Array]:
    """A smoothed tree model of the strongest measured cliques as potentials, and minus
    infinity in every structural zero.
    """
    flat = {clique: np.zeros(schema.sizes(clique)) for clique in kept}
    potentials: dict[Clique, Array] = {}
    if total > 0:
        pooled = PooledResiduals.of(schema, measurements)
        columns = {name: _column_counts(schema, pooled, name, total) for name in schema}
        plain = [t.clique for t in terms if len(t.clique) > 1 and t.plain]
        tree = select_tree_cliques(
            sorted(
                plain,
                key=lambda clique: -_dependence_beyond_noise(pooled, clique, columns),
            )
        )
        alone = [name for name in schema if not any(name in clique for clique in tree)]
        potentials = {(name,): np.log(columns[name] / total) for name in alone}
        tables = direct_marginals(schema, pooled, list(tree), total)
        for clique in tree:
            doubt = BASE_DOUBT_DEVIATIONS * np.sqrt(pooled.variance(clique).mean())
            tables[clique] = tables[clique] + BASE_SMOOTHING_SHARE * np.minimum(
                independent_counts(clique, columns, total), doubt
            )
        potentials |= direct_potentials(tables, tree)
    made = with_zeros(schema, flat | potentials, limit)
    return {clique: theta for clique, theta in made.items() if np.any(theta)}


def _independent_potentials(
    schema: Schema,
    kept: Sequence[Clique],
    columns: Mapping[str, Array],
    total: float,
    limit: int,
) -> dict[Clique, Array]:
    """Independent columns as potentials, and minus infinity in every structural zero."""
    flat = {clique: np.zeros(schema.sizes(clique)) for clique in kept}
    made = with_zeros(
        schema,
        flat | {(name,): np.log(columns[name] / total) for name in schema},
        limit,
    )
    return {clique: theta for clique, theta in made.items() if np.any(theta)}


def _warm_start_weights(
    base: Mapping[Clique, Array],
    terms: Sequence[Term],
    columns: Mapping[str, Array],
    total: float,
) -> dict[Question, Array]:
    """What a tree's potentials say beyond independent columns, as weights of its terms:
    a start near the end.
    """
    found = {}
    for term in terms:
        theta = base.get(term.clique)
        if (
            theta is not None
            and term.plain
            and len(term.clique) > 1
            and np.all(np.isfinite(theta))
        ):
            found[term.question] = theta - sum(
                align_axes(np.log(columns[name] / total), (name,), term.clique)
                for name in _columns_new_to(term.clique, base)
            )
    return found


def _columns_new_to(clique: Clique, base: Mapping[Clique, Array]) -> list[str]:
    """Columns of a clique that no clique of the base before it has."""
    before: set[str] = set()
    for other in base:
        if other == clique:
            break
        before |= set(other)
    return [name for name in clique if name not in before]


def _denoise_columns(
    schema: Schema, measurements: Measurements, terms: Sequence[Term], total: float
) -> list[Term]:
    """The terms with single columns told by all that was measured of them.

    A lean fit believes columns before it looks at pairs. What it believes must be the
    best there is: a column that was hardly measured by itself is known better from the
    sums of its pairs, and how rows are spread in others tells what noise hides
    (models/fitting/one_way_prior.py).
    """
    pooled = PooledResiduals.of(schema, measurements)
    known: dict[str, tuple[Term, Array]] = {}
    for name in schema:
        variance, zeros = pooled.variance((name,)), schema.zeros((name,))
        possible = (
            np.ones(variance.shape)
            if zeros is None or zeros.all()
            else np.where(zeros, 0.0, 1.0)
        )
        if np.all(np.isfinite(variance)):
            each = max(float(variance.mean()), MIN_TERM_VARIANCE)
            term = Term(
                (name,), (Identity(variance.size),), pooled.marginal((name,)), each
            )
            known[name] = term, total / possible.sum() * possible
    rest = [
        t
        for t in terms
        if len(t.clique) != 1 or t.is_coarse or t.clique[0] not in known
    ]
    return [*denoise_one_ways(list(known.values())), *rest]


def _column_counts(
    schema: Schema,
    pooled: PooledResiduals,
    name: str,
    total: float,
    known: Array | None = None,
) -> Array:
    """A column's counts from everything that was measured of it, or as they are
    `known`, none quite zero; even where nothing was.
    """
    variance = pooled.variance((name,))
    seen = np.isfinite(variance)
    zeros = schema.zeros((name,))
    if not seen.any() or (zeros is not None and zeros.all()):
        return np.asarray(np.full(seen.shape, total / seen.size))
    deviation = np.sqrt(np.where(seen, variance, variance[seen].max()))
    if known is None:
        # Empty cells may be empty by chance: half a standard deviation each, and never
        # nothing.
        counts = project_simplex(
            pooled.marginal((name,)), total, allowed=None if zeros is None else ~zeros
        )
        counts = counts + np.maximum(BASE_DOUBT_DEVIATIONS * deviation, 1e-9 * total)
    else:  # chance is in these counts already
        counts = known + np.maximum(DENOISED_DOUBT_DEVIATIONS * deviation, 1e-9 * total)
    return np.asarray(counts * (total / counts.sum()), np.float64)


def _dependence_beyond_noise(
    pooled: PooledResiduals, clique: Clique, columns: Mapping[str, Array]
) -> float:
    """How far a clique's marginal is from the product of its columns, beyond what noise
    does.
    """
    total = float(columns[clique[0]].sum())
    product = independent_counts(clique, columns, total)
    noise = np.minimum(np.sqrt(pooled.variance(clique)), product)
    return float(
        np.abs(project_simplex(pooled.marginal(clique), total) - product).sum()
        - MEAN_ABS_NORMAL * noise.sum()
    )


def _gather_potentials(
    schema: Schema, found: MaxEntropyFit, kept: Sequence[Clique]
) -> tuple[list[Clique], dict[Clique, Array]]:
    """The potentials gathered on the largest cliques: the same model in fewer arrays."""
    made: dict[Clique, Array] = {}
    for clique, theta in found.potentials.items():
        home = next((c for c in kept if set(clique) <= set(c)), clique)
        made.setdefault(home, np.zeros(schema.sizes(home)))
        made[home] = made[home] + align_axes(theta, clique, home)
    return list(made), made


def _gap_reporter(tell: Callable[[int, float], None]) -> Callable[[int, float], None]:
    """Passes, and how far the gap has come down, on a logarithmic scale, from the first
    one to the goal; it may rise on the way.
    """
    first: list[float] = []

    def report_gap(passes: int, distance: float) -> None:
        first.append(distance)
        span = np.log(max(first[0], 1 + 1e-9))
        tell(passes, float(np.clip(1 - np.log(max(distance, 1.0)) / span, 0.0, 1.0)))

    return report_gap
