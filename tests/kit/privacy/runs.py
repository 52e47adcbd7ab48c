"""Whole runs on real files: what goes in, what comes out, and what of it may differ
between two runs.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kit.curator.contexts import UnchargedRun
from understudy.accounting.budget import Budget
from understudy.accounting.filter import Filter
from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator, MechanismContext, Payments
from understudy.curator.mechanisms import select_cell, select_marginal
from understudy.releases import Guarantee, Release
from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Identifier,
    Integer,
    Real,
    Schema,
    Text,
    Time,
    Unit,
)
from understudy.synthesizers import SYNTHESIZER_CLASSES, ignore_progress
from understudy.tables import Table, open_table
from understudy.workflow.synthesize import discover_and_measure

COLUMNS = (
    Identifier(name="id"),
    Categorical(name="sex", values=("F", "M")),
    Categorical(name="city", values=("Oslo", "Rome"), other="elsewhere"),
    Integer(name="age", min=0, max=120),
    Real(name="weight", min=Fraction(0), max=Fraction(300), step=Fraction(1, 10)),
    Date(name="born", min=date(1900, 1, 1), max=date(2030, 12, 31)),
    Datetime(
        name="seen",
        min=datetime(2000, 1, 1),
        max=datetime(2030, 12, 31),
        resolution=timedelta(hours=1),
    ),
    Time(name="at", resolution=timedelta(minutes=15)),
    Boolean(name="smoker"),
    Text(name="remarks"),
)
SCHEMA = Schema(columns=COLUMNS)
NAMES = [c.name for c in COLUMNS]
PLAIN = [
    "7",
    "F",
    "Oslo",
    "42",
    "71.5",
    "1980-05-05",
    "2024-03-01 10:00:00",
    "10:15:00",
    "true",
    "came by bus",
]
OTHER = [
    "8",
    "M",
    "Rome",
    "63",
    "80.0",
    "1961-11-30",
    "2023-07-09 16:00:00",
    "16:30:00",
    "false",
    "came on foot",
]


def by_person(most: int = 2) -> Schema:
    """The same columns where the guarantee protects whoever an id stands for."""
    return Schema(columns=COLUMNS, unit=Unit(id="id", max_rows=most))


def csv(*rows: Sequence[str] | bytes) -> bytes:
    """A file of these rows; a row of bytes is written as it is."""
    lines = [
        ",".join(NAMES).encode(),
        *(r if isinstance(r, bytes) else ",".join(r).encode() for r in rows),
    ]
    return b"\n".join(lines) + b"\n"


@contextmanager
def answer_constantly() -> Iterator[list[NDArray[np.int64]]]:
    """Curators that answer every count with the same number, and choose the first there
    is, whatever the rows say; exact counts are kept.

    What still depends on the rows then was never paid for.
    """
    asked: list[NDArray[np.int64]] = []

    def noisy(
        self: MechanismContext, exact: NDArray[np.int64], scale: Fraction
    ) -> NDArray[np.int64]:
        asked.append(np.array(exact))
        return np.full(np.shape(exact), 3, np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MechanismContext, "add_noise", noisy)
        for module in (select_marginal, select_cell):
            patch.setattr(module, "exponential_mechanism", lambda scores, **how: 0)
        yield asked


def chance(text: str) -> str:
    """Text without what differs between any two runs: their names, their ledgers'
    digests and the day.
    """
    text = re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", text)
    text = re.sub(r"(?<![.\w])[0-9a-f]{16}\b", "RUN", text)
    return re.sub(r'"day": "[0-9-]+"', '"day": "DAY"', text)


def parts(release: Release) -> dict[str, bytes]:
    """What a release's file holds, by name, without what differs between any two runs."""
    from understudy.releases.release import to_bytes

    with zipfile.ZipFile(io.BytesIO(to_bytes(release))) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    held["release.json"] = chance(held["release.json"].decode()).encode()
    return held


def form(release: Release) -> str:
    """The shape of a release without its numbers: document, arrays' names, types and
    shapes.
    """
    held = parts(release)
    document = json.loads(held.pop("release.json"))
    document["model"] = _without_numbers(document["model"])
    document["card"] = [
        entry["clique"] for entry in document["card"]["entries"]
    ]  # bounds and verdicts follow from noisy numbers
    arrays = {
        name: (str(a.dtype), a.shape)
        for name, data in held.items()
        for a in [np.load(io.BytesIO(data))]
    }
    return json.dumps([document, sorted(arrays.items())], sort_keys=True)


def _without_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_numbers(part) for name, part in value.items()}
    return None if isinstance(value, float) else value


def written(folder: Path) -> dict[str, str]:
    """Names and digests of everything in a folder but ledgers, which hold the moment of
    each entry.
    """
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and ".ledger" not in p.name
    }


def account(path: Path) -> list[tuple[object, ...]]:
    """A ledger's entries without moments, names of runs and digests of the chain. What
    was asked and answered is there by its digest.
    """
    with Ledger.open(path) as ledger:
        return [
            (
                e.number,
                e.kind,
                e.event,
                e.step,
                e.analyst,
                e.scope,
                e.epsilon,
                e.delta,
                e.facts,
            )
            for e in ledger.entries()
        ]


def release_without_ledger(
    data: object,
    schema: Schema,
    *,
    method: str = "independent",
    relation: Neighbours = Neighbours.ADD_REMOVE,
    budget: tuple[object, object] = (1, "1e-6"),
) -> Release:
    """A run without a ledger: the same table, curator, synthesizer and release as
    `workflow.synthesize` puts together, and faster.
    """
    whole = Budget.of(*budget)
    filter = _filter(whole)
    with open_table(data) as source:
        context = MechanismContext(
            table=Table(source, schema),
            payments=Payments(UnchargedRun(), replace(filter)),
            neighbours=relation,
            accounting=filter.accounting,
            epsilon=whole.epsilon,
            max_rows=schema.unit.max_rows,
        )
        curator = Curator(context, schema)
        measured = discover_and_measure(
            curator, SYNTHESIZER_CLASSES[method](), ignore_progress
        )
    return Release(
        guarantee=Guarantee(
            epsilon=whole.epsilon,
            delta=whole.delta,
            accounting=filter.accounting,
            amount=filter.total,
            neighbours=relation,
        ),
        schema=curator.schema,
        measurements=measured,
        model=SYNTHESIZER_CLASSES[method]().estimate(
            curator.schema, measured, np.random.default_rng(0)
        ),
        synthesizer=method,
    )


@cache
def _filter(budget: Budget) -> Filter:
    return Filter.of(budget, threshold_delta=budget.delta / 10)
