"""Noisy measurements as JSON with arrays beside it, and back."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

from understudy.accounting.cost import Cost
from understudy.accounting.law import Law
from understudy.errors import Refused
from understudy.measurements import (
    AxisMap,
    Centring,
    Clique,
    Distance,
    EstimateDistance,
    Identity,
    Measurement,
    MomentMeasurement,
    Partition,
    SparseMeasurement,
)
from understudy.releases.file.arrays import ArrayReader, ArrayWriter
from understudy.releases.file.json_fields import (
    JsonFields,
    field_error,
    fraction_from_json,
    fraction_to_json,
    integer_from_json,
)
from understudy.releases.file.promise_json import cost_from_json, cost_to_json
from understudy.schema import Schema
from understudy.toolbox.moments import plan_moments

MAX_DISTANCE_GRID_UNITS = 1 << 62
"""No noisy distance is beyond this, in grid units."""

MAX_MOMENT_SCALE = 1 << 200
"""No noise of a sum of products is wider than this; it is far below what a double holds."""

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,100}", re.ASCII)

_MAX_CLIQUE_COLUMNS = 32
"""numpy has arrays of no more axes than this in all versions that are supported."""


def clique_from_json(fields: JsonFields, schema: Schema) -> Clique:
    """The columns of a marginal, checked."""
    clique = fields.texts("clique")
    if (
        len(clique) > _MAX_CLIQUE_COLUMNS
        or len(set(clique)) != len(clique)
        or any(name not in schema for name in clique)
    ):
        raise field_error(
            fields.path("clique"), "a list of the schema's columns, each once"
        )
    return clique


def measurement_to_json(
    measurement: Measurement, arrays: ArrayWriter
) -> dict[str, object]:
    """A noisy marginal as JSON."""
    return {
        "clique": list(measurement.clique),
        "maps": [_axis_map_to_json(m) for m in measurement.maps],
        "values": arrays.add_array(measurement.values),
        **_noise_to_json(measurement),
    }


def measurement_from_json(
    value: object, where: str, schema: Schema, arrays: ArrayReader
) -> Measurement:
    """A noisy marginal, checked against the schema."""
    fields = JsonFields(
        value, where, {"clique", "maps", "values", "law", "scale", "cost"}
    )
    clique = clique_from_json(fields, schema)
    sizes = schema.sizes(clique)
    listed = fields.items("maps", limit=_MAX_CLIQUE_COLUMNS)
    # A file may come from anyone: checked here, where its field can be named.
    if len(listed) != len(sizes):
        raise field_error(fields.path("maps"), "a list with one map per column")
    maps = tuple(
        _axis_map_from_json(m, f"{where}.maps[{i}]", sizes[i])
        for i, m in enumerate(listed)
    )
    values = arrays.take_integers(fields["values"], fields.path("values"))
    if values.shape != tuple(m.out for m in maps):
        raise field_error(
            fields.path("values"),
            "an array of the shape that its columns and maps give",
        )
    return Measurement(clique, maps, values, *_noise_from_json(fields))


def sparse_to_json(sparse: SparseMeasurement, arrays: ArrayWriter) -> dict[str, object]:
    """A sparse histogram as JSON."""
    return {
        "clique": list(sparse.clique),
        "codes": arrays.add_array(sparse.codes),
        "values": arrays.add_array(sparse.values),
        "threshold": sparse.threshold,
        **_noise_to_json(sparse),
    }


def sparse_from_json(
    value: object, where: str, schema: Schema, arrays: ArrayReader
) -> SparseMeasurement:
    """A sparse histogram, checked against the schema."""
    fields = JsonFields(
        value, where, {"clique", "codes", "values", "threshold", "law", "scale", "cost"}
    )
    clique = clique_from_json(fields, schema)
    codes = arrays.take_integers(fields["codes"], fields.path("codes"))
    values = arrays.take_integers(fields["values"], fields.path("values"))
    if values.ndim != 1 or codes.shape != (len(values), len(clique)):
        raise field_error(
            fields.path("codes"),
            "an array with one row per value and one column per column",
        )
    sizes = np.array(schema.sizes(clique), np.int64)
    if codes.size and (codes.min() < 0 or np.any(codes >= sizes)):
        raise field_error(
            fields.path("codes"), "an array of codes inside their columns' domains"
        )
    threshold = fields.whole("threshold")
    # The threshold is what makes showing a cell private: a count below it cannot have
    # been released.
    if values.size and values.min() <= threshold:
        raise field_error(
            fields.path("values"), "an array of counts above the threshold"
        )
    return SparseMeasurement(
        clique, codes, values, threshold, *_noise_from_json(fields)
    )


def distance_to_json(
    released: EstimateDistance, arrays: ArrayWriter
) -> dict[str, object]:
    """A released distance, with its estimate, as JSON."""
    distance = released.distance
    return {
        "clique": list(distance.clique),
        "value": distance.value,
        "grid": distance.grid,
        "estimate": arrays.add_array(released.estimate),
        "public": released.public,
        **_noise_to_json(distance),
    }


def distance_from_json(
    value: object, where: str, schema: Schema, arrays: ArrayReader
) -> EstimateDistance:
    """A released distance, checked against the schema."""
    fields = JsonFields(
        value,
        where,
        {"clique", "value", "grid", "estimate", "public", "law", "scale", "cost"},
    )
    clique = clique_from_json(fields, schema)
    estimate = arrays.take_integers(fields["estimate"], fields.path("estimate"))
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
    return EstimateDistance(distance, estimate, public=fields.truth("public"))


def moments_to_json(moments: MomentMeasurement) -> dict[str, object]:
    """Noisy moments as JSON: exact numbers, which may exceed 64 bits."""
    return {
        "formula": moments.formula,
        "values": [str(value) for value in moments.values],
        "law": moments.law.value,
        "scales": [fraction_to_json(scale) for scale in moments.scales],
        "cost": cost_to_json(moments.cost),
    }


def moments_from_json(value: object, where: str, schema: Schema) -> MomentMeasurement:
    """Noisy moments, checked against the schema."""
    fields = JsonFields(value, where, {"formula", "values", "law", "scales", "cost"})
    formula = fields.text("formula")
    try:
        expected = len(plan_moments(formula, schema).plan.statistics)
    except Refused:
        raise field_error(
            fields.path("formula"), "a formula of the schema's columns"
        ) from None
    values = fields.texts("values")
    scales = fields.items("scales")
    if len(values) != expected or len(scales) != expected:
        raise field_error(where, "an object with one value and scale a moment")
    if not all(_WHOLE_NUMBER.fullmatch(each) for each in values):
        raise field_error(fields.path("values"), "a list of whole numbers as texts")
    read = [fraction_from_json(scale, fields.path("scales")) for scale in scales]
    if max(read, default=Fraction(0)) > MAX_MOMENT_SCALE:
        raise field_error(fields.path("scales"), "a list of scales of ordinary size")
    return MomentMeasurement(
        formula=formula,
        values=tuple(int(each) for each in values),
        law=fields.choice("law", Law),
        scales=tuple(read),
        cost=cost_from_json(fields["cost"], fields.path("cost")),
    )


def _noise_to_json(
    measurement: Measurement | SparseMeasurement | Distance,
) -> dict[str, object]:
    return {
        "law": measurement.law.value,
        "scale": fraction_to_json(measurement.scale),
        "cost": cost_to_json(measurement.cost),
    }


def _noise_from_json(fields: JsonFields) -> tuple[Law, Fraction, Cost]:
    scale = fields.fraction("scale")
    try:
        float(scale)
    except OverflowError:  # an exact number may be larger than any double
        raise field_error(fields.path("scale"), "a scale of ordinary size") from None
    cost = cost_from_json(fields["cost"], fields.path("cost"))
    return fields.choice("law", Law), scale, cost


def _axis_map_to_json(axis: AxisMap) -> dict[str, object]:
    match axis:
        case Partition():
            return {"map": "partition", "bins": list(axis.bins)}
        case Centring():
            return {"map": "centring", "size": axis.size}
        case _:
            return {"map": "identity", "size": axis.size}


def _axis_map_from_json(value: object, where: str, size: int) -> AxisMap:
    if isinstance(value, dict) and value.get("map") == "partition":
        fields = JsonFields(value, where, {"map", "bins"})
        bins = tuple(
            integer_from_json(b, fields.path("bins"), high=size)
            for b in fields.items("bins")
        )
        # An unused bin would be a noisy count of no cells.
        if len(bins) != size or set(bins) != set(range(max(bins, default=-1) + 1)):
            raise field_error(fields.path("bins"), "one bin per code, each bin used")
        return Partition(bins)
    fields = JsonFields(value, where, {"map", "size"})
    if fields.whole("size") != size or fields["map"] not in ("identity", "centring"):
        raise field_error(where, "a map of its column's size")
    return Identity(size) if fields["map"] == "identity" else Centring(size)
