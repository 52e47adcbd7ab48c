"""From measurements to a model, and from nothing else: estimation is post-processing
and costs no budget.

The number of rows is the public one, or the pooled one of all measurements. The model's
cliques are the measured ones, as many as the limit lets into one junction tree, in the
order they were measured; of a clique that does not fit, what it says of its single
columns is used. The fit is shrunk towards a base (models/fitting/base_model.py).

Sparse measurements say nothing of the cells they do not show and take no part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.errors import Refused
from understudy.measurements import Clique, Measurements
from understudy.models.arrays import Array, align_axes
from understudy.models.estimates.loss_terms import (
    Question,
    Term,
    merge_terms,
    single_column_terms,
    terms_of,
)
from understudy.models.estimates.pooling import likely_total
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.fitting.base_model import (
    Potentials,
    base_potentials,
    column_counts,
    denoise_columns,
    independent_potentials,
    warm_start_weights,
)
from understudy.models.fitting.constants import (
    DEFAULT_GAP_TOLERANCE,
    DEFAULT_SHRINKAGE,
    MAX_FIT_CELLS,
)
from understudy.models.fitting.max_entropy import MaxEntropyFit, fit_max_entropy
from understudy.models.fitting.public_prior import prior_terms
from understudy.models.fitting.staged import fit_in_stages
from understudy.models.inference.calibration import Calibration
from understudy.models.inference.junction_tree import JunctionTree, forecast_cells
from understudy.models.progress import Progress, progress_reporter
from understudy.models.tree import TreeModel
from understudy.schema import Schema


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
    `warm` is an earlier estimate from some of the same measurements. `empirical` fits
    in stages and shrinks every marginal by its own prior variance
    (models/fitting/staged.py); `shrinkage` is not used then.

    >>> from fractions import Fraction
    >>> from understudy.accounting import Cost, Accounting, Law
    >>> from understudy.measurements import Identity, Measurement
    >>> from understudy.schema import Boolean
    >>> names = ("smoker", "cough")
    >>> schema = Schema(columns=tuple(Boolean(name=n, nullable=False) for n in names))
    >>> counts, two = np.array([[600, 100], [100, 200]]), Identity(2)
    >>> noise = Law.DISCRETE_GAUSSIAN, Fraction(2), Cost(Accounting.GDP, Fraction(1, 4))
    >>> noisy = Measurement(names, (two, two), counts, *noise)
    >>> model = fit_measurements(schema, Measurements((noisy,))).model
    >>> model.marginal(("cough",)).round().tolist()
    [700.0, 300.0]
    """
    total = likely_total(schema, measurements)
    public = prior_terms(schema, measurements)
    # A public table is one more term, never part of what columns are denoised from.
    own: Sequence[Term] = terms_of(schema, measurements)
    if empirical:
        own = denoise_columns(schema, measurements, own, total)
    asked = merge_terms([*own, *public])
    sizes = schema.column_sizes
    if cliques is not None and public:
        wanted = [*cliques, *(term.clique for term in public)]
        cliques, _ = select_fitting_cliques(wanted, sizes, limit_cells)
    kept = _model_cliques(schema, asked, cliques, limit_cells)
    nodes = JunctionTree.of(kept, sizes).nodes
    terms, left_out = _split_by_room(asked, nodes)
    base = base_potentials(schema, measurements, total, kept, terms, limit_cells)
    # Built from the nodes that decided what is held: built from the cliques again, with
    # others beside them, the tree might close its loops by other pairs.
    tree = JunctionTree.of([*nodes, *base, *((name,) for name in schema)], sizes)
    asked_cliques = [term.clique for term in terms]
    every = dict.fromkeys([*base, *((name,) for name in schema), *asked_cliques])
    oracle = Calibration(tree, list(every), sizes)
    # Weights of questions that were asked before; new ones start at zero.
    weights = {} if warm is None else warm.weights
    report = _gap_reporter(progress_reporter(progress))
    if empirical and total > 0 and terms:
        columns = _known_columns(schema, measurements, asked, total)
        fit = fit_in_stages(
            oracle,
            terms,
            columns,
            total,
            base=independent_potentials(schema, kept, columns, total, limit_cells),
            warm=weights or warm_start_weights(base, terms, columns, total),
            tolerance=tolerance,
            progress=report,
        )
    else:
        fit = fit_max_entropy(
            oracle,
            terms,
            total,
            base=base,
            warm=weights,
            shrinkage=shrinkage,
            tolerance=tolerance,
            progress=report,
        )
    # A release stores one array for each clique of the model.
    gathered = _gather_potentials(schema, fit, kept)
    model = TreeModel.from_potentials(
        schema, total, list(gathered), gathered, limit=max(tree.cells, limit_cells)
    )
    report(fit.passes, 1.0)
    return TreeEstimate(model, fit.weights, left_out, fit.passes, fit.loss, fit.gap)


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
    >>> schema = Schema(columns=(Boolean(name="smoker", nullable=False),), rows=10)
    >>> nothing = estimate_tree(schema, Measurements())
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

    >>> sizes = dict.fromkeys("abc", 20)
    >>> select_fitting_cliques([("a", "b"), ("b", "c"), ("c", "a")], sizes, 1000)
    ([('a', 'b'), ('b', 'c')], [('c', 'a')])
    """
    wanted = list(dict.fromkeys(cliques))
    if forecast_cells(wanted, sizes) <= limit_cells:
        return wanted, []
    kept: list[Clique] = []
    left_out: list[Clique] = []
    for clique in wanted:
        fits = _is_held(clique, kept) or (
            forecast_cells([*kept, clique], sizes) <= limit_cells
        )
        (kept if fits else left_out).append(clique)
    return kept, left_out


def _split_by_room(
    asked: Sequence[Term], nodes: Sequence[Clique]
) -> tuple[Sequence[Term], tuple[Clique, ...]]:
    """The terms that the nodes of a tree hold, the others by their single columns; and
    the cliques of those others.
    """
    terms: list[Term] = []
    left_out: dict[Clique, None] = {}
    for term in asked:
        if _is_held(term.clique, nodes):
            terms.append(term)
        else:
            terms += single_column_terms(term)
            left_out[term.clique] = None
    return merge_terms(terms), tuple(left_out)


def _known_columns(
    schema: Schema, measurements: Measurements, asked: Sequence[Term], total: float
) -> dict[str, Array]:
    """The counts of every column that an empirical fit starts from."""
    pooled = PooledResiduals.of(schema, measurements)
    denoised = {
        term.clique[0]: term.values
        for term in asked
        if len(term.clique) == 1 and term.plain
    }
    return {
        name: column_counts(schema, pooled, name, total, denoised.get(name))
        for name in schema
    }


def _model_cliques(
    schema: Schema, terms: Sequence[Term], cliques: Sequence[Clique] | None, limit: int
) -> list[Clique]:
    """The cliques the model is made of: only the largest, since one inside another ties
    nothing more together.
    """
    sizes = schema.column_sizes
    single = [(name,) for name in schema]
    if cliques is None:
        wanted = [*single, *(term.clique for term in terms)]
        kept, _ = select_fitting_cliques(wanted, sizes, limit)
    else:
        kept = [*single, *dict.fromkeys(cliques)]
        cells = forecast_cells(kept, sizes)
        if cells > limit:
            raise Refused(
                f"A model of these {len(cliques)} marginals needs {cells:,} cells, more"
                f" than {limit:,}. Use fewer or smaller ones"
            )
    return _largest_cliques(kept)


def _largest_cliques(cliques: Sequence[Clique]) -> list[Clique]:
    """Those that no other one contains; of several with the same columns the first."""
    columns = list(dict.fromkeys(map(frozenset, cliques)))
    largest: set[frozenset[str]] = set()
    for names in columns:
        if not any(names < other for other in columns):
            largest.add(names)
    return [
        clique
        for i, clique in enumerate(cliques)
        if frozenset(clique) in largest and not _is_held(clique, cliques[:i])
    ]


def _is_held(clique: Clique, among: Sequence[Clique]) -> bool:
    names = set(clique)
    return any(names <= set(other) for other in among)


def _gather_potentials(
    schema: Schema, fit: MaxEntropyFit, kept: Sequence[Clique]
) -> Potentials:
    """The potentials gathered on the largest cliques: the same model in fewer arrays."""
    gathered: Potentials = {}
    for clique, theta in fit.potentials.items():
        home = next((c for c in kept if set(clique) <= set(c)), clique)
        gathered.setdefault(home, np.zeros(schema.sizes(home)))
        gathered[home] = gathered[home] + align_axes(theta, clique, home)
    return gathered


def _gap_reporter(tell: Callable[[int, float], None]) -> Callable[[int, float], None]:
    """Reports passes and how far the gap has come down from the first one to the goal,
    on a logarithmic scale; it may rise on the way.
    """
    first: list[float] = []

    def report_gap(passes: int, distance: float) -> None:
        first.append(distance)
        span = np.log(max(first[0], 1 + 1e-9))
        tell(passes, float(np.clip(1 - np.log(max(distance, 1.0)) / span, 0.0, 1.0)))

    return report_gap
