"""The server side: counts reports and estimates from the counts.

A collector holds a public plan and public counts, nothing that must be protected: every
report was private when it was sent. Only plans with prefixes keep the reports
themselves, which the search for frequent values reads again and again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from understudy.atomic import write_file_atomically
from understudy.errors import Refused
from understudy.local.counting import (
    Counts,
    check_counts,
    count_batch,
    count_shape,
    transform_hadamard,
)
from understudy.local.estimates import (
    FrequencyTable,
    MeanEstimate,
    check_level,
    check_reports,
    estimate_shares,
)
from understudy.local.heavy_hitters import find_frequent_texts
from understudy.local.numeric import (
    NumericDistribution,
    estimate_distribution,
    estimate_mean,
)
from understudy.local.plan_check import check_decodable
from understudy.local.rappor import estimate_rappor
from understudy.local.reports import Integers, ReportBatch, ReportReader
from understudy.local.sketches import estimate_sketch
from understudy.local.support import PURE_PROTOCOLS, support_probabilities
from understudy_client import CollectionPlan, draw_answer, write_report

Estimate = FrequencyTable | MeanEstimate | NumericDistribution

COUNTS_FORMAT = "understudy-local-counts/1"

MAX_FREQUENT_TEXTS = 1000
"""Texts to find: sixteen continuations of twice as many prefixes are tried in each step."""


class Collector:
    """Counts the reports of one plan.

    >>> from understudy import local
    >>> plan = local.plan_collection("age", bounds=(0, 100), epsilon=2)
    >>> collector = local.Collector(plan)
    >>> collector.add(local.simulate_reports(plan, [30, 40, 50]) + ["nonsense"])
    3
    >>> collector.reports, collector.refused
    (3, 1)
    """

    def __init__(self, plan: CollectionPlan) -> None:
        check_decodable(plan)
        self.plan = plan
        self.reports = 0
        self.refused = 0
        self._reader = ReportReader(plan)
        self._kept: list[Integers] = []
        shape = self._reader.shape
        # Reports of prefixes are kept, not counted.
        sizes = (0,) if plan.mechanism == "prefix" else count_shape(plan, shape)
        self._counts: Counts = np.zeros(sizes, dtype=np.int64)

    def add(self, lines: Iterable[str]) -> int:
        """Count reports, one for each line; returns how many were valid."""
        return self._count(self._reader.read_lines(lines))

    def add_file(self, path: str | Path) -> int:
        """Count the reports of a file, one on each line; returns how many were valid."""
        return sum(map(self._count, self._reader.read_file(Path(path))))

    def _count(self, batch: ReportBatch) -> int:
        self.reports += batch.size
        self.refused += batch.refused
        if self.plan.mechanism == "prefix":
            self._kept.append(batch.integers)
        elif batch.size:
            self._counts += count_batch(self.plan, self._reader.shape, batch)
        return batch.size

    def merge(self, other: Collector) -> None:
        """Add what another collector of the same plan has counted."""
        # Counts of another ε or other values would be decoded with the wrong
        # probabilities.
        if other.plan != self.plan:
            raise Refused("only counts of the same plan can be added")
        self.reports += other.reports
        self.refused += other.refused
        self._counts += other._counts
        self._kept += other._kept

    def find_heavy_hitters(
        self, count: int = 20, *, level: float = 0.95
    ) -> FrequencyTable:
        """The most frequent texts of a plan with prefixes, with intervals that hold
        together.

        >>> from understudy import local
        >>> plan = local.plan_collection("emoji", max_bytes=4, epsilon=6)
        >>> collector = local.Collector(plan)
        >>> collector.add(local.simulate_reports(plan, ["😀"] * 1500 + ["🎉"] * 700))
        2200
        >>> collector.find_heavy_hitters(2).values
        ('😀', '🎉')
        """
        check_level(level)
        if self.plan.mechanism != "prefix":
            raise Refused("frequent texts need a plan with prefixes: state max_bytes")
        if type(count) is not int or not 1 <= count <= MAX_FREQUENT_TEXTS:
            raise Refused(f"frequent texts are 1 to {MAX_FREQUENT_TEXTS:,}")
        check_reports(self.reports)
        reports = np.concatenate([np.zeros((0, 4), dtype=np.int64), *self._kept])
        return find_frequent_texts(self.plan, reports, count, level)

    def count_support(self) -> Counts:
        """How many reports support each value of a pure protocol."""
        counts = self._counts
        values = len(self.plan.values)
        if self.plan.mechanism == "hadamard":
            signed = (counts[:, 0] - counts[:, 1]).astype(np.float64)
            # Agreements minus disagreements with each column, and their sum.
            balance = transform_hadamard(signed[None, :])[0, :values]
            return (self.reports + np.rint(balance).astype(np.int64)) // 2
        return counts[0, :-1] if counts.ndim == 2 else counts

    def estimate(
        self, *, level: float = 0.95, candidates: Sequence[str] = (), count: int = 20
    ) -> Estimate:
        """What the reports say: shares of values, a mean or a distribution, with
        intervals. Sketches and RAPPOR estimate the shares of `candidates`, and plans
        with prefixes those of the `count` most frequent texts.
        """
        check_level(level)
        mechanism = self.plan.mechanism
        if mechanism in PURE_PROTOCOLS:
            support = support_probabilities(self.plan)
            return estimate_shares(
                self.plan.values,
                self.count_support(),
                self.reports,
                support,
                level,
                is_whole=True,
            )
        if mechanism == "prefix":
            return self.find_heavy_hitters(count, level=level)
        if mechanism == "square_wave":
            return estimate_distribution(self.plan, self._counts, level)
        if mechanism in ("duchi", "piecewise"):
            return estimate_mean(self.plan, self._counts, level)
        return self._estimate_candidates(tuple(candidates) or self.plan.values, level)

    def _estimate_candidates(
        self, candidates: tuple[str, ...], level: float
    ) -> FrequencyTable:
        if not candidates:
            raise Refused("this plan lists no values: name the candidates to estimate")
        decode = estimate_rappor if self.plan.mechanism == "rappor" else estimate_sketch
        return decode(self.plan, self._counts, candidates, level)

    def save(self, path: str | Path) -> None:
        """Write the plan and the counts, which may be published."""
        if self.plan.mechanism == "prefix":
            raise Refused(
                "a plan with prefixes has reports, not counts: keep their files"
            )
        document = {
            "format": COUNTS_FORMAT,
            "plan": self.plan.to_json(),
            "reports": self.reports,
            "refused": self.refused,
            "counts": self._counts.ravel().tolist(),
        }
        # Reports are private before they arrive, so their counts may be public.
        with write_file_atomically(Path(path), private=False) as draft:
            draft.write_text(json.dumps(document, ensure_ascii=False))

    @classmethod
    def load(cls, path: str | Path) -> Collector:
        """Read what `save` wrote."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
            if document["format"] != COUNTS_FORMAT:
                raise ValueError
            collector = cls(CollectionPlan.from_json(document["plan"]))
            counts = np.array(document["counts"], dtype=np.int64)
            collector._counts = counts.reshape(collector._counts.shape)
            collector.reports = int(document["reports"])
            collector.refused = int(document["refused"])
            # A file that was changed could hold more counts than reports.
            check_counts(collector.plan, collector._counts, collector.reports)
        except (
            *(OSError, ValueError, KeyError, TypeError),
            *(OverflowError, RecursionError),
        ):
            raise Refused(
                f"{path}: is no file of counts of a local collection"
            ) from None
        return collector


def simulate_reports(plan: CollectionPlan, values: Iterable[object]) -> list[str]:
    """One report for each value, as clients without an account would send them."""
    return [write_report(plan, draw_answer(plan, str(value))) for value in values]
