"""The facts of a release in the fields of the Differential Privacy Deployments Registry
(NIST and OpenDP, 2025; arXiv 2509.13509).

What the owner alone knows (who, why, since when) is left open for them to fill in.
"""

from __future__ import annotations

from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.findings import Fact
from understudy.releases import Release

_REGISTRY_DP_FLAVOURS = {
    Accounting.PURE: "pure differential privacy",
    Accounting.GDP: "Gaussian differential privacy, stated as (ε, δ)",
    Accounting.ZCDP: "zero-concentrated differential privacy, stated as (ε, δ)",
}


def registry_facts(release: Release) -> dict[str, Fact]:
    """What the registry asks of a deployment, as far as the release knows it.

    >>> from understudy.models import ProductModel
    >>> from understudy.releases import Guarantee
    >>> from understudy.schema import Boolean, Schema
    >>> schema = Schema(columns=(Boolean(name="smoker"),))
    >>> release = Release(
    ...     guarantee=Guarantee.without_data(),
    ...     schema=schema,
    ...     model=ProductModel.uniform(schema, total=4.0),
    ... )
    >>> registry_facts(release)["dp_flavor"]
    'none: no data used'
    """
    promise, statement = release.guarantee, release.statement
    unit = promise.unit
    if promise.max_rows > 1:
        unit = f"{unit}, at most {promise.max_rows} rows of each"
    flavour = f"none: {promise.kind.value}"
    loss: dict[str, Fact] | None = None
    if promise.accounting is not None:
        flavour = _REGISTRY_DP_FLAVOURS[promise.accounting]
        loss = {"epsilon": float(promise.epsilon), "delta": float(promise.delta)}
    relation = "replace one unit"
    if promise.neighbours is Neighbours.ADD_REMOVE:
        relation = "add or remove one unit"
    measured = (*release.measurements, *release.measurements.sparse)
    # Field names are the registry's own; None marks what its owner has to fill in.
    return {
        "deployment_name": statement.dataset,
        "organization": None,
        "purpose": None,
        "data_product_type": "synthetic table",
        "dp_flavor": flavour,
        "privacy_loss": loss,
        "privacy_unit": unit,
        "neighboring_relation": relation,
        "deployment_model": "central: a trusted curator holds the rows",
        "actors": (
            "the curator sees rows; whoever gets the release sees noisy answers and"
            " what follows from them"
        ),
        "release_type": "static",
        "mechanisms": sorted({measurement.law.value for measurement in measured}),
        "composition": (
            "filter over all answers of the run; runs add up plainly in the ledger"
        ),
        "invariants": list(promise.invariants),
        "public_by_declaration": list(promise.public),
        "learned_within_the_budget": list(promise.learned),
        "post_processing": (
            f"{release.synthesizer or 'none'}: a model fitted to the noisy answers"
            " alone"
        ),
        "implementation": {
            "library": "understudy",
            "version": release.environment.get("understudy", ""),
        },
        "date": None if statement.day is None else statement.day.isoformat(),
        "justification": None,
    }
