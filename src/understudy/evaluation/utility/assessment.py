"""Everything about utility that applies, one measure after the other. Internal, not
private.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from understudy.evaluation.utility.bias import assess_bias, assess_count_error
from understudy.evaluation.utility.dependence import (
    assess_correlations,
    assess_mutual_information,
)
from understudy.evaluation.utility.estimates import assess_estimates
from understudy.evaluation.utility.kmarginal import assess_kmarginal
from understudy.evaluation.utility.orders import ORDER_TITLES, assess_marginals
from understudy.evaluation.utility.propensity import (
    PROPENSITY_METHODS,
    assess_propensity,
)
from understudy.evaluation.utility.ranges import assess_range_queries
from understudy.evaluation.utility.tasks import assess_tasks, default_targets
from understudy.evaluation.utility.violations import assess_violations
from understudy.findings import (
    Assessment,
    Fact,
    Finding,
    Measure,
    Progress,
    compute_findings,
    ignore_progress,
)
from understudy.schema import Schema
from understudy.tables import Records, Table

MAX_MODEL_ROWS = 10_000
"""Rows of each table that models are fitted to; counts are of all rows."""

ASSESSMENT_SHUFFLES = 20


def assess_utility(
    real: Table,
    synthetic: Table,
    schema: Schema,
    *,
    targets: Sequence[str] | None = None,
    formulas: Mapping[str, str] | Sequence[str] = (),
    holdout: Table | None = None,
    enumeration: float | None = None,
    rows: int = MAX_MODEL_ROWS,
    seed: int = 0,
    progress: Progress = ignore_progress,
) -> Assessment:
    """What a synthetic table keeps of the original, measure by measure, under the
    release's closed schema.

    `targets` are the columns that classifiers predict; `formulas` statsmodels formulas,
    as a list (least squares) or a mapping from formula to `gaussian`, `logit`, `probit`
    or `poisson`. `seed` fixes which rows, triples and queries are drawn. What cannot be
    computed is in the list with the reason.
    """
    rng = np.random.default_rng(seed)
    models = (
        formulas
        if isinstance(formulas, Mapping)
        else dict.fromkeys(formulas, "gaussian")
    )
    sampled: dict[str, Records] = {}

    def sample_rows(which: str, table: Table) -> Records:
        if which not in sampled:
            sampled[which] = table.records(most=rows, rng=rng)
        return sampled[which]

    def real_rows() -> Records:
        return sample_rows("real", real)

    def synthetic_rows() -> Records:
        return sample_rows("synthetic", synthetic)

    chosen = default_targets(schema) if targets is None else tuple(targets)
    measures = [
        Measure(
            f"tvd_{order}",
            f"{ORDER_TITLES[order]}, total variation",
            "marginals",
            partial(assess_marginals, real, synthetic, schema, order, rng=rng),
        )
        for order in (1, 2, 3)
    ]
    measures += [
        Measure(
            "kmarginal",
            "k-marginal score",
            "marginals",
            lambda: assess_kmarginal(real, synthetic, schema, rng=rng),
        ),
        Measure(
            "range_queries",
            "Range queries",
            "queries",
            lambda: assess_range_queries(real, synthetic, schema, rng=rng),
        ),
        Measure(
            "correlation",
            "Correlations",
            "dependence",
            lambda: assess_correlations(real, synthetic, schema),
        ),
        Measure(
            "mutual_information",
            "Mutual information",
            "dependence",
            lambda: assess_mutual_information(real, synthetic, schema),
        ),
        Measure(
            "bias",
            "Bias of counts, B",
            "counts",
            lambda: assess_bias(real, synthetic, schema),
        ),
        Measure(
            "count_error",
            "Error of a count, producer's",
            "counts",
            lambda: assess_count_error(
                real, synthetic, schema, enumeration=enumeration
            ),
        ),
        Measure(
            "violations",
            "Rows that cannot be",
            "constraints",
            lambda: assess_violations(real, synthetic, schema),
        ),
    ]

    def run_propensity(method: str) -> Finding:
        return assess_propensity(
            real_rows(), synthetic_rows(), method, rng=rng, shuffles=ASSESSMENT_SHUFFLES
        )

    def run_estimates(formula: str, family: str, index: int) -> Finding:
        return assess_estimates(
            real_rows(), synthetic_rows(), formula, family=family, index=index
        )

    for method in ("logistic", "cart"):
        title = f"Propensity score U_p, {PROPENSITY_METHODS[method]}"
        measures.append(
            Measure(
                f"propensity_{method}",
                title,
                "propensity",
                partial(run_propensity, method),
            )
        )
    for i, (formula, family) in enumerate(models.items(), start=1):
        title = f"Interval overlap: {formula} ({family})"
        measures.append(
            Measure(
                f"estimates_{i}",
                title,
                "estimates",
                partial(run_estimates, formula, family, i),
            )
        )

    def run_tasks() -> Finding:
        apart = None if holdout is None else sample_rows("holdout", holdout)
        return assess_tasks(
            real_rows(), synthetic_rows(), chosen, rng=rng, holdout=apart
        )

    measures.append(
        Measure("tasks", "Train on synthetic, test on real", "tasks", run_tasks)
    )
    facts: dict[str, Fact] = {
        "rows_real": real.rows(),
        "rows_synthetic": synthetic.rows(),
        "columns": len(schema),
        "seed": seed,
        "model_rows": rows,
    }
    return Assessment(
        subject="utility", findings=compute_findings(measures, progress), facts=facts
    )
