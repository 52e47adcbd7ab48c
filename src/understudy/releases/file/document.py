"""A release as a JSON document with arrays beside it, and back.

Every field is documented in docs/release-format.md. Exact numbers are written p/q; arrays are named by position.
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
    Gap,
    Identity,
    Measurement,
    Measurements,
    Partition,
    Sparse,
)
from understudy.models import from_parts
from understudy.releases.card.card import Verdict
from understudy.releases.file.json_fields import Fields, as_text, as_whole, ratio, wrong
from understudy.releases.file.promise_json import (
    cost_in,
    cost_out,
    guarantee_in,
    guarantee_out,
    statement_in,
    statement_out,
)
from understudy.releases.output.frames import KINDS
from understudy.releases.release import VERSION, Kind, Option, Release
from understudy.schema import Schema, schema_from_dict, schema_to_dict

FORMAT = "understudy release"
COLUMNS_LIMIT = 10_000
LARGEST = 1 << 62
"""No noisy distance is beyond this, in grid units."""
Arrays = dict[str, NDArray[np.generic]]
"""Arrays by the name of their file."""

_TOP = {
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


class Shelf:
    """Arrays on their way into a file: each gets the next number for a name."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}

    def put(self, array: NDArray[Any]) -> str:
        """Add an array; the name it will have."""
        name = f"arrays/{len(self.arrays):05d}.npy"
        self.arrays[name] = array
        return name


class Basket:
    """Arrays out of a file: each is used exactly once."""

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._left = dict(arrays)

    def take(self, name: object, where: str) -> NDArray[np.generic]:
        """The array with that name."""
        if not isinstance(name, str) or name not in self._left:
            raise wrong(where, "the name of an array in the file that nothing else uses")
        return self._left.pop(name)

    def integers(self, name: object, where: str) -> NDArray[np.int64]:
        """An array of whole numbers."""
        found = self.take(name, where)
        if found.dtype != np.int64:
            raise wrong(where, "an array of whole numbers")
        return found.astype(np.int64, copy=False)

    def done(self) -> None:
        """Refuse arrays that nothing used."""
        if self._left:
            raise ReleaseError("The file holds arrays that release.json does not name. Nothing was loaded.")


def to_document(release: Release) -> tuple[dict[str, object], Arrays]:
    """Everything a release file holds."""
    shelf = Shelf()
    model: object = None
    if release.model is not None:
        facts, arrays = release.model.to_parts()
        model = {"facts": facts, "arrays": {name: shelf.put(array) for name, array in arrays.items()}}
    document: dict[str, object] = {
        "format": FORMAT,
        "version": release.version,
        "kind": release.kind.value,
        "guarantee": guarantee_out(release.guarantee),
        "schema": schema_to_dict(release.schema),
        "measurements": [_measurement_out(m, shelf) for m in release.measurements],
        "sparse": [_sparse_out(s, shelf) for s in release.measurements.sparse],
        "gaps": [_gap_out(g, shelf) for g in release.measurements.gaps],
        "card": release.card.to_dict(),
        "model": model,
        "microdata": None
        if release.microdata is None
        else {name: shelf.put(release.microdata[name]) for name in release.schema},
        "statement": statement_out(release.statement),
        "synthesizer": {"name": release.synthesizer, "options": dict(release.options)},
        "environment": dict(release.environment),
        "frame": release.frame,
        "notes": list(release.notes),
    }
    return document, shelf.arrays


def from_document(document: object, arrays: Mapping[str, NDArray[np.generic]]) -> Release:
    """The release again; ReleaseError where any part of it is not sound."""
    _check_version(document)
    top, basket = Fields(document, "release", _TOP), Basket(arrays)
    schema = _schema_in(top["schema"])
    measurements = tuple(
        _measurement_in(m, f"measurements[{i}]", schema, basket) for i, m in enumerate(top.items("measurements"))
    )
    sparse = tuple(_sparse_in(s, f"sparse[{i}]", schema, basket) for i, s in enumerate(top.items("sparse")))
    gaps = tuple(_gap_in(g, f"gaps[{i}]", schema, basket) for i, g in enumerate(top.items("gaps")))
    model = None
    if top["model"] is not None:
        parts = Fields(top["model"], "model", {"facts", "arrays"})
        held = {name: basket.take(file, f"model.arrays.{name}") for name, file in parts.mapping("arrays").items()}
        model = from_parts(schema, parts.mapping("facts"), held)
    microdata = None
    if top["microdata"] is not None:
        columns = Fields(top["microdata"], "microdata", set(schema))
        microdata = {n: _codes(basket.take(columns[n], columns.path(n)), columns.path(n)) for n in schema}
    basket.done()
    _check_card(top["card"], schema)
    synthesizer = Fields(top["synthesizer"], "synthesizer", {"name", "options"})
    return Release(
        kind=top.choice("kind", Kind),
        guarantee=guarantee_in(top["guarantee"]),
        schema=schema,
        measurements=Measurements(measurements, sparse, gaps),
        model=model,
        microdata=microdata,
        statement=statement_in(top["statement"]),
        synthesizer=synthesizer.text("name", limit=200),
        options=_options(synthesizer.mapping("options")),
        environment={
            as_text(k, "environment"): as_text(v, "environment", limit=200)
            for k, v in top.mapping("environment").items()
        },
        frame=top.optional("frame", _frame),
        notes=top.texts("notes"),
        version=VERSION,
    )


def _check_version(document: object) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ReleaseError("This is no release that Understudy wrote. Nothing was loaded.")
    version = document.get("version")
    if type(version) is int and version > VERSION:
        raise ReleaseError(
            f"This release was written by a later version of Understudy (format {version}; this one reads {VERSION}). Upgrade to load it."
        )
    if type(version) is not int or version != VERSION:
        raise wrong("version", f"a format version from 1 to {VERSION}")


def _frame(value: object, where: str) -> str:
    if not isinstance(value, str) or value not in KINDS:
        raise wrong(where, f"one of {', '.join(KINDS)}")
    return value


def _options(found: dict[str, object]) -> dict[str, Option]:
    options: dict[str, Option] = {}
    for i, (name, value) in enumerate(found.items()):
        if isinstance(value, str):
            as_text(value, f"synthesizer.options[{i}]")
        elif value is not None and not isinstance(value, bool | int | float):
            raise wrong(f"synthesizer.options[{i}]", "a text, a number, true, false or null")
        options[as_text(name, "synthesizer.options", limit=200)] = value
    return options


def _check_card(found: object, schema: Schema) -> None:
    """The card in a file is for readers without Understudy; here it is made again from the measurements, so only its form is checked."""
    card = Fields(found, "card", {"confidence", "rows", "entries"})
    for name in ("confidence", "rows"):
        if type(card[name]) not in (int, float):
            raise wrong(card.path(name), "a number")
    for i, entry in enumerate(card.items("entries")):
        fields = Fields(entry, f"card.entries[{i}]", {"clique", "supported", "cells", "noise", "error", "verdict"})
        _clique(fields, schema)
        fields.choice("verdict", Verdict)
        fields.whole("cells", high=1 << 1000)
        if type(fields["supported"]) is not bool:
            raise wrong(fields.path("supported"), "true or false")
        for name in ("noise", "error"):
            if fields[name] is not None and type(fields[name]) not in (int, float):
                raise wrong(fields.path(name), "a number or null")


# -- schema -------------------------------------------------------------------------------------------------------------------


def _schema_in(found: object) -> Schema:
    if not isinstance(found, dict) or (isinstance(c := found.get("columns"), list | dict) and len(c) > COLUMNS_LIMIT):
        raise wrong("schema", "a schema")
    try:
        schema = schema_from_dict(found)
        if not schema.closed:
            raise wrong("schema", "a schema in which nothing is left to learn")
        schema.sizes(tuple(schema))
    except SchemaError as error:
        raise ReleaseError(f"release.json: {str(error).splitlines()[0]}. Nothing was loaded.") from None
    return schema


def _clique(fields: Fields, schema: Schema) -> Clique:
    clique = fields.texts("clique")
    if len(clique) > 32 or len(set(clique)) != len(clique) or any(name not in schema for name in clique):
        raise wrong(fields.path("clique"), "a list of the schema's columns, each once")
    return clique


# -- measurements -------------------------------------------------------------------------------------------------------------


def _measurement_out(measurement: Measurement, shelf: Shelf) -> dict[str, object]:
    return {
        "clique": list(measurement.clique),
        "maps": [_map_out(m) for m in measurement.maps],
        "values": shelf.put(measurement.values),
        **_noise_out(measurement),
    }


def _measurement_in(found: object, where: str, schema: Schema, basket: Basket) -> Measurement:
    fields = Fields(found, where, {"clique", "maps", "values", "law", "scale", "cost"})
    clique = _clique(fields, schema)
    sizes = schema.sizes(clique)
    listed = fields.items("maps", limit=32)
    if len(listed) != len(sizes):
        raise wrong(fields.path("maps"), "a list with one map per column")
    maps = tuple(_map_in(m, f"{where}.maps[{i}]", sizes[i]) for i, m in enumerate(listed))
    values = basket.integers(fields["values"], fields.path("values"))
    if values.shape != tuple(m.out for m in maps):
        raise wrong(fields.path("values"), "an array of the shape that its columns and maps give")
    return Measurement(clique, maps, values, *_noise_in(fields))


def _sparse_out(sparse: Sparse, shelf: Shelf) -> dict[str, object]:
    return {
        "clique": list(sparse.clique),
        "codes": shelf.put(sparse.codes),
        "values": shelf.put(sparse.values),
        "threshold": sparse.threshold,
        **_noise_out(sparse),
    }


def _sparse_in(found: object, where: str, schema: Schema, basket: Basket) -> Sparse:
    fields = Fields(found, where, {"clique", "codes", "values", "threshold", "law", "scale", "cost"})
    clique = _clique(fields, schema)
    codes = basket.integers(fields["codes"], fields.path("codes"))
    values = basket.integers(fields["values"], fields.path("values"))
    if values.ndim != 1 or codes.shape != (len(values), len(clique)):
        raise wrong(fields.path("codes"), "an array with one row per value and one column per column")
    if codes.size and (codes.min() < 0 or np.any(codes >= np.array(schema.sizes(clique), np.int64))):
        raise wrong(fields.path("codes"), "an array of codes inside their columns' domains")
    threshold = fields.whole("threshold")
    if values.size and values.min() <= threshold:
        raise wrong(fields.path("values"), "an array of counts above the threshold")
    return Sparse(clique, codes, values, threshold, *_noise_in(fields))


def _gap_out(gap: Gap, shelf: Shelf) -> dict[str, object]:
    distance = gap.distance
    return {
        "clique": list(distance.clique),
        "value": distance.value,
        "grid": distance.grid,
        "estimate": shelf.put(gap.estimate),
        "public": gap.public,
        **_noise_out(distance),
    }


def _gap_in(found: object, where: str, schema: Schema, basket: Basket) -> Gap:
    fields = Fields(found, where, {"clique", "value", "grid", "estimate", "public", "law", "scale", "cost"})
    clique = _clique(fields, schema)
    estimate = basket.integers(fields["estimate"], fields.path("estimate"))
    if estimate.shape != schema.sizes(clique):
        raise wrong(fields.path("estimate"), "an array with one axis per column, as long as its domain")
    distance = Distance(clique, fields.whole("value", low=-LARGEST), fields.whole("grid", low=1), *_noise_in(fields))
    if type(fields["public"]) is not bool:
        raise wrong(fields.path("public"), "true or false")
    return Gap(distance, estimate, public=bool(fields["public"]))


def _noise_out(measurement: Measurement | Sparse | Distance) -> dict[str, object]:
    cost = measurement.cost
    return {"law": measurement.law.value, "scale": ratio(measurement.scale), "cost": cost_out(cost)}


def _noise_in(fields: Fields) -> tuple[Law, Fraction, Cost]:
    scale = fields.fraction("scale")
    if not math.isfinite(_as_float(scale)):
        raise wrong(fields.path("scale"), "a scale of ordinary size")
    return fields.choice("law", Law), scale, cost_in(fields["cost"], fields.path("cost"))


def _as_float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _map_out(axis: AxisMap) -> dict[str, object]:
    match axis:
        case Partition():
            return {"map": "partition", "bins": list(axis.bins)}
        case Centring():
            return {"map": "centring", "size": axis.size}
        case _:
            return {"map": "identity", "size": axis.size}


def _map_in(found: object, where: str, size: int) -> AxisMap:
    if isinstance(found, dict) and found.get("map") == "partition":
        fields = Fields(found, where, {"map", "bins"})
        bins = tuple(as_whole(b, fields.path("bins"), high=size) for b in fields.items("bins"))
        if len(bins) != size or set(bins) != set(range(max(bins, default=-1) + 1)):
            raise wrong(fields.path("bins"), "one bin per code, each bin used")
        return Partition(bins)
    fields = Fields(found, where, {"map", "size"})
    if fields.whole("size") != size or fields["map"] not in ("identity", "centring"):
        raise wrong(where, "a map of its column's size")
    return Identity(size) if fields["map"] == "identity" else Centring(size)


def _codes(array: NDArray[np.generic], where: str) -> NDArray[np.integer]:
    if array.dtype.kind != "u" or array.ndim != 1:
        raise wrong(where, "a column of codes")
    return array.astype(array.dtype, copy=False)
