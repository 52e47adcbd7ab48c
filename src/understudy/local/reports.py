"""Reports as they arrive: lines of untrusted text, of which only well-formed ones are
counted.

A report has a shape that its plan fixes: some integers, each below a limit, and perhaps
a row of bits. Whatever else a line holds is refused, so a hostile client can move the
estimates by one valid report at most, and never stop the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

from understudy.errors import Refused
from understudy_client import HASH_PRIME, CollectionPlan

Integers = NDArray[np.int64]
Bits = NDArray[np.uint8]

REPORT_CHUNK_BYTES = 1 << 24
"""Bytes of reports in memory at once; a longer line is refused whole."""

MAX_ONES_TAIL = 1e-12
"""Probability with which an honest row of bits has more ones than are accepted: a
hostile row that supports every value is refused, and no honest one is missed.
"""

INSTANTANEOUS_ONE = 0.75
"""That a permanent one of RAPPOR is reported as a one, as in the paper."""

INSTANTANEOUS_ZERO = 0.5
"""That a permanent zero is reported as a one, as in the paper."""

MAX_LIMIT_DIGITS = 10
"""Digits of the largest limit of an integer, 2^31."""


@dataclass(frozen=True)
class ReportShape:
    """Upper limits of the integers of a report, and the width of its row of bits."""

    limits: tuple[int, ...]
    width: int = 0


@dataclass(frozen=True)
class ReportBatch:
    """Well-formed reports: a column for each integer, a row of bits for each report."""

    integers: Integers
    bits: Bits
    refused: int

    @property
    def size(self) -> int:
        """How many reports are well-formed."""
        return len(self.integers)


def report_shape(plan: CollectionPlan) -> ReportShape:
    """The shape of a plan's reports.

    >>> from fractions import Fraction
    >>> report_shape(CollectionPlan("x", "krr", Fraction(1), values=("a", "b")))
    ReportShape(limits=(2,), width=0)
    """
    values = len(plan.values)
    size = plan.sizes.get
    rows, width, buckets = size("rows", 1), size("width", 1), size("buckets", 2)
    levels, reach = size("levels", 1), size("reach", 1)
    shapes = {
        "two_coin": ReportShape((values,)),
        "krr": ReportShape((values,)),
        "sue": ReportShape((), values),
        "oue": ReportShape((), values),
        "subset": ReportShape((), values),
        "olh": ReportShape((HASH_PRIME, HASH_PRIME, buckets)),
        "hadamard": ReportShape((size("order", 1), 2)),
        "cms": ReportShape((rows,), width),
        "hcms": ReportShape((rows, width, 2)),
        "rappor": ReportShape((rows,), width),
        "duchi": ReportShape((2,)),
        "piecewise": ReportShape((size("window", 1) + size("outside", 1),)),
        "square_wave": ReportShape((levels + 2 * reach,)),
        "prefix": ReportShape((size("groups", 1), HASH_PRIME, HASH_PRIME, buckets)),
    }
    return shapes[plan.mechanism]


@dataclass(frozen=True)
class ReportReader:
    """Reads the reports of one plan."""

    plan: CollectionPlan

    @cached_property
    def shape(self) -> ReportShape:
        """The shape of a well-formed report."""
        return report_shape(self.plan)

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        number = rf"(?:0|[1-9]\d{{0,{MAX_LIMIT_DIGITS - 1}}})"
        integers = ",".join([number] * len(self.shape.limits))
        row = ""
        if self.shape.width:
            digits = 2 * self._row_bytes
            row = ("," if integers else "") + f'"([0-9a-f]{{{digits}}})"'
        text = rf'^\{{"plan":"{self.plan.digest}","report":\[({integers}){row}\]\}}\r?$'
        return re.compile(text.encode(), re.MULTILINE)

    @property
    def _row_bytes(self) -> int:
        return (self.shape.width + 7) // 8

    def read_text(self, text: bytes) -> ReportBatch:
        """The reports of a text with one on each line."""
        lines = sum(1 for line in text.split(b"\n") if line.strip())
        matches = self._pattern.findall(text)
        integers, bits = self._to_arrays(matches)
        valid = self._check_limits(integers) & self._check_bits(bits)
        return ReportBatch(integers[valid], bits[valid], lines - int(valid.sum()))

    def read_lines(self, lines: Iterable[str]) -> ReportBatch:
        """The reports of some lines."""
        # A line break inside a report must not make two of it.
        flat = (line.strip().replace("\n", " ") for line in lines)
        return self.read_text("\n".join(flat).encode("utf-8", "replace"))

    def read_file(self, path: Path) -> Iterator[ReportBatch]:
        """The reports of a file, in batches that fit in memory."""
        for text in iterate_chunks(path):
            yield self.read_text(text)

    @cached_property
    def _most_ones(self) -> int:
        return count_most_ones(self.plan, self.shape.width)

    def _to_arrays(self, matches: list[object]) -> tuple[Integers, Bits]:
        count = len(matches)
        columns = len(self.shape.limits)
        if not self.shape.width:
            numbers: list[bytes] = matches  # type: ignore[assignment]
            no_bits = np.zeros((count, 0), dtype=np.uint8)
            return self._parse_integers(numbers, columns), no_bits
        pairs: list[tuple[bytes, bytes]] = matches  # type: ignore[assignment]
        integers = self._parse_integers([pair[0] for pair in pairs], columns)
        packed = bytes.fromhex(b"".join(pair[1] for pair in pairs).decode())
        rows = np.frombuffer(packed, dtype=np.uint8).reshape(count, self._row_bytes)
        return integers, np.unpackbits(rows, axis=1, bitorder="little")

    def _parse_integers(self, texts: list[bytes], columns: int) -> Integers:
        if not columns or not texts:
            return np.zeros((len(texts), columns), dtype=np.int64)
        # One pass in C over all numbers; the pattern has let digits and commas through.
        flat = np.fromstring(b",".join(texts).decode(), dtype=np.int64, sep=",")
        return flat.reshape(len(texts), columns)

    def _check_limits(self, integers: Integers) -> NDArray[np.bool_]:
        limits = np.array(self.shape.limits, dtype=np.int64)
        return np.asarray(np.all(integers < limits, axis=1))

    def _check_bits(self, bits: Bits) -> NDArray[np.bool_]:
        # Padding is zero, and a subset has exactly its size.
        valid = ~bits[:, self.shape.width :].any(axis=1)
        if self.plan.mechanism == "subset":
            valid &= bits.sum(axis=1, dtype=np.int64) == self.plan.sizes["size"]
        elif self._most_ones < self.shape.width:
            valid &= bits.sum(axis=1, dtype=np.int64) <= self._most_ones
        return np.asarray(valid)


def count_most_ones(plan: CollectionPlan, width: int) -> int:
    """The largest number of ones that a row of an honest client may have.

    >>> from fractions import Fraction
    >>> values = tuple(map(str, range(64)))
    >>> count_most_ones(CollectionPlan("x", "oue", Fraction(1), values=values), 64)
    45
    """
    true = 1
    if plan.mechanism == "oue":
        zero = float(1 / (plan.ratio + 1))
    elif plan.mechanism in ("sue", "cms"):
        zero = float(1 / (plan.root_ratio(2) + 1))
    elif plan.mechanism == "rappor":
        true = min(plan.sizes["hashes"], width)
        flip = 1 / float(plan.root_ratio(2 * plan.sizes["hashes"]) + 1)
        zero = INSTANTANEOUS_ZERO + (INSTANTANEOUS_ONE - INSTANTANEOUS_ZERO) * flip
    else:
        return width
    # The ones of the true value, and more than m minus these among all the zeros.
    ones = np.arange(true, width + 1)
    tails = special.bdtrc(ones - true, width - true, zero)
    enough = np.flatnonzero(tails <= MAX_ONES_TAIL)
    return int(ones[enough[0]]) if len(enough) else width


def iterate_chunks(path: Path) -> Iterator[bytes]:
    """A file in pieces of whole lines. A line that fills a piece alone is cut, and no
    part of it looks like a report.
    """
    try:
        with path.open("rb") as file:
            rest = b""
            while read := file.read(REPORT_CHUNK_BYTES):
                text = rest + read
                end = text.rfind(b"\n") + 1
                if end == 0 and len(text) >= REPORT_CHUNK_BYTES:
                    # Replaced by one refused line, whatever its end will look like.
                    rest = b"too long"
                    continue
                yield text[:end]
                rest = text[end:]
            if rest:
                yield rest
    except OSError as error:
        why = error.strerror
        raise Refused(f"{path}: cannot be read ({why}). Nothing was counted") from None
