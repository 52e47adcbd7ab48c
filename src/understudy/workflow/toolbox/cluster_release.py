"""k-means on the synthetic rows of a release, which costs nothing more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.errors import Refused
from understudy.releases.release import Release
from understudy.toolbox.clusters import (
    MAX_CLUSTERS,
    Clustering,
    assign_points,
    fit_weighted_points,
    plan_cluster_space,
)


def cluster_release(
    release: Release, columns: Sequence[str], *, clusters: int
) -> Clustering:
    """The centres of so many clusters of a release's synthetic rows.

    Every column counts alike, in units of its declared bounds. Rows without a value in
    one of them take no part.

    >>> from understudy.models import ProductModel
    >>> from understudy.releases.guarantee import Guarantee
    >>> from understudy.schema import Integer, Schema
    >>> schema = Schema(columns=(Integer(name="age", min=0, max=99, nullable=False),))
    >>> model = ProductModel.uniform(schema, total=4000.0)
    >>> release = Release(guarantee=Guarantee.without_data(), schema=schema, model=model)
    >>> found = cluster_release(release, ["age"], clusters=2)
    >>> sorted(int(round(x, -1)) for x in found.centres[:, 0])
    [20, 70]
    """
    if type(clusters) is not int or not 1 <= clusters <= MAX_CLUSTERS:
        raise Refused(f"clusters are 1 to {MAX_CLUSTERS}. Nothing was spent")
    space = plan_cluster_space(columns, release.schema)
    rows = release.sample(kind="polars").select(space.columns).drop_nulls()
    points = space.to_points(rows.to_numpy().astype(np.float64))
    # For starting points alone: the rows are public.
    rng = np.random.default_rng()
    centres = fit_weighted_points(points, np.ones(len(points)), clusters, rng)
    counts = np.bincount(assign_points(points, centres), minlength=clusters)
    return Clustering(
        space.columns, space.to_values(centres), counts.astype(np.float64), "release"
    )
