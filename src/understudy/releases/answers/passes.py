"""The passes over a question's predicate, once it is read (queries/conditions.py), up to
what is evaluated on cells.

    simplify    what the schema's rules decide is decided
    open        what was learned of a column may hide what is asked for: those cells
                are open

Both are about cells, on which a predicate may be open: the first narrows what is open,
the second widens it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from understudy.measurements import Clique
from understudy.releases.answers.beyond_domain import open_beyond_domain
from understudy.schema import Schema
from understudy.schema.columns.codec import Codec
from understudy.schema.predicates.ast import Predicate
from understudy.schema.simplify import simplify_by_rules


@dataclass(frozen=True)
class CellPredicate:
    """A predicate, and the codecs of the cells that it is evaluated on."""

    predicate: Predicate
    codecs: Mapping[str, Codec]


CellPass = Callable[[CellPredicate, Schema], CellPredicate]


def simplify_on_cells(state: CellPredicate, schema: Schema) -> CellPredicate:
    """What the rules leave of a predicate; it holds for the same rows and is open on
    fewer cells.
    """
    return replace(state, predicate=simplify_by_rules(state.predicate, schema))


def open_on_cells(state: CellPredicate, schema: Schema) -> CellPredicate:
    """The predicate and its codecs, open on cells that may hold what was asked for
    beyond what was learned of a column.
    """
    del schema  # every pass has the same form
    predicate, codecs = open_beyond_domain(state.predicate, state.codecs)
    return CellPredicate(predicate, codecs)


CELL_PASSES: tuple[CellPass, ...] = (simplify_on_cells, open_on_cells)
"""What follows reading, before a predicate is evaluated on cells."""


def apply_cell_passes(
    predicate: Predicate, schema: Schema, clique: Clique
) -> list[CellPredicate]:
    """The predicate after each of the passes on cells, in their order."""
    state = CellPredicate(predicate, {name: schema.codecs[name] for name in clique})
    states = []
    for apply_pass in CELL_PASSES:
        state = apply_pass(state, schema)
        states.append(state)
    return states
