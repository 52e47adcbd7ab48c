"""How a synthetic file looks beside the one it was made from, cell by cell of text: its
types, spelling and steps, its means, its marginals, and values that cannot occur.

It reads both files as text and shares no code with the package, so that a mistake in
reading a file is found rather than repeated.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd

REST_NAMES = ("other", "unlisted")
"""What labels that are not listed are called together."""

MISSING_MARKS = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "."})
QUANTILE_BINS = 20
LARGEST_PAIRS = 500
"""Pairs whose distance is taken; a fixed random choice of this many where there are more."""

SIGNIFICANT_DIGITS = 10
"""Digits of a number that count: 14.890999999999998 is 14.891 to a reader."""

COMPUTED_DECIMALS = 4
"""A column with more decimals than these was computed, and its last digits say nothing."""

COMPUTED_GRAIN = 0.01
"""Coarsest grain of a computed column, in its standard deviations."""

ODD_SHARE = 0.05
"""Share of cells by which a type or a grain is not judged: a few babies aged 0.5 do not
make an age a real number.
"""

IDENTIFIER_SHARE = 0.9
"""Distinct values, as a share of the rows, from which a text or a whole number names
rows: it is not to come back, so it is not scored.
"""

MAX_LATTICE_ERROR = 1e-4
"""How far from a multiple of a step a number may be, in steps: rounding of floats."""

FEW_TEXTS = 10
"""Distinct synthetic values up to which coarse ones may be chance: a rate of 0.1, 0.5 and 1."""

MEAN_ERROR = 0.1
"""Largest error of a mean that counts as right, in standard deviations."""

DEVIATION_ERROR = 0.3
"""Relative error of a standard deviation from which it is a finding."""

IMPOSSIBLE_SHARE = 0.01
"""Share of cells from which a column counts as one with values that cannot occur."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
TIME = re.compile(
    r"(\d{4})[-/](\d\d?)[-/](\d\d?)(?:[T ](\d\d?):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?"
)


def read_texts(path: object, delimiter: str = ",") -> pd.DataFrame:
    """All cells as texts; nothing is taken for missing."""
    return pd.read_csv(
        path, sep=delimiter, dtype=str, keep_default_na=False, skipinitialspace=False
    )


def parse_time(text: str) -> float | None:
    """Seconds of a date or a time stamp, or nothing."""
    found = TIME.fullmatch(text)
    if not found:
        return None
    parts = [int(part or 0) for part in found.groups()[:6]]
    try:
        return datetime(*parts, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def parse_number(text: str) -> float | None:
    """The number a text says, or nothing."""
    return float(text) if NUMBER.fullmatch(text.strip()) else None


def count_decimals(value: float) -> int:
    """Decimals of a number, to the digits that count."""
    mantissa, _, exponent = f"{value:.{SIGNIFICANT_DIGITS}g}".partition("e")
    written = len(mantissa.partition(".")[2])
    return max(0, written - int(exponent or 0))


@dataclass(frozen=True, eq=False)
class TextColumn:
    """The cells of a column by distinct text, so that each is parsed once."""

    texts: tuple[str, ...]
    codes: np.ndarray
    kind: str
    """`number`, `time`, `label`, or `empty`."""
    values: np.ndarray
    """The number of each text; NaN for a missing mark, and for labels."""

    @classmethod
    def of(cls, cells: pd.Series) -> TextColumn:
        """The kind is that of all cells but those that mark something missing."""
        codes, texts = pd.factorize(cells, sort=False)
        texts = tuple(map(str, texts))
        told = [text for text in texts if text not in MISSING_MARKS]
        for kind, parse in (  # noqa: B007
            ("number", parse_number),
            ("time", parse_time),
        ):
            if told and all(parse(text) is not None for text in told):
                break
        else:
            kind, parse = ("label" if told else "empty"), parse_number
        values = np.array(
            [
                parse(text) if text not in MISSING_MARKS and kind != "label" else None
                for text in texts
            ],
            dtype=float,
        )
        return cls(texts, codes, kind, values)

    @cached_property
    def counts(self) -> np.ndarray:
        """Rows of each text."""
        return np.bincount(self.codes, minlength=len(self.texts))

    @cached_property
    def is_missing(self) -> np.ndarray:
        """Which texts mark something missing."""
        return np.array([text in MISSING_MARKS for text in self.texts], dtype=bool)

    @cached_property
    def numbers(self) -> np.ndarray:
        """Numbers of all rows that have one."""
        cells = self.values[self.codes]
        return cells[~np.isnan(cells)]

    @property
    def mean(self) -> float:
        """Mean of the numbers."""
        return float(self.numbers.mean()) if self.numbers.size else math.nan

    @property
    def deviation(self) -> float:
        """Standard deviation of the numbers."""
        return float(self.numbers.std()) if self.numbers.size else math.nan

    @property
    def is_identifier(self) -> bool:
        """Whether nearly every row has a text or a whole number of its own."""
        filled = int(self.counts[~self.is_missing].sum())
        distinct = int((~self.is_missing).sum())
        names_rows = distinct > IDENTIFIER_SHARE * max(filled, 1)
        return names_rows and (self.kind == "label" or self.is_sequence)

    @property
    def is_sequence(self) -> bool:
        """Whether the numbers are whole and are nearly as dense as they are many."""
        if self.kind != "number" or self.shares_by_decimals([0])[0] < 1:
            return False
        known = self.values[~np.isnan(self.values)]
        return float(np.ptp(known)) < 2 * known.size

    def shares_by_decimals(self, decimals: list[int]) -> list[float]:
        """Share of the numbers that need at most so many decimals."""
        needed = self.decimals
        known = ~np.isnan(self.values)
        total = max(int(self.counts[known].sum()), 1)
        return [
            float(self.counts[known & (needed <= most)].sum() / total)
            for most in decimals
        ]

    @cached_property
    def decimals(self) -> np.ndarray:
        """Decimals of each text's number."""
        return np.array(
            [0 if math.isnan(value) else count_decimals(value) for value in self.values]
        )

    @property
    def usual_decimals(self) -> int:
        """Decimals that suffice for all numbers but a few odd ones."""
        every = list(range(int(self.decimals.max(initial=0)) + 1))
        shares = self.shares_by_decimals(every)
        return next(k for k in every if shares[k] >= 1 - ODD_SHARE or k == every[-1])

    @property
    def step(self) -> float:
        """The widest lattice from zero that all numbers lie on."""
        most = int(self.decimals.max(initial=0))
        known = self.values[~np.isnan(self.values)]
        whole = [round(value * 10**most) for value in known]
        return math.gcd(*whole) / 10**most if whole else 0.0

    @property
    def notable_step(self) -> float:
        """The part of the step that a reader sees: its zeros in any case, and its first
        digits if they are not lost in the spread. A constant has no step.
        """
        step = self.step
        if not step or not self.deviation > 0:
            return 0.0
        if step >= COMPUTED_GRAIN * self.deviation:
            return step
        zeros = math.floor(math.log10(step) + MAX_LATTICE_ERROR)
        return 10.0**zeros


@dataclass
class ColumnLook:
    """What is right and wrong about one column."""

    name: str
    kind: str
    wrong: list[str] = field(default_factory=list)
    """Of `type`, `spelling` and `grain`, those that are not the original's."""
    is_empty: bool = False
    mean_error: float | None = None
    deviation_error: float | None = None
    impossible: float = 0.0
    other: float = 0.0
    is_constant: bool = False

    details: dict[str, str] = field(default_factory=dict)
    """For what is wrong, the evidence."""

    @property
    def findings(self) -> dict[str, str]:
        """What is wrong, with the evidence."""
        start = f"{self.name} ({self.kind})"
        found = {f"{start}: {what}": self.details.get(what, "") for what in self.wrong}
        if self.is_empty:
            found[f"{start}: empty"] = ""
        if self.impossible > IMPOSSIBLE_SHARE:
            found[f"{start}: cannot occur"] = (
                f"{self.impossible:.1%} of cells, {self.details.get('range', '')}"
            )
        if self.mean_error is not None and not self.mean_error <= MEAN_ERROR:
            found[f"{start}: mean"] = f"off by {self.mean_error:.2f} sd"
        if (
            self.deviation_error is not None
            and not self.deviation_error <= DEVIATION_ERROR
        ):
            found[f"{start}: sd"] = f"off by {self.deviation_error:.0%}"
        return found


def judge_type(real: TextColumn, fake: TextColumn) -> bool:
    """The same kind; whole numbers stay whole, and others do not become so."""
    if real.kind != fake.kind:
        # A label that was pooled says so, and is counted as such.
        return False
    if real.kind != "number":
        return True
    (whole,), (fake_whole,) = (
        column.shares_by_decimals([0]) for column in (real, fake)
    )
    if whole == 1:
        return fake_whole == 1
    return whole > 1 - ODD_SHARE or fake_whole < 1


def spell_shapes(column: TextColumn) -> set[str]:
    """How numbers and times are written: a point behind a whole number, leading zeros,
    an exponent, the punctuation of a date. Labels are compared as they are.
    """
    shapes = set()
    for text, missing in zip(column.texts, column.is_missing, strict=True):
        if missing:
            shapes.add(f"missing as {text!r}")
        elif column.kind == "time":
            shapes.add(re.sub(r"\d+", lambda run: "9" * min(len(run[0]), 4), text))
        elif column.kind == "number":
            shapes.add(shape_number(text))
    return shapes


def shape_number(text: str) -> str:
    """How one number is written."""
    digits = text.strip().lstrip("+-")
    parts = ["padded"] if re.match(r"0\d", digits) else []
    parts += ["bare point"] if digits.startswith(".") else []
    parts += ["exponent"] if "e" in digits.lower() else []
    if float(digits) == math.floor(float(digits)):
        parts.append("whole with point" if "." in digits else "whole")
    return " ".join(parts or ["fraction"])


def judge_spelling(real: TextColumn, fake: TextColumn) -> bool:
    """Nothing is written in a way in which the original writes nothing."""
    return not list_new_shapes(real, fake)


def list_new_shapes(real: TextColumn, fake: TextColumn) -> set[str]:
    """Ways of writing that the original does not have. Missing cells in a column without
    any are not a way of writing: they are values that cannot occur.
    """
    known = spell_shapes(real)
    new = spell_shapes(fake) - known
    if not real.is_missing.any():
        new = {shape for shape in new if not shape.startswith("missing")}
    if not any("whole" in shape for shape in known):
        # Where no number is whole, nothing says how one would be written.
        new = {shape for shape in new if "whole" not in shape}
    return new


def is_on_lattice(column: TextColumn, step: float) -> bool:
    """Whether all numbers are multiples of a step; 0 is no step."""
    known = column.values[~np.isnan(column.values)]
    if not step or not known.size:
        return True
    places = known / step
    return bool(np.abs(places - np.round(places)).max() < MAX_LATTICE_ERROR)


def judge_grain(real: TextColumn, fake: TextColumn) -> bool:
    """No number between those that the original's lattice allows, and no coarser one."""
    if real.kind != "number" or fake.kind != "number":
        return True
    usual, given = real.usual_decimals, int(fake.decimals.max(initial=0))
    if usual > COMPUTED_DECIMALS:
        return 10.0**-given <= COMPUTED_GRAIN * real.deviation
    if not is_on_lattice(fake, real.notable_step):
        return False
    return given >= usual or len(fake.texts) <= FEW_TEXTS


def look_at(name: str, real: TextColumn, fake: TextColumn | None) -> ColumnLook:
    """Everything that is said about one column."""
    look = ColumnLook(name, real.kind)
    look.is_constant = real.kind != "label" and not real.deviation > 0
    if fake is None or fake.kind == "empty":
        look.is_empty = real.kind != "empty"
        return look
    real_labels = set(real.texts)
    shares = fake.counts / fake.counts.sum()
    if not real.is_missing.any():
        # Blank cells in a column that has none are values that cannot occur.
        look.impossible = float(shares[fake.is_missing].sum())
    is_known = np.array([text in real_labels for text in fake.texts])
    if real.kind == "label":
        is_other = np.array([text in REST_NAMES for text in fake.texts])
        folded = {text.casefold() for text in real_labels}
        is_respelled = ~is_known & np.array(
            [text.casefold() in folded for text in fake.texts]
        )
        if is_respelled.any():
            look.wrong.append("spelling")
            look.details["spelling"] = "upper and lower case"
            is_known |= is_respelled
        look.other = float(shares[~is_known & is_other].sum())
        look.impossible += float(shares[~is_known & ~is_other & ~fake.is_missing].sum())
        if fake.kind != "label" and look.impossible:
            look.wrong.append("type")
        return look
    if not judge_type(real, fake):
        look.wrong.append("type")
    if not judge_spelling(real, fake):
        look.wrong.append("spelling")
        look.details["spelling"] = ", ".join(sorted(list_new_shapes(real, fake))[:4])
    if not judge_grain(real, fake):
        look.wrong.append("grain")
        look.details["grain"] = (
            f"{fake.usual_decimals} decimals for {real.usual_decimals}, step {real.notable_step:g}"
        )
    if fake.kind == real.kind:
        compare_numbers(look, real, fake, shares)
    else:
        look.impossible += float(shares[~is_known & ~fake.is_missing].sum())
    return look


def compare_numbers(
    look: ColumnLook, real: TextColumn, fake: TextColumn, shares: np.ndarray
) -> None:
    """Errors of mean and deviation, and values outside the true range."""
    low, high = real.numbers.min(), real.numbers.max()
    with np.errstate(invalid="ignore"):
        outside = (fake.values < low) | (fake.values > high)
    blank = f"{look.impossible:.1%} blank"
    look.impossible += float(shares[outside].sum())
    look.details["range"] = (
        f"{fake.numbers.min():.8g} to {fake.numbers.max():.8g} for {low:.8g} to {high:.8g}, {blank}"
    )
    scale = real.deviation
    if scale > 0:
        look.mean_error = abs(fake.mean - real.mean) / scale
        look.deviation_error = abs(fake.deviation / scale - 1)


def bin_codes(real: TextColumn, fake: TextColumn) -> tuple[np.ndarray, np.ndarray, int]:
    """Codes of both columns on the same cells: the original's labels, or quantile bins
    of its numbers; missing and anything unknown are cells of their own.
    """
    if real.kind in ("number", "time") and real.numbers.size:
        inner = np.linspace(0, 1, QUANTILE_BINS + 1)[1:-1]
        distinct = np.unique(real.numbers)
        edges = np.unique(np.quantile(real.numbers, inner))
        if distinct.size <= QUANTILE_BINS:
            edges = distinct[:-1]
        size = edges.size + 1

        def code(column: TextColumn) -> np.ndarray:
            place = np.searchsorted(edges, np.nan_to_num(column.values))
            place[np.isnan(column.values)] = size + 1
            place[column.is_missing] = size
            return place[column.codes]

        return code(real), code(fake), size + 2
    index = {
        text: i
        for i, text in enumerate(
            text
            for text, missing in zip(real.texts, real.is_missing, strict=True)
            if not missing
        )
    }
    size = len(index)

    def label(column: TextColumn) -> np.ndarray:
        place = np.array(
            [
                size if missing else index.get(text, size + 1)
                for text, missing in zip(column.texts, column.is_missing, strict=True)
            ],
            dtype=int,
        )
        return place[column.codes]

    return label(real), label(fake), size + 2


def share_distance(real: np.ndarray, fake: np.ndarray, cells: int) -> float:
    """Total variation distance of two columns of codes."""
    here = np.bincount(real, minlength=cells) / max(real.size, 1)
    there = np.bincount(fake, minlength=cells) / max(fake.size, 1)
    return float(np.abs(here - there).sum() / 2)


def marginal_distances(
    codes: dict[str, tuple[np.ndarray, np.ndarray, int]],
) -> tuple[float, float]:
    """Mean distance over all columns, and over all pairs or a fixed choice of them."""
    one = [share_distance(*each) for each in codes.values()]
    pairs = list(combinations(codes.values(), 2))
    if len(pairs) > LARGEST_PAIRS:
        chosen = np.random.default_rng(0).choice(len(pairs), LARGEST_PAIRS, False)
        pairs = [pairs[i] for i in sorted(chosen)]
    two = [
        share_distance(a[0] * b[2] + b[0], a[1] * b[2] + b[1], a[2] * b[2])
        for a, b in pairs
    ]
    return float(np.mean(one)), float(np.mean(two)) if two else 0.0


@dataclass(frozen=True)
class FileLook:
    """A whole file: its columns, those that were not scored, and its marginals."""

    columns: tuple[ColumnLook, ...]
    identifiers: tuple[str, ...]
    one_way: float
    two_way: float


def compare_files(real: pd.DataFrame, fake: pd.DataFrame) -> FileLook:
    """The synthetic file beside the original."""
    columns, identifiers, codes = [], [], {}
    for name in real.columns:
        original = TextColumn.of(real[name])
        if original.is_identifier:
            identifiers.append(str(name))
            continue
        given = TextColumn.of(fake[name]) if name in fake.columns else None
        columns.append(look_at(str(name), original, given))
        if given is None:
            given = TextColumn.of(pd.Series([""] * len(fake), dtype=str))
        codes[str(name)] = bin_codes(original, given)
    one_way, two_way = marginal_distances(codes)
    return FileLook(tuple(columns), tuple(identifiers), one_way, two_way)
