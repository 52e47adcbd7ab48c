"""Mixed tables made up: numbers, dates, times, labels and gaps that depend on each
other, as CSV files from a fixed seed.

clinic      12,000 stays of patients: ages, blood pressures on fives, costs with a heap, days, times of day, gaps and a missing code
orders      25,000 orders of a shop: prices that end in .99, amounts, a moment, forty countries, stars that most did not give
randhie     20,190 visits of a health insurance experiment, fair 6,366 marriages: both come with statsmodels
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, NDArray]


def clinic(rows: int = 12_000, seed: int = 11) -> Columns:
    """Stays of patients; the older, the dearer."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(4, 12, rows), 0, 104).astype(int)
    bmi = np.round(np.clip(rng.normal(22 + age / 15, 4), 12, 60), 1)
    pressure = np.clip(
        np.rint((105 + age * 0.45 + (bmi - 25) + rng.normal(0, 12, rows)) / 5) * 5,
        70,
        230,
    ).astype(int)
    smoker = np.where(
        age < 15, "no", rng.choice(["no", "yes", "former"], rows, p=[0.6, 0.22, 0.18])
    )
    risk = (
        0.03 * (age - 40)
        + 0.01 * (pressure - 120)
        + (smoker == "yes") * 0.8
        + rng.logistic(0, 1, rows)
    )
    cause = np.select(
        [risk > 3.5, risk > 2.5, risk > 1.5, age < 12, rng.random(rows) < 0.4],
        ["I21", "I25", "I10", "J06", "S52"],
        "Z00",
    )
    heart = np.char.startswith(cause, "I")
    severe = np.clip(risk, 0, 6)
    stay = (
        np.where(cause == "Z00", 0, np.rint(rng.gamma(1.5, 1 + severe)))
        .astype(int)
        .clip(0, 120)
    )
    cost = np.where(
        stay == 0,
        120,
        np.rint(rng.lognormal(6.2 + 0.25 * np.log1p(stay) + 0.1 * severe, 0.5)),
    ).astype(int)
    minute = (
        np.clip(rng.normal(np.where(cause == "S52", 17, 10), 3), 0, 23.99)
        * 60
        // 15
        * 15
    )
    inner = rng.choice(["inner", "surgery", "day"], rows)
    ward = np.where(
        age < 16, "children", np.where(heart & (rng.random(rows) < 0.7), "heart", inner)
    )
    marker = np.round(np.exp(rng.normal(0.5 + 0.01 * age, 0.6)), 2)
    return {
        "age": age,
        "sex": rng.choice(["F", "M"], rows, p=[0.54, 0.46]),
        "bmi": np.where(rng.random(rows) < 0.1, "N", bmi.astype(str)),
        "pressure": pressure,
        "smoker": smoker,
        "cause": cause,
        "stay": stay,
        "cost": cost,
        "day": np.datetime64("2019-01-01") + rng.integers(0, 2190, rows),
        "clock": np.array([f"{int(m) // 60:02}:{int(m) % 60:02}" for m in minute]),
        "ward": ward,
        "marker": np.where(rng.random(rows) < 0.35, "", marker.astype(str)),
    }


def orders(rows: int = 25_000, seed: int = 12) -> Columns:
    """Orders of a shop; what they cost depends on the kind of thing and a little on the
    country.
    """
    rng = np.random.default_rng(seed)
    weight = 1 / np.arange(1, 41) ** 1.1
    country = rng.choice(40, rows, p=weight / weight.sum())
    kind = rng.choice(9, rows, p=[0.25, 0.2, 0.15, 0.1, 0.1, 0.08, 0.06, 0.04, 0.02])
    level = (
        np.array([2.2, 3.0, 3.5, 4.2, 2.7, 5.1, 1.6, 6.0, 4.6])[kind]
        + rng.normal(0, 0.12, 40)[country]
    )
    price = np.exp(rng.normal(level, 0.5))
    price = np.where(rng.random(rows) < 0.7, np.floor(price) + 0.99, np.round(price, 2))
    number = 1 + rng.poisson(np.clip(6 / np.sqrt(price), 0, 8))
    off = rng.choice([0, 5, 10, 20, 30, 50], rows, p=[0.6, 0.1, 0.12, 0.1, 0.05, 0.03])
    days = (rng.beta(1.4, 1, rows) * 365).astype("timedelta64[D]")
    minutes = (
        np.clip(rng.normal(20 - 3 * (kind % 3), 3.5, rows), 0, 23.98) * 60
    ).astype("timedelta64[m]")
    stars = (
        np.clip(np.rint(rng.normal(4.2 - off / 60, 0.9)), 1, 5).astype(int).astype(str)
    )
    stars = np.where(rng.random(rows) < 0.6, "", stars)
    return {
        "country": np.array([f"c{i:02}" for i in range(40)])[country],
        "kind": np.array(list("ABCDEFGHI"))[kind],
        "price": price,
        "number": number,
        "off": off,
        "paid": np.round(price * number * (1 - off / 100), 2),
        "weight": np.round(
            np.clip(number * np.exp(rng.normal(level / 3 - 1, 0.4)), 0.05, 60), 2
        ),
        "moment": np.char.replace(
            (np.datetime64("2023-01-01T00:00") + days + minutes).astype(str), "T", " "
        ),
        "loyal": np.where(
            rng.random(rows) < 0.5, 0, np.rint(rng.gamma(1.2, 40, rows))
        ).astype(int),
        "stars": stars,
        "back": np.where(
            rng.random(rows) < 0.04 + 0.1 * (stars == "1") + 0.06 * (kind == 1),
            "yes",
            "no",
        ),
    }


def shipped(name: str) -> Columns:
    """A table that comes with statsmodels."""
    import statsmodels.api as sm  # only these two need it

    frame = getattr(sm.datasets, name).load_pandas().data
    return {column: frame[column].to_numpy() for column in frame}


MADE: dict[str, Callable[[], Columns]] = {
    "clinic": clinic,
    "orders": orders,
    "randhie": lambda: shipped("randhie"),
    "fair": lambda: shipped("fair"),
}


def write(name: str, folder: Path) -> Path:
    """One of these tables as a CSV file in a folder."""
    columns = MADE[name]()
    path = folder / f"{name}.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(
            zip(*(_texts(column) for column in columns.values()), strict=True)
        )
    return path


def _texts(column: NDArray) -> list[object]:
    return column.astype(str).tolist() if column.dtype.kind == "M" else column.tolist()
