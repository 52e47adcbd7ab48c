"""Tables to compare synthesizers on: real ones where they are at hand, and made-up ones
whose structure is known.

    python benchmarks/coded_tables.py [--data DIR]                  lists them
    python benchmarks/coded_tables.py --write flights --into DIR    flights.csv and flights-domain.json, for benchmarks/synthesizers.py
    python benchmarks/coded_tables.py --data DIR --write adult --rows 200000 --into DIR2    as many rows of it, drawn with replacement

Each is codes by column and the number of codes of each column. The made-up ones come
from a fixed seed, so that every run has the same.

    adult       48,842 people, 15 columns (DIR/adult-coded.csv and adult-coded-domain.json)
    acs         7,634 people of Massachusetts, 24 columns on quantile bins (DIR/acs-ma2019.csv)
    randhie     20,190 visits of a health insurance experiment, fair 6,366 marriages: both come with statsmodels
    chain, tree, clique     columns that depend on one, on an earlier one, on all others through a hidden one
    binary      30 columns of two codes; wide: columns of up to 1,000 codes
    parity      triples in which any two columns are independent and determine the third
    few         200 rows; two: two columns; many: 100 columns

Tables of benchmarks/stranger_tables.py can be written too: numbers by quantile bins, and
their blanks as a code; labels where there are at most MAX_LABELS.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
from stranger_tables import TABLES, read_bytes

BINS = 20
"""Quantile bins of a column with more values than this."""

MAX_LABELS = 120
"""A column of more texts than these names things, and is left out."""


@dataclass(frozen=True, eq=False)
class Coded:
    """Codes by column, and how many there may be of each."""

    codes: dict[str, np.ndarray]
    sizes: dict[str, int]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return len(next(iter(self.codes.values())))


def coded(columns: dict[str, np.ndarray], sizes: dict[str, int] | None = None) -> Coded:
    """Whole numbers from zero as codes of the shortest type."""
    known = sizes or {name: int(column.max()) + 1 for name, column in columns.items()}
    kind = {
        name: np.uint8 if size <= 256 else np.uint16 for name, size in known.items()
    }
    return Coded(
        {name: column.astype(kind[name]) for name, column in columns.items()}, known
    )


def binned(values: np.ndarray) -> np.ndarray:
    """Codes of a column: one for each value, or quantile bins where there are many."""
    found, codes = np.unique(values, return_inverse=True)
    if found.size <= BINS:
        return codes
    edges = np.unique(
        np.quantile(values.astype(np.float64), np.linspace(0, 1, BINS + 1)[1:-1])
    )
    return np.searchsorted(edges, values.astype(np.float64), side="left")


def adult(folder: Path) -> Coded:
    """The coded census table."""
    sizes: dict[str, int] = json.loads((folder / "adult-coded-domain.json").read_text())
    table = pyarrow.csv.read_csv(folder / "adult-coded.csv")
    return coded(
        {
            name: np.clip(table[name].to_numpy(), 0, size - 1)
            for name, size in sizes.items()
        },
        sizes,
    )


def acs(folder: Path) -> Coded:
    """The community survey: numbers on quantile bins, "N" a code of its own, labels as
    they are.
    """
    table = pyarrow.csv.read_csv(
        folder / "acs-ma2019.csv",
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(
                (folder / "acs-ma2019.csv").open().readline().strip().split(","),
                "string",
            ),
        ),
    )
    columns = {}
    for name in table.column_names:
        text = np.array(table[name].to_pylist(), dtype=str)
        missing = text == "N"
        try:
            number = np.where(missing, "0", text).astype(np.float64)
        except ValueError:
            columns[name] = np.unique(text, return_inverse=True)[1]
            continue
        codes = np.zeros(text.size, np.int64)
        codes[~missing] = binned(number[~missing]) + bool(missing.any())
        columns[name] = codes
    return coded(columns)


def statsmodels(name: str) -> Coded:
    """A table that comes with statsmodels, numbers on quantile bins."""
    import statsmodels.api as sm  # only these two need it

    frame = getattr(sm.datasets, name).load_pandas().data
    return coded({column: binned(frame[column].to_numpy()) for column in frame})


def follows(
    parent: np.ndarray, size: int, strength: float, rng: np.random.Generator
) -> np.ndarray:
    """A column that is a function of its parent for this share of the rows, and by
    itself for the others.
    """
    own = rng.choice(size, parent.size, p=rng.dirichlet(np.full(size, 0.7)))
    return np.where(
        rng.random(parent.size) < strength,
        rng.integers(0, size, int(parent.max()) + 1)[parent],
        own,
    )


def chain(rows: int = 20_000, columns: int = 12, size: int = 8, seed: int = 1) -> Coded:
    """Each column follows the one before it."""
    rng = np.random.default_rng(seed)
    made = [rng.integers(0, size, rows)]
    for _ in range(columns - 1):
        made.append(follows(made[-1], size, 0.6, rng))
    return coded(
        {f"c{i}": column for i, column in enumerate(made)},
        {f"c{i}": size for i in range(columns)},
    )


def tree(
    rows: int = 30_000,
    sizes: tuple[int, ...] = (16, 32, 9, 5, 16, 7, 15, 2, 5, 2, 32, 12),
    seed: int = 2,
) -> Coded:
    """Each column follows a random one before it."""
    rng = np.random.default_rng(seed)
    made = [rng.choice(sizes[0], rows, p=rng.dirichlet(np.ones(sizes[0])))]
    for size in sizes[1:]:
        made.append(
            follows(
                made[rng.integers(len(made))], size, float(rng.uniform(0.2, 0.8)), rng
            )
        )
    return coded(
        {f"c{i}": c for i, c in enumerate(made)},
        {f"c{i}": size for i, size in enumerate(sizes)},
    )


def clique(
    rows: int = 20_000, columns: int = 10, size: int = 6, kinds: int = 8, seed: int = 3
) -> Coded:
    """A hidden kind of row decides all columns: every pair depends on each other, and
    no tree says it all.
    """
    rng = np.random.default_rng(seed)
    kind = rng.choice(kinds, rows, p=rng.dirichlet(np.full(kinds, 3.0)))
    return coded(
        {f"c{i}": follows(kind, size, 0.7, rng) for i in range(columns)},
        {f"c{i}": size for i in range(columns)},
    )


def binary(rows: int = 10_000, columns: int = 30, seed: int = 4) -> Coded:
    """Columns of two codes: thresholds of a few common numbers and some of their own."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(rows, 4)) @ rng.normal(size=(4, columns)) * 0.5
    made = common + rng.normal(size=(rows, columns)) > rng.normal(size=columns)
    return coded(
        {f"c{i}": made[:, i].astype(np.int64) for i in range(columns)},
        {f"c{i}": 2 for i in range(columns)},
    )


def wide(rows: int = 50_000, seed: int = 5) -> Coded:
    """A few columns of very many codes, in an order that means something, among small
    ones.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=rows)
    sizes = {"a": 1000, "b": 300, "c": 100, "d": 10, "e": 4, "f": 2}
    made = {}
    for name, size in sizes.items():
        place = np.argsort(np.argsort(hidden + rng.normal(size=rows)))
        made[name] = (place / rows) ** 1.5 * size
    return coded(
        {name: column.astype(np.int64) for name, column in made.items()}, sizes
    )


def parity(rows: int = 10_000, triples: int = 4, size: int = 3, seed: int = 6) -> Coded:
    """Any two columns of a triple are independent, and together they determine the
    third in nine rows of ten.
    """
    rng = np.random.default_rng(seed)
    made: dict[str, np.ndarray] = {}
    for i in range(triples):
        a, b, own = rng.integers(0, size, (3, rows))
        made |= {
            f"a{i}": a,
            f"b{i}": b,
            f"c{i}": np.where(rng.random(rows) < 0.9, (a + b) % size, own),
        }
    return coded(made, dict.fromkeys(made, size))


def many(rows: int = 20_000, columns: int = 100, seed: int = 7) -> Coded:
    """A hundred small columns, most of which follow one before them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, columns)
    made = [rng.integers(0, sizes[0], rows)]
    for size in sizes[1:]:
        parent = made[rng.integers(max(0, len(made) - 10), len(made))]
        made.append(follows(parent, int(size), float(rng.choice([0.0, 0.3, 0.7])), rng))
    return coded(
        {f"c{i}": c for i, c in enumerate(made)},
        {f"c{i}": int(s) for i, s in enumerate(sizes)},
    )


MADE: dict[str, Callable[[], Coded]] = {
    "chain": chain,
    "tree": tree,
    "clique": clique,
    "binary": binary,
    "wide": wide,
    "parity": parity,
    "few": lambda: chain(rows=200, columns=8, size=4, seed=8),
    "two": lambda: tree(rows=5_000, sizes=(20, 8), seed=9),
    "many": many,
}
SHIPPED: dict[str, Callable[[], Coded]] = {
    "randhie": lambda: statsmodels("randhie"),
    "fair": lambda: statsmodels("fair"),
}
GIVEN: dict[str, Callable[[Path], Coded]] = {"adult": adult, "acs": acs}


def code_stranger(name: str) -> Coded:
    """A file of strangers as codes; columns of one value are left out."""
    content = read_bytes(TABLES[name])
    if content is None:
        raise SystemExit(f"{name} is not fetched: python benchmarks/stranger_tables.py")
    delimiter = TABLES[name].delimiter
    table = pd.read_csv(io.BytesIO(content), sep=delimiter, low_memory=False)
    columns = {}
    for column in table:
        cells = table[column]
        if cells.nunique() <= 1:
            continue
        codes = code_cells(cells)
        if codes is not None:
            columns[str(column).replace(" ", "_")] = codes
    return coded(columns)


def code_cells(cells: pd.Series) -> np.ndarray | None:
    """The codes of a column; None where it has too many texts."""
    if not pd.api.types.is_numeric_dtype(cells):
        few = cells.nunique() <= MAX_LABELS
        return pd.factorize(cells.fillna(""))[0] if few else None
    is_known = cells.notna().to_numpy()
    codes = np.zeros(len(cells), np.int64)
    # Blanks are the first code, where there are any.
    codes[is_known] = binned(cells[is_known].to_numpy()) + int(not is_known.all())
    return codes


def write_codes(table: Coded, name: str, folder: Path, rows: int | None) -> None:
    """The two files that benchmarks/synthesizers.py reads."""
    codes = table.codes
    if rows is not None:
        drawn = np.random.default_rng(0).integers(0, table.rows, rows)
        codes = {column: values[drawn] for column, values in codes.items()}
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(codes).to_csv(folder / f"{name}.csv", index=False)
    sizes = folder / f"{name}-domain.json"
    sizes.write_text(json.dumps(table.sizes))


def names(folder: Path | None) -> list[str]:
    """The tables there are."""
    return [*(GIVEN if folder else ()), *SHIPPED, *MADE]


def load(name: str, folder: Path | None) -> Coded:
    """A table by its name."""
    if name in GIVEN:
        if folder is None:
            raise SystemExit(f"{name} needs --data DIR")
        return GIVEN[name](folder)
    return (SHIPPED | MADE)[name]()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="a folder with adult-coded.csv and acs-ma2019.csv"
    )
    parser.add_argument("--write", metavar="NAME", help="write this table as codes")
    parser.add_argument("--into", type=Path, default=Path(), help="the folder for it")
    parser.add_argument("--rows", type=int, help="draw so many of its rows")
    options = parser.parse_args()
    folder = options.data
    if options.write:
        name = options.write
        table = code_stranger(name) if name in TABLES else load(name, folder)
        write_codes(table, name, options.into, options.rows)
        return
    for name in names(folder):
        table = load(name, folder)
        least, most = min(table.sizes.values()), max(table.sizes.values())
        print(
            f"{name:<9} {table.rows:>7,} rows  {len(table.sizes):>3} columns of {least} to {most} codes"
        )


if __name__ == "__main__":
    main()
