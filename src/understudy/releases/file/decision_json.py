"""The explanation of a release, read from JSON that anybody may have written.

It is written by `Explanation.to_dict`.
"""

from __future__ import annotations

from understudy.decisions import Decision, Verdict
from understudy.releases.explanation.explanation import Explanation
from understudy.releases.file.json_fields import (
    JsonFields,
    integer_from_json,
    number_from_json,
    text_from_json,
)
from understudy.releases.file.measurement_json import clique_from_json
from understudy.schema import Schema

_DECISION_FIELDS = {
    "stage",
    "clique",
    "noisy_distance",
    "distance",
    "prior_variance",
    "gain",
    "part",
    "verdict",
}
_MAX_STAGE_CHARACTERS = 200


def explanation_from_json(value: object, schema: Schema) -> Explanation:
    """The explanation again; ReleaseError if any part of it is not sound."""
    fields = JsonFields(value, "explanation", {"decisions", "left_out"})
    decisions = tuple(
        _decision_from_json(item, f"explanation.decisions[{i}]", schema)
        for i, item in enumerate(fields.items("decisions"))
    )
    left_out = {}
    for stage, count in fields.free_object("left_out").items():
        where = fields.path("left_out")
        name = text_from_json(stage, where, limit=_MAX_STAGE_CHARACTERS)
        left_out[name] = integer_from_json(count, where, low=1)
    return Explanation(decisions, left_out)


def _decision_from_json(value: object, where: str, schema: Schema) -> Decision:
    fields = JsonFields(value, where, _DECISION_FIELDS)
    return Decision(
        stage=fields.text("stage", limit=_MAX_STAGE_CHARACTERS),
        clique=clique_from_json(fields, schema),
        noisy_distance=fields.optional("noisy_distance", number_from_json),
        distance=fields.number("distance"),
        prior_variance=fields.number("prior_variance"),
        gain=fields.number("gain"),
        part=fields.number("part"),
        verdict=fields.choice("verdict", Verdict),
    )
