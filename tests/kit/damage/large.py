"""Opens small files that ask for much, one after the other, in a process of its own,
and prints what each took.

Seconds are of computing, and megabytes those beyond what the process had before: both
are the case's own, on a machine however busy.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray

from kit.damage import damage, sizes
from kit.damage.worker import peak
from understudy.cli.root import run
from understudy.errors import UnderstudyError
from understudy.models import ProductModel
from understudy.models.rules.repair_values import broken_rows
from understudy.models.rules.satisfiability import refuse_contradictions
from understudy.models.rules.structural_zeros import forbidden_rows
from understudy.releases import Guarantee, Release
from understudy.releases.output.frames.decoding import decode_chunks
from understudy.releases.release import load_release
from understudy.schema import DecodedCells, Schema, dump_schema
from understudy.schema.columns.code_layout import EMPTY_STATE
from understudy.schema.disclosed import describe_declared
from understudy.schema.formats import load_format
from understudy.workflow.planning.plan import plan

SECONDS = 5.0
MEGABYTES = 500
SPACE = 8 << 30
TIED_ROWS = 500
"""Rows that are sampled under rules that tie their columns."""

PLANNED_ROWS = 1000
"""Rows of the runs that are planned for columns of very many bins."""


def use_schema(path: Path) -> str | None:
    """Read a schema, ours and as anybody's; write it down, say what is public, and
    sample a few rows by it alone.
    """
    said, found = None, None
    for read in (Schema.load, lambda where: load_format(where).schema):
        try:
            schema: Schema = read(path)
            dump_schema(schema)
            describe_declared(schema)
        except UnderstudyError as error:
            said = str(error)
            continue
        found = schema
    if found is not None and found.is_closed and len(found):
        _sample(found)
    return said


def _sample(schema: Schema) -> None:
    """Refuse rules that leave no row, as every run does, and use a release for which no
    row was read.
    """
    try:
        refuse_contradictions(schema)
        model = ProductModel.uniform(schema, 100.0)
        use_release(
            Release(guarantee=Guarantee.without_data(), schema=schema, model=model)
        )
    except UnderstudyError:
        pass


def tied(path: Path) -> str | None:
    """Read a schema whose rules tie its columns; refuse contradictions as a run does,
    before anything is spent, or sample rows. Every row keeps every rule.
    """
    schema = Schema.load(path)
    try:
        refuse_contradictions(schema)
    except UnderstudyError as error:
        said = str(error)
        return said if said.endswith("Nothing was spent") else f"unclear\n{said}"
    model = ProductModel.uniform(schema, 100.0)
    rng = np.random.default_rng(0)
    codes = model.sample(TIED_ROWS, rng)
    assert not forbidden_rows(schema, codes, TIED_ROWS).any()
    (chunk,) = _decoded(schema, codes)
    assert not broken_rows(schema, chunk, TIED_ROWS).any()
    return None


def _decoded(
    schema: Schema, codes: Mapping[str, NDArray[np.integer]]
) -> list[dict[str, DecodedCells]]:
    """The values of a few rows, on their lattices."""
    chunks = decode_chunks(schema, codes, np.random.default_rng(0))
    return [
        {
            name: DecodedCells(cells.index, np.where(cells.null, EMPTY_STATE, 0))
            for name, cells in chunk.items()
        }
        for chunk in chunks
    ]


def planned(path: Path) -> str | None:
    """Plan a run by a schema alone, with as many imagined rows."""
    try:
        plan(Schema.load(path), epsilon=1, rows=PLANNED_ROWS)
    except UnderstudyError as error:
        return str(error)
    return None


def use_release(release: Release) -> None:
    """A few rows, the tables and the card."""
    if release.model is not None:
        release.sample(3, kind="numpy")
    release.tables(kind="numpy")
    release.card.to_dict()
    repr(release)


def released(path: Path) -> str | None:
    """Load a release and use it; rows that it asks for by itself are none too many."""
    try:
        release = load_release(path)
        use_release(release)
        if release.rows * len(release.schema) > 10**6 and release.model is not None:
            release.write(path.with_name("rows.csv"))
            return "wrote as many rows as a file asked for"
    except UnderstudyError as error:
        return str(error)
    return None


def counted(path: Path) -> str | None:
    """Show a ledger."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        run(["ledger", "show", str(path)])
    assert "unexpected" not in said.getvalue(), said.getvalue()
    return said.getvalue().removesuffix("\n") or None


def case(kind: str, number: int, folder: Path) -> dict[str, object]:
    """What one file takes."""
    makers: dict[str, Callable[[int], tuple[str, bytes]]] = {
        "schema": sizes.schema_file,
        "rules": sizes.rules_file,
        "bins": sizes.bins_file,
        "release": sizes.release_file,
    }
    if kind == "ledger":
        name, data = sizes.ledger_file(number, folder)
    else:
        name, data = makers[kind](number)
    path = folder / f"{number}-{name}"
    path.write_bytes(data)
    del data
    before = resident()
    began = process_time()
    users: dict[str, Callable[[Path], str | None]] = {
        "schema": use_schema,
        "rules": tied,
        "bins": planned,
        "release": released,
        "ledger": counted,
    }
    said = users[kind](path)
    assert said is None or "\n" not in said, said
    path.unlink()
    return {
        "case": number,
        "seconds": process_time() - began,
        "megabytes": max(0, peak() - before) >> 10,
        "said": (said or "")[:300],
    }


def resident() -> int:
    """Kilobytes in memory now; the highest mark is set back to it."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def main(kind: str, first: int, last: int) -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
    with tempfile.TemporaryDirectory() as room:
        os.chdir(room)
        for number in range(first, last):
            signal.setitimer(signal.ITIMER_PROF, 2 * SECONDS)
            try:
                facts = case(kind, number, Path(room))
            except BaseException as error:
                facts = {
                    "case": number,
                    "wrong": f"{type(error).__name__}: {error}"[:500],
                }
            print(damage.described(facts), flush=True)
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:4]))
