"""Parents of a census fitted on Spark: one job for each level, or for each chunk of a
large one, and one task for some neighbouring parents.

What travels is noisy or declared public, and no noise is drawn on a worker: this is work
after the measurement, which costs nothing. A task that Spark runs twice gives the same
tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from understudy.censuses.top_down import FamilyTask, FittedFamilies, MapFamilies
from understudy.errors import Refused


def map_on_spark(session: Any) -> MapFamilies:
    """A map over the parents of a level by the workers of a Spark session, which need
    `understudy-dp` installed.
    """
    try:
        context = session.sparkContext
    except Exception:
        # Spark Connect raises errors of its own here.
        raise Refused(
            "census: the Spark session has no context on this machine (Spark Connect has"
            " none). Give a classic session, or leave `spark` out. Nothing was spent"
        ) from None

    def map_families(
        fit: Callable[[FamilyTask], FittedFamilies], tasks: Iterable[FamilyTask]
    ) -> Iterable[FittedFamilies]:
        listed = list(tasks)
        fitted: list[FittedFamilies] = (
            context.parallelize(listed, len(listed)).map(fit).collect()
        )
        return fitted

    return map_families
