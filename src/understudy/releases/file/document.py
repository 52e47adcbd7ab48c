"""A release as a JSON document with arrays beside it, and back.

Every field is documented in docs/release-format.md. Exact numbers are written p/q;
arrays are named by position.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError, SchemaError
from understudy.measurements import Measurements
from understudy.models import PortableModel, from_parts
from understudy.notices import Notice, NoticeKind
from understudy.releases.card.entry import MarginalVerdict
from understudy.releases.card.statistic_intervals import CARD_QUANTILES
from understudy.releases.contents import (
    RELEASE_FORMAT_VERSION,
    OptionValue,
    ReleaseContents,
    ReleaseKind,
)
from understudy.releases.explanation.explanation import Explanation
from understudy.releases.file.arrays import ArrayReader, ArraysByFile, ArrayWriter
from understudy.releases.file.decision_json import explanation_from_json
from understudy.releases.file.json_fields import (
    JsonFields,
    field_error,
    text_from_json,
)
from understudy.releases.file.measurement_json import (
    clique_from_json,
    distance_from_json,
    distance_to_json,
    measurement_from_json,
    measurement_to_json,
    moments_from_json,
    moments_to_json,
    sparse_from_json,
    sparse_to_json,
)
from understudy.releases.file.promise_json import (
    guarantee_from_json,
    guarantee_to_json,
    statement_from_json,
    statement_to_json,
)
from understudy.releases.output.frames import FRAME_KINDS
from understudy.schema import Schema, schema_from_dict, schema_to_dict

RELEASE_FORMAT = "understudy release"

MAX_RELEASE_COLUMNS = 10_000
"""Columns of a release: the card and the pairs of columns grow with their square."""

_RELEASE_FIELDS = {
    "format",
    "version",
    "kind",
    "guarantee",
    "schema",
    "measurements",
    "sparse",
    "gaps",
    "card",
    "model",
    "microdata",
    "statement",
    "synthesizer",
    "environment",
    "frame",
    "notes",
}
_OPTIONAL_RELEASE_FIELDS = {"explanation", "moments"}
"""Fields that a file has only if there is something to say; files written before these
fields existed have none of them.
"""

_CARD_ENTRY_FIELDS = {"clique", "supported", "cells", "noise", "error", "verdict"}

_OPTIONAL_CARD_FIELDS = {"statistics"}
"""Fields that cards of older files do not have."""

_MAX_CARD_ENTRY_CELLS = 1 << 1000
"""Cells of a marginal over up to 32 columns, which a double need not hold."""

_MAX_NAME_CHARACTERS = 200

ContentsT = TypeVar("ContentsT", bound=ReleaseContents)


def to_document(release: ReleaseContents) -> tuple[dict[str, object], ArraysByFile]:
    """Everything that a release file holds."""
    # The order in which arrays are added names them, so it is part of the format: the
    # same release always gives the same bytes.
    arrays = ArrayWriter()
    model = _model_to_json(release.model, arrays)
    measurements = release.measurements
    document: dict[str, object] = {
        "format": RELEASE_FORMAT,
        "version": release.version,
        "kind": release.kind.value,
        "guarantee": guarantee_to_json(release.guarantee),
        "schema": schema_to_dict(release.schema),
        "measurements": [measurement_to_json(m, arrays) for m in measurements],
        "sparse": [sparse_to_json(s, arrays) for s in measurements.sparse],
        "gaps": [distance_to_json(d, arrays) for d in measurements.gaps],
        "card": release.card.to_dict(),
        "model": model,
        "microdata": _microdata_to_json(release, arrays),
        "statement": statement_to_json(release.statement),
        "synthesizer": {"name": release.synthesizer, "options": dict(release.options)},
        "environment": dict(release.environment),
        "frame": release.frame,
        "notes": [n.text for n in release.notices if n.is_for_readers],
    }
    if measurements.moments:
        document["moments"] = [moments_to_json(m) for m in measurements.moments]
    if release.explanation.decisions:
        document["explanation"] = release.explanation.to_dict()
    return document, arrays.arrays


def from_document(
    document: object,
    arrays: Mapping[str, NDArray[np.generic]],
    contents: type[ContentsT],
) -> ContentsT:
    """The release again, as an object of that class; ReleaseError if any part of it is
    not sound.
    """
    # Before the fields are: a later version of the format may have others.
    _check_version(document)
    top = JsonFields(
        document, "release", _RELEASE_FIELDS, optional=_OPTIONAL_RELEASE_FIELDS
    )
    reader = ArrayReader(arrays)
    schema = _schema_from_json(top["schema"])
    measurements = _measurements_from_json(top, schema, reader)
    model = _model_from_json(top, schema, reader)
    microdata = _microdata_from_json(top, schema, reader)
    reader.refuse_unused()
    _check_card(top["card"], schema)
    synthesizer = JsonFields(top["synthesizer"], "synthesizer", {"name", "options"})
    return contents(
        kind=top.choice("kind", ReleaseKind),
        guarantee=guarantee_from_json(top["guarantee"]),
        schema=schema,
        measurements=measurements,
        model=model,
        microdata=microdata,
        statement=statement_from_json(top["statement"]),
        synthesizer=synthesizer.text("name", limit=_MAX_NAME_CHARACTERS),
        options=_options_from_json(synthesizer.free_object("options")),
        environment=_environment_from_json(top.free_object("environment")),
        frame=top.optional("frame", _frame_kind_from_json),
        notices=tuple(Notice(NoticeKind.STATED, text) for text in top.texts("notes")),
        explanation=_explanation_from_json(top, schema),
        version=RELEASE_FORMAT_VERSION,
    )


# -- model, rows and measurements


def _model_to_json(model: PortableModel | None, arrays: ArrayWriter) -> object:
    if model is None:
        return None
    facts, parts = model.to_parts()
    named = {name: arrays.add_array(array) for name, array in parts.items()}
    return {"facts": facts, "arrays": named}


def _model_from_json(
    top: JsonFields, schema: Schema, arrays: ArrayReader
) -> PortableModel | None:
    if top["model"] is None:
        return None
    fields = JsonFields(top["model"], "model", {"facts", "arrays"})
    parts = {
        name: arrays.take_array(file, f"model.arrays.{name}")
        for name, file in fields.free_object("arrays").items()
    }
    return from_parts(schema, fields.free_object("facts"), parts)


def _microdata_to_json(release: ReleaseContents, arrays: ArrayWriter) -> object:
    microdata = release.microdata
    if microdata is None:
        return None
    return {name: arrays.add_array(microdata[name]) for name in release.schema}


def _microdata_from_json(
    top: JsonFields, schema: Schema, arrays: ArrayReader
) -> dict[str, NDArray[np.integer]] | None:
    if top["microdata"] is None:
        return None
    columns = JsonFields(top["microdata"], "microdata", set(schema))
    return {
        name: arrays.take_codes(columns[name], columns.path(name)) for name in schema
    }


def _measurements_from_json(
    top: JsonFields, schema: Schema, arrays: ArrayReader
) -> Measurements:
    measured = tuple(
        measurement_from_json(value, f"measurements[{i}]", schema, arrays)
        for i, value in enumerate(top.items("measurements"))
    )
    sparse = tuple(
        sparse_from_json(value, f"sparse[{i}]", schema, arrays)
        for i, value in enumerate(top.items("sparse"))
    )
    distances = tuple(
        distance_from_json(value, f"gaps[{i}]", schema, arrays)
        for i, value in enumerate(top.items("gaps"))
    )
    # Files written before moments were measured have none.
    listed = top.items("moments") if "moments" in top else []
    moments = tuple(
        moments_from_json(value, f"moments[{i}]", schema)
        for i, value in enumerate(listed)
    )
    return Measurements(measured, sparse, distances, moments)


# -- everything else


def _check_version(document: object) -> None:
    if not isinstance(document, dict) or document.get("format") != RELEASE_FORMAT:
        raise ReleaseError(
            "This is no release that Understudy wrote. Nothing was loaded."
        )
    version = document.get("version")
    if type(version) is int and version > RELEASE_FORMAT_VERSION:
        raise ReleaseError(
            "This release was written by a later version of Understudy (format"
            f" {version}; this one reads {RELEASE_FORMAT_VERSION}). Upgrade to load it."
        )
    if type(version) is not int or version != RELEASE_FORMAT_VERSION:
        raise field_error(
            "version", f"a format version from 1 to {RELEASE_FORMAT_VERSION}"
        )


def _schema_from_json(value: object) -> Schema:
    if not isinstance(value, dict):
        raise field_error("schema", "a schema")
    columns = value.get("columns")
    # Counted before the schema is built, so that a hostile file cannot make it costly.
    if isinstance(columns, list | dict) and len(columns) > MAX_RELEASE_COLUMNS:
        raise field_error("schema", "a schema")
    try:
        schema = schema_from_dict(value)
        if not schema.is_closed:
            raise field_error("schema", "a schema in which nothing is left to learn")
        schema.sizes(tuple(schema))
    except SchemaError as error:
        raise ReleaseError(
            f"release.json: {str(error).splitlines()[0]}. Nothing was loaded."
        ) from None
    return schema


def _check_card(value: object, schema: Schema) -> None:
    """The card in a file is for readers without Understudy; here it is made again from
    the measurements, so only its form is checked.
    """
    card = JsonFields(
        value,
        "card",
        {"confidence", "rows", "entries"},
        optional=_OPTIONAL_CARD_FIELDS,
    )
    for name in ("confidence", "rows"):
        if type(card[name]) not in (int, float):
            raise field_error(card.path(name), "a number")
    for i, entry in enumerate(card.items("entries")):
        fields = JsonFields(entry, f"card.entries[{i}]", _CARD_ENTRY_FIELDS)
        _check_card_entry(fields, schema)
    if "statistics" in card:
        for i, column in enumerate(card.items("statistics")):
            _check_statistics(column, f"card.statistics[{i}]", schema)


def _check_statistics(value: object, where: str, schema: Schema) -> None:
    titles = {"mean", "sd", *(f"{100 * rank:g} %" for rank in CARD_QUANTILES)}
    fields = JsonFields(value, where, {"column", *titles})
    if fields.text("column") not in schema:
        raise field_error(fields.path("column"), "a column of the schema")
    for title in titles:
        statistic = JsonFields(
            fields[title], fields.path(title), {"estimate", "interval"}
        )
        statistic.number("estimate")
        if statistic["interval"] is not None:
            ends = statistic.items("interval")
            if [type(end) in (int, float) for end in ends] != [True, True]:
                raise field_error(statistic.path("interval"), "two numbers or null")


def _check_card_entry(fields: JsonFields, schema: Schema) -> None:
    clique_from_json(fields, schema)
    fields.choice("verdict", MarginalVerdict)
    fields.whole("cells", high=_MAX_CARD_ENTRY_CELLS)
    fields.truth("supported")
    for name in ("noise", "error"):
        if fields[name] is not None and type(fields[name]) not in (int, float):
            raise field_error(fields.path(name), "a number or null")


def _explanation_from_json(top: JsonFields, schema: Schema) -> Explanation:
    if "explanation" not in top:
        return Explanation()
    return explanation_from_json(top["explanation"], schema)


def _frame_kind_from_json(value: object, where: str) -> str:
    if not isinstance(value, str) or value not in FRAME_KINDS:
        raise field_error(where, f"one of {', '.join(FRAME_KINDS)}")
    return value


def _environment_from_json(fields: Mapping[str, object]) -> dict[str, str]:
    versions = {}
    for name, version in fields.items():
        key = text_from_json(name, "environment")
        versions[key] = text_from_json(
            version, "environment", limit=_MAX_NAME_CHARACTERS
        )
    return versions


def _options_from_json(fields: Mapping[str, object]) -> dict[str, OptionValue]:
    options: dict[str, OptionValue] = {}
    for i, (name, value) in enumerate(fields.items()):
        where = f"synthesizer.options[{i}]"
        if isinstance(value, str):
            text_from_json(value, where)
        elif value is not None and not isinstance(value, bool | int | float):
            raise field_error(where, "a text, a number, true, false or null")
        key = text_from_json(name, "synthesizer.options", limit=_MAX_NAME_CHARACTERS)
        options[key] = value
    return options
