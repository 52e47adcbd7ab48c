"""The constants of the fit: every number that its result or its speed depends on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.models.fitting.constant_table import ConstantKind, ConstantTable

FIT_CONSTANTS = ConstantTable()
_add = FIT_CONSTANTS.add
_Array = NDArray[np.float64]

# -- the prior variance of a marginal (marginal_strength.py)

MIN_PRIOR_VARIANCE = _add(
    "MIN_PRIOR_VARIANCE",
    0.1,
    ConstantKind.THRESHOLD,
    "τ²",
    "Columns are seldom less dependent than a tenth of what chance makes them.",
)
MAX_PRIOR_VARIANCE = _add(
    "MAX_PRIOR_VARIANCE",
    1e5,
    ConstantKind.GRID,
    "τ²",
    "End of the grid; no real marginal comes near it.",
)
PRIOR_VARIANCE_GRID: _Array = _add(
    "PRIOR_VARIANCE_GRID",
    np.geomspace(MIN_PRIOR_VARIANCE, MAX_PRIOR_VARIANCE, 121),
    ConstantKind.GRID,
    "τ²",
    "Twenty points per decade: neighbours shrink a count by less than 3 % apart.",
)
UNIFORM_VARIANCE_WEIGHT = _add(
    "UNIFORM_VARIANCE_WEIGHT",
    0.05,
    ConstantKind.THRESHOLD,
    "marginals",
    "Weight of the uniform prior over τ². It only keeps every τ² possible.",
)
VARIANCE_EM_ROUNDS = _add(
    "VARIANCE_EM_ROUNDS",
    20,
    ConstantKind.GUARD,
    "EM rounds",
    "Stopping early leaves the mixture smooth, which suits a few dozen marginals.",
)
MAX_PRIOR_NOISE_DEVIATIONS = _add(
    "MAX_PRIOR_NOISE_DEVIATIONS",
    4.0,
    ConstantKind.GUARD,
    "τ² / σ",
    "Beyond it nothing is shrunk to speak of, and a fit takes ever longer.",
)
COLUMN_PRIOR_VARIANCE = _add(
    "COLUMN_PRIOR_VARIANCE",
    300.0,
    ConstantKind.THRESHOLD,
    "τ²",
    "One-way counts were denoised before the fit and are not shrunk again.",
)
MAX_CELL_KINDS = _add(
    "MAX_CELL_KINDS",
    40,
    ConstantKind.GRID,
    "bins",
    "Cells with about the same expected count share one term of the likelihood.",
)

# -- the prior of one-way counts (one_way_prior.py)

GAMMA_SHAPES: _Array = _add(
    "GAMMA_SHAPES",
    np.geomspace(0.02, 300.0, 28),
    ConstantKind.GRID,
    "shape of a gamma law",
    "From nearly all rows in one value to nearly even counts.",
)
COUNT_GRID_EDGES: _Array = _add(
    "COUNT_GRID_EDGES",
    np.concatenate([[0.0], np.geomspace(1e-4, 0.25, 24), np.arange(0.5, 16.1, 0.25)]),
    ConstantKind.GRID,
    "σ",
    "Quadrature of the true count: fine near zero, where gamma densities are steep.",
)
FAR_ANSWER_DEVIATIONS = _add(
    "FAR_ANSWER_DEVIATIONS",
    10.0,
    ConstantKind.GUARD,
    "σ",
    "An answer above it is a count in any case: its posterior mode is its mean.",
)
ANSWER_GRID: _Array = _add(
    "ANSWER_GRID",
    np.linspace(-FAR_ANSWER_DEVIATIONS, FAR_ANSWER_DEVIATIONS, 4001),
    ConstantKind.GRID,
    "σ",
    "Where means are computed in columns of very many values; between, interpolated.",
)
MAX_EXACT_ANSWERS = _add(
    "MAX_EXACT_ANSWERS",
    4_000,
    ConstantKind.COMPUTE,
    "values of a column",
    "Above it the grid of answers has fewer points, and its error is below 1e-5 σ.",
)
UNIFORM_SHAPE_WEIGHT = _add(
    "UNIFORM_SHAPE_WEIGHT",
    1.0,
    ConstantKind.THRESHOLD,
    "columns",
    "Weight of the uniform prior over shapes.",
)
SHAPE_EM_ROUNDS = _add(
    "SHAPE_EM_ROUNDS",
    10,
    ConstantKind.GUARD,
    "EM rounds",
    "Few columns: more rounds would follow single ones.",
)
MIN_SHAPE_WEIGHT = _add(
    "MIN_SHAPE_WEIGHT",
    1e-3,
    ConstantKind.COMPUTE,
    "of the likeliest shape",
    "Shapes less likely than this are skipped.",
)
SHIFT_BISECTIONS = _add(
    "SHIFT_BISECTIONS",
    16,
    ConstantKind.GUARD,
    "halvings",
    "The shift that makes counts add up, to 1e-4 σ.",
)
MIN_COUNT_DIVISOR = _add(
    "MIN_COUNT_DIVISOR",
    1e-300,
    ConstantKind.GUARD,
    "likelihood",
    "Smallest divisor.",
)

# -- the prior variance of single cells (cell_strength.py)

CELL_SCALE_GRID: _Array = _add(
    "CELL_SCALE_GRID",
    np.geomspace(0.01, 300.0, 14),
    ConstantKind.GRID,
    "of the marginal's τ²",
    "Relative prior variances of cells, three per decade.",
)
CELL_SCALE_PRIOR_WEIGHT = _add(
    "CELL_SCALE_PRIOR_WEIGHT",
    200,
    ConstantKind.THRESHOLD,
    "cells",
    "Weight of the prior that cells are much alike (log-normal of mean one).",
)
CELL_SCALE_EM_ROUNDS = _add(
    "CELL_SCALE_EM_ROUNDS",
    30,
    ConstantKind.GUARD,
    "EM rounds",
    "Enough for the bulk of the mixture; its tails hold few cells.",
)
MAX_CELL_SCALE_CELLS = _add(
    "MAX_CELL_SCALE_CELLS",
    100_000,
    ConstantKind.COMPUTE,
    "cells",
    "Cells that the mixture is estimated from.",
)
MIN_CELL_PRIOR_VARIANCE = _add(
    "MIN_CELL_PRIOR_VARIANCE",
    0.01,
    ConstantKind.GUARD,
    "τ²",
    "Smallest prior variance of a cell.",
)
MAX_CELL_NOISE_DEVIATIONS = _add(
    "MAX_CELL_NOISE_DEVIATIONS",
    64.0,
    ConstantKind.GUARD,
    "τ² / σ",
    "Beyond it a cell is not shrunk to speak of.",
)
MAX_NEWTON_STEPS = _add(
    "MAX_NEWTON_STEPS",
    40,
    ConstantKind.GUARD,
    "steps",
    "Newton's method in log counts.",
)
NEWTON_TOLERANCE = _add(
    "NEWTON_TOLERANCE",
    1e-6,
    ConstantKind.GUARD,
    "log count",
    "Largest last step of Newton's method.",
)

# -- the stages of the fit (staged.py)

MIN_FOREST_SIGNAL_SHARE = _add(
    "MIN_FOREST_SIGNAL_SHARE",
    0.45,
    ConstantKind.THRESHOLD,
    "signal share",
    "Below it noise hides which pairs are strongest, and no forest is fitted first.",
)

# -- the base of the fit (base_model.py, closed_form.py)

BASE_DOUBT_DEVIATIONS = _add(
    "BASE_DOUBT_DEVIATIONS",
    0.5,
    ConstantKind.THRESHOLD,
    "σ",
    "Added to a projected count: an empty cell may be empty by chance.",
)
DENOISED_DOUBT_DEVIATIONS = _add(
    "DENOISED_DOUBT_DEVIATIONS",
    0.1,
    ConstantKind.THRESHOLD,
    "σ",
    "Added to a denoised count, which has chance in it already.",
)
BASE_SMOOTHING_SHARE = _add(
    "BASE_SMOOTHING_SHARE",
    0.2,
    ConstantKind.THRESHOLD,
    "of BASE_DOUBT_DEVIATIONS",
    "Smoothing of the base's tables towards the product of their columns.",
)
MIN_COLUMN_SHARE = _add(
    "MIN_COLUMN_SHARE",
    1e-9,
    ConstantKind.GUARD,
    "of all rows",
    "Smallest count of a column's cell: its logarithm must be finite.",
)
MAX_DYKSTRA_SWEEPS = _add(
    "MAX_DYKSTRA_SWEEPS",
    200,
    ConstantKind.COMPUTE,
    "sweeps",
    "Ends projections that still disagree.",
)
DYKSTRA_TOLERANCE = _add(
    "DYKSTRA_TOLERANCE",
    1e-2,
    ConstantKind.GUARD,
    "σ",
    "Projections end when no cell moves by more.",
)
TARGET_FIT_SWEEPS = _add(
    "TARGET_FIT_SWEEPS",
    10,
    ConstantKind.GUARD,
    "sweeps",
    "Proportional fitting of a target to the sums that are known better.",
)

# -- maximum entropy (estimate.py, max_entropy.py, dual_descent.py)

MAX_FIT_CELLS = _add(
    "MAX_FIT_CELLS",
    1 << 22,
    ConstantKind.COMPUTE,
    "cells",
    "Largest junction tree of a fit by default: about 100 MB of working memory.",
)
DEFAULT_SHRINKAGE = _add(
    "DEFAULT_SHRINKAGE",
    0.8,
    ConstantKind.THRESHOLD,
    "σ per unit of log-odds",
    "How far an answer gives way to the base in a fit that is not empirical.",
)
DEFAULT_GAP_TOLERANCE = _add(
    "DEFAULT_GAP_TOLERANCE",
    1e-2,
    ConstantKind.COMPUTE,
    "of the noise loss",
    "Duality gap at which a fit stops.",
)
MAX_LBFGS_PAIRS = _add(
    "MAX_LBFGS_PAIRS",
    60,
    ConstantKind.COMPUTE,
    "pairs",
    "Steps and gradients that the curvature is learned from.",
)
MAX_LBFGS_NUMBERS = _add(
    "MAX_LBFGS_NUMBERS",
    1 << 24,
    ConstantKind.COMPUTE,
    "numbers",
    "Memory of those pairs; a very long list of answers gets fewer, at least eight.",
)
MIN_DECREASE_SHARE = _add(
    "MIN_DECREASE_SHARE",
    1e-4,
    ConstantKind.GUARD,
    "of the predicted decrease",
    "Armijo's condition on a step.",
)
MAX_IDLE_STEPS = _add(
    "MAX_IDLE_STEPS",
    40,
    ConstantKind.GUARD,
    "steps",
    "Steps without a lower value: only rounding errors are left to descend.",
)
FIRST_PROXIMAL_SHRINKAGE = _add(
    "FIRST_PROXIMAL_SHRINKAGE",
    0.5,
    ConstantKind.GUARD,
    "σ per unit of log-odds",
    "Start of the proximal point method, for a fit without shrinkage.",
)
MIN_PROXIMAL_SHRINKAGE = _add(
    "MIN_PROXIMAL_SHRINKAGE",
    1.0 / 32,
    ConstantKind.GUARD,
    "σ per unit of log-odds",
    "Shrinkage of its largest steps.",
)
