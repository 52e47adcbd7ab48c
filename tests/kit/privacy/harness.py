"""The neighbour-pair harness: a whole run on a table, the same run replayed on a
neighbour, everything that comes out compared.

A `Trial` is one real run. `Trial.replay` puts its answers to a neighbour and returns a
`Comparison`: every output that differs, and the movement of every question beside its
price. A sound product has no difference and no ratio above one, whatever the neighbour.
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from tempfile import mkdtemp

from pyarrow import parquet

from kit.privacy.replay import (
    ROUNDING,
    Movement,
    Question,
    Strayed,
    compare_movements,
    keep_questions,
)
from kit.privacy.runs import account, chance
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.cli.commands.synthesize import run_facts
from understudy.cli.terminal.layout import report_json
from understudy.errors import UnderstudyError
from understudy.releases import Release
from understudy.releases.release import to_bytes
from understudy.schema import (
    Boolean,
    Categorical,
    Identifier,
    Integer,
    Real,
    Schema,
    Text,
    Unit,
)
from understudy.synthesizers import Synthesizer, make
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

ROW_SEED = 1
"""Seeds the sampling of synthetic rows, so that equal releases give equal rows."""

COMPLETE = Schema(
    columns=(
        Identifier(name="id"),
        Categorical(name="sex", values=("F", "M")),
        Categorical(name="city", values=("Oslo", "Rome"), other="elsewhere"),
        Integer(name="age", min=0, max=120, bins=(0, 30, 50, 121)),
        Real(
            name="weight",
            min=Fraction(0),
            max=Fraction(300),
            step=Fraction(1, 10),
            bins=(0, 600, 800, 3001),
        ),
        Boolean(name="smoker"),
        Text(name="remarks"),
    )
)
"""Everything declared."""

DATED = Schema.parse("""
columns:
  sex: {type: categorical, values: [F, M]}
  born: {type: date, min: 1900-01-01, max: 2030-12-31, bins: [1900-01-01, 1960-01-01, 1990-01-01]}
  seen: {type: datetime, min: 2000-01-01 00:00, max: 2030-12-31 23:00, resolution: 1h}
""")
"""Days and moments; the bins of the moments are learned."""

PARTLY = replace(
    COMPLETE,
    columns=(
        Identifier(name="id"),
        Categorical(name="sex", values=("F", "M")),
        Categorical(name="city"),
        Integer(name="age"),
        Real(name="weight", min=Fraction(0), max=Fraction(300), step=Fraction(1, 10)),
        Boolean(name="smoker"),
    ),
)
"""A list of labels, bounds and bins to be learned."""

RULED = Schema.parse("""
unit: {id: id, max_rows: 2}
columns:
  id: {type: identifier, generate: true}
  sex: {type: categorical, values: [F, M]}
  city: {type: categorical, values: [Oslo, Rome, Bern]}
  age: {type: integer, min: 0, max: 120, bins: [0, 30, 50]}
  born: {type: date, min: 1900-01-01, max: 2030-12-31, bins: year, weekdays: learn}
  smoker: {type: boolean}
rules:
  - {from: city, to: sex, map: learn}
  - {name: young smokers, always: if age < 25 then smoker = false}
broken: missing
count_broken: true
""")
"""Rules, units, generated keys and days of the week."""


def with_unit(schema: Schema, max_rows: int = 2) -> Schema:
    """The same where the guarantee protects whoever an id stands for."""
    columns = (
        schema.columns
        if any(c.name == "id" for c in schema.columns)
        else (Identifier(name="id"), *schema.columns)
    )
    return replace(schema, columns=columns, unit=Unit(id="id", max_rows=max_rows))


SCHEMAS: dict[str, Schema | None] = {
    "complete": COMPLETE,
    "dated": DATED,
    "partly": PARTLY,
    "none": None,
    "complete, id": with_unit(COMPLETE),
    "partly, id": with_unit(PARTLY),
    "rules, id": RULED,
}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How a table is released."""

    synthesizer: str | Synthesizer = "independent"
    relation: Neighbours = Neighbours.ADD_REMOVE
    accounting: Accounting = Accounting.GDP
    known: str = "complete"
    """What is declared: a name in `SCHEMAS`."""
    declared: Schema | None = None
    """A schema of its own, instead of a named one."""
    epsilon: object = 8
    delta: object = "1e-3"
    workload: str = ""
    public: object = field(default=None, repr=False)
    """A table of other people that everybody may see."""

    def __str__(self) -> str:
        named = (
            self.synthesizer
            if isinstance(self.synthesizer, str)
            else self.synthesizer.name
        )
        return f"{named}, {self.relation}, {self.accounting}, {self.known}"

    @property
    def schema(self) -> Schema | None:
        return SCHEMAS[self.known] if self.declared is None else self.declared

    @property
    def by_id(self) -> bool:
        return self.schema is not None and self.schema.unit.id is not None


# What comes out


Outputs = dict[str, object]
"""Everything that a run shows or leaves behind, by name."""


def release_outputs(release: Release, folder: Path) -> Outputs:
    """Every file that is made of a release, byte for byte, and everything it says about
    itself.
    """
    found: Outputs = {
        f"release/{name}": data
        for name, data in archive_members(to_bytes(release)).items()
    }
    for name in ("synthetic.csv", "synthetic.parquet"):
        rows = release.write(folder / name, seed=ROW_SEED)
        found[name] = (rows, (folder / name).read_bytes())
    found |= parquet_outputs(folder / "synthetic.parquet")
    found["frame"] = None if release.frame is None else frame_text(release)
    found["guarantee"] = (
        release.guarantee.sentence(),
        release.guarantee.details(),
        repr(release.guarantee),
    )
    found["card"] = (
        release.card.sentence(),
        release.card.lines(),
        release.card._repr_html_(),
    )
    found["words"] = chance(repr(release) + release._repr_html_())
    found["notes"] = release.notes
    return found


def archive_members(data: bytes) -> dict[str, object]:
    """What a release file holds, and everything its directory says of each member, but
    for what differs between any two runs.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        found: dict[str, object] = {
            info.filename: archive.read(info) for info in members
        }
        found["directory"] = [
            (
                i.filename,
                i.date_time,
                i.compress_type,
                i.external_attr,
                i.extra,
                i.comment,
                i.create_version,
            )
            for i in members
        ]
        found["comment"] = archive.comment
    found["release.json"] = chance(bytes(found["release.json"]).decode())  # type: ignore[call-overload]
    return found


def parquet_outputs(path: Path) -> Outputs:
    """What the footer of a Parquet file says, so that a difference has a name."""
    footer = parquet.read_metadata(path)
    return {
        "parquet schema": str(footer.schema).partition("\n")[2],
        "parquet metadata": (footer.metadata, footer.created_by, footer.format_version),
        "arrow schema": parquet.read_schema(path).to_string(show_schema_metadata=True),
        "row groups": json.dumps(footer.to_dict(), default=str, sort_keys=True),
    }


def frame_text(release: Release) -> str:
    """A synthetic table of the kind that came in: its types, its cells."""
    made = release.sample(seed=ROW_SEED)
    types = (
        getattr(made, "dtypes", None) if not hasattr(made, "schema") else made.schema
    )
    cells = made.to_csv() if hasattr(made, "to_csv") else str(made)
    return f"{type(made)} {types!s} {cells}"


def json_text(release: Release, folder: Path, ledger: Path) -> str:
    """What `--json` prints about a run."""
    told = run_facts(
        release, book=ledger, output=Path("out.csv"), release=None, rows=release.rows
    )
    with redirect_stdout(io.StringIO()) as shown:
        report_json(told)
    return chance(shown.getvalue().replace(str(folder), ""))


@dataclass(frozen=True)
class Outcome:
    """One run: what it put out, and what it asked."""

    outputs: Outputs
    questions: list[Question]

    @property
    def refused(self) -> bool:
        return "error" in self.outputs


def perform_run(
    build: Callable[[Path], object],
    setting: Setting,
    folder: Path,
    replayed: list[Question] | None = None,
) -> Outcome:
    """A whole run in a folder of its own; an error is an output like any other."""
    outputs: Outputs = {}
    told: list[object] = []
    questions: list[Question] = []
    ledger = folder / "people.ledger"
    data = build(folder)
    try:
        with keep_questions(replayed) as questions:
            method = (
                make(setting.synthesizer)
                if isinstance(setting.synthesizer, str)
                else setting.synthesizer
            )
            release = synthesize(
                data,
                setting.schema,
                epsilon=setting.epsilon,
                delta=setting.delta,
                synthesizer=method,
                ledger=ledger,
                neighbours=setting.relation,
                accounting=setting.accounting,
                workload=setting.workload or (),
                public=setting.public,
                # Small tables too: the whole run is compared, not where it stops.
                anyway=True,
                run=RunOptions(
                    dataset="people", spending=told.append, notify=told.append
                ),
                seed=ROW_SEED,
                progress=lambda stage, done: told.append((stage, done)),
            )
        outputs |= release_outputs(release, folder)
        if release.statement.run:
            outputs["json"] = json_text(release, folder, ledger)
    except Strayed:
        raise
    except UnderstudyError as error:
        outputs["error"] = (
            f"{type(error).__name__}: {chance(str(error).replace(str(folder), ''))}"
        )
    except Exception as error:  # whatever else stops a run shows too
        outputs["error"] = f"{type(error).__name__}: {error}"
    outputs["progress"] = told
    outputs["ledger"] = account(ledger) if ledger.exists() else None
    outputs["files"] = sorted(
        path.name
        for path in folder.iterdir()
        if not path.name.startswith(("people.csv", "people.tsv"))
    )
    return Outcome(outputs, questions)


# Two runs beside each other


@dataclass
class Comparison:
    """What differs between a run and its replay on a neighbour."""

    differences: list[str]
    movements: list[Movement] = field(default_factory=list)

    @property
    def worst(self) -> Movement | None:
        return max(self.movements, key=lambda moved: moved.ratio, default=None)

    @property
    def faults(self) -> list[str]:
        """Everything that a neighbour could be told apart by beyond what was paid for."""
        sold = [
            f"{moved.mechanism}: {moved.loss} is lost and {moved.paid} was paid; δ {moved.chance} and {moved.paid_delta}"
            for moved in self.movements
            if moved.ratio > 1 + ROUNDING
        ]
        return [*self.differences, *sold]


def differences(here: Outputs, there: Outputs) -> list[str]:
    """Every output that two runs do not agree on, with the first place where they part."""
    return [
        f"{name}: {first_difference(here.get(name), there.get(name))}"
        for name in dict.fromkeys([*here, *there])
        if here.get(name) != there.get(name)
    ]


SHOWN_CHARACTERS = 60
"""Of a difference, around the place where it begins."""


def first_difference(one: object, other: object) -> str:
    left, right = repr(one), repr(other)
    pairs = zip(left, right, strict=False)
    at = next(
        (i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right))
    )
    start = max(0, at - SHOWN_CHARACTERS)
    return f"…{left[start : at + SHOWN_CHARACTERS]}… / …{right[start : at + SHOWN_CHARACTERS]}…"


@dataclass
class Trial:
    """A real run on a table, to be replayed on as many neighbours as one likes."""

    setting: Setting
    folder: Path
    here: Outcome
    replays: int = 0

    @classmethod
    def begin(
        cls, build: Callable[[Path], object], setting: Setting, folder: Path
    ) -> Trial:
        """Run on the table for real. `build` makes it, in a folder."""
        place = Path(mkdtemp(dir=folder))
        return cls(
            setting, folder, perform_run(build, setting, new_folder(place, "run"))
        )

    def replay(self, build: Callable[[Path], object]) -> Comparison:
        """The same questions and answers on another table."""
        place = Path(mkdtemp(dir=self.folder))
        try:
            there = perform_run(
                build, self.setting, new_folder(place, "run"), self.here.questions
            )
        except Strayed as strayed:
            return Comparison([str(strayed)])
        finally:
            shutil.rmtree(place)
        found = differences(self.here.outputs, there.outputs)
        if len(self.here.questions) != len(there.questions):
            return Comparison(
                [
                    *found,
                    f"{len(self.here.questions)} questions / {len(there.questions)}",
                ]
            )
        return Comparison(
            found, compare_movements(self.here.questions, there.questions)
        )


def new_folder(parent: Path, name: str) -> Path:
    made = parent / name
    made.mkdir()
    return made
