"""A design matrix out of mixed columns with missing cells: the input of learners and
propensity scores.

A number is standardised, with an indicator of missing cells if there are any; a label
becomes indicators of its values. The columns of the matrix are decided once, by the
tables it is built from, so that every table gets the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from understudy.findings import Unavailable
from understudy.schema import Lattice
from understudy.tables import Records
from understudy.version import install_command

MAX_INDICATOR_LEVELS = 30
"""Labels of a column that get an indicator of their own; the rarer ones share one."""


@dataclass(frozen=True, eq=False)
class Feature:
    """How one column enters."""

    name: str
    mean: float = 0.0
    spread: float = 1.0
    absent: bool = False
    levels: tuple[int, ...] = ()
    number: bool = False

    @property
    def width(self) -> int:
        """How many columns it has in the matrix."""
        return 1 + self.absent if self.number else len(self.levels)

    def fill(self, block: NDArray[np.float64], records: Records) -> None:
        """Write its columns of the matrix."""
        if not self.number:
            levels = np.array(self.levels)
            np.equal(records.codes[self.name][:, None], levels, out=block)
            return
        values = records.numbers(self.name)
        missing = np.isnan(values)
        block[:, 0] = np.where(missing, 0.0, (values - self.mean) / self.spread)
        if self.absent:
            block[:, 1] = missing


@dataclass(frozen=True, eq=False)
class Design:
    """How every column enters."""

    features: tuple[Feature, ...]

    @classmethod
    def of(cls, columns: Sequence[str], *tables: Records) -> Design:
        """The design for these columns, as all tables together have them; what never
        varies is left out.
        """
        features = [_feature_of_column(name, tables) for name in columns]
        return cls(tuple(feature for feature in features if feature is not None))

    def matrix(self, records: Records) -> NDArray[np.float64]:
        """One row for each record; no intercept."""
        ends = np.cumsum([0, *(feature.width for feature in self.features)])
        matrix = np.empty((records.rows, int(ends[-1])))
        for feature, first, end in zip(self.features, ends, ends[1:], strict=False):
            feature.fill(matrix[:, first:end], records)
        return matrix


def _feature_of_column(name: str, tables: Sequence[Records]) -> Feature | None:
    """How a column enters; None if it never varies."""
    if isinstance(tables[0].schema[name], Lattice):
        return _feature_of_number(name, tables)
    codes = np.concatenate([records.codes[name] for records in tables])
    counts = np.bincount(codes, minlength=tables[0].codec(name).size)
    most = min(int((counts > 0).sum()), MAX_INDICATOR_LEVELS + 1)
    levels = np.argsort(-counts, kind="stable")[:most]
    if len(levels) < 2:
        return None
    # The most frequent level is the reference: an indicator of each would be collinear
    # with the intercept.
    return Feature(name, levels=tuple(int(level) for level in levels[1:]))


def _feature_of_number(name: str, tables: Sequence[Records]) -> Feature | None:
    values = np.concatenate([records.numbers(name) for records in tables])
    missing = np.isnan(values)
    known = values[~missing]
    spread = float(known.std()) if len(known) else 0.0
    missing_varies = bool(missing.any() and not missing.all())
    if spread == 0 and not missing_varies:
        return None
    mean = float(known.mean()) if len(known) else 0.0
    has_missing = bool(missing.any())
    return Feature(
        name, mean=mean, spread=spread or 1.0, absent=has_missing, number=True
    )


def import_sklearn() -> ModuleType:
    """scikit-learn, which an extra brings."""
    try:
        import sklearn.tree
    except ImportError:
        raise Unavailable(
            f"scikit-learn is not installed: {install_command('evaluate')}"
        ) from None
    module: ModuleType = sklearn
    return module


def skip_sklearn_checks() -> AbstractContextManager[None]:
    """Within it scikit-learn checks nothing it is given: `Design` made every matrix,
    and the checks of many small fits add up.
    """
    context: AbstractContextManager[None] = import_sklearn().config_context(
        assume_finite=True, skip_parameter_validation=True
    )
    return context
