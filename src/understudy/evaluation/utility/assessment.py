"""Everything about utility that applies, one measure after the other. Internal, not
private.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

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
from understudy.evaluation.utility.sdnist import MAX_SDNIST_ROWS, assess_sdnist
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
from understudy.inference.combining_rules import CombiningRule
from understudy.schema import Schema
from understudy.tables import Records, Table

MAX_MODEL_ROWS = 10_000
"""Rows of each table that models are fitted to; counts are of all rows."""

ASSESSMENT_SHUFFLES = 20
"""Shuffles of labels behind the chance level of a tree; each is a fit."""


def assess_utility(
    real: Table,
    synthetic: Table,
    schema: Schema,
    *,
    targets: Sequence[str] | None = None,
    formulas: Mapping[str, str] | Sequence[str] = (),
    holdout: Table | None = None,
    enumeration: float | None = None,
    group: str | None = None,
    copies: Sequence[Table] = (),
    rule: CombiningRule | None = None,
    rows: int = MAX_MODEL_ROWS,
    seed: int = 0,
    progress: Progress = ignore_progress,
) -> Assessment:
    """What a synthetic table keeps of the original, measure by measure, under the
    release's closed schema.

    `targets` are the columns that classifiers predict; `formulas` statsmodels formulas,
    as a list (least squares) or a mapping from formula to `gaussian`, `logit`, `probit`
    or `poisson`; with a `group`, that column's groups are scored as SDNist
    does; with a `rule`, the fits of further `copies` are combined by it. `seed`
    fixes which rows, triples and queries are drawn. What cannot be
    computed is in the list with the reason.
    """
    models = dict.fromkeys(formulas, "gaussian")
    if isinstance(formulas, Mapping):
        models = dict(formulas)
    tables = _ComparedTables(
        real=real,
        synthetic=synthetic,
        schema=schema,
        targets=default_targets(schema) if targets is None else tuple(targets),
        models=models,
        holdout=holdout,
        enumeration=enumeration,
        group=group,
        copies=copies,
        rule=rule,
        rows=rows,
        # A seed is safe here: it chooses rows and queries, and no noise of a release.
        rng=np.random.default_rng(seed),
    )
    findings = compute_findings(tables.measures(), progress)
    facts: dict[str, Fact] = {
        "rows_real": real.rows(),
        "rows_synthetic": synthetic.rows(),
        "columns": len(schema),
        "seed": seed,
        "model_rows": rows,
    }
    return Assessment(subject="utility", findings=findings, facts=facts)


@dataclass(frozen=True, kw_only=True)
class _ComparedTables:
    """The two tables of one assessment, and every measure of them.

    Samples of rows are drawn once and shared by the models; all draws come from one
    generator, in the order in which measures are computed.
    """

    real: Table
    synthetic: Table
    schema: Schema
    targets: Sequence[str]
    models: Mapping[str, str]
    holdout: Table | None
    enumeration: float | None
    group: str | None
    copies: Sequence[Table]
    rule: CombiningRule | None
    rows: int
    rng: np.random.Generator

    def measures(self) -> list[Measure]:
        """What is computed, in the order in which a page shows it."""
        return [
            *self._count_measures(),
            *self._group_measures(),
            *self._propensity_measures(),
            *self._estimate_measures(),
            Measure(
                "tasks", "Train on synthetic, test on real", "tasks", self._run_tasks
            ),
        ]

    def _count_measures(self) -> list[Measure]:
        """Measures of all rows, from counts."""
        # Computed when their turn comes, and in this order: they share one generator.
        both, rng = (self.real, self.synthetic, self.schema), self.rng
        orders = [
            Measure(
                f"tvd_{order}",
                f"{ORDER_TITLES[order]}, total variation",
                "marginals",
                partial(assess_marginals, *both, order, rng=rng),
            )
            for order in (1, 2, 3)
        ]
        return [
            *orders,
            Measure(
                "kmarginal",
                "k-marginal score",
                "marginals",
                partial(assess_kmarginal, *both, rng=rng),
            ),
            Measure(
                "range_queries",
                "Range queries",
                "queries",
                partial(assess_range_queries, *both, rng=rng),
            ),
            Measure(
                "correlation",
                "Correlations",
                "dependence",
                partial(assess_correlations, *both),
            ),
            Measure(
                "mutual_information",
                "Mutual information",
                "dependence",
                partial(assess_mutual_information, *both),
            ),
            Measure(
                "bias",
                "Bias of counts, B",
                "counts",
                partial(assess_bias, *both),
            ),
            Measure(
                "count_error",
                "Error of a count, producer's",
                "counts",
                partial(assess_count_error, *both, enumeration=self.enumeration),
            ),
            Measure(
                "violations",
                "Rows that cannot be",
                "constraints",
                partial(assess_violations, *both),
            ),
        ]

    def _group_measures(self) -> list[Measure]:
        if self.group is None:
            return []
        return [
            Measure(
                "sdnist",
                f"k-marginal score of SDNist, by {self.group}",
                "marginals",
                partial(self._run_sdnist, self.group),
            )
        ]

    def _run_sdnist(self, group: str) -> Finding:
        real, synthetic = (
            table.records(most=MAX_SDNIST_ROWS, rng=self.rng)
            for table in (self.real, self.synthetic)
        )
        return assess_sdnist(real, synthetic, group)

    def _propensity_measures(self) -> list[Measure]:
        return [
            Measure(
                f"propensity_{method}",
                f"Propensity score U_p, {PROPENSITY_METHODS[method]}",
                "propensity",
                partial(self._run_propensity, method),
            )
            for method in ("logistic", "cart")
        ]

    def _estimate_measures(self) -> list[Measure]:
        return [
            Measure(
                f"estimates_{i}",
                f"Interval overlap: {formula} ({family})",
                "estimates",
                partial(self._run_estimates, formula, family, i),
            )
            for i, (formula, family) in enumerate(self.models.items(), start=1)
        ]

    @cached_property
    def real_rows(self) -> Records:
        """A sample of the real rows, for models."""
        return self.real.records(most=self.rows, rng=self.rng)

    @cached_property
    def synthetic_rows(self) -> Records:
        """A sample of the synthetic rows, for models."""
        return self.synthetic.records(most=self.rows, rng=self.rng)

    def _run_propensity(self, method: str) -> Finding:
        return assess_propensity(
            self.real_rows,
            self.synthetic_rows,
            method,
            rng=self.rng,
            shuffles=ASSESSMENT_SHUFFLES,
        )

    def _run_estimates(self, formula: str, family: str, index: int) -> Finding:
        return assess_estimates(
            self.real_rows,
            self.synthetic_rows,
            formula,
            family=family,
            index=index,
            copies=self.copy_rows,
            rule=self.rule,
        )

    @cached_property
    def copy_rows(self) -> list[Records]:
        """Samples of the further copies, where a rule combines them."""
        # Without a rule nothing says how the fits of several copies combine.
        if self.rule is None:
            return []
        return [copy.records(most=self.rows, rng=self.rng) for copy in self.copies]

    def _run_tasks(self) -> Finding:
        # Rows that the release was not made from are the fairer test.
        apart = None
        if self.holdout is not None:
            apart = self.holdout.records(most=self.rows, rng=self.rng)
        return assess_tasks(
            self.real_rows,
            self.synthetic_rows,
            self.targets,
            rng=self.rng,
            holdout=apart,
        )
