"""Estimates with intervals for a population, and how they are shown: the interval that
holds, and beside it, struck out, the one that a synthetic table read as real rows gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import ncx2

from understudy.inference.libraries import import_pandas
from understudy.measurements import Clique
from understudy.text import align_columns, format_estimate

MEASURED_BASIS, MODELLED_BASIS = "measured", "modelled"
"""Whether an estimate rests on what was measured, or also on what was assumed."""

MAX_BIAS_DEVIATIONS = 2.0
"""Standard deviations of what unmeasured terms may do to an estimate that an interval
allows for as a fixed bias: they are one unknown number, the same in every release.
"""

MAX_SMALL_BIAS = 0.5
"""Bias, in standard errors, up to which an estimate is called measured: an interval
that took no notice of it would still hold 92 times in 100.
"""

MAX_FOLDED_BIAS = 8.0
"""Bias, in standard errors, beyond which only the nearer end of an interval can miss."""

_STRIKE_SIGN = "\N{COMBINING LONG STROKE OVERLAY}"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PopulationEstimate:
    """Estimates with intervals for the population, one for each name.

    `naive_error` is what one synthetic table read as real rows would claim. `basis` says
    of each whether it was measured or rests on an assumption about the sets of columns
    in `unmeasured`, or on terms of three columns that were not measured (`is_leaning`).
    `bias_covariance` is what such terms may do to the estimates. Ratios are estimated as
    logarithms (`is_ratio`): `value` and the intervals are on the scale of the ratio.
    `by_moments`: from moments of unbinned numbers, not from cells. `unit`: who has
    several rows, where units and not rows were sampled. `is_noisy`: whether noise is so
    much of an error that positive shares bias the estimate. `binned`: columns of numbers
    that count by the middle of wide bins. `stretches`: by how much the lower and the
    upper reach of the intervals grow (sparse_ends.py).
    """

    names: tuple[str, ...]
    estimates: NDArray[np.float64]
    covariance: NDArray[np.float64]
    naive_error: NDArray[np.float64]
    title: str
    population: str
    level: float
    basis: tuple[str, ...]
    unmeasured: tuple[Clique, ...] = ()
    smoothed: Clique = ()
    is_ratio: bool = False
    by_moments: bool = False
    unit: str = ""
    binned: Clique = ()
    bias_covariance: NDArray[np.float64] | None = None
    is_noisy: NDArray[np.bool_] | None = None
    stretches: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    @property
    def bias_bound(self) -> NDArray[np.float64]:
        """The bias that each interval allows for: of terms that were not measured."""
        if self.bias_covariance is None:
            return np.zeros(len(self.names))
        return MAX_BIAS_DEVIATIONS * np.sqrt(np.diag(self.bias_covariance))

    @property
    def is_leaning(self) -> NDArray[np.bool_]:
        """Whether each estimate leans on terms of three columns that were not measured."""
        return self.bias_bound > MAX_SMALL_BIAS * self.error

    @property
    def error(self) -> NDArray[np.float64]:
        """Standard errors, of noise and of sampling together; of a ratio, those of its
        logarithm.
        """
        return np.sqrt(np.diag(self.covariance))

    @property
    def value(self) -> NDArray[np.float64]:
        """The estimates on the scale they are read on."""
        return self._to_scale(self.estimates)

    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both ends of the intervals."""
        reach = reach_with_bias(self.error, self.bias_bound, self.level)
        below, above = self.stretches or (1.0, 1.0)
        return self._ends(below * reach, above * reach)

    def naive_interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both ends of what one synthetic table would claim: too narrow."""
        reach = float(ndtri((1 + self.level) / 2)) * self.naive_error
        return self._ends(reach, reach)

    def _ends(
        self, below: NDArray[np.float64], above: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        low, high = self.estimates - below, self.estimates + above
        return self._to_scale(low), self._to_scale(high)

    def _to_scale(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        # exp is monotone, so the ends of an interval of logarithms are those of the
        # ratio.
        return np.exp(numbers) if self.is_ratio else numbers

    def to_frame(self) -> Any:
        """A pandas frame with one row an estimate."""
        low, high = self.interval()
        naive_low, naive_high = self.naive_interval()
        return import_pandas().DataFrame(
            {
                "estimate": self.value,
                "std_error": self.error,
                "low": low,
                "high": high,
                "basis": self.basis,
                "naive_low": naive_low,
                "naive_high": naive_high,
            },
            index=list(self.names),
        )

    def to_dict(self) -> dict[str, object]:
        """The estimates for a program: plain values."""
        low, high = self.interval()
        columns = zip(
            self.names,
            self.value.tolist(),
            low.tolist(),
            high.tolist(),
            self.basis,
            strict=True,
        )
        keys = ("name", "estimate", "low", "high", "basis")
        return {
            "title": self.title,
            "population": self.population,
            "level": self.level,
            "estimates": [dict(zip(keys, row, strict=True)) for row in columns],
            "unmeasured": [list(clique) for clique in self.unmeasured],
        }

    def __str__(self) -> str:
        head = [
            "",
            "estimate",
            f"{self.level:.0%} interval",
            "basis",
            "wrong: read as rows",
        ]
        rows = self._list_rows(strike_text)
        return "\n".join([*align_columns([head, *rows], right=[1]), *self.notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        def strike(text: str) -> str:
            return f"<s>{escape(text)}</s>"

        # Names hold labels of a schema that others may have written: they are escaped.
        body = [
            f"<tr><th>{escape(name)}</th>"
            + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            + f"<td>{naive}</td></tr>"
            for name, *cells, naive in self._list_rows(strike)
        ]
        head = (
            f"<tr><th></th><th>estimate</th><th>{self.level:.0%} interval</th>"
            "<th>basis</th><th>wrong: a synthetic table read as rows</th></tr>"
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table>{head}{''.join(body)}</table>{notes}"

    def _list_rows(self, strike: Callable[[str], str]) -> list[list[str]]:
        low, high = self.interval()
        half = (high - low) / 2
        values = [format_estimate(v, w) for v, w in zip(self.value, half, strict=True)]
        intervals = _spell_intervals(low, high, half)
        naive = _spell_intervals(*self.naive_interval(), half)
        return [
            [name, value, interval, basis, strike(wrong)]
            for name, value, interval, basis, wrong in zip(
                self.names, values, intervals, self.basis, naive, strict=True
            )
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the intervals count, and what they rest on."""
        what = "sampling and noise" if self.population == "sample" else "noise"
        notes = [f"{self.title}: intervals that count {what}."]
        if self.unit and self.population == "sample":
            notes.append(
                f"Rows of one {self.unit} may be alike, and nothing was measured of that:"
                " the intervals hold also where they all are."
            )
        if self.unmeasured:
            named = ", ".join(" × ".join(clique) for clique in self.unmeasured)
            notes.append(
                f"Not measured: {named}. What is called modelled rests on the assumption"
                " about how strongly these go together, and on nothing else."
            )
        noisy = self._list_names(self.is_noisy)
        if noisy:
            notes.append(
                f"Modelled: {', '.join(noisy)}. Noise is most of their error, and pulls"
                " estimates towards no association where cells have hardly any rows. A"
                " larger ε or wider bins help."
            )
        leaning = self._list_names(self.is_leaning)
        if leaning:
            notes.append(
                f"Modelled: {', '.join(leaning)}. Terms of three columns that were not"
                " measured may bias these; their intervals allow for it. The workload"
                " target `triples` measures them."
            )
        if self.by_moments:
            notes.append("From noisy moments: numbers count as they are, unbinned.")
        if self.binned:
            notes.append(
                f"Each value counts as the middle of its bin: {', '.join(self.binned)}."
                " The workload target `moments` takes numbers as they are."
            )
        if self.smoothed:
            notes.append(
                f"By polynomials of their bins, for size: {', '.join(self.smoothed)}."
            )
        return tuple(notes)

    def _list_names(self, is_such: NDArray[np.bool_] | None) -> list[str]:
        if is_such is None:
            return []
        return [name for name, such in zip(self.names, is_such, strict=True) if such]


def reach_with_bias(
    error: NDArray[np.float64], bias: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """Half the width of intervals that hold this often whatever the bias is, up to a
    bound (Armstrong, Kolesár, "Optimal inference in a class of regression models",
    2018).

    >>> reach_with_bias(np.ones(2), np.array([0.0, 2.0]), 0.95).round(3).tolist()
    [1.96, 3.645]
    """
    ratio = bias / np.maximum(error, np.finfo(float).tiny)
    # |e + b| for a normal e is the root of a non-central chi-square variable.
    folded = np.sqrt(ncx2.ppf(level, 1, np.minimum(ratio, MAX_FOLDED_BIAS) ** 2))
    near = np.where(ratio > 0, folded, float(ndtri((1 + level) / 2)))
    reach = np.where(ratio > MAX_FOLDED_BIAS, ratio + float(ndtri(level)), near)
    return np.asarray(reach * error)


def strike_text(text: str) -> str:
    """A text struck out, without anything that only a terminal understands.

    >>> len(strike_text("0.1 to 0.2"))
    20
    """
    # Combining characters survive in files and pipes, where escape codes do not.
    return "".join(sign + _STRIKE_SIGN for sign in text)


def _spell_intervals(
    low: NDArray[np.float64], high: NDArray[np.float64], half: NDArray[np.float64]
) -> list[str]:
    """Intervals in words, with the digits that suit `half` the width of the right one."""
    return [
        f"{format_estimate(a, width)} to {format_estimate(b, width)}"
        for a, b, width in zip(low, high, half, strict=True)
    ]
