"""Statistics of graphs: what moves how far, on all graphs of four or five nodes; laws,
audits, and the whole way from a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import atan, pi
from pathlib import Path

import numpy as np
import pytest

from kit.curator.listed import Listed
from kit.plans import halve_noise
from kit.privacy.audit import pure
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.curator.mechanisms.graph_statistics import (
    GraphColumns,
    GraphStatistic,
    NoisyGraphCounts,
    NoisyTriangles,
)
from understudy.errors import Refused
from understudy.schema import Schema
from understudy.tables import describe_rows, open_table
from understudy.toolbox.graphs import SimpleGraph, bound_triangles
from understudy.toolbox.smooth_sensitivity import SmoothBound
from understudy.workflow.asking.questions import session
from understudy.workflow.toolbox.graphs import _describe_graph, measure_graph

SCHEMA = Schema.parse(
    """
columns:
  a: {type: integer, min: 0, max: 4, bins: [0, 1, 2, 3, 4]}
  b: {type: integer, min: 0, max: 4, bins: [0, 1, 2, 3, 4]}
"""
)
Edges = frozenset[tuple[int, int]]
PAIRS = list(combinations(range(4), 2))
GRAPHS = [
    frozenset(pair for place, pair in enumerate(PAIRS) if number >> place & 1)
    for number in range(2 ** len(PAIRS))
]


def make_graph(edges: Edges, nodes: int = 4) -> SimpleGraph:
    return SimpleGraph.of(np.array(sorted(edges), np.int64).reshape(-1, 2), nodes)


def one_edge_away(edges: Edges) -> Iterator[Edges]:
    for pair in PAIRS:
        yield edges ^ {pair}


def make_columns(relation: Neighbours = Neighbours.ADD_REMOVE) -> GraphColumns:
    return GraphColumns(
        names=("a", "b"),
        schema=SCHEMA,
        nodes=5,
        changes=1 if relation is Neighbours.ADD_REMOVE else 2,
        most_added=1,
        described="",
    )


def make_counts(statistic: GraphStatistic, **keywords: int) -> NoisyGraphCounts:
    return NoisyGraphCounts(
        columns=make_columns(),
        statistic=statistic,
        amount=Fraction(1),
        accounting=Accounting.PURE,
        **keywords,
    )


def test_triangles_move_as_far_as_their_bound_within_every_distance() -> None:
    triangles = {g: make_graph(g).count_triangles() for g in GRAPHS}
    local = {
        g: max(abs(triangles[g] - triangles[h]) for h in one_edge_away(g))
        for g in GRAPHS
    }
    for edges in GRAPHS:
        bound = bound_triangles(make_graph(edges))
        reached = {edges}
        for distance in range(4):
            # Equal: nothing is paid for that cannot happen.
            assert bound(distance) == max(local[g] for g in reached)
            reached |= {h for g in reached for h in one_edge_away(g)}


def test_triangles_are_those_of_all_triples() -> None:
    for edges in GRAPHS:
        triples = [
            set(combinations(three, 2)) <= edges for three in combinations(range(4), 3)
        ]
        assert make_graph(edges).count_triangles() == sum(triples)


def test_no_number_of_triangles_is_likelier_than_the_charge_allows() -> None:
    triangles = NoisyTriangles(
        columns=make_columns(), epsilon=Fraction(1), accounting=Accounting.PURE
    )
    laws = {}
    for edges in GRAPHS:
        graph = make_graph(edges)
        scale = 2 * triangles.bound(graph).value
        cuts = [
            atan((y + 0.5 - graph.count_triangles()) / scale) / pi + 0.5
            for y in range(4)
        ]
        laws[edges] = np.diff([0.0, *cuts, 1.0])
    losses = [
        float(np.abs(np.log(laws[g] / laws[h])).max())
        for g in GRAPHS
        for h in one_edge_away(g)
    ]
    assert max(losses) <= 1 + 1e-9
    assert max(losses) > 0.3


def test_one_edge_stretches_the_noise_of_triangles_by_half_of_the_charge() -> None:
    """Where some neighbour stretches it by all that half of ε allows; the other half is
    for how far the number moves.
    """
    triangles = NoisyTriangles(
        columns=make_columns(), epsilon=Fraction(1, 4), accounting=Accounting.PURE
    )
    scales = {g: triangles.bound(make_graph(g)).value for g in GRAPHS}
    stretched = max(
        np.log(scales[h] / scales[g]) for g in GRAPHS for h in one_edge_away(g)
    )
    assert stretched == pytest.approx(1 / 8)


def test_degrees_and_edges_move_as_far_as_was_paid_for() -> None:
    degrees = make_counts(GraphStatistic.DEGREES)
    edges = make_counts(GraphStatistic.EDGES)
    furthest = np.zeros(3)
    for one in GRAPHS:
        for other in one_edge_away(one):
            graphs = make_graph(one), make_graph(other)
            here, there = (np.array(degrees.count(graph)) for graph in graphs)
            count = abs(graphs[0].size - graphs[1].size)
            moved = np.abs(here - there).sum(), ((here - there) ** 2).sum(), count
            furthest = np.maximum(furthest, moved)
    stated = degrees.sensitivity
    assert furthest.tolist() == [stated.l1, stated.l2_squared, edges.sensitivity.l1]


@pytest.mark.parametrize("most_edges", [1, 2, 3])
def test_a_node_moves_the_bounded_flow_by_twice_its_degree(most_edges: int) -> None:
    furthest = 0
    for edges in GRAPHS:
        flow = make_graph(edges, 5).bounded_flow(most_edges)
        graph = make_graph(edges)
        if graph.degrees().max() <= most_edges:
            assert flow == 2 * graph.size
        # The fifth node comes with edges to some of the others.
        for friends in range(2**4):
            added = {(i, 4) for i in range(4) if friends >> i & 1}
            moved = make_graph(edges | added, 5).bounded_flow(most_edges) - flow
            assert 0 <= moved <= 2 * most_edges
            furthest = max(furthest, moved)
    assert furthest == 2 * most_edges
    sensitivity = make_counts(GraphStatistic.EDGES, most_edges=most_edges).sensitivity
    assert sensitivity.l1 == furthest


@pytest.mark.parametrize("most_edges", [1, 2, 3])
def test_a_node_moves_bounded_degrees_as_far_as_was_paid_for(most_edges: int) -> None:
    """Whether its edges come first or last: the order of edges is that of nodes."""
    furthest = np.zeros(2)
    for edges in GRAPHS:
        graph = make_graph(edges, 5)
        if graph.degrees().max() <= most_edges:
            kept = graph.bounded_degrees(most_edges).tolist()
            assert kept == graph.degrees().tolist()
        shifted = {(i + 1, j + 1) for i, j in edges}
        for friends in range(2**4):
            own = [i for i in range(4) if friends >> i & 1]
            pairs = [
                (edges, {(i, 4) for i in own}),
                (shifted, {(0, i + 1) for i in own}),
            ]
            for others, added in pairs:
                without, with_node = (
                    make_graph(frozenset(each), 5).bounded_degrees(most_edges)
                    for each in (others, others | added)
                )
                moved = np.abs(with_node - without)
                furthest = np.maximum(furthest, [moved.sum(), (moved**2).sum()])
    degrees = make_counts(GraphStatistic.DEGREES, most_edges=most_edges)
    stated = degrees.sensitivity
    assert furthest[0] == stated.l1 == 2 * most_edges
    assert furthest[1] <= stated.l2_squared


def audit_draws(
    mechanism: NoisyGraphCounts | NoisyTriangles,
    at: float,
    trials: int = 1_000,
    *,
    node: bool = False,
    first: int | None = None,
) -> bool:
    """On five nodes that all have edges, and without one of these edges (or nodes), by
    an answer, or the largest of its `first` parts.
    """
    rows = [{"a": i, "b": j} for i, j in combinations(range(5), 2)]
    fewer = [row for row in rows if row["b"] < 4] if node else rows[:-1]
    scores = []
    for table in (Listed(fewer, SCHEMA), Listed(rows, SCHEMA)):
        graph = mechanism.columns.read_graph(table)
        mechanism_columns = _StoredGraph(graph)
        stored = replace(mechanism, columns=mechanism_columns)  # type: ignore[type-var]
        drawn = [json.loads(stored.draw(table)) for _ in range(trials)]
        largest = [np.max(np.atleast_1d(each)[:first]) for each in drawn]
        scores.append(np.array(largest, np.float64))
    return pure(*scores, float(mechanism.cost.amount), at=at, alpha=1e-7).violated


class _StoredGraph(GraphColumns):
    """Columns whose graph was read before: reading it a thousand times is slow."""

    def __init__(self, graph: SimpleGraph) -> None:
        facts = {name: getattr(make_columns(), name) for name in ("names", "schema")}
        super().__init__(nodes=5, changes=1, most_added=1, described="", **facts)
        object.__setattr__(self, "graph", graph)

    def read_graph(self, table: object) -> SimpleGraph:
        del table
        graph: SimpleGraph = self.graph  # type: ignore[attr-defined]
        return graph


def test_an_audit_passes_edges_and_refutes_half_of_the_noise() -> None:
    edges = make_counts(GraphStatistic.EDGES)
    assert not audit_draws(edges, at=9.5)
    assert audit_draws(replace(edges, noise=halve_noise), at=9.5)


def test_an_audit_passes_degrees_and_refutes_half_of_the_noise() -> None:
    degrees = make_counts(GraphStatistic.DEGREES)
    broken = replace(degrees, noise=halve_noise)
    assert not audit_draws(degrees, at=3.5, trials=1_500, first=2)
    # Missed with probability below 1e-6.
    assert audit_draws(broken, at=3.5, trials=1_500, first=2)


def test_an_audit_passes_degrees_for_a_node_and_refutes_half_of_the_noise() -> None:
    degrees = make_counts(GraphStatistic.DEGREES, most_edges=1)
    broken = replace(degrees, noise=halve_noise)
    # With the fifth node two degrees move by 1.
    assert not audit_star(degrees)
    assert audit_star(broken)


def audit_star(mechanism: NoisyGraphCounts, trials: int = 2_500) -> bool:
    """On no edge, and on one node with four: whether the largest two degrees are both
    above 0, where all of the claim is used. Half of the noise is missed less than once
    in a million.
    """
    scores = []
    for rows in ([], [{"a": i, "b": 4} for i in range(4)]):
        graph = mechanism.columns.read_graph(Listed(rows, SCHEMA))
        stored = replace(mechanism, columns=_StoredGraph(graph))
        drawn = [json.loads(stored.draw(Listed(rows, SCHEMA))) for _ in range(trials)]
        scores.append(np.array([min(each[-2:]) for each in drawn], np.float64))
    return pure(*scores, float(mechanism.cost.amount), at=0.5, alpha=1e-7).violated


def test_an_audit_passes_edges_for_a_node_and_refutes_half_of_the_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flow = cache(SimpleGraph.bounded_flow)
    monkeypatch.setattr(SimpleGraph, "bounded_flow", lambda *given: flow(*given))
    edges = make_counts(GraphStatistic.EDGES, most_edges=4)
    broken = replace(edges, noise=halve_noise)
    assert not audit_draws(edges, at=19.5, trials=1_500, node=True)
    assert audit_draws(broken, at=19.5, trials=1_500, node=True)


def test_an_audit_passes_triangles_and_refutes_a_smaller_scale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    triangles = NoisyTriangles(
        columns=make_columns(), epsilon=Fraction(1), accounting=Accounting.PURE
    )
    assert not audit_draws(triangles, at=8.5, trials=500)
    too_small = SmoothBound(((4, 1),), Fraction(1, 2))
    monkeypatch.setattr(NoisyTriangles, "bound", lambda *_: too_small)
    assert audit_draws(triangles, at=8.5, trials=500)


@pytest.fixture
def friends(tmp_path: Path) -> Path:
    """A ring of 40 nodes in which everyone also knows the next but one."""
    path = tmp_path / "friends.csv"
    rows = [f"{i},{(i + step) % 40}" for i in range(40) for step in (1, 2)]
    # A loop, an edge the other way round, and an unknown node.
    rows += ["3,3", "1,0", "99,1"]
    path.write_text("\n".join(["a,b", *rows]))
    return path


DECLARED = Schema.parse(
    """
columns:
  a: {type: integer, min: 0, max: 39}
  b: {type: integer, min: 0, max: 39}
  c: {type: integer, min: 0, max: 9}
"""
)


def test_a_file_of_edges_is_a_graph(friends: Path) -> None:
    """Every tolerance is at least twenty deviations of the noise at this ε."""
    ends = {"source": "a", "target": "b", "epsilon": 400}
    schema = Schema(columns=DECLARED.columns[:2])
    with session(friends, schema, budget=3_000) as questions:
        edges = measure_graph(questions, "edges", **ends)  # type: ignore[arg-type]
        again = measure_graph(questions, "edges", **ends)  # type: ignore[arg-type]
        nodes = measure_graph(questions, "edges", max_degree=5, **ends)  # type: ignore[arg-type]
        degrees = measure_graph(questions, "degrees", **ends)  # type: ignore[arg-type]
        of_nodes = measure_graph(questions, "degrees", max_degree=5, **ends)  # type: ignore[arg-type]
        triangles = measure_graph(questions, "triangles", **ends)  # type: ignore[arg-type]
    # The unknown node 99 lies at the bound 39 after clipping, or is none.
    assert edges.value == pytest.approx(80, abs=5)
    assert again.cost is None
    assert nodes.value == pytest.approx(80, abs=25)
    assert len(degrees.values) == 40
    assert np.median(degrees.values) == pytest.approx(4, abs=1)
    assert np.median(of_nodes.values) == pytest.approx(4, abs=1)
    assert max(of_nodes.values) <= 5
    assert "one node with all its edges" in of_nodes.note
    # Cauchy noise has no bound but that of all triples.
    assert 0 <= triangles.value <= 40 * 39 * 38 / 6
    assert triangles.interval is None


@pytest.mark.parametrize(
    ("statistic", "options", "message"),
    [
        ("edges", {"target": "c"}, "both ends of an edge"),
        ("edges", {"target": "a"}, "called|both ends|name"),
        ("edges", {"max_degree": 0}, "max_degree is"),
        ("triangles", {"max_degree": 3}, "Node privacy is for"),
        ("stars", {}, "statistic"),
    ],
)
def test_bad_graphs_cost_nothing(
    tmp_path: Path, statistic: str, options: dict[str, object], message: str
) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("a,b,c\n1,2,3\n")
    asked = {"source": "a", "target": "b", "epsilon": 1, **options}
    with (
        session(path, DECLARED, budget=1) as questions,
        pytest.raises(Refused, match=message),
    ):
        measure_graph(questions, statistic, **asked)  # type: ignore[arg-type]


BY_PERSON = Schema.parse(
    """
unit: {id: person, max_rows: 1}
columns:
  person: {type: identifier}
  a: {type: integer, min: 0, max: 99}
  b: {type: integer, min: 0, max: 99}
"""
)


def test_one_node_decides_which_edges_of_others_are_kept(tmp_path: Path) -> None:
    """Why node privacy is refused for units by an id: thirty persons have an edge of
    node 0 and one between others, and one of the two is kept. Without node 0, all thirty
    others are. That fewer than three edges of node 0 are kept has chance 4e-7.
    """
    others = [f"{i},{2 * i},{2 * i + 1}" for i in range(1, 31)]
    hub = [f"{i},0,{i + 65}" for i in range(1, 31)]
    flows = []
    for name, lines in {"with": [*others, *hub], "without": others}.items():
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["person,a,b", *lines]))
        with session(path, BY_PERSON, budget=1) as questions:
            graph = _describe_graph(questions, "a", "b").read_graph(
                describe_rows(open_table(path), BY_PERSON)
            )
            flows.append(graph.bounded_flow(1))
            with pytest.raises(Refused, match="tables without an id"):
                measure_graph(
                    questions, "edges", source="a", target="b", epsilon=1, max_degree=1
                )
    # The noise would be for 2·D = 2.
    assert flows[1] - flows[0] > 2


def test_node_privacy_needs_a_private_number_of_rows(friends: Path) -> None:
    schema = Schema(columns=DECLARED.columns[:2])
    with (
        session(friends, schema, budget=1, neighbours="replace") as questions,
        pytest.raises(Refused, match="number of rows public"),
    ):
        measure_graph(
            questions, "edges", source="a", target="b", epsilon=1, max_degree=5
        )
