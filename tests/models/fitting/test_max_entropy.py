"""The fit against the whole table: least squares over all distributions, the primal
problem, the published panel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls

from kit.models.brute_force import query
from kit.models.build import schema_of
from understudy.measurements import AxisMap, Centring, Clique, Identity, Partition
from understudy.models.estimates.loss_terms import Term
from understudy.models.fitting.dual_descent import CurvatureMemory
from understudy.models.fitting.max_entropy import MaxEntropyFit, fit_max_entropy
from understudy.models.inference.calibration import Calibration
from understudy.models.inference.junction_tree import JunctionTree
from understudy.models.inference.log_calibration import align_axes
from understudy.schema import Schema

Array = NDArray[np.float64]


class Table:
    """The oracle that cannot be wrong: every cell of the whole table."""

    def __init__(self, sizes: Mapping[str, int], cliques: list[Clique]) -> None:
        self.names, self.shape, self.cliques = (
            tuple(sizes),
            tuple(sizes.values()),
            cliques,
        )

    def shares(self, potentials: Mapping[Clique, Array]) -> tuple[Array, float]:
        logs = np.zeros(self.shape)
        for clique, theta in potentials.items():
            logs = logs + align_axes(theta, clique, self.names)
        top = float(logs.max())
        weights = np.exp(logs - top)
        return weights / weights.sum(), top + math.log(weights.sum())

    def run(
        self, potentials: Mapping[Clique, Array]
    ) -> tuple[dict[Clique, Array], float]:
        shares, log_z = self.shares(potentials)
        found = {}
        for clique in self.cliques:
            rest = tuple(i for i, name in enumerate(self.names) if name not in clique)
            kept = [name for name in self.names if name in clique]
            found[clique] = shares.sum(axis=rest).transpose(
                [kept.index(name) for name in clique]
            )
        return found, log_z


def table_for(schema: Schema, terms: list[Term]) -> Table:
    return Table(
        {name: schema.sizes((name,))[0] for name in schema}, [t.clique for t in terms]
    )


def tree_for(schema: Schema, terms: list[Term]) -> Calibration:
    sizes = {name: schema.sizes((name,))[0] for name in schema}
    cliques = [t.clique for t in terms]
    return Calibration(
        JunctionTree.of([*cliques, *((n,) for n in schema)], sizes), cliques, sizes
    )


def dense(schema: Schema, terms: list[Term]) -> tuple[Array, Array]:
    """The loss as ½ ‖A p - b‖² over the counts of the whole table."""
    rows = [query(schema, t.clique, t.maps) / math.sqrt(t.variance) for t in terms]
    return np.concatenate(rows), np.concatenate(
        [t.values.ravel() / math.sqrt(t.variance) for t in terms]
    )


def least_loss(a: Array, b: Array, total: float) -> float:
    """The smallest loss of any table with this total: non-negative least squares, the
    total held by a heavy row.
    """
    heavy = 1e3 * float(np.abs(a).max())  # heavier, and the solver itself loses digits
    found, _ = nnls(
        np.vstack([a, np.full((1, a.shape[1]), heavy)]), np.append(b, heavy * total)
    )
    found *= total / found.sum()
    return 0.5 * float(np.sum((a @ found - b) ** 2))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Schema, list[Term], float]:
    sizes = draw(st.lists(st.integers(2, 3), min_size=1, max_size=3))
    schema = schema_of(*sizes)
    terms = {}
    for _ in range(draw(st.integers(1, 4))):
        chosen = draw(st.sets(st.sampled_from(list(schema)), min_size=1, max_size=2))
        clique = tuple(name for name in schema if name in chosen)
        maps: list[AxisMap] = []
        for n in schema.sizes(clique):
            coarse = Partition(tuple(min(i, 1) for i in range(n)))
            maps.append(
                draw(
                    st.sampled_from(
                        [Identity(n), Identity(n), Identity(n), Centring(n), coarse]
                    )
                )
            )
        shape = tuple(m.out for m in maps)
        values = draw(
            st.lists(
                st.integers(-30, 90),
                min_size=math.prod(shape),
                max_size=math.prod(shape),
            )
        )
        spread = draw(st.sampled_from([4.0, 25.0, 100.0]))
        terms[clique, tuple(maps)] = Term(
            clique, tuple(maps), np.reshape(values, shape).astype(float), spread
        )
    return schema, list(terms.values()), float(draw(st.integers(20, 200)))


@settings(max_examples=60)
@given(problems())
def test_without_shrinkage_no_table_explains_the_answers_better(
    problem: tuple[Schema, list[Term], float],
) -> None:
    schema, terms, total = problem
    found = fit_max_entropy(
        tree_for(schema, terms), terms, total, base={}, shrinkage=0, tolerance=1e-6
    )
    a, b = dense(schema, terms)
    shares, _ = table_for(schema, terms).shares(found.potentials)
    loss = 0.5 * float(np.sum((a @ shares.ravel() * total - b) ** 2))
    assert loss == pytest.approx(found.loss, rel=1e-6, abs=1e-6)
    best = least_loss(a, b, total)
    assert best - 1e-6 * (1 + best) <= loss <= best * 1.001 + 1e-3 * len(b)


def primal(
    a: Array, b: Array, total: float, pull: float, logs: Array
) -> tuple[float, Array]:
    """The regularised loss of a table, by its definition, and its gradient by the
    table's logarithms.
    """
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    heights = np.log(np.maximum(shares, 1e-300) * shares.size)
    off = total * a @ shares - b
    slopes = total * (a.T @ off) + pull * total * heights
    value = 0.5 * float(off @ off) + pull * total * float(shares @ heights)
    return value, shares * (slopes - float(shares @ slopes))


@settings(max_examples=30)
@given(problems(), st.sampled_from([0.2, 1.0, 5.0]))
def test_the_fit_solves_the_problem_it_states_to_within_its_gap(
    problem: tuple[Schema, list[Term], float], shrinkage: float
) -> None:
    schema, terms, total = problem
    oracle = table_for(schema, terms)
    found = fit_max_entropy(
        oracle, terms, total, base={}, shrinkage=shrinkage, tolerance=1e-7
    )
    noise = math.sqrt(
        np.median(
            np.repeat([t.row_variance for t in terms], [t.values.size for t in terms])
        )
    )
    pull = shrinkage / noise
    shares, _ = oracle.shares(found.potentials)
    a, b = dense(schema, terms)
    ours, _ = primal(a, b, total, pull, np.log(np.maximum(shares.ravel(), 1e-300)))
    other = minimize(
        lambda x: primal(a, b, total, pull, x),
        np.zeros(shares.size),
        jac=True,
        tol=1e-12,
    )
    assert ours <= other.fun + 1e-4 * (1 + abs(other.fun))
    assert found.gap <= 1e-7 * sum(t.values.size for t in terms) / 2 or found.gap < 1e-6


@given(problems())
@settings(max_examples=30)
def test_tree_and_whole_table_lead_to_the_same_fit(
    problem: tuple[Schema, list[Term], float],
) -> None:
    schema, terms, total = problem
    one = fit_max_entropy(
        tree_for(schema, terms), terms, total, base={}, tolerance=1e-7
    )
    two = fit_max_entropy(
        table_for(schema, terms), terms, total, base={}, tolerance=1e-7
    )
    table = table_for(schema, terms)
    assert np.allclose(
        table.shares(one.potentials)[0], table.shares(two.potentials)[0], atol=1e-4
    )


def test_two_columns_measured_apart_are_independent() -> None:
    """Of all tables with these two marginals the product has the largest entropy."""
    schema = schema_of(2, 3)
    terms = [
        Term(("a",), (Identity(2),), np.array([70.0, 30.0]), 1.0),
        Term(("b",), (Identity(3),), np.array([50.0, 30.0, 20.0]), 1.0),
    ]
    table = table_for(schema, terms)
    found = fit_max_entropy(table, terms, 100.0, base={}, shrinkage=0, tolerance=1e-9)
    assert np.allclose(
        table.shares(found.potentials)[0],
        np.outer([0.7, 0.3], [0.5, 0.3, 0.2]),
        atol=1e-5,
    )


NOISY = (
    [[132.428, 124.549, 244.365], [173.633, 318.029, -21.358]],
    [[116.021, 186.826], [287.215, 171.134], [278.498, -46.497]],
)
FITTED = (
    [[124.829, 121.696, 254.636], [166.034, 315.177, 0.0]],
    [[110.029, 180.834], [276.477, 160.396], [254.636, 0.0]],
)
TRUE = ([[156, 65, 316], [158, 282, 23]], [[159, 155], [288, 59], [336, 3]])


def panel(
    shrinkage: float, *, clipped: bool = False
) -> tuple[MaxEntropyFit, tuple[Array, Array]]:
    sizes = {"sex": 2, "labforce": 3, "school": 2}
    cliques: list[Clique] = [("sex", "labforce"), ("labforce", "school")]
    answers = [np.maximum(y, 0.0) if clipped else np.array(y) for y in NOISY]
    terms = [
        Term(c, tuple(Identity(sizes[n]) for n in c), y, 900.0)
        for c, y in zip(cliques, answers, strict=True)
    ]
    oracle = Calibration(JunctionTree.of(cliques, sizes), cliques, sizes)
    found = fit_max_entropy(
        oracle, terms, 982.372, base={}, shrinkage=shrinkage, tolerance=1e-10
    )
    marginals, _ = oracle.run(found.potentials)
    first, second = (982.372 * marginals[c] for c in cliques)
    return found, (first, second)


def test_the_published_panel_comes_out_to_a_thousandth() -> None:
    """Noisy tables of SEX × LABFORCE and LABFORCE × SCHOOL, and what Private-PGM makes
    of them.
    """
    _, tables = panel(0)
    for ours, theirs in zip(tables, FITTED, strict=True):
        assert np.abs(ours - np.array(theirs)).max() < 0.001


def test_the_panel_is_closer_to_the_truth_after_fitting() -> None:
    _, tables = panel(0)
    apart = [
        float(np.abs(np.array(t) - y).sum()) for t, y in zip(TRUE, NOISY, strict=True)
    ]
    after = [
        float(np.abs(np.array(t) - y).sum()) for t, y in zip(TRUE, tables, strict=True)
    ]
    assert apart == pytest.approx([250.776, 294.723], abs=1e-9)
    assert after == pytest.approx([213.442, 272.088], abs=0.005)


def test_clipping_the_answers_first_would_miss_the_panel() -> None:
    """The panel has teeth: negative answers carry information, and the published fit
    used it.
    """
    _, tables = panel(0, clipped=True)
    assert (
        max(
            np.abs(ours - np.array(theirs)).max()
            for ours, theirs in zip(tables, FITTED, strict=True)
        )
        > 1
    )


def test_the_direction_is_that_of_the_textbook_loops() -> None:
    """Nocedal and Wright, algorithm 7.4, with the ridge added to every change, also
    after the oldest pairs were dropped.
    """
    rng = np.random.default_rng(2)
    n, size, pull = 12, 5, 0.7
    variances = rng.uniform(1, 3, n)
    shape = rng.normal(size=(n, n))
    hessian = shape @ shape.T
    memory, pairs = CurvatureMemory(size, variances), []
    for _ in range(8):
        step = rng.normal(size=n)
        memory.add(step, hessian @ step)
        pairs.append((step, hessian @ step + pull * variances * step))
    gradient, curvature = rng.normal(size=n), rng.uniform(1, 2, n)
    turned, used = gradient.copy(), []
    for step, change in reversed(pairs[-size:]):
        used.append(step @ turned / (step @ change))
        turned -= used[-1] * change
    step, change = pairs[-1]
    turned *= (step @ change) / (change @ (change / curvature)) / curvature
    for (step, change), share in zip(pairs[-size:], reversed(used), strict=True):
        turned += step * (share - change @ turned / (step @ change))
    assert memory.descent_direction(gradient, curvature, pull) == pytest.approx(-turned)


def test_a_warm_start_needs_fewer_passes_and_ends_at_the_same_model() -> None:
    rng = np.random.default_rng(3)
    schema = schema_of(6, 5, 7, 4)
    cliques: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    terms = [
        Term(
            c,
            tuple(map(Identity, schema.sizes(c))),
            rng.gamma(0.3, 90, schema.sizes(c)),
            30.0,
        )
        for c in cliques
    ]
    total = float(np.mean([t.values.sum() for t in terms]))
    oracle = tree_for(schema, terms)
    early = fit_max_entropy(oracle, terms[:3], total, base={}, tolerance=1e-6)
    cold = fit_max_entropy(oracle, terms, total, base={}, tolerance=1e-6)
    warm = fit_max_entropy(
        oracle, terms, total, base={}, warm=early.weights, tolerance=1e-6
    )
    again = fit_max_entropy(
        oracle, terms, total, base={}, warm=cold.weights, tolerance=1e-6
    )
    assert again.passes == 1
    assert warm.passes < cold.passes
    assert warm.loss == pytest.approx(cold.loss, rel=1e-3)


def test_impossible_cells_stay_empty_whatever_was_answered() -> None:
    schema = schema_of(2, 2)
    terms = [
        Term(
            ("a", "b"),
            (Identity(2), Identity(2)),
            np.array([[40.0, 30.0], [20.0, 10.0]]),
            4.0,
        )
    ]
    base = {("a", "b"): np.array([[0.0, -np.inf], [0.0, 0.0]])}
    for oracle in (table_for(schema, terms), tree_for(schema, terms)):
        found = fit_max_entropy(
            oracle, terms, 70.0, base=base, shrinkage=0, tolerance=1e-8
        )
        marginal = oracle.run(found.potentials)[0]["a", "b"] * 70
        assert marginal == pytest.approx(
            np.array([[40.0, 0.0], [20.0, 10.0]]), abs=1e-3
        )


def test_a_base_decides_where_answers_say_nothing() -> None:
    schema = schema_of(2, 2)
    terms = [Term(("a",), (Identity(2),), np.array([60.0, 40.0]), 1.0)]
    base = {("b",): np.log(np.array([0.9, 0.1]))}
    oracle = table_for(schema, terms)
    found = fit_max_entropy(
        oracle, terms, 100.0, base=base, shrinkage=0, tolerance=1e-9
    )
    assert oracle.shares(found.potentials)[0].sum(axis=0) == pytest.approx([0.9, 0.1])


def test_no_terms_or_no_rows_leave_the_base_as_it_is() -> None:
    base = {("a",): np.array([0.0, 1.0])}
    term = Term(("a",), (Identity(2),), np.array([-5.0, -6.0]), 1.0)
    oracle = Table({"a": 2}, [("a",)])
    assert fit_max_entropy(oracle, [], 10.0, base=base).potentials == base
    assert fit_max_entropy(oracle, [term], 0.0, base=base).passes == 0


def test_progress_tells_of_every_step_and_ends_at_the_goal() -> None:
    schema = schema_of(3, 3)
    terms = [
        Term(
            ("a", "b"),
            (Identity(3), Identity(3)),
            np.arange(9.0).reshape(3, 3) * 10,
            9.0,
        )
    ]
    told: list[tuple[int, float]] = []
    found = fit_max_entropy(
        table_for(schema, terms),
        terms,
        300.0,
        base={},
        progress=lambda n, gap: told.append((n, gap)),
    )
    assert told[-1][1] <= 1 < told[0][1]
    assert told[-1][0] == found.passes


def test_all_noise_and_no_signal_still_converges() -> None:
    """Answers with nothing but noise around zero, for a total that is tiny against it."""
    rng = np.random.default_rng(9)
    schema = schema_of(5, 5, 5)
    cliques: list[Clique] = [("a", "b"), ("b", "c"), ("a", "c")]
    terms = [
        Term(c, (Identity(5), Identity(5)), rng.normal(0, 1000, (5, 5)), 1e6)
        for c in cliques
    ]
    for shrinkage in (0.0, 1 / 3):
        found = fit_max_entropy(
            tree_for(schema, terms), terms, 3.0, base={}, shrinkage=shrinkage
        )
        assert found.gap <= 1e-2 * 75 / 2
