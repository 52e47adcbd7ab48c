"""What is said after a run: its stages, what was learned, the guarantee, the account,
the card's sentence, warnings, and what to look at next.

The command line, the studio and the report say the same, so it is gathered once, as
data (`RunSummary.to_dict`) and as lines of text. Everything comes from the release, and
the account from its ledger: no row is read and nothing is spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from understudy.accounting.ledger import Ledger
from understudy.accounting.spending import account_facts, format_spending
from understudy.releases.account import BudgetStatement
from understudy.releases.card.recoded_columns import (
    rare_rows_by_column,
    recoding_lines,
)
from understudy.releases.guarantee import Guarantee
from understudy.releases.release import Release
from understudy.releases.warnings import (
    list_degenerate_columns as list_degenerate_columns,
)
from understudy.releases.warnings import list_warnings as list_warnings
from understudy.text import format_count, format_percent, join_first_names, join_words

ROW_COUNT_STEP = "rows"
"""The step that counted the rows before anything was learned."""

DISCOVERY_STEPS = frozenset({ROW_COUNT_STEP, "types", "values", "bounds", "bins"})
"""Steps of a statement that learned what the schema left open."""

SELECTION_STEPS = frozenset({"choice", "errors"})
"""Steps that decided what to measure."""

_LEARNED_NOUNS = (
    ("type", "type", "types"),
    ("values", "list of values", "lists of values"),
    ("bounds", "pair of bounds", "pairs of bounds"),
    ("missing codes", "set of missing codes", "sets of missing codes"),
    ("bins", "set of bins", "sets of bins"),
)
"""What may be learned of a column: its key in a schema, one of them, several."""


@dataclass(frozen=True)
class RunStage:
    """A stage that costs something: what it did, and its share of the budget."""

    name: str
    text: str
    share: float

    def __str__(self) -> str:
        return f"{self.name}: {self.text} ({format_percent(self.share)} of the budget)"

    def to_dict(self) -> dict[str, object]:
        """For a program."""
        return {"stage": self.name, "what": self.text, "share": self.share}


@dataclass(frozen=True)
class SpentAccount:
    """The ledger that a run was charged to: its facts, and its spending in words."""

    path: Path
    facts: Mapping[str, object]
    spending: str

    @classmethod
    def read(cls, path: Path) -> SpentAccount:
        """The account as the ledger has it now."""
        with Ledger.open(path) as ledger:
            return cls(path, account_facts(ledger), format_spending(ledger.totals()))


@dataclass(frozen=True)
class RunSummary:
    """What a run did and what came of it, from its release.

    >>> from understudy.models import ProductModel
    >>> from understudy.schema import Boolean, Schema
    >>> schema = Schema(columns=(Boolean(name="smoker"),))
    >>> model = ProductModel.uniform(schema, total=4.0)
    >>> release = Release(guarantee=Guarantee.without_data(), schema=schema, model=model)
    >>> summary = RunSummary.of(release)
    >>> print(summary.stages[0])
    schema: 1 column, all declared (0 % of the budget)
    >>> summary.closing_lines()
    ['No data used: nothing here was computed from any row.']
    """

    synthesizer: str
    options: Mapping[str, object]
    guarantee: Guarantee
    run: str
    """The run's number in the ledger; empty where nothing was charged."""
    stages: tuple[RunStage, ...]
    account: SpentAccount | None
    recoded: tuple[str, ...]
    """What learning made of cells: numbers that were clipped, labels not shown."""
    rare_rows: Mapping[str, int]
    card_sentence: str | None
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, release: Release, *, ledger: Path | None = None) -> RunSummary:
        """The summary of a release and, if its run was charged, of the ledger."""
        run = release.statement.run
        return cls(
            synthesizer=release.synthesizer,
            options=dict(release.options),
            guarantee=release.guarantee,
            run=run,
            stages=tuple(list_stages(release)),
            account=SpentAccount.read(ledger) if run and ledger is not None else None,
            recoded=tuple(recoding_lines(release.evidence)),
            rare_rows=rare_rows_by_column(release.evidence),
            card_sentence=release.card.sentence() if run else None,
            warnings=list_warnings(release),
        )

    def guarantee_line(self) -> str:
        """The guarantee in one sentence, with what is spent of the account by now."""
        sentence = self.guarantee.sentence()
        if self.account is None:
            return sentence
        return f"{sentence} Spent: {self.account.spending} ({self.account.path})."

    def detail_lines(self) -> list[str]:
        """What the guarantee rests on and leaves out, and what was recoded."""
        promise = self.guarantee
        lines = []
        if promise.public:
            lines.append(
                "Public by your declaration or the table's header:"
                f" {'; '.join(promise.public)}."
            )
        if promise.learned:
            shortened = [_shorten_list(line) for line in promise.learned]
            lines.append(f"Learned from the rows and paid for: {'; '.join(shortened)}.")
        if promise.invariants:
            lines.append(
                "Not protected, because it holds exactly:"
                f" {'; '.join(promise.invariants)}."
            )
        return [*lines, *self.recoded]

    def card_line(self, *, release_file: Path | None = None) -> str | None:
        """How well the release answers, and where a person looks next."""
        if self.card_sentence is None or release_file is None:
            return self.card_sentence
        return f"{self.card_sentence} See `understudy card`."

    def closing_lines(self, *, release_file: Path | None = None) -> list[str]:
        """Everything but stages and warnings, one sentence a line."""
        lines = [self.guarantee_line(), *self.detail_lines()]
        card = self.card_line(release_file=release_file)
        return lines if card is None else [*lines, card]

    def to_dict(self) -> dict[str, object]:
        """For a program."""
        promise = self.guarantee
        return {
            "synthesizer": self.synthesizer,
            "options": dict(self.options),
            "guarantee": {
                "sentence": promise.sentence(),
                "kind": promise.kind.value,
                "epsilon": promise.epsilon,
                "delta": promise.delta,
                "neighbours": str(promise.neighbours),
                "unit": promise.unit,
                "max_rows": promise.max_rows,
            },
            "public": list(promise.public),
            "learned": list(promise.learned),
            "exact": list(promise.invariants),
            "stages": [stage.to_dict() for stage in self.stages],
            "run": self.run or None,
            "ledger": None if self.account is None else dict(self.account.facts),
            "other": dict(self.rare_rows),
            "card": self.card_sentence,
            "warnings": list(self.warnings),
        }


def list_stages(release: Release) -> list[RunStage]:
    """What was done in each stage that costs something, with its share of the budget."""
    statement = release.statement
    stages = [_schema_stage(release)]
    selection = [s for s in statement.steps if s.asked in SELECTION_STEPS]
    if selection:
        questions = format_count(len(selection), "question")
        share = _share_of_steps(statement, SELECTION_STEPS)
        stages.append(
            RunStage("selection", f"{questions} about what to measure", share)
        )
    if statement.steps:
        stages.append(_measuring_stage(release))
    return stages


def spending_by_question(
    statement: BudgetStatement,
) -> list[tuple[str, int, float]]:
    """Each kind of question of a run: how often it was asked, its share in all."""
    counted: dict[str, tuple[int, float]] = {}
    for step in statement.steps:
        count, share = counted.get(step.asked, (0, 0.0))
        counted[step.asked] = count + 1, share + float(step.share)
    return [(asked, count, share) for asked, (count, share) in counted.items()]


def _schema_stage(release: Release) -> RunStage:
    columns = format_count(len(release.schema), "column")
    learned = _count_learned(release)
    text = f"{columns}; {learned} learned" if learned else f"{columns}, all declared"
    share = _share_of_steps(release.statement, DISCOVERY_STEPS)
    return RunStage("schema", text, share)


def _measuring_stage(release: Release) -> RunStage:
    measurements = release.measurements
    everything = [*measurements, *measurements.sparse]
    marginals = format_count(len(everything), "marginal")
    cells = format_count(sum(m.values.size for m in everything), "cell")
    # Whatever is neither discovery nor selection counts as measuring, so that the
    # shares of all stages add up to the whole run.
    asked = {step.asked for step in release.statement.steps}
    rest = asked - DISCOVERY_STEPS - SELECTION_STEPS
    share = _share_of_steps(release.statement, rest)
    return RunStage("measuring", f"{marginals}, {cells}", share)


def _share_of_steps(statement: BudgetStatement, asked: Iterable[str]) -> float:
    kinds = frozenset(asked)
    return sum(float(step.share) for step in statement.steps if step.asked in kinds)


def _count_learned(release: Release) -> str:
    """How many types, lists, bounds and bins were learned from the rows."""
    schema = release.schema
    kinds = [what for name in schema for what in schema[name].learned]
    counted = [
        format_count(kinds.count(kind), one, many)
        for kind, one, many in _LEARNED_NOUNS
        if kind in kinds
    ]
    return join_words(counted)


def _shorten_list(line: str) -> str:
    """A line about columns with the first few of many; the release names them all."""
    what, of, names = line.partition(" of ")
    return f"{what}{of}{join_first_names(names.split(', '))}" if of else line
