"""Neighbouring tables through the whole product: nothing that comes out differs but by
what was paid for, or moves beyond its price.

Every pair is a real run on a table, and the same run on its neighbour with the table's
answers replayed (harness.py). Synthesizers, both relations, rows and ids, three
accountings, what is declared and every kind of source; the neighbours are an
adversary's (neighbours.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import cycle, islice, product
from pathlib import Path

import pytest

import understudy.curator.mechanisms.marginals as marginals
import understudy.curator.mechanisms.sparse_histogram as stability
import understudy.workflow.measure as measuring
import understudy.workflow.preflight as preflight
import understudy.workflow.synthesize as workflow
from kit.privacy.broken_runs import selection_is_thought_half_as_sensitive
from kit.privacy.harness import SCHEMAS, Comparison, Setting, Trial
from kit.privacy.neighbours import (
    ANYWHERE,
    CHANGES,
    CROWDS,
    IN_CSV,
    PLACES,
    SOURCES,
    Change,
    Line,
    csv_bytes,
    holds,
    neighbour,
    odd_cells,
    people,
    person,
    stored,
)
from kit.privacy.odd import PAIRS, Pair
from kit.privacy.replay import ROUNDING, Question, keep_questions
from kit.privacy.runs import SCHEMA as FILE_SCHEMA
from kit.privacy.runs import chance, written
from understudy.accounting.cost import Accounting, Sensitivity
from understudy.accounting.neighbours import Neighbours
from understudy.cli.root import run as command
from understudy.curator import Curator, MechanismContext
from understudy.errors import Refused
from understudy.notices import Notice, NoticeKind, post_notice
from understudy.schema import Schema
from understudy.synthesizers import SYNTHESIZER_CLASSES
from understudy.tables import Table, TableSource

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
ADD_REMOVE, REPLACE = Neighbours
PURE, GDP, ZCDP = Accounting


@dataclass(frozen=True)
class Case:
    """A setting, a source and a table, with the neighbours that its run is replayed on."""

    setting: Setting
    source: str
    rows: Sequence[Line]
    changes: Sequence[tuple[Change, str]]

    def __str__(self) -> str:
        return f"{self.setting}, {self.source}"

    def build(self, rows: Sequence[Line]) -> Callable[[Path], object]:
        return partial(SOURCES[self.source], rows)

    def begin(self, folder: Path) -> Trial:
        return Trial.begin(self.build(self.rows), self.setting, folder)

    def compare(self, folder: Path) -> Iterator[tuple[str, Comparison]]:
        """The run, replayed on each neighbour in turn."""
        trial = self.begin(folder)
        for change, place in self.changes:
            there = neighbour(
                self.rows,
                change,
                self.setting.relation,
                place,
                by_id=self.setting.by_id,
            )
            yield f"{self}: {change}, {place}", trial.replay(self.build(there))


def rows_for(setting: Setting) -> list[Line]:
    return [*people(12, rows_each=3)] if setting.by_id else [*people(24)]


def changes_for(setting: Setting, source: str) -> list[Change]:
    """The odd rows that are one unit of a setting, and that a source can hold."""
    if not setting.by_id:
        rows = [change for change in CHANGES if holds(source, change)]
        # A line without a cell is no row, so a table with one in place of a row has one
        # row less: no neighbour under replace.
        return (
            rows
            if setting.relation is ADD_REMOVE
            else [change for change in rows if not is_blank(change)]
        )
    # Somebody else's id would make two units of it.
    own = [
        change
        for change in ANYWHERE
        if all(dict(row)["id"] == person(990)["id"] for row in change.rows)
    ]  # type: ignore[arg-type]
    return [*CROWDS, *own]


def is_blank(change: Change) -> bool:
    return any(isinstance(row, bytes) and not row.strip(b"\r") for row in change.rows)


def make_case(setting: Setting, source: str, start: int, count: int) -> Case:
    """A case with so many neighbours, taken from all there are from `start` on, at
    places in turn.
    """
    changes = changes_for(setting, source)
    taken = [changes[(start + 37 * i) % len(changes)] for i in range(count)]
    places = islice(cycle(PLACES), start, None)
    return Case(setting, source, rows_for(setting), [*zip(taken, places, strict=False)])


SETTINGS = [
    Setting(synthesizer=name, relation=relation, accounting=accounting, known=known)
    for name, relation, accounting, known in product(
        SYNTHESIZER_CLASSES, Neighbours, Accounting, SCHEMAS
    )
]


def fast_cases() -> list[Case]:
    """Every synthesizer twice, every source, relation, accounting and kind of schema
    several times.
    """
    found = []
    kinds = cycle(
        product(
            ("complete", "partly", "complete, id", "dated", "rules, id"), Accounting
        )
    )
    sources = cycle(SOURCES)
    for number, name in enumerate([*SYNTHESIZER_CLASSES, *SYNTHESIZER_CLASSES]):
        known, accounting = next(kinds)
        relation = (ADD_REMOVE, REPLACE)[number % 2]
        setting = Setting(
            synthesizer=name, relation=relation, accounting=accounting, known=known
        )
        found.append(make_case(setting, next(sources), 11 * number, 1))
    for number, source in enumerate(("csv", "parquet of pyarrow", "pandas, arrow")):
        setting = Setting(relation=(REPLACE, ADD_REMOVE)[number % 2], known="none")
        found.append(make_case(setting, source, 50 + 7 * number, 1))
    return found


FAST = fast_cases()
SMALL = [
    Case(
        Setting(known=known, synthesizer=name),
        source,
        rows,
        [(change, "first") for change in (ANYWHERE[0], ANYWHERE[2])],
    )
    for known, name, source, rows in [
        ("complete", "independent", "csv", []),
        ("complete", "adaptive", "parquet of pyarrow", [person(1)]),
        ("none", "independent", "csv", []),
    ]
]
"""Tables of no row and of one."""


TARGETS = [
    Case(
        Setting(synthesizer="adaptive", known="complete", public=stored(people(40))),
        "parquet of pyarrow",
        people(24),
        [(ANYWHERE[2], "last")],
    ),
    Case(
        Setting(synthesizer="aim", known="dated", workload="ranges=born,seen"),
        "csv",
        people(24),
        [(ANYWHERE[2], "first")],
    ),
]
"""A public table as a prior, and coarser bins for ranges."""


def check_case(case: Case, folder: Path) -> int:
    """Nothing tells the neighbours of a case from its table; returns how many questions
    were compared.
    """
    questions = 0
    for name, found in case.compare(folder):
        assert not found.faults, f"{name}: {found.faults}"
        questions += len(found.movements)
    return questions


def test_every_dimension_is_in_the_fast_share():
    settings = [case.setting for case in FAST]
    assert {s.synthesizer for s in settings} == set(SYNTHESIZER_CLASSES)
    assert {case.source for case in FAST} == set(SOURCES)
    assert {(s.relation, s.accounting) for s in settings} == set(
        product(Neighbours, Accounting)
    )
    assert {s.known for s in settings} == set(SCHEMAS) - {"partly, id"}


@pytest.mark.parametrize("case", [*FAST, *SMALL, *TARGETS], ids=str)
def test_a_neighbour_cannot_be_told_apart(case, tmp_path):
    check_case(case, tmp_path)


def test_a_table_is_its_own_neighbour(tmp_path):
    """Nothing differs by chance, so whatever differs elsewhere was made by the row; and
    an odd row moves some question by all it paid.
    """
    case = FAST[2]
    trial = case.begin(tmp_path)
    same = trial.replay(case.build(case.rows))
    assert not same.faults
    assert {moved.loss for moved in same.movements} == {0.0}


@pytest.mark.parametrize(
    ("known", "accounting"),
    [("complete", PURE), ("partly", GDP), ("complete, id", ZCDP)],
)
def test_an_odd_row_moves_a_question_by_all_that_it_paid(known, accounting, tmp_path):
    """Else the harness has gone blind."""
    case = make_case(
        Setting(synthesizer="mst", accounting=accounting, known=known), "csv", 3, 1
    )
    (_, found) = next(case.compare(tmp_path))
    assert found.worst is not None
    assert 1 - 1e-6 < found.worst.ratio <= 1 + ROUNDING


# The pairs of files of test_metamorphic, with real noise


def pair_setting(pair: Pair) -> Setting:
    declared = Schema(columns=tuple(FILE_SCHEMA[name] for name in pair.columns))
    return Setting(
        relation=ADD_REMOVE if pair.moved == 1 else REPLACE, declared=declared
    )


def check_pairs(pairs: Sequence[Pair], folder: Path) -> int:
    """Nothing tells the files of any pair apart; a table that several pairs share is
    run once.
    """
    trials: dict[object, Trial] = {}
    for pair in pairs:
        setting = pair_setting(pair)
        key = pair.here, pair.columns, pair.moved
        if key not in trials:
            trials[key] = Trial.begin(partial(write_people, pair.here), setting, folder)
        found = trials[key].replay(partial(write_people, pair.there))
        assert not found.faults, f"{pair}: {found.faults}"
    return len(pairs)


def write_people(data: bytes, folder: Path) -> Path:
    (folder / "people.csv").write_bytes(data)
    return folder / "people.csv"


def test_a_whole_run_leaves_the_same_behind(tmp_path):
    kinds = ("category", "number", "ragged", "quoted", "empty")
    assert check_pairs(
        [p for p in PAIRS if p.kind in kinds and p.number == 5], tmp_path
    ) == len(kinds)


# The command line


def type_command(
    rows: Sequence[Line],
    setting: Setting,
    folder: Path,
    capsys: Capture,
    replayed: list[Question] | None = None,
    *,
    more: str = "--anyway",
) -> tuple[object, list[Question]]:
    """What a command wrote, on the screen and in files."""
    folder.mkdir()
    (folder / "people.csv").write_bytes(csv_bytes(rows))
    line = f"synthesize {folder}/people.csv --epsilon 8 --delta 1e-3 -o {folder}/out.parquet --seed 1 --json"
    line += f" --release {folder}/people.understudy --synthesizer {setting.synthesizer} --neighbours {setting.relation}"
    if setting.schema is not None:
        setting.schema.save(folder / "schema.yaml")
        line += f" --schema {folder}/schema.yaml"
    line += f" {more}"
    with keep_questions(replayed) as questions:
        code = command(line.split())
    shown = capsys.readouterr()
    (folder / "people.csv").unlink()
    (folder / "people.understudy").unlink(
        missing_ok=True
    )  # its bytes are compared without the run's name elsewhere
    return (
        code,
        chance(shown.out.replace(str(folder), "")),
        shown.err.replace(str(folder), ""),
        written(folder),
    ), questions


@pytest.mark.parametrize(
    ("setting", "change"),
    [
        (Setting(synthesizer="mst"), ANYWHERE[3]),
        (Setting(synthesizer="independent", known="none"), IN_CSV[0]),
        (Setting(synthesizer="stability", known="rules, id"), CROWDS[2]),
    ],
    ids=str,
)
def test_the_command_line_says_the_same_of_a_neighbour(
    setting, change, tmp_path, capsys
):
    rows = rows_for(setting)
    there = neighbour(rows, change, setting.relation, "middle", by_id=setting.by_id)
    here, asked = type_command(rows, setting, tmp_path / "a", capsys)
    assert here[0] == 0
    assert asked
    assert type_command(there, setting, tmp_path / "b", capsys, asked)[0] == here


def test_a_run_that_stops_early_says_the_same_of_a_neighbour(tmp_path, capsys):
    setting = Setting(synthesizer="independent", known="none")
    rows = rows_for(setting)
    there = neighbour(rows, IN_CSV[0], setting.relation, "middle", by_id=False)
    few = "--epsilon 0.01"
    here, asked = type_command(rows, setting, tmp_path / "a", capsys, more=few)
    # Nine times in ten it stops; whatever the noise decides, a neighbour is told the
    # same.
    assert (here[0] == 1) == ("too small" in here[2]) == (len(asked) == 1)
    again, _ = type_command(there, setting, tmp_path / "b", capsys, asked, more=few)
    hide = re.compile(r"--resume \w+")
    assert [hide.sub("", str(part)) for part in again] == [
        hide.sub("", str(part)) for part in here
    ]


# Broken on purpose


def an_exact_count_in_a_note(patch: Patch) -> None:
    original = workflow.discover_and_measure

    def perform(
        curator: Curator, method: object, progress: Callable, **options: object
    ) -> object:
        measured = original(curator, method, progress, **options)
        count = curator._context.table.rows()
        post_notice(Notice(NoticeKind.MISCOUNTED, f"There are {count} rows."))
        return measured

    patch.setattr(workflow, "discover_and_measure", perform)


def an_exact_count_while_it_waits(patch: Patch) -> None:
    """Told to whoever watches, and in no file."""
    original = measuring.measure_closed_schema

    def ask(
        curator: Curator, method: object, progress: Callable, **options: object
    ) -> object:
        progress("measuring", 1 / (1 + curator._context.table.rows()))
        return original(curator, method, progress, **options)

    patch.setattr(measuring, "measure_closed_schema", ask)


def a_storage_type_taken_from_rows(patch: Patch) -> None:
    original = preflight.schema_for

    def observed(source: TableSource, schema: Schema | None) -> Schema:
        known = original(source, schema)
        wide = Table(source, known).rows() > len(people(24))
        return known.with_column(
            replace(known["age"], dtype="Int16" if wide else "Int8")
        )

    patch.setattr(preflight, "schema_for", observed)


def an_error_that_counts(patch: Patch) -> None:
    original = workflow.discover_and_measure

    def perform(curator: Curator, *args: object, **options: object) -> object:
        if curator._context.table.rows() > len(people(24)):
            raise Refused("There are too many rows. Nothing was measured")
        return original(curator, *args, **options)

    patch.setattr(workflow, "discover_and_measure", perform)


def a_question_that_only_some_tables_are_asked(patch: Patch) -> None:
    original = measuring.measure_closed_schema

    def ask(curator: Curator, *args: object, **options: object) -> object:
        share = (
            Fraction(1, 50)
            if curator._context.table.rows() > len(people(24))
            else Fraction(1, 51)
        )
        curator.measure([()], share=share)
        return original(curator, *args, **options)

    patch.setattr(measuring, "measure_closed_schema", ask)


def half_of_the_price_of_a_marginal(patch: Patch) -> None:
    original = marginals.marginal_sensitivity

    def halved(*args: object, **options: object) -> Sensitivity:
        real = original(*args, **options)
        return replace(real, l1=real.l1 / 2, l2_squared=real.l2_squared / 4)

    patch.setattr(marginals, "marginal_sensitivity", halved)


def every_label_shows(patch: Patch) -> None:
    patch.setattr(stability, "threshold", lambda **how: 1)


def a_person_counts_with_all_rows(patch: Patch) -> None:
    patch.setattr(
        workflow,
        "MechanismContext",
        lambda **how: MechanismContext(**{**how, "max_rows": 1}),
    )


BROKEN: list[tuple[Callable[[Patch], None], Setting, Change, str]] = [
    (an_exact_count_in_a_note, Setting(), ANYWHERE[0], "notes"),
    (an_exact_count_while_it_waits, Setting(), ANYWHERE[0], "progress"),
    (a_storage_type_taken_from_rows, Setting(), ANYWHERE[0], "parquet schema"),
    (an_error_that_counts, Setting(), ANYWHERE[0], "error"),
    (a_question_that_only_some_tables_are_asked, Setting(), ANYWHERE[0], "question 0"),
    (
        half_of_the_price_of_a_marginal,
        Setting(accounting=PURE),
        ANYWHERE[0],
        "marginals",
    ),
    (
        half_of_the_price_of_a_marginal,
        Setting(accounting=ZCDP, relation=REPLACE),
        ANYWHERE[3],
        "marginals",
    ),
    (
        selection_is_thought_half_as_sensitive,
        Setting(synthesizer="mst"),
        ANYWHERE[2],
        "choice",
    ),
    (
        every_label_shows,
        Setting(known="partly"),
        odd_cells("any", city=["Paris"])[0],
        "values",
    ),
    (
        a_person_counts_with_all_rows,
        Setting(known="complete, id"),
        CROWDS[2],
        "marginals",
    ),
]
"""What is broken, on which run and neighbour, and where it shows."""


@pytest.mark.parametrize(
    ("broken", "setting", "change", "shows"),
    BROKEN,
    ids=lambda part: getattr(part, "__name__", str(part)),
)
def test_a_broken_product_is_caught(
    broken, setting, change, shows, tmp_path, monkeypatch
):
    broken(monkeypatch)
    case = Case(setting, "csv", rows_for(setting), [(change, "middle")])
    (_, found) = next(case.compare(tmp_path))
    assert any(fault.startswith(f"{shows}:") for fault in found.faults), found.faults


# At length


@dataclass
class Tally:
    """What a long share went through."""

    pairs: int = 0
    questions: int = 0
    refused: int = 0
    worst: float = 0.0

    def check(self, case: Case, folder: Path) -> list[str]:
        """The faults of a case; the rest is counted."""
        trial_refused = False
        faults = []
        for name, found in case.compare(folder):
            self.pairs += 1
            self.questions += len(found.movements)
            self.worst = max([self.worst, *(moved.ratio for moved in found.movements)])
            trial_refused = not found.movements
            faults += [f"{name}: {fault}" for fault in found.faults]
        self.refused += trial_refused
        return faults


NEIGHBOURS_EACH = 6
"""Of every setting of a synthesizer in the slow share."""


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("name", SYNTHESIZER_CLASSES)
def test_no_neighbour_of_any_setting_can_be_told_apart(name, relation, tmp_path):
    """Every accounting and kind of schema, with sources in turn."""
    tally, faults = Tally(), []
    sources = cycle(SOURCES)
    mine = [s for s in SETTINGS if (s.synthesizer, s.relation) == (name, relation)]
    for number, setting in enumerate(mine):
        case = make_case(
            setting, next(sources), 101 * number + len(name), NEIGHBOURS_EACH
        )
        faults += tally.check(case, tmp_path)
    print(f"{name}, {relation}: {tally}")
    assert not faults


@pytest.mark.slow
@pytest.mark.parametrize("known", ["complete", "none"])
@pytest.mark.parametrize("source", SOURCES)
def test_no_odd_row_of_any_source_can_be_told_apart(source, known, tmp_path):
    """Every odd row that a source can hold, added or in another's place."""
    tally, faults = Tally(), []
    for number, relation in enumerate(Neighbours):
        setting = Setting(relation=relation, known=known)
        changes = changes_for(setting, source)[number::2]
        case = Case(
            setting,
            source,
            rows_for(setting),
            [*zip(changes, cycle(PLACES), strict=False)],
        )
        faults += tally.check(case, tmp_path)
    print(f"{source}, {known}: {tally}")
    assert not faults


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({pair.kind for pair in PAIRS}))
def test_no_pair_of_files_can_be_told_apart(kind, tmp_path):
    check_pairs([pair for pair in PAIRS if pair.kind == kind], tmp_path)
