"""Membership: was somebody's row in the table at all?

Three attacks, each a score per person; people in the data against people who were not.

* Measurements. A release carries noisy answers y = q(D) + noise. Whoever knows
  everything but whether x is there compares the likelihood of y with and without x: for
  Gaussian noise Σ ((y − q₀)² − (y − q₀ − q(x))²) / 2σ² with q₀ the answers without x.
  No attack on anything made from the measurements can do better (Neyman, Pearson), so
  this one is the yardstick.
* Density ratio. p_synthetic(x) / p_reference(x) on cliques of columns, mean of
  logarithms (van Breugel et al., "Membership inference attacks against synthetic data
  through overfitting detection", 2023; on the measured cliques: Golob et al., "Privacy
  vulnerabilities in marginals-based synthetic data", 2024). The reference rows are
  neither members nor control.
* Shadow models. Make the release again and again with and without one person, and learn
  to tell the two apart by the counts of cells that the person is in (Stadler, Oprisanu,
  Troncoso, "Synthetic data - anonymisation groundhog day", 2022). Slow, and weaker than
  the first.

An (ε, δ)-private release bounds all of them: true positives ≤ e^ε · false positives +
δ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from understudy.accounting.law import Law
from understudy.evaluation.risk.rates import Rate, max_true_positive_rate
from understudy.findings import BetterDirection, Fact, Finding, FindingPart, Unavailable
from understudy.measurements import AxisMap, Centring, Clique, Measurement, Partition
from understudy.schema import Schema
from understudy.tables import Records, Table

MAX_DENSITY_CLIQUES = 100
REPORTED_FALSE_POSITIVE_RATES = (0.01, 0.1)

Codes = Mapping[str, NDArray[np.integer]]


def row_contributions(axis: AxisMap, codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """What one row adds along an axis, for each of some codes: rows × the axis after
    its map.
    """
    return np.asarray(axis.matrix()[:, np.asarray(codes, np.int64)].T)


def likelihood_ratios(
    measurement: Measurement,
    exact: NDArray[np.int64],
    records: Records,
    *,
    inside: bool,
) -> NDArray[np.float64]:
    """log P(values | with the person) − log P(values | without), for each record;
    `exact` are the counts of the table itself.

    `inside`: the person is among those counted in `exact`; otherwise they would come on
    top.
    """
    noise = (measurement.values - apply_maps(measurement.maps, exact)).astype(
        np.float64
    )
    scale = float(measurement.scale)
    found = np.empty(records.rows)
    columns = [
        row_contributions(m, records.codes[name])
        for m, name in zip(measurement.maps, measurement.clique, strict=True)
    ]
    flat = noise.reshape(-1)
    if all(not isinstance(m, Centring) for m in measurement.maps):
        # One cell alone moves, by one.
        place = np.zeros(records.rows, np.int64)
        for axis in columns:
            place = place * axis.shape[1] + axis.argmax(axis=1)
        here = flat[place]
        with_, without = (here, here + 1) if inside else (here - 1, here)
        return _log_odds(measurement.law, scale, with_, without)
    for i in range(records.rows):
        moved = np.ones(1)
        for axis in columns:
            moved = np.multiply.outer(moved, axis[i]).reshape(-1)
        with_, without = (flat, flat + moved) if inside else (flat - moved, flat)
        found[i] = _log_odds(measurement.law, scale, with_, without).sum()
    return found


def apply_maps(maps: Sequence[AxisMap], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The exact answers of a measurement."""
    for axis, each in enumerate(maps):
        if isinstance(each, Partition | Centring):
            counts = np.moveaxis(
                np.tensordot(each.matrix(), counts, (1, axis)), 0, axis
            )
    return counts


def _log_odds(
    law: Law, scale: float, with_: NDArray[np.float64], without: NDArray[np.float64]
) -> NDArray[np.float64]:
    if law is Law.DISCRETE_LAPLACE:
        return np.asarray((np.abs(without) - np.abs(with_)) / scale)
    return np.asarray((without**2 - with_**2) / (2 * scale**2))


def attack_by_measurements(
    table: Table,
    measurements: Sequence[Measurement],
    members: Records,
    control: Records,
    *,
    guarantee: tuple[float, float] | None,
) -> Finding:
    """The likelihood ratio of everything that was measured, members against control."""
    _check_holdout(members, control)
    scores = [np.zeros(members.rows), np.zeros(control.rows)]
    used = [m for m in measurements if m.clique and m.scale > 0]
    if not used:
        raise Unavailable("the release holds no noisy measurement of a marginal")
    for measurement in used:
        (exact,) = table.counts([measurement.clique])
        for i, (records, inside) in enumerate(((members, True), (control, False))):
            scores[i] += likelihood_ratios(measurement, exact, records, inside=inside)
    return roc_finding(
        "membership_measurements",
        "Membership from the noisy measurements, everything else known",
        scores[0],
        scores[1],
        guarantee=guarantee,
        facts={"measurements": len(used)},
        note=(
            "The strongest attack on a release made from measurements. 0.5 is a coin;"
            " the guarantee bounds each part."
        ),
    )


def density_ratios(
    schema: Schema,
    synthetic: Records,
    reference: Records,
    people: Records,
    cliques: Sequence[Clique],
) -> NDArray[np.float64]:
    """Mean over cliques of log p_synthetic/p_reference at each person's cell.

    The same small share is added to every cell of both, so that a cell in neither table
    says nothing whatever their sizes.
    """
    found = np.zeros(people.rows)
    small = 0.5 / min(synthetic.rows, reference.rows)
    for clique in cliques:
        sizes = schema.sizes(clique)
        place = np.ravel_multi_index(
            [people.codes[name].astype(np.int64) for name in clique], sizes
        )
        for sign, rows in ((1, synthetic), (-1, reference)):
            own = np.ravel_multi_index(
                [rows.codes[name].astype(np.int64) for name in clique], sizes
            )
            values, counts = np.unique(own, return_counts=True)
            at = np.minimum(np.searchsorted(values, place), len(values) - 1)
            held = np.where(values[at] == place, counts[at], 0)
            found += sign * np.log(held / rows.rows + small)
    return found / len(cliques)


def attack_by_density(
    schema: Schema,
    synthetic: Records,
    members: Records,
    holdout: Records,
    *,
    cliques: Sequence[Clique] | None = None,
    rng: np.random.Generator,
    guarantee: tuple[float, float] | None = None,
) -> Finding:
    """Density ratio on cliques; half of the holdout is the reference, the other half
    the control.
    """
    if holdout.rows < 4:
        raise Unavailable(
            "it needs a holdout of some rows: one half as reference, the other as"
            " control"
        )
    order = rng.permutation(holdout.rows)
    reference, control = (
        holdout.take(order[: len(order) // 2]),
        holdout.take(order[len(order) // 2 :]),
    )
    _check_holdout(members, control)
    if not synthetic.rows:
        raise Unavailable("the synthetic table has no rows")
    chosen = [c for c in cliques or [] if c] or [(name,) for name in schema] + list(
        combinations(schema, 2)
    )
    chosen = [
        c
        for c in dict.fromkeys(chosen)
        if np.prod(schema.sizes(c), dtype=np.float64) < 2**62
    ]
    if len(chosen) > MAX_DENSITY_CLIQUES:
        chosen = [
            chosen[i]
            for i in np.sort(
                rng.choice(len(chosen), MAX_DENSITY_CLIQUES, replace=False)
            )
        ]
    scores = [
        density_ratios(schema, synthetic, reference, people, chosen)
        for people in (members, control)
    ]
    return roc_finding(
        "membership_density",
        "Membership by density ratio on cliques",
        *scores,
        guarantee=guarantee,
        facts={
            "cliques": len(chosen),
            "measured_cliques": bool(cliques),
            "reference": reference.rows,
        },
        note=(
            "0.5 is a coin. Members' cells are denser in the synthetic rows than in"
            " others' where the release remembers them."
        ),
    )


def codes_of_table(table: Table) -> Codes:
    """The codes of every row of a table, column by column."""
    return table.records().codes


def find_rarest_row(rows: Codes) -> int:
    """The row whose values are the rarest, column by column: whom a release betrays
    first, if anybody.

    >>> find_rarest_row({"job": np.array([0, 0, 0, 1]), "sex": np.array([0, 1, 0, 1])})
    3
    """
    surprise = np.zeros(len(next(iter(rows.values()))))
    for codes in rows.values():
        counts = np.bincount(np.asarray(codes, np.int64))
        surprise -= np.log(counts[codes] / len(codes))
    return int(surprise.argmax())


def attack_by_shadows(
    rows: Codes,
    target: int,
    make: Callable[[Codes], Codes],
    *,
    schema: Schema,
    rng: np.random.Generator,
    shadows: int = 50,
    queries: int = 30,
    guarantee: tuple[float, float] | None = None,
) -> Finding:
    """Releases made with and without one row, told apart by the counts of cells that
    the row is in.

    `make` turns rows of codes into a synthetic table of codes, as the release was made.
    Half of the shadows teach, the other half judge.
    """
    if shadows < 8:
        raise Unavailable(
            "fewer than eight shadow releases on either side teach nothing"
        )
    names = list(schema)
    chosen = [
        tuple(
            names[i]
            for i in rng.choice(
                len(names), min(int(rng.integers(1, 4)), len(names)), replace=False
            )
        )
        for _ in range(queries)
    ]
    kept = np.ones(len(next(iter(rows.values()))), bool)
    kept[target] = False
    features: list[list[list[float]]] = [[], []]
    for side, chosen_rows in enumerate(
        (rows, {name: codes[kept] for name, codes in rows.items()})
    ):
        for _ in range(shadows):
            made = make(chosen_rows)
            features[side].append(
                [_count_matching_rows(made, rows, target, clique) for clique in chosen]
            )
    inside, outside = (np.array(side) for side in features)
    half = shadows // 2
    # Each query weighs by how far it moved among those that teach, in pooled standard
    # deviations.
    spread = (
        np.vstack(
            [
                inside[:half] - inside[:half].mean(0),
                outside[:half] - outside[:half].mean(0),
            ]
        ).var(0)
        + 1e-9
    )
    weight = (inside[:half].mean(0) - outside[:half].mean(0)) / spread
    return roc_finding(
        "membership_shadows",
        "Membership of one row, by shadow releases",
        inside[half:] @ weight,
        outside[half:] @ weight,
        guarantee=guarantee,
        facts={"shadows": shadows, "queries": queries},
        note=(
            "0.5 is a coin. Such attacks see less than the measurements tell; a small"
            " number is no proof of safety."
        ),
    )


def area_under_roc(members: NDArray[np.float64], control: NDArray[np.float64]) -> float:
    """The chance that a member scores higher than one of the control, ties counted
    half.

    >>> area_under_roc(np.array([1.0, 3.0]), np.array([0.0, 1.0]))
    0.875
    """
    below = np.sort(control)
    wins = np.searchsorted(below, members, "left") + np.searchsorted(
        below, members, "right"
    )
    return float(wins.sum() / (2 * len(members) * len(control)))


def roc_finding(
    name: str,
    title: str,
    members: NDArray[np.float64],
    control: NDArray[np.float64],
    *,
    guarantee: tuple[float, float] | None,
    facts: Mapping[str, Fact],
    note: str,
) -> Finding:
    """The area under the ROC curve with its interval, and true positives at small
    false-positive rates beside the guarantee's bound.
    """
    n, m = len(members), len(control)
    area = area_under_roc(members, control)
    # Hanley, McNeil, "The meaning and use of the area under a ROC curve", 1982.
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = (
        area * (1 - area) + (n - 1) * (q1 - area**2) + (m - 1) * (q2 - area**2)
    ) / (n * m)
    half = float(-ndtri(0.025)) * float(np.sqrt(max(variance, 1 / (4 * n * m))))
    parts = []
    for rate in REPORTED_FALSE_POSITIVE_RATES:
        label = f"true positives at {rate:.0%} false positives"
        if m * rate < 1:
            parts.append(
                FindingPart(
                    name=label,
                    reason=f"it takes at least {round(1 / rate)} people in the control",
                )
            )
            continue
        cut = np.sort(control)[::-1][int(np.floor(m * rate)) - 1]
        hits = Rate(int((members > cut).sum()), n)
        low, high = hits.interval()
        limit = None if guarantee is None else max_true_positive_rate(*guarantee, rate)
        parts.append(
            FindingPart(
                name=label,
                value=hits.value,
                facts={"low": low, "high": high, "bound": limit},
            )
        )
    return Finding(
        name=name,
        title=title,
        family="membership",
        value=area,
        better=BetterDirection.LOWER,
        best=0.5,
        worst=1.0,
        baseline=0.5,
        interval=(max(0.0, area - half), min(1.0, area + half)),
        note=note,
        parts=tuple(parts),
        facts={**facts, "members": n, "control": m},
    )


def _count_matching_rows(
    made: Codes, rows: Codes, target: int, clique: Clique
) -> float:
    hit = np.ones(len(made[clique[0]]), bool)
    for name in clique:
        hit &= np.asarray(made[name]) == rows[name][target]
    return float(hit.sum())


def _check_holdout(members: Records, control: Records) -> None:
    if min(members.rows, control.rows) < 2:
        raise Unavailable(
            "it needs a holdout: rows of the same kind that the release was not made"
            " from"
        )
