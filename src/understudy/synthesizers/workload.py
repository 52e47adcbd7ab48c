"""Workload targets: what a release should answer well, as a person types it, turned
into a workload once the schema is closed.

    triples, pairs, columns        every marginal of that order (default: triples)
    pairs=income, triples=income   those that contain this column
    label=income                   the same as triples=income, for a classifier
    group=age,sex,income           the joint marginal of these columns
    ranges=age,income              ranges of ordered columns, one and two at a time
    model=income~age+sex           all that a regression depends on; always measured
    moments=income~age+sex         sums of products of unbinned numbers, likewise

Each target has a total weight of one, divided equally among its marginals;
`label=income*3` has a weight of three. Weights of several targets add up. A
workload-aware synthesizer (`understudy synthesizers` lists them) spends more of its
budget where the weight is larger.

For ranges, coarser bins are counted beside the cells: an answer that adds up hundreds
of noisy cells is far noisier than one that adds up a few bins and the cells at their
ends (Hay, Rastogi, Miklau, Suciu, "Boosting the accuracy of differentially private
histograms", 2010).

A model is more than a weight: intervals of its coefficients hold only if every pair of
its columns was measured (inference/contrast_model.py), and a synthesizer that chooses by
gain leaves weak pairs out. So these are measured before the synthesizer begins
(workflow/model_targets.py). Least squares of columns of many values needs sums of products
only, at full resolution and without a marginal of all their cells: `moments` measures
these, and `release.infer` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil

from understudy.errors import Refused
from understudy.measurements import AxisMap, Clique, Partition
from understudy.measurements.regression_formula import RegressionFormula
from understudy.schema import Categorical, Column, Lattice, Schema
from understudy.synthesizers.base import Workload

WORKLOAD_ORDERS = {"columns": 1, "pairs": 2, "triples": 3}
WORKLOAD_FORMS = (
    "triples, pairs, columns, label=COLUMN, pairs=COLUMN, group=COLUMN,COLUMN,…,"
    " ranges=COLUMN,…, model=COLUMN~COLUMN+COLUMN… or moments=COLUMN~COLUMN…"
)
FORMULA_TARGETS = ("model", "moments")
"""Targets that are measured whatever the synthesizer prefers."""
RANGE_BRANCHING = 8
"""Cells or bins that one coarser bin holds."""
MIN_TARGET_WEIGHT = 1e-9
"""Smallest weight of a target; its inverse is the largest. Beyond them one target gets
nothing of the budget or all of it.
"""

_NO_TARGET = (
    f"A workload is {WORKLOAD_FORMS}, each with *WEIGHT behind it, from one in a billion"
    " to a billion, or not. Nothing was spent"
)

_TARGET_PATTERN = re.compile(
    r"\s*(?P<what>\w+)\s*(?:=(?P<columns>.*?))?(?:\*\s*(?P<weight>[0-9.]+)\s*)?",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class WorkloadTarget:
    """One target: its kind, the columns it names or the formula, and its weight."""

    what: str
    columns: tuple[str, ...] = ()
    weight: float = 1.0
    formula: str = ""

    def __str__(self) -> str:
        named = self.formula or ",".join(self.columns)
        text = f"{self.what}={named}" if named else self.what
        return text + (f"*{self.weight:g}" if self.weight != 1 else "")

    def cliques(self, names: Sequence[str]) -> list[Clique]:
        """The marginals it asks for, columns in the table's order."""
        if self.what in WORKLOAD_ORDERS or self.what == "label":
            order = min(WORKLOAD_ORDERS.get(self.what, 3), len(names))
            return [
                clique
                for clique in combinations(names, order)
                if set(self.columns) <= set(clique)
            ]
        if self.what == "group":
            return [_in_table_order(self.columns, names)]
        if self.what in FORMULA_TARGETS:
            return list(RegressionFormula.parse(self.formula, names).cliques())
        ordered = _in_table_order(self.columns, names)
        return [*((name,) for name in ordered), *combinations(ordered, 2)]


def parse_target(text: str) -> WorkloadTarget:
    """Parse one target as it was typed.

    >>> str(parse_target("group = age, sex * 2"))
    'group=age,sex*2'
    """
    form = _TARGET_PATTERN.fullmatch(text)
    if form is not None and form["what"] in FORMULA_TARGETS:
        weight = _parse_weight(form["weight"])
        return _parse_formula_target(form["what"], form["columns"] or "", weight)
    if form is not None:
        what = form["what"]
        columns = _split_names(form["columns"] or "")
        weight = _parse_weight(form["weight"])
        named = {
            "label": len(columns) == 1,
            "group": bool(columns),
            "ranges": bool(columns),
        }
        named |= {
            of: len(columns) == 1 or form["columns"] is None
            for of in ("pairs", "triples")
        }
        if _is_weight(weight) and (
            named.get(what) or (what == "columns" and form["columns"] is None)
        ):
            return WorkloadTarget(what=what, columns=columns, weight=weight)
    raise Refused(_NO_TARGET)


def _split_names(text: str) -> tuple[str, ...]:
    """The names between commas, each once."""
    names = [name.strip() for name in text.split(",")]
    return tuple(dict.fromkeys(name for name in names if name))


def _parse_formula_target(what: str, formula: str, weight: float) -> WorkloadTarget:
    """A formula; its columns are checked with the schema."""
    # Targets are joined by semicolons where a release writes them down.
    if "~" not in formula or ";" in formula or not _is_weight(weight):
        raise Refused(_NO_TARGET)
    return WorkloadTarget(what=what, formula=formula.strip(), weight=weight)


def parse_targets(given: str | Iterable[str]) -> tuple[WorkloadTarget, ...]:
    """Parse one target or several.

    >>> [w.what for w in parse_targets(["label=income", "triples"])]
    ['label', 'triples']
    """
    several = isinstance(given, Iterable) and not isinstance(given, str)
    texts = list(given) if several else [given]
    # An empty text stands for what is no text: it is refused like any other misspelling.
    return tuple(parse_target(text if isinstance(text, str) else "") for text in texts)


def check_targets(wanted: Sequence[WorkloadTarget], schema: Schema) -> None:
    """Refuse, before anything is spent, targets on columns that the release will not
    have, and ranges of columns without an order.
    """
    for each in wanted:
        if each.what in FORMULA_TARGETS:
            _check_formula(each, schema)
        for name in each.columns:
            if name not in schema:
                raise Refused(
                    f'workload {each.what}: column "{name}" takes no part in the'
                    " release. Nothing was spent"
                )
            if (
                each.what == "ranges"
                and schema[name].is_closed
                and not _has_order(schema[name])
            ):
                raise Refused(
                    f'workload ranges: column "{name}" has no order. Add `ordered:'
                    " true` to the schema, or leave it out. Nothing was spent"
                )


def _check_formula(target: WorkloadTarget, schema: Schema) -> None:
    try:
        RegressionFormula.parse(target.formula, list(schema))
    except Refused as refusal:
        raise Refused(f"workload {target.what}: {refusal}. Nothing was spent") from None


def workload_of(schema: Schema, wanted: Sequence[WorkloadTarget] = ()) -> Workload:
    """The marginals that matter, with weights; all triples if no target is given.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=tuple(Boolean(name=name) for name in "abc"))
    >>> workload_of(schema, parse_targets(["label=b", "group=a,c*2"]))
    Workload(cliques=(('a', 'b', 'c'), ('a', 'c')), weights=(1.0, 2.0))
    """
    if not wanted:
        return Workload.of_order(schema)
    weights: dict[Clique, float] = {}
    for target in wanted:
        cliques = target.cliques(list(schema))
        for clique in cliques:
            # A target's weight is split over its marginals: many of them do not make it
            # heavier.
            weights[clique] = weights.get(clique, 0.0) + target.weight / len(cliques)
    return Workload(tuple(weights), tuple(weights.values()))


def range_partitions(
    schema: Schema, wanted: Sequence[WorkloadTarget]
) -> list[tuple[Clique, tuple[AxisMap, ...]]]:
    """The coarser bins that ranges are answered from: of each column every level above
    its cells, of two large columns together the finest.

    Two columns of few codes are measured cell by cell, if they are worth it; bins of
    theirs would only take room in the model.

    >>> from understudy.schema import Integer
    >>> bins = tuple(range(101))
    >>> age = Integer(name="age", min=0, max=99, nullable=False, bins=bins)
    >>> schema = Schema(columns=(age,))
    >>> partitions = range_partitions(schema, parse_targets("ranges=age"))
    >>> [(clique, axes[0].out) for clique, axes in partitions]
    [(('age',), 13), (('age',), 2)]
    """
    names = _in_table_order(
        [name for each in wanted if each.what == "ranges" for name in each.columns],
        list(schema),
    )
    levels: Mapping[str, list[Partition]] = {
        name: _coarser_levels(schema.sizes((name,))[0]) for name in names
    }
    found: list[tuple[Clique, tuple[AxisMap, ...]]] = [
        ((name,), (level,)) for name in names for level in levels[name]
    ]
    # Two small columns have few enough cells to be measured as they are.
    large = [name for name in names if len(levels[name]) > 1]
    return [
        *found,
        *(
            (pair, (levels[pair[0]][0], levels[pair[1]][0]))
            for pair in combinations(large, 2)
        ),
    ]


def _coarser_levels(size: int) -> list[Partition]:
    """Ever coarser bins of neighbouring codes, as long as there are more than a few."""
    found, width = [], RANGE_BRANCHING
    while ceil(size / width) > 1:
        found.append(Partition(tuple(code // width for code in range(size))))
        width *= RANGE_BRANCHING
    return found


def _parse_weight(text: str | None) -> float:
    try:
        return 1.0 if text is None else float(text)
    except ValueError:
        return 0.0


def _is_weight(weight: float) -> bool:
    return MIN_TARGET_WEIGHT <= weight <= 1 / MIN_TARGET_WEIGHT


def _has_order(column: Column) -> bool:
    return isinstance(column, Lattice) or (
        isinstance(column, Categorical) and column.ordered
    )


def _in_table_order(columns: Iterable[str], names: Sequence[str]) -> Clique:
    wanted = set(columns)
    return tuple(name for name in names if name in wanted)
