"""Everything about utility that applies, one measure after the other. Internal, not private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from understudy.evaluation.utility.bias import bias, producer_consumer
from understudy.evaluation.utility.dependence import correlations, informations
from understudy.evaluation.utility.estimates import estimates
from understudy.evaluation.utility.kmarginal import kmarginal
from understudy.evaluation.utility.orders import WORDS, distances
from understudy.evaluation.utility.propensity import METHODS, propensity
from understudy.evaluation.utility.ranges import range_queries
from understudy.evaluation.utility.tasks import default_targets, tasks
from understudy.evaluation.utility.violations import violations
from understudy.findings import Assessment, Fact, Finding, Measure, Progress, run, silent
from understudy.schema import Schema
from understudy.tables import Records, Table

ROWS = 10_000
"""Rows of each table that models are fitted to; counts are of all rows."""

SHUFFLES = 20


def assess(
    real: Table,
    synthetic: Table,
    schema: Schema,
    *,
    targets: Sequence[str] | None = None,
    formulas: Mapping[str, str] | Sequence[str] = (),
    holdout: Table | None = None,
    enumeration: float | None = None,
    rows: int = ROWS,
    seed: int = 0,
    progress: Progress = silent,
) -> Assessment:
    """What a stand-in keeps of the original, measure by measure, under the release's closed schema.

    `targets` are the columns that classifiers predict; `formulas` statsmodels formulas, as a list (least squares) or a mapping from
    formula to `gaussian`, `logit`, `probit` or `poisson`. `seed` fixes which rows, triples and queries are drawn. What cannot be computed
    is in the list with the reason.
    """
    rng = np.random.default_rng(seed)
    models = formulas if isinstance(formulas, Mapping) else dict.fromkeys(formulas, "gaussian")
    sampled: dict[str, Records] = {}

    def some(which: str, table: Table) -> Records:
        if which not in sampled:
            sampled[which] = table.records(most=rows, rng=rng)
        return sampled[which]

    def here() -> Records:
        return some("real", real)

    def there() -> Records:
        return some("synthetic", synthetic)

    chosen = default_targets(schema) if targets is None else tuple(targets)
    measures = [
        Measure(
            f"tvd_{order}",
            f"{WORDS[order]}, total variation",
            "marginals",
            partial(distances, real, synthetic, schema, order, rng=rng),
        )
        for order in (1, 2, 3)
    ]
    measures += [
        Measure("kmarginal", "k-marginal score", "marginals", lambda: kmarginal(real, synthetic, schema, rng=rng)),
        Measure("range_queries", "Range queries", "queries", lambda: range_queries(real, synthetic, schema, rng=rng)),
        Measure("correlation", "Correlations", "dependence", lambda: correlations(real, synthetic, schema)),
        Measure(
            "mutual_information", "Mutual information", "dependence", lambda: informations(real, synthetic, schema)
        ),
        Measure("bias", "Bias of counts, B", "counts", lambda: bias(real, synthetic, schema)),
        Measure(
            "count_error",
            "Error of a count, producer's",
            "counts",
            lambda: producer_consumer(real, synthetic, schema, enumeration=enumeration),
        ),
        Measure("violations", "Rows that cannot be", "constraints", lambda: violations(real, synthetic, schema)),
    ]

    def told_apart(method: str) -> Finding:
        return propensity(here(), there(), method, rng=rng, shuffles=SHUFFLES)

    def fitted(formula: str, family: str, index: int) -> Finding:
        return estimates(here(), there(), formula, family=family, index=index)

    for method in ("logistic", "cart"):
        title = f"Propensity score U_p, {METHODS[method]}"
        measures.append(Measure(f"propensity_{method}", title, "propensity", partial(told_apart, method)))
    for i, (formula, family) in enumerate(models.items(), start=1):
        title = f"Interval overlap: {formula} ({family})"
        measures.append(Measure(f"estimates_{i}", title, "estimates", partial(fitted, formula, family, i)))

    def learned() -> Finding:
        apart = None if holdout is None else some("holdout", holdout)
        return tasks(here(), there(), chosen, rng=rng, holdout=apart)

    measures.append(Measure("tasks", "Train on synthetic, test on real", "tasks", learned))
    facts: dict[str, Fact] = {
        "rows_real": real.rows(),
        "rows_synthetic": synthetic.rows(),
        "columns": len(schema),
        "seed": seed,
        "model_rows": rows,
    }
    return Assessment(subject="utility", findings=run(measures, progress), facts=facts)
