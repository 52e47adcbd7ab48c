"""A release: everything that may leave the building, with exactly one promise on it.

Nothing in it was derived from the rows but what was paid for: no exact number of rows,
no hash of them, no path, no timing.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from html import escape
from typing import Any

import duckdb
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused, ReleaseError
from understudy.measurements import Measurements
from understudy.models import Codes, ConditionalModel, PortableModel, default_rows
from understudy.releases.account import BudgetStatement
from understudy.releases.answers.answer import Answer, answer
from understudy.releases.card.card import Card
from understudy.releases.card.degenerate_columns import degenerate_column_lines
from understudy.releases.card.recoded_columns import recoding_lines
from understudy.releases.guarantee import Guarantee, GuaranteeKind
from understudy.releases.output.batches import batch_sizes, batch_slices, report_written
from understudy.releases.output.frames import FRAME_KINDS, default_kind, to_frame
from understudy.releases.output.tidy import (
    count_noisy_cells,
    tidy_table_to_frame,
    tidy_tables,
)
from understudy.releases.output.write import write_parts, write_rows
from understudy.schema import Lattice, Schema
from understudy.schema.columns.bin_density import BinDensity
from understudy.schema.columns.cell import to_plain_cell
from understudy.text import format_count
from understudy.version import PACKAGE_VERSION as PACKAGE_VERSION

RELEASE_FORMAT_VERSION = 1
"""Version of the file format; a reader refuses later ones."""

OptionValue = str | int | float | bool | None
"""What an option of a synthesizer may be."""

SAMPLE_BATCH_ROWS = 1 << 22
"""Rows sampled at a time, so that memory does not grow with how many are asked for."""

MAX_SAMPLE_ROWS = 10**12
"""Rows that are sampled at most: more fill any disk."""

MAX_UNASKED_CELLS = 2 * 10**9
"""Rows times columns that are sampled without being asked for by number: 100 million
rows of 20 columns, 10 GB of CSV or of memory. A release of a few kilobytes may estimate
any number of rows, and whoever samples it need not know which.
"""

_MAX_GIVEN_CELLS = 10_000_000


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
class Release:
    """What a custodian hands out.

    >>> from understudy.models import ProductModel
    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=(Boolean(name="smoker", nullable=False),))
    >>> release = Release(guarantee=Guarantee.without_data(), schema=schema, model=ProductModel.uniform(schema, total=4.0))
    >>> sorted(release.sample(kind="duckdb", seed=1).fetchall())
    [(False,), (False,), (True,), (True,)]
    """

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
    notes: tuple[str, ...] = ()
    """What whoever uses it should know of how it was made: which marginals there was no
    room for.
    """
    version: int = RELEASE_FORMAT_VERSION

    def __post_init__(self) -> None:
        if not self.schema.is_closed or not len(self.schema):
            raise ReleaseError(
                "A release needs a schema with columns in which nothing is left to"
                " learn. Nothing was released."
            )
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
        if self.frame is not None and self.frame not in FRAME_KINDS:
            raise ReleaseError(
                f"A release remembers a kind of frame from {', '.join(FRAME_KINDS)}."
                " Nothing was released."
            )
        for name, option in self.options.items():
            if not isinstance(option, OptionValue) or (
                isinstance(option, float) and not math.isfinite(option)
            ):
                raise ReleaseError(
                    f'option "{name}" is no text, number, truth value or None. Nothing'
                    " was released."
                )
        self._check_cost()

    def _check_cost(self) -> None:
        """No release may promise more privacy than its measurements left."""
        bought = (
            *self.measurements,
            *self.measurements.sparse,
            *(g.distance for g in self.measurements.gaps),
        )
        costs = [m.cost for m in bought]
        if not costs:
            return
        promise = self.guarantee
        paid = (
            sum((c.amount for c in costs), Fraction(0)),
            sum((c.delta for c in costs), Fraction(0)),
        )
        if promise.kind is not GuaranteeKind.PRIVATE or any(
            c.accounting is not promise.accounting for c in costs
        ):
            raise ReleaseError(
                "The measurements were paid in another accounting than the guarantee"
                " names. Nothing was released."
            )
        if paid[0] > promise.amount or paid[1] > promise.delta:
            raise ReleaseError(
                "The measurements cost more than the guarantee says. Nothing was"
                " released."
            )

    # -- rows
    # ---------------------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """How many rows `sample` gives by default: the noisy estimate, rounded; none
        where that is not positive.
        """
        if self.microdata is not None:
            return len(next(iter(self.microdata.values()), ()))
        return 0 if self.model is None else default_rows(self.model)

    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, object] | None = None,
        kind: str | None = None,
    ) -> Any:
        """Synthetic rows, as the kind of frame that came in.

        Without `rows`, as many as the release estimates the table to have (with
        `given`, as many of those as it estimates to match), and none where that is not
        positive. `given` fixes columns to values; the others follow their distribution
        given those. Sampling only looks at what was released, so it may be repeated and
        seeded freely.
        """
        rng = _seeded_generator(seed)
        batches, pins, _ = self._batches(rows, given or {}, rng)
        chosen = kind or default_kind(self.frame)
        return to_frame(
            self.schema, batches, kind=chosen, rng=rng, pins=pins, spreads=self.spreads
        )

    def write(
        self,
        path: str | os.PathLike[str],
        rows: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, object] | None = None,
        partition_rows: int | None = None,
        guard_formulas: bool = True,
        progress: Callable[[str, float], None] | None = None,
    ) -> int:
        """The same rows as `sample`, written to a CSV or Parquet file; how many they
        were.

        With `partition_rows`, a folder of Parquet files with at most that many rows
        each. Memory does not grow with `rows` either way. In a CSV file texts that a
        spreadsheet would run as formulas get a leading apostrophe; for a program that
        reads the file, `guard_formulas=False` writes them as they are.
        """
        if partition_rows is not None and not 1 <= partition_rows <= SAMPLE_BATCH_ROWS:
            raise Refused(
                f"A part has between 1 and {SAMPLE_BATCH_ROWS:,} rows. Nothing was"
                " written."
            )
        rng = _seeded_generator(seed)
        batches, pins, count = self._batches(rows, given or {}, rng, partition_rows)
        told = batches if progress is None else report_written(batches, count, progress)
        if partition_rows is not None:
            write_parts(self.schema, told, path, rng, pins=pins, spreads=self.spreads)
            return count
        write_rows(
            self.schema,
            told,
            path,
            rng,
            pins=pins,
            spreads=self.spreads,
            guard_formulas=guard_formulas,
        )
        return count

    @cached_property
    def spreads(self) -> dict[str, BinDensity]:
        """How values lie inside bins, from how many rows the release itself gives each
        bin: no data is needed.
        """
        found = {}
        for name, codec in self.schema.codecs.items():
            if isinstance(codec.column, Lattice) and codec.is_binned:
                found[name] = codec.spread(self.card.table((name,)))
        return found

    def _batches(
        self,
        rows: int | None,
        given: Mapping[str, object],
        rng: Generator,
        most: int | None = None,
    ) -> tuple[Iterator[Codes], dict[str, int] | None, int]:
        """Rows of codes in batches, the lattice points that given columns stay at
        (None: nothing is given), and how many rows.
        """
        most = most or SAMPLE_BATCH_ROWS
        check_rows(rows)
        if self.microdata is not None:
            codes = self._choose_rows(self.microdata, rows, given, rng)
            count = len(next(iter(codes.values())))
            return batch_slices(codes, count, most), None, count
        model = self.model
        if model is None:
            raise Refused(
                "This release holds tables, not a model, so it has no rows to give. Use"
                " tables() instead."
            )
        if not given:
            count = self.rows if rows is None else int(rows)
            if rows is None:
                refuse_unasked_rows(count, len(self.schema))
            return (
                (model.sample(size, rng) for size in batch_sizes(count, most)),
                None,
                count,
            )
        if not isinstance(model, ConditionalModel):
            raise Refused(
                "This release's model cannot fix columns to values. Sample without"
                " `given` and select rows."
            )
        fixed, pins = _encode_given(self.schema, given)
        count = self._expected_rows(fixed, pins) if rows is None else int(rows)
        if rows is None:
            refuse_unasked_rows(count, len(self.schema))
        partial = (
            {
                name: np.full(size, code, self.schema.codecs[name].dtype)
                for name, code in fixed.items()
            }
            for size in batch_sizes(count, most)
        )
        return (model.complete(one, rng) for one in partial), pins, count

    def _expected_rows(self, fixed: Mapping[str, int], pins: Mapping[str, int]) -> int:
        """How many rows the model estimates to have these codes, and these points of
        bins that hold several.
        """
        assert self.model is not None
        clique = tuple(fixed)
        if np.prod(self.schema.sizes(clique), dtype=np.float64) > _MAX_GIVEN_CELLS:
            raise Refused(
                "Too many columns are given to say how many rows match. Say how many"
                " rows you want."
            )
        found = float(self.model.marginal(clique)[tuple(fixed.values())])
        for name, index in pins.items():
            if name in self.spreads:
                found *= self.spreads[name].share(fixed[name], index)
        return max(0, round(found))

    def _choose_rows(
        self,
        found: Mapping[str, NDArray[np.integer]],
        rows: int | None,
        given: Mapping[str, object],
        rng: Generator,
    ) -> Codes:
        if given:
            raise Refused(
                "This release is one fixed table: no column can be given. Sample it and"
                " select rows."
            )
        if rows is None:
            return dict(found)
        if rows > self.rows:
            raise Refused(
                f"This release is one fixed table of {self.rows} rows and has no more"
                " to give."
            )
        chosen = np.sort(rng.choice(self.rows, int(rows), replace=False))
        return {name: codes[chosen] for name, codes in found.items()}

    # -- measurements
    # -------------------------------------------------------------------------------------------------------

    def tables(self, *, kind: str | None = None) -> dict[str, Any]:
        """The noisy measurements as tidy frames: labels, `estimate`, `variance`, `sd`.
        Unbiased; no model touched them.
        """
        chosen = kind or default_kind(self.frame)
        return {
            name: tidy_table_to_frame(columns, chosen)
            for name, columns in tidy_tables(self.schema, self.measurements).items()
        }

    @cached_property
    def card(self) -> Card:
        """Which questions this release answers well, with 95 % bounds, from the
        measurements alone.
        """
        return Card(self)

    def answer(self, question: str) -> Answer:
        """An estimate with an interval: `count where age > 60 and sex = 'F'`, or `share
        where …`. Spends nothing.
        """
        return answer(self.card, question)

    # -- files
    # --------------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release file; it appears whole or not at all."""
        from understudy.releases.file.archive import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Read a release file that anybody may have written; ReleaseError where it is
        not sound.
        """
        from understudy.releases.file.archive import load

        return load(path)

    # -- words
    # --------------------------------------------------------------------------------------------------------------

    def _summary_facts(self) -> list[tuple[str, str]]:
        facts = [("guarantee", self.guarantee.sentence())]
        facts.extend(("", line) for line in self.guarantee.details())
        facts.append(
            ("holds", f"{self.kind.value} made by {self.synthesizer or 'hand'}")
        )
        facts.append(("columns", ", ".join(self.schema) or "none"))
        facts.append(
            (
                "measured",
                (
                    f"{len(self.measurements) + len(self.measurements.sparse)}"
                    f" marginals, {count_noisy_cells(self.measurements):,} cells"
                ),
            )
        )
        if self.kind is not ReleaseKind.TABLES:
            facts.append(
                (
                    "rows",
                    f"{self.rows:,} by default"
                    + (", the noisy estimate" if self.model is not None else ""),
                )
            )
        facts.append(("account", self.statement.lines()[0]))
        facts.extend(
            ("note", note)
            for note in (
                *self.notes,
                *recoding_lines(self),
                *degenerate_column_lines(self.card.degenerate_columns),
            )
        )
        return facts

    def __repr__(self) -> str:
        return "\n".join(
            f"{name:<10} {text}".rstrip() for name, text in self._summary_facts()
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>"
            for name, text in self._summary_facts()
        )
        return f"<table><caption>Understudy release</caption>{rows}</table>"


def check_rows(rows: int | None) -> None:
    """Refuse what is no number of rows, or one that no disk holds."""
    if rows is None:
        return
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 0:
        raise Refused(
            "The number of rows is a whole number from 0 up. Nothing was sampled."
        )
    if rows > MAX_SAMPLE_ROWS:
        raise Refused(
            f"At most {MAX_SAMPLE_ROWS:,} rows are sampled at once. Nothing was"
            " sampled."
        )


def refuse_unasked_rows(rows: int, columns: int) -> None:
    """Refuse to sample as many rows as a release or a schema says, where they would
    fill a memory or a disk and nobody asked for them.

    >>> refuse_unasked_rows(10**15, 3)
    Traceback (most recent call last):
    understudy.errors.Refused: About 1e+15 rows of 3 columns are too many unasked: say how many (rows=, --rows). Nothing was sampled.
    """
    if rows * columns > MAX_UNASKED_CELLS:
        raise Refused(
            f"About {float(rows):.3g} rows of {format_count(columns, 'column')} are too"
            " many unasked: say how many (rows=, --rows). Nothing was sampled."
        )


def _seeded_generator(seed: int | None) -> Generator:
    if seed is not None and (
        isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0
    ):
        raise Refused("A seed is a whole number from 0 up. Nothing was sampled.")
    return np.random.default_rng(None if seed is None else int(seed))


def _encode_given(
    schema: Schema, given: Mapping[str, object]
) -> tuple[dict[str, int], dict[str, int]]:
    """The code of every given value, and the lattice point it stays at where its code
    is a bin of several.
    """
    codes: dict[str, int] = {}
    pins: dict[str, int] = {}
    for name, value in given.items():
        if name not in schema:
            raise Refused(
                f'column "{name}" takes no part in this release, so it cannot be given.'
                " Nothing was sampled."
            )
        codec = schema.codecs[name]
        if not codec.has_own_code(value):
            raise Refused(
                f'column "{name}": the given value is not in its domain. Nothing was'
                " sampled."
            )
        codes[name] = codec.code(value)
        if isinstance(codec.column, Lattice) and codes[name] < len(codec.bins):
            cell = to_plain_cell(value)
            pins[name] = codec.column.index_of(
                codec.column.parse(cell) if isinstance(cell, str) else cell
            )
    return codes, pins


def _check_codes(schema: Schema, codes: Mapping[str, NDArray[np.integer]]) -> None:
    if set(codes) != set(schema) or len({array.shape for array in codes.values()}) > 1:
        raise ReleaseError(
            "microdata: its columns are not the schema's, or differ in length. Nothing"
            " was released."
        )
    for name, array in codes.items():
        if (
            array.ndim != 1
            or array.dtype != schema.codecs[name].dtype
            or (array.size and array.max() >= schema.codecs[name].size)
        ):
            raise ReleaseError(
                f'microdata: column "{name}" holds a code outside its domain. Nothing'
                " was released."
            )
