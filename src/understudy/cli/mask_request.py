"""What the options of `understudy mask` ask for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli.formulas import parse_choices, parse_formulas, parse_radii
from understudy.cli.terminal.screen import Screen

if TYPE_CHECKING:
    from understudy.imputation.mask_strength import MaskStrength
    from understudy.imputation.masked_table import MaskedTable
    from understudy.imputation.risk_targeted import RiskStrengths
    from understudy.imputation.tuning import MaskTuning
    from understudy.tables import TableSource


@dataclass(frozen=True, kw_only=True)
class MaskRequest:
    """What the options of `understudy mask` say about the copies."""

    schema: Path | None
    replaced: str | None
    full: bool
    method: str | None
    methods: tuple[str, ...]
    predictors: tuple[str, ...]
    copies: int | None
    leaf_rows: int
    smooth: bool
    imputations: int
    noise_copies: int | None
    noise_variance: float | None
    keep_labels: float | None
    alpha: float | None
    tune: bool
    risk_target: float
    formulas: tuple[str, ...]
    radius: tuple[str, ...]
    simple: bool
    risk: bool

    @property
    def radii(self) -> dict[str, float] | None:
        """The radius of each number that was given one."""
        return parse_radii(self.radius)

    @property
    def replaced_names(self) -> list[str] | None:
        """The columns to replace, if they were named."""
        return None if self.replaced is None else self.replaced.split(",")

    def check_tuning(self, *, has_picture: bool) -> None:
        """Refuse options that would be passed over, with and without `--tune`."""
        tuned = {"picture": has_picture, "formula": bool(self.formulas)}
        drawn = {
            "full": self.full,
            "column-method": bool(self.methods),
            "predictors": bool(self.predictors),
            "imputations": bool(self.imputations),
            "simple": self.simple,
            "noise-copies": self.noise_copies is not None,
            "noise-variance": self.noise_variance is not None,
            "keep-labels": self.keep_labels is not None,
            "alpha": self.alpha is not None,
        }
        for name, is_given in (drawn if self.tune else tuned).items():
            if is_given:
                where = "not for --tune" if self.tune else "for --tune"
                raise click.UsageError(f"--{name} is {where}")

    def make_copies(self, source: TableSource) -> MaskedTable:
        """Copies by one method."""
        from understudy.workflow.masking.mask import DEFAULT_MASKED_COPIES
        from understudy.workflow.masking.mask import mask as mask_table

        return mask_table(
            source,
            schema=self.schema,
            replaced=self.replaced_names,
            full=self.full,
            method=self.method or "cart",
            methods=parse_choices(self.methods, "--column-method", "age=sample"),
            predictors={
                column: names.split(",")
                for column, names in parse_choices(
                    self.predictors, "--predictors", "age=income,sex"
                ).items()
            },
            copies=self.copies or DEFAULT_MASKED_COPIES,
            proper=not self.simple,
            leaf_rows=self.leaf_rows,
            smooth=self.smooth,
            imputations=self.imputations,
            strength=self._read_strength(),
        )

    def _read_strength(self) -> MaskStrength | RiskStrengths | None:
        """The strength of masks; None where nothing was said about it."""
        from understudy.imputation.mask_strength import MaskStrength
        from understudy.imputation.risk_targeted import RiskStrengths

        given = {
            "copies": self.noise_copies,
            "variance": self.noise_variance,
            "keep": self.keep_labels,
            "alpha": self.alpha,
        }
        # What was not said is left to the defaults, which the class documents.
        said = {name: value for name, value in given.items() if value is not None}
        if said:
            return MaskStrength(**said)  # type: ignore[arg-type]
        # Groups of risk look alike within the radius of the intruder.
        return RiskStrengths(radius=self.radii) if self.method == "copula" else None

    def tune_masks(self, source: TableSource, screen: Screen) -> MaskTuning:
        """Settings measured on the table."""
        from understudy.workflow.masking.tune_mask import (
            TUNED_COPIES,
            TUNED_METHODS,
            tune_mask,
        )

        with screen.progress():
            return tune_mask(
                source,
                formulas=parse_formulas(self.formulas),
                risk_target=self.risk_target,
                schema=self.schema,
                replaced=self.replaced_names,
                methods=TUNED_METHODS if self.method is None else (self.method,),
                copies=TUNED_COPIES if self.copies is None else (self.copies,),
                radius=self.radii,
                leaf_rows=self.leaf_rows,
                smooth=self.smooth,
            )
