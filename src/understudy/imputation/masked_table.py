"""A masked table: how its columns are replaced, and copies of it, drawn one at a time.

A copy is drawn when it is asked for, by a generator of its own, so that memory holds the
original rows and one copy. PRIVATE until a copy is written: it holds the original rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from understudy.atomic import write_file_atomically, write_folder_atomically
from understudy.errors import Refused
from understudy.evaluation.risk.matching import (
    Matches,
    QuasiIdentifiers,
    match_radii,
    match_targets,
)
from understudy.imputation.data_augmentation import (
    MaskedColumn,
    draw_augmented,
    mask_columns,
)
from understudy.imputation.mask_strength import MaskStrength
from understudy.imputation.missing_cells import find_missing, impute_cells
from understudy.imputation.risk_targeted import RiskStrengths, TargetedTable
from understudy.imputation.sequence import (
    ColumnPlan,
    FittedColumn,
    draw_copy,
    fit_column,
)
from understudy.imputation.tree import DEFAULT_LEAVES, DonorLeaves
from understudy.inference.combining_rules import CombiningRule, CopyKind
from understudy.inference.copies import (
    COPIES_FORMAT,
    COPIES_MANIFEST_NAME,
    SyntheticCopies,
    digest_file,
    rule_to_dict,
)
from understudy.inference.copy_columns import describe_columns
from understudy.inference.matrix_threads import use_one_thread
from understudy.models.rules.repair_values import broken_rows
from understudy.releases.guarantee import Guarantee, GuaranteeKind
from understudy.releases.output.frames.cells import ColumnCells, cells_from_decoded
from understudy.releases.output.frames.pandas import pandas_frame
from understudy.releases.output.write import write_cells
from understudy.schema import DecodedCells, Lattice
from understudy.tables import ABSENT_PLACE, Records, Table
from understudy.text import format_count, join_words

MAX_REDRAWS = 20
"""How often rows that break a rule are drawn again. What is left is counted, and said
in the manifest.
"""


@dataclass(frozen=True, eq=False)
class MaskedTable:
    """Copies of a table in which some columns are drawn from models of them.

    `copies` is how many there are. `proper`: parameters are drawn anew for each. With
    `nest`, missing cells are imputed anew for every so many copies. The guarantee says
    that none of this is differential privacy.
    """

    original: Records
    plans: tuple[ColumnPlan, ...]
    method: str = "cart"
    copies: int = 5
    proper: bool = True
    leaves: DonorLeaves = DEFAULT_LEAVES
    strength: MaskStrength | None = None
    risk_strengths: RiskStrengths | None = None
    nest: int = 0
    entropy: int | None = None
    progress: Callable[[str], None] = lambda _: None

    @property
    def replaced_columns(self) -> tuple[str, ...]:
        """The columns that are drawn."""
        return tuple(plan.name for plan in self.plans)

    @property
    def kept_columns(self) -> tuple[str, ...]:
        """The columns that stay as they are."""
        return tuple(n for n in self.original.codes if n not in self.replaced_columns)

    @property
    def guarantee(self) -> Guarantee:
        """What protects the people in the table, and what does not."""
        return Guarantee(
            kind=GuaranteeKind.MASKED,
            public=tuple(f"every cell of {name}" for name in self.kept_columns),
        )

    @property
    def rule(self) -> CombiningRule:
        """How estimates of the copies are combined."""
        if self.nest:
            return CombiningRule(
                kind=CopyKind.NESTED, proper=self.proper, nest=self.nest
            )
        kind = CopyKind.PARTIAL if self.is_aligned else CopyKind.FULL
        return CombiningRule(kind=kind, proper=self.proper)

    @property
    def is_aligned(self) -> bool:
        """Whether row i of a copy belongs to person i: some of its cells are kept, or are
        noisy versions of the original ones.
        """
        is_masked = self.strength is not None or self.risk_strengths is not None
        return bool(self.kept_columns) or is_masked

    @cached_property
    def fitted_columns(self) -> tuple[FittedColumn, ...]:
        """The models, fitted once: every copy is drawn from the same original rows."""
        columns = []
        with use_one_thread():
            for plan in self.plans:
                self.progress(f"fitting {plan.name}")
                columns.append(
                    fit_column(
                        plan,
                        self.original,
                        leaves=self.leaves,
                        is_masked=self.strength is not None,
                    )
                )
        return tuple(columns)

    def with_copies(self, copies: int) -> MaskedTable:
        """The same table with fewer or more copies; those that both have are the same."""
        return self._share_models(replace(self, copies=copies))

    def with_strength(self, strength: MaskStrength) -> MaskedTable:
        """The same models with other masks."""
        return self._share_models(replace(self, strength=strength, method="da-mi"))

    def _share_models(self, other: MaskedTable) -> MaskedTable:
        # Fitting is the dear part, and depends on neither masks nor copies.
        vars(other)["fitted_columns"] = self.fitted_columns
        return other

    @cached_property
    def _seeds(self) -> list[SeedSequence]:
        # The first is for the masks that all copies share; then one for each copy, so
        # that a further copy leaves those before it as they are; then imputations.
        imputations = self.copies // self.nest if self.nest else 0
        return SeedSequence(self.entropy).spawn(1 + self.copies + imputations)

    def draw(self, number: int) -> Records:
        """The rows of a copy, numbered from 0; the same ones each time."""
        if self.nest:
            return self._impute_table(number // self.nest).draw(number)
        rng = np.random.default_rng(self._seeds[number + 1])
        with use_one_thread():
            copy, broken = self._redraw_broken(self._draw_once(rng), rng)
        self._broken_counts[number] = broken
        return copy

    @property
    def broken_rows(self) -> int:
        """Rows of the copies drawn so far that break a rule of the schema, however often
        they were drawn: what is kept may leave no value that fits.
        """
        return sum(self._broken_counts.values())

    @cached_property
    def _broken_counts(self) -> dict[int, int]:
        return {}

    def _draw_once(self, rng: Generator) -> Records:
        if self.risk_strengths is not None:
            return self._targeted_table.draw(rng)
        if self.strength is None:
            return draw_copy(
                self.fitted_columns, self.original, rng, proper=self.proper
            )
        return draw_augmented(self._masked_columns, self.original, rng)

    def _impute_table(self, number: int) -> MaskedTable:
        """The table masked as it is with its missing cells imputed; the last one is
        kept, since its copies follow one another.
        """
        if self._last_imputation.get("number") != number:
            # Seeds of imputations lie beyond those of copies.
            seed = self._seeds[self.copies + 1 + number]
            rng = np.random.default_rng(seed)
            with use_one_thread():
                rows = impute_cells(self.original, self.method, self.leaves, rng)
            # The same seeds: copies of all imputations share the masks' noise.
            table = replace(self, original=rows, nest=0)
            vars(table)["_seeds"] = self._seeds
            vars(table)["_broken_counts"] = self._broken_counts
            self._last_imputation.update(number=number, table=table)
        found = self._last_imputation["table"]
        assert isinstance(found, MaskedTable)
        return found

    @cached_property
    def _last_imputation(self) -> dict[str, object]:
        return {}

    @cached_property
    def _masked_columns(self) -> list[MaskedColumn]:
        """The columns with their masks, the same ones for every copy."""
        assert self.strength is not None
        rng = np.random.default_rng(self._seeds[0])
        return mask_columns(self.fitted_columns, self.original, self.strength, rng)

    @cached_property
    def _targeted_table(self) -> TargetedTable:
        """The model of all columns, and masks by risk, the same ones for every copy."""
        assert self.risk_strengths is not None
        self.progress("fitting a copula")
        rng = np.random.default_rng(self._seeds[0])
        columns = self.replaced_columns
        return TargetedTable.of(self.original, columns, self.risk_strengths, rng)

    def _redraw_broken(self, copy: Records, rng: Generator) -> tuple[Records, int]:
        """The copy with rows that break a rule drawn again: what is kept are draws
        given that the rules hold. Also how many rows still break one.
        """
        if not copy.schema.forbidden_predicates:
            return copy, 0
        broken = self.find_broken(copy)
        for _ in range(MAX_REDRAWS):
            if not broken.any():
                break
            copy = _put_rows(copy, broken, self._draw_rows(broken, rng))
            broken = self.find_broken(copy)
        return copy, int(broken.sum())

    def _draw_rows(self, rows: NDArray[np.bool_], rng: Generator) -> Records:
        """Some rows drawn again."""
        if self.risk_strengths is not None:
            return self._targeted_table.draw(rng).take(rows)
        if self.strength is None:
            real = self.original.take(rows)
            return draw_copy(self.fitted_columns, real, rng, proper=False)
        # Masks belong to rows, so all are drawn and the others dropped.
        drawn = draw_augmented(self._masked_columns, self.original, rng)
        return drawn.take(rows)

    def find_broken(self, copy: Records) -> NDArray[np.bool_]:
        """Which rows of a copy break a rule of the schema."""
        return broken_rows(copy.schema, decode_records(copy), copy.rows)

    def frame(self, number: int) -> Any:
        """A copy as a pandas frame."""
        return pandas_frame(cells_of_records(self.draw(number)))

    def to_copies(self) -> SyntheticCopies:
        """The copies as an analyst gets them."""
        return SyntheticCopies(
            self.copies, self.rule, self.frame, self.guarantee.sentence()
        )

    def __iter__(self) -> Iterator[Any]:
        return (self.frame(i) for i in range(self.copies))

    def match_copies(
        self, quasi: Sequence[str] | None = None, *, radius: Any = None
    ) -> Matches:
        """What an intruder who knows the original values of `quasi` believes, from all
        copies together; by default they know the replaced columns.
        """
        columns = list(self.replaced_columns if quasi is None else quasi)
        if not columns:
            raise Refused("mask: no column is replaced, so nothing can be matched")
        radii = match_radii(self.original.schema, columns, radius)
        tables = [
            QuasiIdentifiers.of(self.draw(i), columns) for i in range(self.copies)
        ]
        targets = QuasiIdentifiers.of(self.original, columns)
        found = match_targets(targets, tables, radii, aligned=self.is_aligned)
        return found.take(self.find_known(columns)) if self.nest else found

    def find_known(self, columns: Sequence[str]) -> NDArray[np.bool_]:
        """Whose rows can be looked for: where missing cells are imputed, nobody knows
        the original value of one.
        """
        known = np.ones(self.original.rows, bool)
        if self.nest:
            for name in columns:
                known &= ~find_missing(self.original, name)
        return known

    def write(self, folder: str | Path, *, suffix: str = ".csv") -> list[Path]:
        """Write the copies and how they were made into a folder that appears whole or
        not at all. Kept columns are real cells, so only the owner may read it.
        """
        names = [f"copy-{i + 1:02d}{suffix}" for i in range(self.copies)]
        entries = []
        with write_folder_atomically(folder, private=True) as parts:
            for i, name in enumerate(names):
                self.progress(f"copy {i + 1} of {self.copies}")
                write_cells(cells_of_records(self.draw(i)), parts / name, private=True)
                entries.append({"name": name, "sha256": digest_file(parts / name)})
            manifest = json.dumps(self._describe_making(entries), indent=2)
            place = parts / COPIES_MANIFEST_NAME
            with write_file_atomically(place, private=True) as draft:
                draft.write_text(manifest + "\n", "utf-8")
        return [Path(folder) / name for name in names]

    def _describe_making(self, files: list[dict[str, str]]) -> dict[str, object]:
        # The schema names identifiers too, which no copy has.
        kinds = describe_columns(self.original.schema)
        return {
            "format": COPIES_FORMAT,
            "promise": self.guarantee.sentence(),
            "rule": rule_to_dict(self.rule),
            "rows": self.original.rows,
            "rows_that_break_rules": self.broken_rows,
            "columns": {name: kinds[name] for name in self.original.codes},
            "kept": list(self.kept_columns),
            "replaced": [
                {"column": plan.name, "method": plan.method} for plan in self.plans
            ],
            "files": files,
        }

    def __str__(self) -> str:
        what = f"{format_count(self.copies, 'copy', 'copies')} of"
        rows = format_count(self.original.rows, "row")
        kept = join_words(self.kept_columns) if self.kept_columns else "no column"
        return (
            f"{what} {rows}: {join_words(self.replaced_columns)} replaced, {kept} kept."
            f" {self.guarantee.sentence()}"
        )


def read_original(table: Table) -> Records:
    """The rows that are masked, exactly as they are."""
    return table.records()


def decode_records(records: Records) -> dict[str, DecodedCells]:
    """Records as decoded cells: lattice indices or positions, and states."""
    decoded = {}
    for name, codes in records.codes.items():
        codec = records.codec(name)
        values = len(codec.bins)
        place = codes.astype(np.int64)
        state = np.zeros(len(place), np.uint8)
        beyond = place >= values
        states = np.array(codec.non_value_states, np.uint8)
        state[beyond] = states[place[beyond] - values]
        index = np.minimum(place, max(values - 1, 0))
        if isinstance(records.schema[name], Lattice):
            points = records.places[name]
            index = np.where(points == ABSENT_PLACE, 0, points)
        decoded[name] = DecodedCells(index, state)
    return decoded


def cells_of_records(records: Records) -> dict[str, ColumnCells]:
    """Records as cells that frames and files are made of."""
    return {
        name: cells_from_decoded(records.codec(name), decoded)
        for name, decoded in decode_records(records).items()
    }


def _put_rows(copy: Records, rows: NDArray[np.bool_], drawn: Records) -> Records:
    codes = {name: values.copy() for name, values in copy.codes.items()}
    places = {name: values.copy() for name, values in copy.places.items()}
    for name, values in drawn.codes.items():
        codes[name][rows] = values
    for name, points in drawn.places.items():
        places[name][rows] = points
    return replace(copy, codes=codes, places=places)
