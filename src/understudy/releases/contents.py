"""What a release consists of, checked: everything that may leave the building, with
exactly one guarantee on it.

Nothing in it was derived from the rows except by measurements that were charged: no
exact number of rows, no hash of them, no path, no timing. What can be done with it
(sampling, answering, saving) is in releases/release.py.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

import duckdb
import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost
from understudy.errors import ReleaseError
from understudy.measurements import Measurements
from understudy.models import PortableModel, default_rows
from understudy.notices import Notice
from understudy.releases.account import BudgetStatement
from understudy.releases.card.card import Card
from understudy.releases.evidence import Evidence
from understudy.releases.explanation.explanation import Explanation
from understudy.releases.guarantee import Guarantee, GuaranteeKind
from understudy.releases.output.frames import FRAME_KINDS
from understudy.schema import Schema
from understudy.version import PACKAGE_VERSION

RELEASE_FORMAT_VERSION = 1
"""Version of the file format; a reader refuses later ones."""

OptionValue = str | int | float | bool | None
"""What an option of a synthesizer may be."""


class ReleaseKind(StrEnum):
    """What a release holds: a model to sample from, the measurements alone, or one
    fixed synthetic table.
    """

    MODEL = "model"
    TABLES = "tables"
    MICRODATA = "microdata"


def environment() -> dict[str, str]:
    """The versions that made a release; nothing about the machine."""
    return {
        "understudy": PACKAGE_VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "duckdb": duckdb.__version__,
    }


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseContents:
    """The parts of a release, none of which contradicts another."""

    guarantee: Guarantee
    schema: Schema
    kind: ReleaseKind = ReleaseKind.MODEL
    measurements: Measurements = field(default_factory=Measurements)
    model: PortableModel | None = None
    microdata: Mapping[str, NDArray[np.integer]] | None = None
    statement: BudgetStatement = field(default_factory=BudgetStatement)
    synthesizer: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=environment)
    frame: str | None = None
    """The kind of frame that the private table came in."""
    notices: tuple[Notice, ...] = ()
    """What the run that made it had to say, such as which marginals were too large for
    the model. A file keeps those that are for its readers.
    """
    explanation: Explanation = field(default_factory=Explanation)
    """Why each marginal was measured, or was not; empty if the synthesizer recorded no
    decisions.
    """
    version: int = RELEASE_FORMAT_VERSION

    def __post_init__(self) -> None:
        if not self.schema.is_closed or not len(self.schema):
            raise ReleaseError(
                "A release needs a schema with columns in which nothing is left to"
                " learn. Nothing was released."
            )
        self._check_kind()
        if self.frame is not None and self.frame not in FRAME_KINDS:
            raise ReleaseError(
                f"A release remembers a kind of frame from {', '.join(FRAME_KINDS)}."
                " Nothing was released."
            )
        for name, option in self.options.items():
            if not _is_option_value(option):
                raise ReleaseError(
                    f'option "{name}" is no text, number, truth value or None. Nothing'
                    " was released."
                )
        self._check_cost()

    @property
    def rows(self) -> int:
        """The default number of rows to sample: the noisy estimate, rounded, and 0 if
        that is not positive.
        """
        # A fixed table has as many rows as it has: it was released with its noise.
        if self.microdata is not None:
            return len(next(iter(self.microdata.values()), ()))
        return 0 if self.model is None else default_rows(self.model)

    @cached_property
    def evidence(self) -> Evidence:
        """What is known of the rows from this release; made once."""
        return Evidence(
            schema=self.schema,
            measurements=self.measurements,
            model=self.model,
            microdata=self.microdata,
            accounting=self.guarantee.accounting,
        )

    @cached_property
    def card(self) -> Card:
        """Which questions this release answers well, with 95 % bounds, from the
        measurements alone.
        """
        return Card(self.evidence)

    def _check_kind(self) -> None:
        if (self.model is not None) != (self.kind is ReleaseKind.MODEL):
            raise ReleaseError(
                "A release has a model if, and only if, its kind is model. Nothing was"
                " released."
            )
        if (self.microdata is not None) != (self.kind is ReleaseKind.MICRODATA):
            raise ReleaseError(
                "A release has rows of its own if, and only if, its kind is microdata."
                " Nothing was released."
            )
        if self.microdata is not None:
            _check_codes(self.schema, self.microdata)

    def _check_cost(self) -> None:
        """No release may promise more privacy than its measurements left."""
        measurements = self.measurements
        distances = [released.distance for released in measurements.gaps]
        costs = [m.cost for m in (*measurements, *measurements.sparse, *distances)]
        costs += [moments.cost for moments in measurements.moments]
        if not costs:
            return
        promise = self.guarantee
        same_accounting = all(c.accounting is promise.accounting for c in costs)
        if promise.kind is not GuaranteeKind.PRIVATE or not same_accounting:
            raise ReleaseError(
                "The measurements were paid in another accounting than the guarantee"
                " names. Nothing was released."
            )
        _refuse_larger_cost(costs, promise)


def _refuse_larger_cost(costs: Sequence[Cost], promise: Guarantee) -> None:
    # Costs are exact fractions, so that no rounding decides this.
    amount = sum((c.amount for c in costs), Fraction(0))
    delta = sum((c.delta for c in costs), Fraction(0))
    if amount > promise.amount or delta > promise.delta:
        raise ReleaseError(
            "The measurements cost more than the guarantee says. Nothing was released."
        )


def _is_option_value(option: object) -> bool:
    # JSON has no spelling for NaN and infinity, so a file could not hold them.
    if isinstance(option, float):
        return math.isfinite(option)
    return isinstance(option, OptionValue)


def _check_codes(schema: Schema, codes: Mapping[str, NDArray[np.integer]]) -> None:
    """Every column of the schema is there, equally long, with codes of its domain."""
    if set(codes) != set(schema) or len({array.shape for array in codes.values()}) > 1:
        raise ReleaseError(
            "microdata: its columns are not the schema's, or differ in length. Nothing"
            " was released."
        )
    for name, array in codes.items():
        codec = schema.codecs[name]
        is_column = array.ndim == 1 and array.dtype == codec.dtype
        if not is_column or (array.size and array.max() >= codec.size):
            raise ReleaseError(
                f'microdata: column "{name}" holds a code outside its domain. Nothing'
                " was released."
            )
