"""The one-way marginals that a run still has to measure."""

from __future__ import annotations

from understudy.measurements import Clique
from understudy.synthesizers.base import CuratorProtocol


def one_ways(curator: CuratorProtocol) -> list[Clique]:
    """The columns that discovery has not counted yet; all of them where it has counted
    each.

    Where the number of rows is public, a column with a single code has nothing to tell.
    """
    schema = curator.schema
    sized = schema.column_sizes.items()
    every: list[Clique] = [
        (name,) for name, size in sized if size > 1 or curator.rows is None
    ]
    # Only plain counts spare a measurement: coarser bins leave their cells unknown.
    counted = {m.clique for m in curator.discovered_measurements if m.plain}
    return [single for single in every if single not in counted] or every
