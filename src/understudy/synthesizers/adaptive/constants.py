"""The constants of `adaptive`: every number that decides what is asked, and when.

Options that a user may set (`singles`, `selection`, `cells`, `largest`) are fields of
the synthesizer; those of the fit are in models/fitting/constants.py.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.models.fitting.constant_table import ConstantKind, ConstantTable

ADAPTIVE_CONSTANTS = ConstantTable()
_add = ADAPTIVE_CONSTANTS.add

# -- the allocation (gains.py, allocation.py)

BUDGET_PART_GRID: NDArray[np.float64] = _add(
    "BUDGET_PART_GRID",
    np.concatenate([[0.0], 10.0 ** (np.arange(-72, 23) / 12)]),
    ConstantKind.GRID,
    "parts of the budget left",
    "Where gains are tabulated, twelve per decade. Beyond 1, because several answers"
    " together can be more precise than one with the whole budget.",
)
MAX_ALLOCATION_UPDATES = _add(
    "MAX_ALLOCATION_UPDATES",
    400,
    ConstantKind.COMPUTE,
    "updates",
    "Ends an allocation that has not reached its duality gap.",
)
MAX_ALLOCATION_GAP = _add(
    "MAX_ALLOCATION_GAP",
    1e-9,
    ConstantKind.GUARD,
    "of the predicted error",
    "Duality gap at which an allocation stops. At 1e-3 weak marginals keep small parts"
    " that the optimum does not give them.",
)
MIN_BUDGET_PART = _add(
    "MIN_BUDGET_PART",
    1e-4,
    ConstantKind.BUDGET,
    "parts of the budget left",
    "A marginal with a smaller part gains nothing, and the others can use it.",
)

# -- the tree (tree_admission.py)

MAX_CONSECUTIVE_REFUSALS = _add(
    "MAX_CONSECUTIVE_REFUSALS",
    60,
    ConstantKind.COMPUTE,
    "marginals",
    "After as many refusals in a row the tree counts as full.",
)
MAX_ADMISSION_FORECASTS = _add(
    "MAX_ADMISSION_FORECASTS",
    300,
    ConstantKind.COMPUTE,
    "marginals",
    "Forecasts of the tree's size; afterwards only what it already holds is admitted.",
)
MAX_TRIPLE_TREE_CELLS = _add(
    "MAX_TRIPLE_TREE_CELLS",
    200_000,
    ConstantKind.COMPUTE,
    "cells",
    "A larger tree takes no triples: each makes every pass of a fit slower, and"
    " sampled rows match them in any case.",
)
MAX_JOINT_FIT_WORK = _add(
    "MAX_JOINT_FIT_WORK",
    2e7,
    ConstantKind.COMPUTE,
    "cells × marginals",
    "Up to it one tree holds everything that is measured: a pass sums out each.",
)
MAX_SMALL_JOINT_FIT_WORK = _add(
    "MAX_SMALL_JOINT_FIT_WORK",
    2e8,
    ConstantKind.COMPUTE,
    "cells × marginals",
    "The same if all marginals are small: they are asked as residuals, which do not"
    " overlap, and such a fit takes few passes.",
)
MAX_SMALL_MARGINAL_CELLS = _add(
    "MAX_SMALL_MARGINAL_CELLS",
    64,
    ConstantKind.COMPUTE,
    "cells",
    "Largest small marginal: a triple of columns with four values.",
)
MAX_RESIDUAL_CELLS = _add(
    "MAX_RESIDUAL_CELLS",
    4096,
    ConstantKind.GUARD,
    "cells",
    "A residual is stored as integers, larger than counts by the number of its cells.",
)

# -- distances (distances.py, questions.py)

DISTANCE_NOISE_SHARE = _add(
    "DISTANCE_NOISE_SHARE",
    0.02,
    ConstantKind.THRESHOLD,
    "of all rows",
    "Noise that a round of distances aims at: half the distance of a weak pair.",
)
MAX_DISTANCE_PART = _add(
    "MAX_DISTANCE_PART",
    Fraction(3, 100),
    ConstantKind.BUDGET,
    "of the budget",
    "Largest part of a round of distances.",
)
MAX_ROUND_PART = _add(
    "MAX_ROUND_PART",
    Fraction(1, 4),
    ConstantKind.BUDGET,
    "of the budget left",
    "A round of distances leaves at least three quarters for measurements.",
)
EXPECTED_DISTANCE_SPREAD = _add(
    "EXPECTED_DISTANCE_SPREAD",
    0.1,
    ConstantKind.THRESHOLD,
    "of all rows",
    "Spread of distances assumed before they are asked. They are asked for triples"
    " only if at least half of what they vary by would be signal.",
)
MIN_CHANCE_SHARE = _add(
    "MIN_CHANCE_SHARE",
    0.8,
    ConstantKind.THRESHOLD,
    "of a chance distance",
    "An unmeasured marginal is at least this far from the model: finite rows are"
    " never as even as a model.",
)
MAX_TRIPLE_DISTANCES = _add(
    "MAX_TRIPLE_DISTANCES",
    600,
    ConstantKind.THRESHOLD,
    "triples",
    "Each further distance makes all of them noisier.",
)
TRIPLE_PRIOR_VARIANCE = _add(
    "TRIPLE_PRIOR_VARIANCE",
    1.5,
    ConstantKind.THRESHOLD,
    "τ²",
    "Assumed of triples whose distances are not asked: a little more than chance.",
)

# -- the stages (stages.py)

MAX_FOREST_PART = _add(
    "MAX_FOREST_PART",
    Fraction(9, 10),
    ConstantKind.BUDGET,
    "of the budget left",
    "The forest leaves something for the stages that follow.",
)
MIN_TRIPLES_PART = _add(
    "MIN_TRIPLES_PART",
    Fraction(1, 50),
    ConstantKind.BUDGET,
    "of the budget left",
    "Triples that would get less are not worth a stage of their own.",
)
MAX_TARGET_TRIPLES_PART = _add(
    "MAX_TARGET_TRIPLES_PART",
    Fraction(1, 2),
    ConstantKind.BUDGET,
    "of the budget left",
    "Where the tree takes no triples, sampled rows match only some of them.",
)
MAX_UNSPENT_PART = _add(
    "MAX_UNSPENT_PART",
    Fraction(1, 1000),
    ConstantKind.GUARD,
    "of the budget",
    "What rounding of costs may leave of a budget.",
)
STAGE_FIT_TOLERANCE = _add(
    "STAGE_FIT_TOLERANCE",
    0.25,
    ConstantKind.COMPUTE,
    "of the noise loss",
    "Duality gap of the fits between stages: they only steer.",
)
FINAL_FIT_TOLERANCE = _add(
    "FINAL_FIT_TOLERANCE",
    0.03,
    ConstantKind.COMPUTE,
    "of the noise loss",
    "Duality gap of the last fit.",
)
UNTARGETED_COLUMN_WEIGHT = _add(
    "UNTARGETED_COLUMN_WEIGHT",
    0.05,
    ConstantKind.THRESHOLD,
    "of the mean column weight",
    "Weight of a column outside the workload: it is in the release all the same.",
)

# -- binary pairs and the pair of two columns (no_selection.py)

MIN_SELECTION_SIGNAL_SHARE = _add(
    "MIN_SELECTION_SIGNAL_SHARE",
    0.3,
    ConstantKind.THRESHOLD,
    "signal share",
    "Below it distances of binary pairs do not say which matter: all are measured.",
)
MAX_UNSELECTED_NOISE_SHARE = _add(
    "MAX_UNSELECTED_NOISE_SHARE",
    1.0,
    ConstantKind.THRESHOLD,
    "of all rows",
    "With larger noise on a distance the pairs themselves would be noise alone.",
)
MAX_UNSELECTED_PAIRS = _add(
    "MAX_UNSELECTED_PAIRS",
    1000,
    ConstantKind.COMPUTE,
    "pairs",
    "More are never measured at once.",
)
SHRUNK_PAIR_NOISE_WEIGHT = _add(
    "SHRUNK_PAIR_NOISE_WEIGHT",
    0.5,
    ConstantKind.BUDGET,
    "of a pair's part",
    "The fit shrinks pairs, so their noise counts less than in an unbiased plan.",
)

# -- the second round of distances (stages.py)

SECOND_DISTANCE_NOISE_SHARE = _add(
    "SECOND_DISTANCE_NOISE_SHARE",
    0.1,
    ConstantKind.THRESHOLD,
    "of all rows",
    "Noise that a second round of distances aims at, and above which it is due.",
)
MAX_SECOND_DISTANCE_PART = _add(
    "MAX_SECOND_DISTANCE_PART",
    Fraction(12, 100),
    ConstantKind.BUDGET,
    "of the budget",
    "Largest part of the second round of distances.",
)
MAX_HIDDEN_SIGNAL_SHARE = _add(
    "MAX_HIDDEN_SIGNAL_SHARE",
    0.6,
    ConstantKind.THRESHOLD,
    "signal share",
    "Above it distances already say which pairs differ.",
)
MIN_SPREAD_TO_MEAN = _add(
    "MIN_SPREAD_TO_MEAN",
    0.5,
    ConstantKind.THRESHOLD,
    "spread / mean distance",
    "Pairs that differ less are worth about the same: no second round is needed.",
)

# -- few columns in a pure run (few_columns.py)

FEW_COLUMNS_NOISE_SHARE = _add(
    "FEW_COLUMNS_NOISE_SHARE",
    0.1,
    ConstantKind.THRESHOLD,
    "of all rows",
    "Noise of distances: pairs are few, and all of them may be worth measuring.",
)
MAX_FEW_COLUMNS = _add(
    "MAX_FEW_COLUMNS",
    6,
    ConstantKind.THRESHOLD,
    "columns",
    "Few columns, whatever their sizes.",
)
MAX_WHOLE_TABLE_COLUMNS = _add(
    "MAX_WHOLE_TABLE_COLUMNS",
    12,
    ConstantKind.COMPUTE,
    "columns",
    "Few columns if the whole table is small: its residuals are all subsets of them.",
)
MAX_LAPLACE_RATIO_PAIRS = _add(
    "MAX_LAPLACE_RATIO_PAIRS",
    0.45,
    ConstantKind.THRESHOLD,
    "Laplace / Gaussian variance",
    "On all pairs. Less than 1: a Gaussian run leaves out the pairs that gain nothing.",
)
MAX_LAPLACE_RATIO_TABLE = _add(
    "MAX_LAPLACE_RATIO_TABLE",
    0.3,
    ConstantKind.THRESHOLD,
    "Laplace / Gaussian variance",
    "The same for pairs summed from the whole table.",
)
ASSUMED_PAIR_DISTANCES = _add(
    "ASSUMED_PAIR_DISTANCES",
    (0.1, 0.3, 0.6),
    ConstantKind.THRESHOLD,
    "of all rows",
    "Weak, middling and strong pairs, equally likely, if no distance is asked.",
)
ASSUMED_HIGHER_DISTANCE = _add(
    "ASSUMED_HIGHER_DISTANCE",
    0.05,
    ConstantKind.THRESHOLD,
    "of all rows",
    "Assumed distance of larger marginals from what their pairs say.",
)
FEW_COLUMNS_PRIOR_VARIANCE = _add(
    "FEW_COLUMNS_PRIOR_VARIANCE",
    1.5,
    ConstantKind.THRESHOLD,
    "τ²",
    "Added to the assumed distances: a little more than chance.",
)
MIN_CELL_SIGNAL_TO_NOISE = _add(
    "MIN_CELL_SIGNAL_TO_NOISE",
    0.5,
    ConstantKind.THRESHOLD,
    "signal / noise variance",
    "A fit gains nothing from cells that differ by less.",
)
UNSEEN_PAIRS_PENALTY = _add(
    "UNSEEN_PAIRS_PENALTY",
    1.1,
    ConstantKind.THRESHOLD,
    "times the error",
    "Of a plan that says nothing of some pairs: they may be the strong ones.",
)
MAX_CANDIDATES_BEYOND_PAIRS = _add(
    "MAX_CANDIDATES_BEYOND_PAIRS",
    40,
    ConstantKind.COMPUTE,
    "marginals",
    "Of more, only pairs are candidates of the gain-based plans.",
)
MIN_NOISE_COMPARISON_EPSILON = _add(
    "MIN_NOISE_COMPARISON_EPSILON",
    1e-4,
    ConstantKind.GUARD,
    "ε per row",
    "Below it Laplace and Gaussian noise are not compared: both hide everything.",
)

# -- columns of two values, and label groups (contrasts.py, hierarchies.py)

CONTRAST_COLUMN_CODES = _add(
    "CONTRAST_COLUMN_CODES",
    2,
    ConstantKind.THRESHOLD,
    "values",
    "Columns asked as differences. With more values the lost sums cost what is saved.",
)
MAX_UNGROUPED_CODES = _add(
    "MAX_UNGROUPED_CODES",
    16,
    ConstantKind.THRESHOLD,
    "codes",
    "A column with at most as many is not grouped.",
)
MAX_HIERARCHY_GROUPS = _add(
    "MAX_HIERARCHY_GROUPS",
    32,
    ConstantKind.THRESHOLD,
    "groups",
    "Of several levels the finest with at most as many groups is used.",
)
