"""Tuning: what each strength of masks keeps and what it risks, over all copies together.

Copies are drawn once for every strength: the first three of twenty are a set of three,
since all share the same masks. Risk is measured on the copies that would be handed out,
and the setting that is recommended gives back those very copies. INTERNAL: the figures
are computed from the original rows without noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.evaluation.risk.matching import (
    QuasiIdentifiers,
    average_copies,
    match_radii,
    match_targets,
)
from understudy.evaluation.utility.design import Design
from understudy.evaluation.utility.estimates import (
    CoefficientEstimate,
    combine_copies,
    compare_fits,
    fit_formula,
)
from understudy.evaluation.utility.propensity import logistic_propensity
from understudy.findings import FindingPart, Unavailable
from understudy.imputation.mask_strength import MaskStrength
from understudy.imputation.masked_table import MaskedTable
from understudy.inference.libraries import import_pandas
from understudy.tables import Records
from understudy.text import align_columns

Fit = Mapping[str, CoefficientEstimate]


@dataclass(frozen=True, kw_only=True)
class MeasuredSetting:
    """One way of masking, what it keeps and what it risks.

    `overlap` is the mean overlap of 95 % intervals with the original's, `rmse` the root
    mean square distance of estimates in standard errors of the original's; None without
    a formula, or where a copy does not allow one. `propensity` is U_p, the mean over the
    copies. `unique_rate` is the share of people found alone and rightly,
    `averaged_rate` that share when the copies are averaged first, `mean_chance` the mean
    chance of picking the right row.
    """

    method: str
    strength: MaskStrength | None
    copies: int
    overlap: float | None
    rmse: float | None
    propensity: float
    unique_rate: float
    averaged_rate: float
    mean_chance: float

    @property
    def risk(self) -> float:
        """The largest of the three risks: a target bounds them all."""
        return max(self.unique_rate, self.averaged_rate, self.mean_chance)

    @property
    def name(self) -> str:
        """The setting in few words."""
        if self.strength is None:
            return f"{self.method}, M={self.copies}"
        return f"{describe_strength(self.strength)}, M={self.copies}"

    @property
    def utility_rank(self) -> tuple[float, float]:
        """Sorts the more useful setting first."""
        # A larger overlap is better and a larger U_p is worse: hence one sign.
        lost = float("inf") if self.overlap is None else -self.overlap
        return lost, self.propensity

    def to_dict(self) -> dict[str, object]:
        """Every figure by its name."""
        return {**asdict(self), "risk": self.risk}


def describe_strength(strength: MaskStrength) -> str:
    """A strength in few words.

    >>> describe_strength(MaskStrength(copies=5, variance=1.0, keep=0.8))
    'K/σ²=5, π=0.8'
    """
    near = f"K/σ²={strength.copies / strength.variance:g}"
    if strength.alpha is not None:
        return f"{near}, α={strength.alpha:g}"
    return f"{near}, π={strength.keep:g}"


@dataclass(frozen=True, eq=False)
class MaskTuning:
    """Settings with what they keep and risk, and the one that is recommended under a
    risk target. INTERNAL: computed from the original rows.
    """

    settings: tuple[MeasuredSetting, ...]
    tables: tuple[MaskedTable, ...]
    risk_target: float

    @property
    def recommended_setting(self) -> MeasuredSetting | None:
        """The most useful setting whose risks are all within the target; None if there
        is none.
        """
        within = [one for one in self.settings if one.risk <= self.risk_target]
        return min(within, key=lambda one: one.utility_rank, default=None)

    def recommend_copies(self) -> MaskedTable:
        """The copies of the recommended setting: those whose risk was measured."""
        chosen = self.recommended_setting
        if chosen is None:
            safest = min(self.settings, key=lambda one: one.risk)
            raise Refused(
                f"mask: no setting keeps the risk within {self.risk_target:g}; the"
                f" least is {safest.risk:.3g} ({safest.name}). Raise the target, give"
                " fewer copies or replace more columns"
            )
        return self.tables[self.settings.index(chosen)]

    def to_frame(self) -> Any:
        """A pandas frame with one row a setting."""
        rows = [
            {
                "setting": one.name,
                "copies": one.copies,
                "overlap": one.overlap,
                "rmse": one.rmse,
                "propensity": one.propensity,
                "unique_rate": one.unique_rate,
                "averaged_rate": one.averaged_rate,
                "mean_chance": one.mean_chance,
                "within_target": one.risk <= self.risk_target,
            }
            for one in self.settings
        ]
        return import_pandas().DataFrame(rows)

    def to_dict(self) -> dict[str, object]:
        """The settings and the choice, as JSON holds them."""
        chosen = self.recommended_setting
        return {
            "risk_target": self.risk_target,
            "recommended": None if chosen is None else chosen.to_dict(),
            "settings": [one.to_dict() for one in self.settings],
        }

    def picture(self) -> str:
        """Risk against utility as an SVG figure."""
        from understudy.imputation.tuning_picture import draw_tuning

        return draw_tuning(self)

    def describe_choice(self) -> str:
        """The recommendation in one sentence."""
        chosen = self.recommended_setting
        if chosen is None:
            return f"No setting keeps the risk within {self.risk_target:g}."
        kept = (
            f"U_p {chosen.propensity:.3g}"
            if chosen.overlap is None
            else f"interval overlap {chosen.overlap:.3f}"
        )
        return (
            f"Recommended: {chosen.name}: {kept}, {chosen.unique_rate:.2%} found for"
            f" certain, mean chance {chosen.mean_chance:.2%} (target"
            f" {self.risk_target:g})."
        )

    def list_lines(self) -> list[str]:
        """The settings as lines of a table that fits a terminal; those beyond the target
        are marked `over`.
        """
        head = [
            "setting",
            "overlap",
            "rmse",
            "U_p",
            "unique",
            "averaged",
            "chance",
            "risk",
        ]
        rows = [
            [
                one.name,
                *(_spell(value) for value in (one.overlap, one.rmse, one.propensity)),
                *(
                    f"{share:.2%}"
                    for share in (one.unique_rate, one.averaged_rate, one.mean_chance)
                ),
                "" if one.risk <= self.risk_target else "over",
            ]
            for one in self.settings
        ]
        return align_columns([head, *rows], right=range(1, 7))

    def __str__(self) -> str:
        return "\n".join([*self.list_lines(), self.describe_choice()])

    def _repr_html_(self) -> str:
        table: str = self.to_frame().to_html(index=False, float_format="{:.4f}".format)
        return f"{self.picture()}{table}<p>{self.describe_choice()}</p>"


@dataclass(frozen=True, eq=False)
class _MeasuredCopy:
    """What is kept of a copy once it was looked at; the copy itself is dropped."""

    fits: Sequence[Fit | None]
    propensity: float
    quasi: QuasiIdentifiers


class SettingMeter:
    """Measures settings against the original rows."""

    def __init__(
        self,
        original: Records,
        columns: Sequence[str],
        formulas: Mapping[str, str],
        radius: Mapping[str, float] | None = None,
    ) -> None:
        self._original, self._columns = original, columns
        self._formulas = formulas
        self._radii = match_radii(original.schema, columns, radius)
        self._targets = QuasiIdentifiers.of(original, columns)
        # Fitted first: a formula that does not fit is refused before any copy is drawn.
        try:
            self._fits = [fit_formula(original, *model) for model in formulas.items()]
        except Unavailable as error:
            raise Refused(f"tune_mask: {error}") from None

    def measure(
        self, table: MaskedTable, copies: Sequence[int]
    ) -> list[MeasuredSetting]:
        """A masked table at several numbers of copies, at most as many as it has."""
        # Each copy is drawn once and kept only as figures: M copies may not fit into
        # memory, and settings with fewer copies use the first ones.
        looked_at = [self._look_at(table.draw(i)) for i in range(max(copies))]
        return [self._sum_up(table, looked_at[:count]) for count in copies]

    def _look_at(self, copy: Records) -> _MeasuredCopy:
        return _MeasuredCopy(
            fits=self._fit_formulas(copy),
            propensity=self._measure_propensity(copy),
            quasi=QuasiIdentifiers.of(copy, self._columns),
        )

    def _fit_formulas(self, records: Records) -> list[Fit | None]:
        """The fits on a copy; None of one that it does not allow."""
        fits: list[Fit | None] = []
        for model in self._formulas.items():
            try:
                fits.append(fit_formula(records, *model))
            except Unavailable:
                # A label may have lost all its rows: that setting has no overlap, and
                # the others still have.
                fits.append(None)
        return fits

    def _measure_propensity(self, copy: Records) -> float:
        """U_p of a copy. Kept columns enter too: relations with them count."""
        design = Design.of(list(copy.codes), self._original, copy)
        # One design for both tables, since a level that only one of them has must have
        # a column in both.
        matrix = np.vstack([design.matrix(self._original), design.matrix(copy)])
        is_synthetic = np.repeat([False, True], [self._original.rows, copy.rows])
        return logistic_propensity(matrix, is_synthetic).pmse

    def _sum_up(
        self, table: MaskedTable, looked_at: Sequence[_MeasuredCopy]
    ) -> MeasuredSetting:
        quasi = [one.quasi for one in looked_at]
        found = match_targets(self._targets, quasi, self._radii)
        # An intruder may match each copy, or average the copies first, which removes
        # much of the randomness of a draw: the risk counts both.
        joint = match_targets(self._targets, [average_copies(quasi)], self._radii)
        parts = self._compare_estimates(table, looked_at)
        overlaps = np.array([part.value for part in parts], dtype=np.float64)
        differences = np.array([part.facts["std_diff"] for part in parts], np.float64)
        return MeasuredSetting(
            method=table.method,
            strength=table.strength,
            copies=len(looked_at),
            overlap=_mean_or_none(overlaps),
            rmse=None if not parts else float(np.sqrt(np.mean(differences**2))),
            propensity=float(np.mean([one.propensity for one in looked_at])),
            unique_rate=found.true_rate,
            averaged_rate=joint.true_rate,
            mean_chance=float(found.own.mean()),
        )

    def _compare_estimates(
        self, table: MaskedTable, looked_at: Sequence[_MeasuredCopy]
    ) -> list[FindingPart]:
        """The coefficients of all formulas that both sides have; none if a copy does
        not allow one of the formulas.
        """
        parts: list[FindingPart] = []
        for place, original in enumerate(self._fits):
            fits = [fit for one in looked_at if (fit := one.fits[place]) is not None]
            if len(fits) < len(looked_at):
                return []
            # The rule belongs to how the copies were made: another gives wrong
            # variances.
            try:
                combined = combine_copies(fits, table.rule)
            except Unavailable:
                return []
            parts += compare_fits(original, combined)
        return [part for part in parts if part.is_computed]


def _spell(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _mean_or_none(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


def measure_settings(
    meter: SettingMeter,
    tables: Sequence[MaskedTable],
    copies: Sequence[int],
    risk_target: float,
    progress: Callable[[str], None] = lambda _: None,
) -> MaskTuning:
    """Every table at every number of copies."""
    settings: list[MeasuredSetting] = []
    sets: list[MaskedTable] = []
    for place, table in enumerate(tables):
        progress(f"setting {place + 1} of {len(tables)}")
        settings += meter.measure(table, copies)
        sets += [table.with_copies(count) for count in copies]
    return MaskTuning(tuple(settings), tuple(sets), risk_target)
