"""Statistics of a graph whose edges are private rows, as questions of a session."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np

from understudy.accounting.budget import Number
from understudy.accounting.cost import Cost
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import default_law
from understudy.curator.mechanisms.graph_statistics import (
    GraphColumns,
    GraphStatistic,
    NoisyGraphCounts,
    NoisyTriangles,
)
from understudy.curator.mechanisms.smooth_median import count_changes
from understudy.errors import Refused
from understudy.queries.builders import count
from understudy.queries.estimates import ANSWER_DOUBT
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.query import join_queries
from understudy.queries.resolving import resolve_query
from understudy.schema import (
    Categorical,
    Column,
    Schema,
    describe_counted_rows,
    schema_to_dict,
)
from understudy.schema.columns.numeric import Integer
from understudy.toolbox.graphs import (
    MAX_GRAPH_NODES,
    MAX_TRIANGLE_NODES,
    fit_rising_degrees,
)
from understudy.workflow.asking.session import Session
from understudy.workflow.open import member_of


@dataclass(frozen=True)
class GraphAnswer:
    """A noisy statistic of a graph. The interval, at 95 %, is None where the scale of
    the noise is secret, and for degrees.
    """

    statistic: str
    values: tuple[float, ...]
    """One number; of degrees one for each node, in rising order."""
    interval: tuple[float, float] | None
    note: str
    cost: Cost | None = None

    @property
    def value(self) -> float:
        """The only number of a statistic that has one."""
        if len(self.values) != 1:
            raise Refused("Degrees are one number for each node: read `values`")
        return self.values[0]

    def to_dict(self) -> dict[str, object]:
        """It for a program."""
        return {
            "statistic": self.statistic,
            "values": list(self.values),
            "interval": None if self.interval is None else list(self.interval),
            "note": self.note,
        }

    def lines(self) -> list[str]:
        """It in words."""
        if len(self.values) != 1:
            parts = np.quantile(self.values, [0, 0.25, 0.5, 0.75, 1])
            shown = ", ".join(f"{value:.4g}" for value in parts)
            return [f"degrees, least to largest by quarters: {shown}", self.note]
        line = f"{self.statistic}: {self.values[0]:,.6g}"
        if self.interval is not None:
            low, high = self.interval
            line += f" ({low:,.6g} to {high:,.6g}, 95 %)"
        return [line, self.note]


def measure_graph(
    session: Session,
    statistic: GraphStatistic | str,
    *,
    source: str,
    target: str,
    epsilon: Number,
    max_degree: int | None = None,
    purpose: str = "",
) -> GraphAnswer:
    """The edges, degrees or triangles of the graph whose edges are the rows: `source` and
    `target` name nodes out of one declared list. Private for edges; edges and degrees are
    private for nodes with a `max_degree`, beyond which edges of a node do not count.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from understudy.workflow.asking.questions import session
    >>> columns = tuple(Integer(name=name, min=1, max=60) for name in ("a", "b"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     edges = Path(folder, "edges.csv")
    ...     rows = [f"{i},{j}" for i in range(1, 61) for j in range(1, i)]
    ...     _ = edges.write_text("\\n".join(["a,b", *rows]))
    ...     with session(edges, Schema(columns=columns), budget=2) as questions:
    ...         found = measure_graph(questions, "edges", source="a", target="b", epsilon=2)
    >>> 1700 < found.value < 1840
    True
    """
    kind = member_of(GraphStatistic, statistic, "statistic")
    columns = _describe_graph(session, source, target)
    _check_graph(kind, columns, max_degree)
    if max_degree is not None:
        _refuse_linked_nodes(session)
    amount, accounting = session.amount_of(epsilon), session.accounting
    if kind is GraphStatistic.TRIANGLES:
        triangles = NoisyTriangles.of_amount(columns, amount, accounting)
        payload, paid = session.draw_single(triangles, purpose=purpose)
        note = "Private for one edge; the noise fits the graph, so its size is secret."
        return GraphAnswer(str(kind), (float(json.loads(payload)),), None, note, paid)
    mechanism = NoisyGraphCounts(
        columns=columns,
        statistic=kind,
        amount=amount,
        accounting=accounting,
        most_edges=max_degree,
    )
    payload, paid = session.draw_single(mechanism, purpose=purpose)
    noisy = np.array(json.loads(payload), np.float64)
    if kind is GraphStatistic.DEGREES:
        most = columns.nodes if max_degree is None else max_degree + 1
        degrees = fit_rising_degrees(noisy, most)
        values = tuple(float(degree) for degree in degrees)
        return GraphAnswer(str(kind), values, None, _describe_privacy(max_degree), paid)
    return _answer_edges(mechanism, float(noisy[0]), paid)


def _answer_edges(
    mechanism: NoisyGraphCounts, noisy: float, paid: Cost | None
) -> GraphAnswer:
    """The number of edges with its interval; a flow is twice that."""
    noise = NoiseScale(default_law(mechanism.accounting), mechanism.scale)
    width = noise.half_width(ANSWER_DOUBT)
    units = 1 if mechanism.most_edges is None else 2
    note = _describe_privacy(mechanism.most_edges)
    low, high = max(noisy - width, 0.0) / units, max(noisy + width, 0.0) / units
    value = max(noisy, 0.0) / units
    return GraphAnswer("edges", (value,), (low, high), note, paid)


def _describe_privacy(max_degree: int | None) -> str:
    if max_degree is None:
        return "Private for one edge."
    return (
        f"Private for one node with all its edges; those beyond {max_degree:,} of a node"
        " may be left out."
    )


def _check_graph(
    kind: GraphStatistic, columns: GraphColumns, max_degree: int | None
) -> None:
    most = (
        MAX_GRAPH_NODES if kind is not GraphStatistic.TRIANGLES else MAX_TRIANGLE_NODES
    )
    if columns.nodes > most:
        raise Refused(
            f"{columns.names[0]}: {kind} are counted for up to {most:,} nodes. Declare"
            " fewer. Nothing was spent"
        )
    if max_degree is None:
        return
    if kind is GraphStatistic.TRIANGLES:
        raise Refused(
            "Node privacy is for edges and degrees: triangles are private for edges."
            " Leave max_degree out. Nothing was spent"
        )
    if type(max_degree) is not int or not 1 <= max_degree < max(columns.nodes, 2):
        raise Refused(
            "max_degree is a whole number from 1 to the number of nodes less 1. Nothing"
            " was spent"
        )


def _refuse_linked_nodes(session: Session) -> None:
    """Refuse node privacy where a node is seen in more than its own edges."""
    if session.schema.unit.id is not None:
        # Rows of an id beyond max_rows are dropped: without a node's edges others of
        # the same ids are kept in their place, and no degree bounds how many.
        raise Refused(
            "Node privacy is for tables without an id: with one, a node decides which"
            " edges of others are kept. Leave the id out of the schema. Nothing was"
            " spent"
        )
    if session.neighbours is Neighbours.REPLACE:
        raise Refused(
            "Node privacy needs neighbours=add_remove: replace makes the number of rows"
            " public, and rows are edges. Nothing was spent"
        )


def _describe_graph(session: Session, source: str, target: str) -> GraphColumns:
    schema = session.schema
    asked = join_queries([count(source), count(target)])
    one, other = (
        schema[aggregate.columns[0]]
        for aggregate in resolve_query(asked, schema).aggregates
    )
    nodes = _list_nodes(one)
    if nodes is None or nodes != _list_nodes(other) or one.name == other.name:
        raise Refused(
            f"{source}, {target}: both ends of an edge are two columns of labels with the"
            " same declared values, or of whole numbers with the same bounds. Nothing"
            " was spent"
        )
    whole = [_use_whole_codes(column) for column in (one, other)]
    narrowed = replace(schema, impossible=(), rules=())
    for column in whole:
        narrowed = narrowed.with_column(column)
    plain = Schema(columns=tuple(replace(c, constant=False, note="") for c in whole))
    unit = describe_counted_rows(schema)
    facts = [schema_to_dict(plain), unit]
    return GraphColumns(
        names=(one.name, other.name),
        schema=narrowed,
        nodes=len(nodes),
        changes=count_changes(session.neighbours, schema.unit.max_rows),
        most_added=schema.unit.max_rows,
        described=json.dumps(facts, sort_keys=True, default=str),
    )


def _list_nodes(column: Column) -> range | tuple[str, ...] | None:
    """What the nodes are called; None if the column does not list them."""
    if isinstance(column, Categorical):
        return tuple(column.values or ())
    if not isinstance(column, Integer) or column.low is None or column.high is None:
        return None
    return range(column.low * column.step, (column.high + 1) * column.step, column.step)


def _use_whole_codes(column: Column) -> Column:
    """The column with one code for each node."""
    if not isinstance(column, Integer):
        return column
    assert column.low is not None
    assert column.high is not None
    edges = tuple(range(column.low, column.high + 2))
    return replace(column, bins=edges, grain=())
