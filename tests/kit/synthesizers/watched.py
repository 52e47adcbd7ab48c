"""Synthesizers that measure through a real curator, with everything they ask of it
written down.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from understudy.accounting.neighbours import Neighbours
from understudy.synthesizers import Workload, ignore_progress
from understudy.synthesizers.base import CuratorProtocol


@dataclass
class Watched:
    """A real curator, and what was asked of it."""

    behind: CuratorProtocol
    chosen: list[dict] = field(default_factory=list)
    measured: list[tuple] = field(default_factory=list)

    def __getattr__(self, name):
        return getattr(self.behind, name)

    def choose(self, estimates, **options):
        before = self.behind.share_left
        picked = self.behind.choose(estimates, **options)
        self.chosen.append(
            {
                "among": dict(estimates),
                "picked": picked,
                "paid": before - self.behind.share_left,
                **options,
            }
        )
        return picked

    def measure(self, cliques, **options):
        self.measured.append((tuple(cliques), options["share"]))
        return self.behind.measure(cliques, **options)


def run(
    open_curator,
    synthesizer,
    table,
    *,
    epsilon=1,
    delta="1e-6",
    neighbours=Neighbours.ADD_REMOVE,
    workload=None,
):
    """Let a synthesizer measure: the curator that watched it, and its measurements."""
    schema, rows = table
    curator = Watched(
        open_curator(
            schema,
            rows,
            epsilon=Fraction(epsilon),
            delta=Fraction(delta),
            neighbours=neighbours,
        )
    )
    return curator, synthesizer.measure(
        curator, workload or Workload.of_order(schema), ignore_progress
    )
