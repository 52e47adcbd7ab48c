"""A release: what a custodian hands out, and everything that can be done with it.

Its parts and their checks are in releases/contents.py. Nothing here reads a private row
or spends budget: rows are sampled, questions answered and files written from what was
released alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from understudy.databases.address import DatabaseAddress, is_address, parse_address
from understudy.errors import Refused
from understudy.queries.query import Query
from understudy.queries.results import AnswerTable
from understudy.releases.answers.answer import Answer, answer_question
from understudy.releases.answers.query_answer import answer_query, is_query
from understudy.releases.answers.question import Question
from understudy.releases.card.degenerate_columns import degenerate_column_lines
from understudy.releases.card.recoded_columns import recoding_lines
from understudy.releases.contents import ReleaseKind
from understudy.releases.file import archive
from understudy.releases.output.batches import report_written
from understudy.releases.output.database import refuse_existing_table
from understudy.releases.output.frames import default_kind, to_frame
from understudy.releases.output.spark import write_spark_table
from understudy.releases.output.tidy import (
    count_noisy_cells,
    tidy_table_to_frame,
    tidy_tables,
)
from understudy.releases.output.write import write_parts, write_rows
from understudy.releases.population_answers import PopulationAnswers
from understudy.releases.sampling import (
    SAMPLE_BATCH_ROWS,
    draw_batches,
    seeded_generator,
)
from understudy.releases.warnings import list_warnings
from understudy.schema.predicates.ast import Predicate

if TYPE_CHECKING:
    # For type checkers alone: none of these libraries is needed at install.
    import duckdb
    import pandas
    import polars
    import pyarrow


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(PopulationAnswers):
    """What a custodian hands out.

    >>> from understudy.models import ProductModel
    >>> from understudy.releases.guarantee import Guarantee
    >>> from understudy.schema import Boolean, Schema
    >>> schema = Schema(columns=(Boolean(name="smoker", nullable=False),))
    >>> model = ProductModel.uniform(schema, total=4.0)
    >>> release = Release(guarantee=Guarantee.without_data(), schema=schema, model=model)
    >>> sorted(release.sample(kind="duckdb", seed=1).fetchall())
    [(False,), (False,), (True,), (True,)]
    """

    # -- rows

    @overload
    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, object] | None = None,
        kind: Literal["polars"],
    ) -> polars.DataFrame: ...

    @overload
    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, object] | None = None,
        kind: Literal["pandas"],
    ) -> pandas.DataFrame: ...

    @overload
    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, object] | None = None,
        kind: Literal["pyarrow"],
    ) -> pyarrow.Table: ...

    @overload
    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, object] | None = None,
        kind: Literal["duckdb"],
    ) -> duckdb.DuckDBPyRelation: ...

    @overload
    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, object] | None = None,
        kind: Literal["numpy"],
    ) -> dict[str, NDArray[np.generic]]: ...

    @overload
    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, object] | None = None,
        kind: str | None = None,
    ) -> Any: ...

    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, object] | None = None,
        kind: str | None = None,
    ) -> Any:
        """Synthetic rows, as the kind of frame that came in.

        Without `rows`, as many as the release estimates the table to have (with
        `given`, as many of those as it estimates to match), and none if that is not
        positive. `given` fixes columns to values, to one of several (`["Bonn", "Celle"]`)
        or to a range (`"18..30"`, `"65.."`); the others follow their distribution given
        those. Sampling reads the release alone, so it may be repeated and seeded
        freely.
        """
        rng = seeded_generator(seed)
        drawn = draw_batches(self, rows, given or {}, rng)
        return to_frame(
            self.schema,
            drawn.batches,
            kind=kind or default_kind(self.frame),
            rng=rng,
            pins=drawn.pins,
            densities=self.evidence.bin_densities,
        )

    def write(
        self,
        path: str | os.PathLike[str] | DatabaseAddress,
        rows: int | None = None,
        *,
        seed: int | None = None,
        given: Mapping[str, object] | None = None,
        partition_rows: int | None = None,
        guard_formulas: bool = True,
        progress: Callable[[str, float], None] | None = None,
    ) -> int:
        """Write the same rows as `sample` to a CSV or Parquet file, or to a new table of
        a database (`postgresql://…?table=NAME`, `file.duckdb::NAME`); returns their
        number.

        With `partition_rows`, a folder of Parquet files with at most that many rows
        each. Memory does not grow with `rows` either way. In a CSV file texts that a
        spreadsheet would run as formulas get a leading apostrophe; for a program that
        reads the file, `guard_formulas=False` writes them as they are.
        """
        if partition_rows is not None and not 1 <= partition_rows <= SAMPLE_BATCH_ROWS:
            raise Refused(
                f"A part has between 1 and {SAMPLE_BATCH_ROWS:,} rows. Nothing was"
                " written."
            )
        if isinstance(path, str) and is_address(path):
            path = parse_address(path)
        if isinstance(path, DatabaseAddress):
            if partition_rows is not None:
                raise Refused(
                    f"{path}: a table of a database has no parts. Leave partition_rows"
                    " out. Nothing was written."
                )
            refuse_existing_table(path)
            if path.system == "spark":
                return self._write_spark_table(path, rows, seed=seed, given=given)
        rng = seeded_generator(seed)
        drawn = draw_batches(
            self, rows, given or {}, rng, max_batch_rows=partition_rows
        )
        batches = drawn.batches
        if progress is not None:
            batches = report_written(batches, drawn.count, progress)
        densities = self.evidence.bin_densities
        if partition_rows is not None:
            assert not isinstance(path, DatabaseAddress)
            write_parts(
                self.schema, batches, path, rng, pins=drawn.pins, densities=densities
            )
        else:
            write_rows(
                self.schema,
                batches,
                path,
                rng,
                pins=drawn.pins,
                densities=densities,
                guard_formulas=guard_formulas,
            )
        return drawn.count

    def _write_spark_table(
        self,
        address: DatabaseAddress,
        rows: int | None,
        *,
        seed: int | None,
        given: Mapping[str, object] | None,
    ) -> int:
        """Have Spark's workers draw the rows."""
        if given:
            raise Refused(
                f"{address}: rows with given values are not drawn by Spark. Write a"
                " .parquet file. Nothing was written."
            )
        count = max(self.rows, 0) if rows is None else rows
        write_spark_table(self.save, _sample_file, address, count, seed)
        return count

    # -- measurements

    def tables(self, *, kind: str | None = None) -> dict[str, Any]:
        """The noisy measurements as tidy frames: labels, `estimate`, `variance`, `sd`.
        Unbiased; no model touched them.
        """
        chosen = kind or default_kind(self.frame)
        return {
            name: tidy_table_to_frame(columns, chosen)
            for name, columns in tidy_tables(self.schema, self.measurements).items()
        }

    # A text is an iterable of texts too; the first overloads are those that count.
    @overload
    def answer(self, question: Query) -> AnswerTable: ...

    @overload
    def answer(self, question: Question | Predicate) -> Answer: ...

    @overload
    def answer(self, question: str) -> Any: ...

    @overload
    def answer(
        self, question: Iterable[str | Query | Question | Predicate]
    ) -> list[Any]: ...

    def answer(self, question: object) -> Any:
        """An estimate with a 95 % interval, at no cost.

        A question is a text (`count where age > 60 and sex = 'F'`, or `share where …`),
        a `Question`, or a predicate, whose rows are counted: these give one `Answer`. SQL
        or a query (`us.mean("income").by("sex")`) gives an `AnswerTable`. Several
        questions give a list of answers.
        """
        if isinstance(question, Iterable) and not isinstance(question, str | bytes):
            return [self.answer(each) for each in question]
        if is_query(question):
            assert isinstance(question, str | Query)
            return answer_query(self.evidence, question)
        assert not isinstance(question, Query)
        return answer_question(self.evidence, question)  # type: ignore[arg-type]

    # -- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release file; it appears whole or not at all."""
        archive.save_contents(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Read a release file that anybody may have written; ReleaseError if it is not
        sound.
        """
        return archive.load_contents(path, cls)

    def to_bytes(self) -> bytes:
        """The bytes of the release file: the same for the same release."""
        return archive.contents_to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Release:
        """The release in the bytes of a file, or ReleaseError in one line, whatever the
        bytes.
        """
        return archive.contents_from_bytes(data, cls)

    # -- words

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user of it should know, as the command line says it after a run:
        the run's notices, and warnings about the budget and about columns that carry no
        information.
        """
        notices = [notice.text for notice in self.notices]
        return tuple(dict.fromkeys([*notices, *list_warnings(self)]))

    def _summary_facts(self) -> list[tuple[str, str]]:
        marginals = len(self.measurements) + len(self.measurements.sparse)
        cells = count_noisy_cells(self.measurements)
        facts = [
            ("guarantee", self.guarantee.sentence()),
            *(("", line) for line in self.guarantee.details()),
            ("holds", f"{self.kind.value} made by {self.synthesizer or 'hand'}"),
            ("columns", ", ".join(self.schema) or "none"),
            ("measured", f"{marginals} marginals, {cells:,} cells"),
        ]
        if self.kind is not ReleaseKind.TABLES:
            estimated = ", the noisy estimate" if self.model is not None else ""
            facts.append(("rows", f"{self.rows:,} by default{estimated}"))
        facts.append(("account", self.statement.lines()[0]))
        notes = (
            *(notice.text for notice in self.notices if notice.is_for_readers),
            *recoding_lines(self.evidence),
            *degenerate_column_lines(self.card.degenerate_columns),
        )
        return [*facts, *(("note", note) for note in notes)]

    def __repr__(self) -> str:
        return "\n".join(
            f"{name:<10} {text}".rstrip() for name, text in self._summary_facts()
        )

    def _repr_html_(self) -> str:
        # What the guarantee rests on may be long, so it is folded.
        details = "".join(
            f"<li>{escape(line)}</li>" for line in self.guarantee.details()
        )
        folded = f"<details><summary>What this rests on</summary><ul>{details}</ul></details>"
        rows = "".join(
            '<tr><th style="text-align:left">'
            f'{escape(name)}</th><td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self._summary_facts()
            if name
        )
        table = f"<table><caption>Understudy release</caption>{rows}</table>"
        return f"{table}{folded if details else ''}"


def load_release(path: str | os.PathLike[str]) -> Release:
    """Read a release file that anybody may have written; see `Release.load`.

    >>> load_release("missing.understudy")
    Traceback (most recent call last):
    understudy.errors.ReleaseError: missing.understudy: there is no such file. Nothing was loaded.
    """
    return Release.load(path)


def save(release: Release, path: str | os.PathLike[str]) -> None:
    """Write a release file; see `Release.save`."""
    release.save(path)


def to_bytes(release: Release) -> bytes:
    """The bytes of a release file; see `Release.to_bytes`."""
    return release.to_bytes()


def from_bytes(data: bytes) -> Release:
    """The release in the bytes of a file; see `Release.from_bytes`."""
    return Release.from_bytes(data)


def _sample_file(path: str | os.PathLike[str], rows: int, seed: int) -> Any:
    """Rows of a saved release, as a worker of Spark draws them."""
    return load_release(path).sample(rows, seed=seed, kind="pyarrow")
