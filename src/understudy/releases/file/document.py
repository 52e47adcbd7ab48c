"""A release as a JSON document with arrays beside it, and back.

Every field is documented in docs/release-format.md. Exact numbers are written p/q;
arrays are named by position.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost
from understudy.accounting.law import Law
from understudy.errors import ReleaseError, SchemaError
from understudy.measurements import (
    AxisMap,
    Centring,
    Clique,
    Distance,
    EstimateDistance,
    Identity,
    Measurement,
    Measurements,
    Partition,
    SparseMeasurement,
)
from understudy.models import from_parts
from understudy.releases.card.card import MarginalVerdict
from understudy.releases.file.json_fields import (
    JsonFields,
    field_error,
    fraction_to_json,
    integer_from_json,
    text_from_json,
)
from understudy.releases.file.promise_json import (
    cost_from_json,
    cost_to_json,
    guarantee_from_json,
    guarantee_to_json,
    statement_from_json,
    statement_to_json,
)
from understudy.releases.output.frames import FRAME_KINDS
from understudy.releases.release import (
    RELEASE_FORMAT_VERSION,
    OptionValue,
    Release,
    ReleaseKind,
)
from understudy.schema import Schema, schema_from_dict, schema_to_dict

RELEASE_FORMAT = "understudy release"
MAX_RELEASE_COLUMNS = 10_000
MAX_DISTANCE_GRID_UNITS = 1 << 62
"""No noisy distance is beyond this, in grid units."""
ArraysByFile = dict[str, NDArray[np.generic]]
"""Arrays by the name of their file."""

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


class ArrayWriter:
    """Arrays on their way into a file: each gets the next number for a name."""

    def __init__(self) -> None:
        self.arrays: ArraysByFile = {}

    def add_array(self, array: NDArray[Any]) -> str:
        """Add an array; the name it will have."""
        name = f"arrays/{len(self.arrays):05d}.npy"
        self.arrays[name] = array
        return name


class ArrayReader:
    """Arrays out of a file: each is used exactly once."""

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._left = dict(arrays)

    def take(self, name: object, where: str) -> NDArray[np.generic]:
        """The array with that name."""
        if not isinstance(name, str) or name not in self._left:
            raise field_error(
                where, "the name of an array in the file that nothing else uses"
            )
        return self._left.pop(name)

    def integers(self, name: object, where: str) -> NDArray[np.int64]:
        """An array of whole numbers."""
        found = self.take(name, where)
        if found.dtype != np.int64:
            raise field_error(where, "an array of whole numbers")
        return found.astype(np.int64, copy=False)

    def done(self) -> None:
        """Refuse arrays that nothing used."""
        if self._left:
            raise ReleaseError(
                "The file holds arrays that release.json does not name. Nothing was"
                " loaded."
            )


def to_document(release: Release) -> tuple[dict[str, object], ArraysByFile]:
    """Everything a release file holds."""
    shelf = ArrayWriter()
    model: object = None
    if release.model is not None:
        facts, arrays = release.model.to_parts()
        model = {
            "facts": facts,
            "arrays": {name: shelf.add_array(array) for name, array in arrays.items()},
        }
    document: dict[str, object] = {
        "format": RELEASE_FORMAT,
        "version": release.version,
        "kind": release.kind.value,
        "guarantee": guarantee_to_json(release.guarantee),
        "schema": schema_to_dict(release.schema),
        "measurements": [_measurement_to_json(m, shelf) for m in release.measurements],
        "sparse": [_sparse_to_json(s, shelf) for s in release.measurements.sparse],
        "gaps": [_distance_to_json(g, shelf) for g in release.measurements.gaps],
        "card": release.card.to_dict(),
        "model": model,
        "microdata": (
            None
            if release.microdata is None
            else {
                name: shelf.add_array(release.microdata[name])
                for name in release.schema
            }
        ),
        "statement": statement_to_json(release.statement),
        "synthesizer": {"name": release.synthesizer, "options": dict(release.options)},
        "environment": dict(release.environment),
        "frame": release.frame,
        "notes": list(release.notes),
    }
    return document, shelf.arrays


def from_document(
    document: object, arrays: Mapping[str, NDArray[np.generic]]
) -> Release:
    """The release again; ReleaseError where any part of it is not sound."""
    _check_version(document)
    top, basket = JsonFields(document, "release", _RELEASE_FIELDS), ArrayReader(arrays)
    schema = _schema_from_json(top["schema"])
    measurements = tuple(
        _measurement_from_json(m, f"measurements[{i}]", schema, basket)
        for i, m in enumerate(top.items("measurements"))
    )
    sparse = tuple(
        _sparse_from_json(s, f"sparse[{i}]", schema, basket)
        for i, s in enumerate(top.items("sparse"))
    )
    gaps = tuple(
        _distance_from_json(g, f"gaps[{i}]", schema, basket)
        for i, g in enumerate(top.items("gaps"))
    )
    model = None
    if top["model"] is not None:
        parts = JsonFields(top["model"], "model", {"facts", "arrays"})
        held = {
            name: basket.take(file, f"model.arrays.{name}")
            for name, file in parts.mapping("arrays").items()
        }
        model = from_parts(schema, parts.mapping("facts"), held)
    microdata = None
    if top["microdata"] is not None:
        columns = JsonFields(top["microdata"], "microdata", set(schema))
        microdata = {
            n: _check_code_column(
                basket.take(columns[n], columns.path(n)), columns.path(n)
            )
            for n in schema
        }
    basket.done()
    _check_card(top["card"], schema)
    synthesizer = JsonFields(top["synthesizer"], "synthesizer", {"name", "options"})
    return Release(
        kind=top.choice("kind", ReleaseKind),
        guarantee=guarantee_from_json(top["guarantee"]),
        schema=schema,
        measurements=Measurements(measurements, sparse, gaps),
        model=model,
        microdata=microdata,
        statement=statement_from_json(top["statement"]),
        synthesizer=synthesizer.text("name", limit=200),
        options=_options_from_json(synthesizer.mapping("options")),
        environment={
            text_from_json(k, "environment"): text_from_json(
                v, "environment", limit=200
            )
            for k, v in top.mapping("environment").items()
        },
        frame=top.optional("frame", _frame_kind_from_json),
        notes=top.texts("notes"),
        version=RELEASE_FORMAT_VERSION,
    )


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


def _frame_kind_from_json(value: object, where: str) -> str:
    if not isinstance(value, str) or value not in FRAME_KINDS:
        raise field_error(where, f"one of {', '.join(FRAME_KINDS)}")
    return value


def _options_from_json(found: dict[str, object]) -> dict[str, OptionValue]:
    options: dict[str, OptionValue] = {}
    for i, (name, value) in enumerate(found.items()):
        if isinstance(value, str):
            text_from_json(value, f"synthesizer.options[{i}]")
        elif value is not None and not isinstance(value, bool | int | float):
            raise field_error(
                f"synthesizer.options[{i}]", "a text, a number, true, false or null"
            )
        options[text_from_json(name, "synthesizer.options", limit=200)] = value
    return options


def _check_card(found: object, schema: Schema) -> None:
    """The card in a file is for readers without Understudy; here it is made again from
    the measurements, so only its form is checked.
    """
    card = JsonFields(found, "card", {"confidence", "rows", "entries"})
    for name in ("confidence", "rows"):
        if type(card[name]) not in (int, float):
            raise field_error(card.path(name), "a number")
    for i, entry in enumerate(card.items("entries")):
        fields = JsonFields(
            entry,
            f"card.entries[{i}]",
            {"clique", "supported", "cells", "noise", "error", "verdict"},
        )
        _clique_from_json(fields, schema)
        fields.choice("verdict", MarginalVerdict)
        fields.whole("cells", high=1 << 1000)
        if type(fields["supported"]) is not bool:
            raise field_error(fields.path("supported"), "true or false")
        for name in ("noise", "error"):
            if fields[name] is not None and type(fields[name]) not in (int, float):
                raise field_error(fields.path(name), "a number or null")


# -- schema
# -------------------------------------------------------------------------------------------------------------------


def _schema_from_json(found: object) -> Schema:
    if not isinstance(found, dict) or (
        isinstance(c := found.get("columns"), list | dict)
        and len(c) > MAX_RELEASE_COLUMNS
    ):
        raise field_error("schema", "a schema")
    try:
        schema = schema_from_dict(found)
        if not schema.is_closed:
            raise field_error("schema", "a schema in which nothing is left to learn")
        schema.sizes(tuple(schema))
    except SchemaError as error:
        raise ReleaseError(
            f"release.json: {str(error).splitlines()[0]}. Nothing was loaded."
        ) from None
    return schema


def _clique_from_json(fields: JsonFields, schema: Schema) -> Clique:
    clique = fields.texts("clique")
    if (
        len(clique) > 32
        or len(set(clique)) != len(clique)
        or any(name not in schema for name in clique)
    ):
        raise field_error(
            fields.path("clique"), "a list of the schema's columns, each once"
        )
    return clique


# -- measurements
# -------------------------------------------------------------------------------------------------------------


def _measurement_to_json(
    measurement: Measurement, shelf: ArrayWriter
) -> dict[str, object]:
    return {
        "clique": list(measurement.clique),
        "maps": [_axis_map_to_json(m) for m in measurement.maps],
        "values": shelf.add_array(measurement.values),
        **_noise_to_json(measurement),
    }


def _measurement_from_json(
    found: object, where: str, schema: Schema, basket: ArrayReader
) -> Measurement:
    fields = JsonFields(
        found, where, {"clique", "maps", "values", "law", "scale", "cost"}
    )
    clique = _clique_from_json(fields, schema)
    sizes = schema.sizes(clique)
    listed = fields.items("maps", limit=32)
    if len(listed) != len(sizes):
        raise field_error(fields.path("maps"), "a list with one map per column")
    maps = tuple(
        _axis_map_from_json(m, f"{where}.maps[{i}]", sizes[i])
        for i, m in enumerate(listed)
    )
    values = basket.integers(fields["values"], fields.path("values"))
    if values.shape != tuple(m.out for m in maps):
        raise field_error(
            fields.path("values"),
            "an array of the shape that its columns and maps give",
        )
    return Measurement(clique, maps, values, *_noise_from_json(fields))


def _sparse_to_json(sparse: SparseMeasurement, shelf: ArrayWriter) -> dict[str, object]:
    return {
        "clique": list(sparse.clique),
        "codes": shelf.add_array(sparse.codes),
        "values": shelf.add_array(sparse.values),
        "threshold": sparse.threshold,
        **_noise_to_json(sparse),
    }


def _sparse_from_json(
    found: object, where: str, schema: Schema, basket: ArrayReader
) -> SparseMeasurement:
    fields = JsonFields(
        found, where, {"clique", "codes", "values", "threshold", "law", "scale", "cost"}
    )
    clique = _clique_from_json(fields, schema)
    codes = basket.integers(fields["codes"], fields.path("codes"))
    values = basket.integers(fields["values"], fields.path("values"))
    if values.ndim != 1 or codes.shape != (len(values), len(clique)):
        raise field_error(
            fields.path("codes"),
            "an array with one row per value and one column per column",
        )
    if codes.size and (
        codes.min() < 0 or np.any(codes >= np.array(schema.sizes(clique), np.int64))
    ):
        raise field_error(
            fields.path("codes"), "an array of codes inside their columns' domains"
        )
    threshold = fields.whole("threshold")
    if values.size and values.min() <= threshold:
        raise field_error(
            fields.path("values"), "an array of counts above the threshold"
        )
    return SparseMeasurement(
        clique, codes, values, threshold, *_noise_from_json(fields)
    )


def _distance_to_json(gap: EstimateDistance, shelf: ArrayWriter) -> dict[str, object]:
    distance = gap.distance
    return {
        "clique": list(distance.clique),
        "value": distance.value,
        "grid": distance.grid,
        "estimate": shelf.add_array(gap.estimate),
        "public": gap.public,
        **_noise_to_json(distance),
    }


def _distance_from_json(
    found: object, where: str, schema: Schema, basket: ArrayReader
) -> EstimateDistance:
    fields = JsonFields(
        found,
        where,
        {"clique", "value", "grid", "estimate", "public", "law", "scale", "cost"},
    )
    clique = _clique_from_json(fields, schema)
    estimate = basket.integers(fields["estimate"], fields.path("estimate"))
    if estimate.shape != schema.sizes(clique):
        raise field_error(
            fields.path("estimate"),
            "an array with one axis per column, as long as its domain",
        )
    distance = Distance(
        clique,
        fields.whole("value", low=-MAX_DISTANCE_GRID_UNITS),
        fields.whole("grid", low=1),
        *_noise_from_json(fields),
    )
    if type(fields["public"]) is not bool:
        raise field_error(fields.path("public"), "true or false")
    return EstimateDistance(distance, estimate, public=bool(fields["public"]))


def _noise_to_json(
    measurement: Measurement | SparseMeasurement | Distance,
) -> dict[str, object]:
    cost = measurement.cost
    return {
        "law": measurement.law.value,
        "scale": fraction_to_json(measurement.scale),
        "cost": cost_to_json(cost),
    }


def _noise_from_json(fields: JsonFields) -> tuple[Law, Fraction, Cost]:
    scale = fields.fraction("scale")
    if not math.isfinite(_as_float(scale)):
        raise field_error(fields.path("scale"), "a scale of ordinary size")
    return (
        fields.choice("law", Law),
        scale,
        cost_from_json(fields["cost"], fields.path("cost")),
    )


def _as_float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _axis_map_to_json(axis: AxisMap) -> dict[str, object]:
    match axis:
        case Partition():
            return {"map": "partition", "bins": list(axis.bins)}
        case Centring():
            return {"map": "centring", "size": axis.size}
        case _:
            return {"map": "identity", "size": axis.size}


def _axis_map_from_json(found: object, where: str, size: int) -> AxisMap:
    if isinstance(found, dict) and found.get("map") == "partition":
        fields = JsonFields(found, where, {"map", "bins"})
        bins = tuple(
            integer_from_json(b, fields.path("bins"), high=size)
            for b in fields.items("bins")
        )
        if len(bins) != size or set(bins) != set(range(max(bins, default=-1) + 1)):
            raise field_error(fields.path("bins"), "one bin per code, each bin used")
        return Partition(bins)
    fields = JsonFields(found, where, {"map", "size"})
    if fields.whole("size") != size or fields["map"] not in ("identity", "centring"):
        raise field_error(where, "a map of its column's size")
    return Identity(size) if fields["map"] == "identity" else Centring(size)


def _check_code_column(array: NDArray[np.generic], where: str) -> NDArray[np.integer]:
    if array.dtype.kind != "u" or array.ndim != 1:
        raise field_error(where, "a column of codes")
    return array.astype(array.dtype, copy=False)
