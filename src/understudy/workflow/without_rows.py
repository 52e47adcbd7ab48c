"""A release for which no row is read, from the schema alone."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from numpy.random import Generator

from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models.rules.satisfiability import refuse_contradictions
from understudy.releases import BudgetStatement, Guarantee, Release
from understudy.schema import Schema
from understudy.schema.disclosed import describe_declared
from understudy.synthesizers import Progress, Synthesizer
from understudy.workflow.open import open_source, without_notes
from understudy.workflow.record import frame_kind, synthesizer_options


def release_without_rows(
    data: object,
    schema: Schema | str | Path | None,
    method: Synthesizer,
    rng: Generator,
    progress: Progress,
) -> Release:
    """The release of a method that asks the curator nothing. Of `data` only the kind of
    frame is used, to give the same back.
    """
    declared = _declared_schema(schema, method)
    refuse_contradictions(declared)
    method.check(declared, delta=Fraction(0))
    # There is nothing to measure, so the one stage is over when it begins.
    progress("fitting", 1.0)
    return Release(
        guarantee=Guarantee.without_data(public=describe_declared(declared)),
        schema=declared,
        measurements=Measurements(),
        model=method.estimate(declared, Measurements(), rng),
        statement=BudgetStatement(),
        synthesizer=method.name,
        options=synthesizer_options(method),
        frame=frame_kind(open_source(data)),
    )


def _declared_schema(schema: Schema | str | Path | None, method: Synthesizer) -> Schema:
    """The schema, refused where it leaves anything open: there is nothing to learn it
    from.
    """
    if schema is None:
        raise Refused(
            f"{method.name} reads no rows, so it needs a schema that says everything:"
            " pass one. Nothing was spent"
        )
    loaded = schema if isinstance(schema, Schema) else Schema.load(schema)
    for name in loaded:
        if not loaded[name].is_closed:
            raise Refused(
                f"{name}: {method.name} reads no rows, so the schema must declare this"
                " column's domain. Nothing was spent"
            )
    return without_notes(loaded)
