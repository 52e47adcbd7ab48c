"""A census release written to a folder, by one verb for the library and the command."""

from __future__ import annotations

from pathlib import Path

from understudy.censuses.output.files import write_census
from understudy.censuses.release import CensusRelease
from understudy.releases.sampling import seeded_generator


def save_census(
    release: CensusRelease, folder: str | Path, *, seed: int | None = None
) -> list[str]:
    """Write all products of a census release to a new folder, and give back the names of
    the files: microdata, tables, measurements and the card. `load_census` reads them
    again. The seed is for values inside bins and the bias that the card simulates.

    >>> import tempfile, duckdb, understudy as us
    >>> people = duckdb.sql(
    ...     "SELECT ['n', 's'][1 + i % 2] AS state, i > 9 AS old FROM range(90) t(i)"
    ... )
    >>> schema = us.Schema.parse(
    ...     "columns: {state: {type: categorical, values: [n, s]}, old: boolean}"
    ... )
    >>> design = {"hierarchy": {"columns": ["state"]}}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made = us.census(people, schema, design, rho=1, ledger=f"{place}/people.ledger")
    ...     save_census(made, f"{place}/out", seed=1)[:4]
    ['card.html', 'census.json', 'measurements.npz', 'persons.csv']
    """
    return write_census(release, folder, seeded_generator(seed))
