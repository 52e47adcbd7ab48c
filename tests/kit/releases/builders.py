"""Small real releases, made by hand: real schemas, measurements and models."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from fractions import Fraction

import numpy as np

from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.measurements import (
    Centring,
    Distance,
    EstimateDistance,
    Identity,
    Measurement,
    Measurements,
    Partition,
    SparseMeasurement,
)
from understudy.models import DenseModel, ProductModel, SparseModel
from understudy.releases import (
    BudgetStatement,
    BudgetStep,
    Guarantee,
    Release,
    ReleaseKind,
)
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
)

SMALL = Schema(
    columns=(
        Categorical(name="sex", values=("F", "M"), nullable=False),
        Integer(name="age", min=0, max=99),
        Boolean(name="smoker", missing=("?",)),
    )
)

EVERY_TYPE = Schema(
    columns=(
        Identifier(name="id"),
        Categorical(
            name="region",
            values=("north", "süd", "œst"),
            other="elsewhere",
            missing=("-9",),
        ),
        Boolean(name="smoker", missing=("?",)),
        Integer(name="age", min=0, max=120, missing=("-7", "NA")),
        Real(name="weight", min=Fraction(0), max=Fraction(200), step=Fraction(1, 10)),
        Date(name="born", min=date(1900, 1, 1), max=date(2020, 12, 31)),
        Datetime(name="seen", min=datetime(2020, 1, 1), max=datetime(2024, 1, 1)),
        Datetime(
            name="called",
            min=datetime(1880, 1, 1),
            max=datetime(2024, 1, 1),
            zone="Europe/Berlin",
        ),
        Time(
            name="slept",
            min=time(20),
            max=time(23, 59),
            resolution=timedelta(minutes=1),
        ),
        Text(name="remarks"),
    )
)


def codes_of(schema: Schema, rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Codes drawn evenly."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.integers(0, c.size, rows).astype(c.dtype)
        for name, c in schema.codecs.items()
    }


def cost(amount: Fraction, delta: Fraction = Fraction(0)) -> Cost:
    return Cost(Accounting.GDP, amount, delta)


def measured(schema: Schema = SMALL, *, seed: int = 0) -> Measurements:
    """Every column, a pair, the total, coarser and centred ones, a sparse one and a
    distance.
    """
    rng = np.random.default_rng(seed)
    tenth, scale = cost(Fraction(1, 1000)), Fraction(7, 2)

    def plain(*clique: str) -> Measurement:
        sizes = schema.sizes(clique)
        values = rng.integers(-3, 40, sizes).astype(np.int64)
        return Measurement(
            clique,
            tuple(Identity(n) for n in sizes),
            values,
            Law.ROUNDED_GAUSSIAN,
            scale,
            tenth,
        )

    first, second = tuple(schema)[:2]
    size = schema.sizes((first,))[0]
    halves = Partition(tuple(int(i >= size // 2) for i in range(size)))
    coarse = Measurement(
        (first,), (halves,), np.array([17, 25]), Law.ROUNDED_GAUSSIAN, scale, tenth
    )
    residual = rng.integers(-30, 30, size).astype(np.int64)
    centred = Measurement(
        (first,), (Centring(size),), residual, Law.DISCRETE_LAPLACE, scale, tenth
    )
    total = Measurement((), (), np.array(42), Law.DISCRETE_GAUSSIAN, scale, tenth)
    sparse = SparseMeasurement(
        (first, second),
        np.array([[0, 1], [1, 0]]),
        np.array([12, 31]),
        9,
        Law.DISCRETE_LAPLACE,
        scale,
        cost(Fraction(1, 1000), Fraction(1, 10**10)),
    )
    items = (
        *(plain(name) for name in schema),
        plain(first, second),
        coarse,
        centred,
        total,
    )
    distance = Distance(
        (first, second), -1500, 1024, Law.ROUNDED_GAUSSIAN, Fraction(900), tenth
    )
    gap = EstimateDistance(
        distance, rng.integers(0, 9000, schema.sizes((first, second))).astype(np.int64)
    )
    return Measurements(items, (sparse,), (gap,))


def guarantee() -> Guarantee:
    return Guarantee(
        epsilon=Fraction(1),
        delta=Fraction(1, 10**9),
        accounting=Accounting.GDP,
        amount=Fraction(33114, 10**6),
        public=("the values of sex", "the bounds of age"),
        learned=("the values of region",),
    )


def statement() -> BudgetStatement:
    steps = (
        BudgetStep(
            asked="marginals", cost=cost(Fraction(3, 1000)), share=Fraction(9, 10)
        ),
        BudgetStep(
            asked="cells above zero",
            cost=cost(Fraction(1, 1000), Fraction(1, 10**10)),
            share=Fraction(1, 10),
        ),
    )
    return BudgetStatement(
        dataset="people",
        epsilon=Fraction(1),
        delta=Fraction(1, 10**9),
        steps=steps,
        ledger="5f" * 32,
        run="1",
        day=date(2025, 3, 1),
    )


def model_of(
    schema: Schema, kind: str, seed: int = 0
) -> ProductModel | DenseModel | SparseModel:
    """A model of each kind, with shares that are not uniform."""
    rng = np.random.default_rng(seed)
    if kind == "product":
        shares = {
            name: rng.dirichlet(np.ones(c.size)) for name, c in schema.codecs.items()
        }
        return ProductModel(schema, 41.6, shares)
    clique = tuple(schema)[:2]
    sizes = schema.sizes(clique)
    if kind == "dense":
        return DenseModel(
            schema,
            41.6,
            clique,
            rng.dirichlet(np.ones(int(np.prod(sizes)))).reshape(sizes),
        )
    return SparseModel(
        schema, 41.6, clique, np.array([[0, 1], [1, 0]]), np.array([0.25, 0.75]), 0.125
    )


def release(
    schema: Schema = SMALL, model: str | None = "product", **changes: object
) -> Release:
    """A release with everything in it."""
    parts: dict[str, object] = {
        "guarantee": guarantee(),
        "schema": schema,
        "kind": ReleaseKind.MODEL,
        "measurements": measured(schema),
        "model": None if model is None else model_of(schema, model),
        "statement": statement(),
        "synthesizer": "independent",
        "options": {
            "share": 0.5,
            "rounds": 3,
            "label": None,
            "fast": True,
            "name": "x",
        },
        "frame": "pandas",
    }
    return Release(**(parts | changes))  # type: ignore[arg-type]
