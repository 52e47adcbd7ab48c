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

# -- the stages of the fit (staged.py)

MIN_FOREST_SIGNAL_SHARE = _add(
    "MIN_FOREST_SIGNAL_SHARE",
    0.45,
    ConstantKind.THRESHOLD,
    "signal share",
    "Below it noise hides which pairs are strongest, and no forest is fitted first.",
)
