"""From measurements to a tree model: edges of the world, limits, zeros, and how close
it comes.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.models.build import listed, measured, schema_of
from understudy.accounting.law import Law
from understudy.errors import Refused
from understudy.measurements import Centring, Clique, Identity, Measurement, Partition
from understudy.models.estimates.loss_terms import Term
from understudy.models.estimates.pooling import likely_total, pool_total
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.fitting.estimate import (
    estimate_tree,
    fit_measurements,
    select_fitting_cliques,
)
from understudy.models.fitting.one_way_prior import denoise_one_ways
from understudy.schema import Categorical, Schema, parse_predicate


def world(seed: int, sizes: tuple[int, ...], rows: int) -> np.ndarray:
    """Rows of codes that depend on each other along a chain."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, sizes[0], rows)]
    for n in sizes[1:]:
        noise = rng.geometric(0.5, rows) - 1
        columns.append((columns[-1] + noise) % n)
    return np.array(columns)


def counted(table: np.ndarray, schema: Schema, clique: Clique) -> np.ndarray:
    places = [list(schema).index(name) for name in clique]
    sizes = schema.sizes(clique)
    flat = np.ravel_multi_index(tuple(table[places]), sizes)
    return np.bincount(flat, minlength=math.prod(sizes)).reshape(sizes)


def look(
    table: np.ndarray,
    schema: Schema,
    clique: Clique,
    scale: int,
    rng: np.random.Generator,
) -> Measurement:
    counts = counted(table, schema, clique)
    return measured(
        clique,
        counts + np.rint(rng.normal(0, scale, counts.shape)),
        scale=scale,
        law=Law.ROUNDED_GAUSSIAN,
    )


def test_nothing_measured_is_uniform() -> None:
    model = estimate_tree(schema_of(2, 3, rows=12), listed())
    assert model.marginal(("a", "b")) == pytest.approx(np.full((2, 3), 2.0))
    assert estimate_tree(schema_of(2), listed()).total == 0


def test_one_column_without_shrinkage_is_the_projected_answer() -> None:
    schema = schema_of(3, rows=10)
    found = fit_measurements(
        schema, listed(measured(("a",), [7, 5, -3])), shrinkage=0, tolerance=1e-8
    )
    assert found.model.marginal(("a",)) == pytest.approx([6, 4, 0], abs=1e-3)


def test_a_total_is_never_negative() -> None:
    model = estimate_tree(
        schema_of(3), listed(measured(("a",), [-7, -5, -3], scale=10))
    )
    assert 0 < model.total < 3 * 10, "what noise leaves possible"
    assert len(model.sample(5, np.random.default_rng(0))["a"]) == 5


def test_the_total_is_the_pooled_one_or_the_public_one() -> None:
    looks = listed(measured(("a",), [70, 30, 10], scale=2), measured((), 130, scale=9))
    assert estimate_tree(schema_of(3), looks).total == pytest.approx(
        pool_total(schema_of(3), looks)[0]
    )
    assert estimate_tree(schema_of(3, rows=101), looks).total == 101


def test_a_chain_of_pairs_comes_closer_to_the_truth_than_its_answers() -> None:
    """Most cells of these tables are empty or nearly so: knowing that counts are not
    negative, and agree, is worth much.
    """
    rng = np.random.default_rng(0)
    schema = schema_of(12, 10, 15, 8)
    table = world(0, (12, 10, 15, 8), 2_000)
    pairs = list(pairwise(schema))
    looks = [look(table, schema, pair, 25, rng) for pair in pairs]
    model = estimate_tree(schema, listed(*looks))
    for pair, m in zip(pairs, looks, strict=True):
        truth = counted(table, schema, pair)
        assert (
            np.abs(model.marginal(pair) - truth).sum()
            < 0.6 * np.abs(m.values - truth).sum()
        )


def test_with_little_noise_a_loop_of_pairs_is_matched_to_a_row() -> None:
    schema = schema_of(3, 4, 3)
    table = world(1, (3, 4, 3), 50_000)
    rng = np.random.default_rng(1)
    looks = listed(
        *(look(table, schema, pair, 1, rng) for pair in combinations(schema, 2))
    )
    model = estimate_tree(schema, looks)
    for pair in combinations(schema, 2):
        assert np.abs(model.marginal(pair) - counted(table, schema, pair)).max() < 6


def test_coarse_bins_measured_with_another_column_shape_the_fit() -> None:
    schema = schema_of(4, 2)
    bins = Partition((0, 0, 1, 1))
    joint = measured(("a", "b"), [[90, 10], [20, 80]], maps=(bins, Identity(2)))
    model = estimate_tree(schema, listed(joint))
    table = model.marginal(("a", "b"))
    assert table[:2].sum(axis=0) == pytest.approx([90, 10], abs=2)
    assert table[0] == pytest.approx(table[1], abs=0.1)


def test_centred_answers_and_a_total_make_a_marginal() -> None:
    schema = schema_of(2, 2)
    truth = np.array([[60, 10], [10, 20]])
    centred = Centring(2)
    mapped = centred.matrix() @ truth @ centred.matrix().T
    looks = listed(
        measured(("a", "b"), mapped, maps=(centred, centred)),
        measured(("a",), truth.sum(axis=1)),
        measured(("b",), truth.sum(axis=0)),
    )
    assert estimate_tree(schema, looks).marginal(("a", "b")) == pytest.approx(
        truth, abs=2
    )


def test_what_does_not_fit_is_left_out_and_still_counts_for_its_columns() -> None:
    schema = schema_of(5, 5, 5)
    table = world(2, (5, 5, 5), 9_000)
    rng = np.random.default_rng(2)
    looks = listed(
        *(
            look(table, schema, pair, 5, rng)
            for pair in [("a", "b"), ("b", "c"), ("a", "c")]
        )
    )
    found = fit_measurements(schema, looks, limit_cells=60)
    assert found.left_out == (("a", "c"),)
    assert found.model.cells <= 60
    one = measured(("c",), counted(table, schema, ("c",)), scale=1)
    alone = fit_measurements(
        schema, listed(look(table, schema, ("a", "b"), 5, rng), one), limit_cells=5 + 25
    )
    assert alone.left_out == ()
    only = fit_measurements(schema, looks, limit_cells=15)
    assert set(only.left_out) == {("a", "b"), ("b", "c"), ("a", "c")}
    assert (
        np.abs(only.model.marginal(("c",)) - counted(table, schema, ("c",))).max() < 100
    )


def test_cliques_asked_for_by_name_must_fit() -> None:
    schema = schema_of(5, 5, 5)
    with pytest.raises(Refused, match="needs 125 cells, more than 100"):
        fit_measurements(schema, listed(), cliques=[("a", "b", "c")], limit_cells=100)


def test_named_cliques_also_hold_what_their_tree_happens_to_hold() -> None:
    schema = schema_of(2, 2, 2)
    pairs = listed(
        *(measured(p, [[50, 10], [10, 30]]) for p in combinations(schema, 2))
    )
    assert fit_measurements(schema, pairs, cliques=[("a", "b", "c")]).left_out == ()
    assert fit_measurements(schema, pairs, cliques=[("a", "b")]).left_out == (
        ("a", "c"),
        ("b", "c"),
    )


def test_what_a_tree_happens_to_hold_stays_held_when_the_fit_starts_from_it() -> None:
    """One of the pairs that close loops is where the fit starts from; a tree made with
    it closes the other loops by other pairs.
    """
    loops = (
        "ac",
        "ag",
        "ah",
        "bd",
        "bf",
        "bh",
        "cd",
        "cf",
        "de",
        "ef",
        "eg",
        "eh",
        "fg",
        "fh",
    )
    kept = [tuple(pair) for pair in loops]
    schema = schema_of(*(2,) * 8)
    table = np.random.default_rng(3).integers(0, 2, (8, 4000))
    table[5] = table[3]  # d and f are the same, so the fit starts from them
    rng = np.random.default_rng(4)
    every = [*((name,) for name in schema), *combinations(schema, 2)]
    looks = listed(*(look(table, schema, clique, 5, rng) for clique in every))
    found = fit_measurements(schema, looks, cliques=kept, empirical=True)
    for clique in kept:
        assert (
            np.abs(found.model.marginal(clique) - counted(table, schema, clique)).max()
            < 100
        )


def test_an_earlier_estimate_saves_passes() -> None:
    schema = schema_of(6, 5, 7, 4)
    table = world(3, (6, 5, 7, 4), 20_000)
    rng = np.random.default_rng(3)
    looks = [look(table, schema, pair, 10, rng) for pair in combinations(schema, 2)]
    early = fit_measurements(schema, listed(*looks[:-1]))
    cold = fit_measurements(schema, listed(*looks))
    warm = fit_measurements(schema, listed(*looks), warm=early)
    assert warm.passes < cold.passes
    for pair in combinations(schema, 2):
        assert warm.model.marginal(pair) == pytest.approx(
            cold.model.marginal(pair), abs=20
        )


def test_structural_zeros_hold_in_the_model_and_in_every_row() -> None:
    columns = tuple(
        Categorical(name=n, values=("x", "y", "z"), nullable=False) for n in "abc"
    )
    rules = ("a = 'x' and b = 'y'", "b = 'z' and c = 'z'", "c = 'y'")
    schema = Schema(
        columns=columns, impossible=tuple(map(parse_predicate, rules)), rows=500
    )
    looks = listed(
        measured(("a",), [200, 200, 100], scale=9),
        measured(("a", "b"), [[90, 0, 80], [70, 60, 70], [50, 40, 40]], scale=9),
    )
    found = fit_measurements(schema, looks)
    assert found.model.marginal(("a", "b"))[0, 1] == 0
    assert found.model.marginal(("b", "c"))[2, 2] == 0
    assert found.model.marginal(("c",))[1] == 0
    rows = found.model.sample(10_000, np.random.default_rng(0))
    assert not np.any((rows["a"] == 0) & (rows["b"] == 1))
    assert not np.any((rows["b"] == 2) & (rows["c"] == 2))


@pytest.mark.parametrize("clique", [("a",), ("a", "b"), ()])
def test_a_schema_that_leaves_nothing_possible_is_refused(clique: Clique) -> None:
    columns = tuple(
        Categorical(name=n, values=("x", "y"), nullable=False) for n in "ab"
    )
    schema = Schema(
        columns=columns, impossible=tuple(map(parse_predicate, ("a = 'x'", "a = 'y'")))
    )
    looks = listed(measured((), 50), measured(clique, np.zeros(schema.sizes(clique))))
    with pytest.raises(Refused, match="impossible"):
        fit_measurements(schema, looks).model.marginal(("a",))


def test_progress_is_a_share_that_ends_at_one() -> None:
    schema = schema_of(4, 4, 4)
    table = world(4, (4, 4, 4), 3_000)
    rng = np.random.default_rng(4)
    told: list[tuple[str, float]] = []
    estimate_tree(
        schema,
        listed(
            *(look(table, schema, pair, 5, rng) for pair in combinations(schema, 2))
        ),
        progress=lambda stage, share: told.append((stage, share)),
    )
    rounds = [int(stage.removeprefix("fitting round ")) for stage, _ in told]
    assert rounds == sorted(rounds)
    assert len(set(rounds)) > 2
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert shares[0] >= 0
    assert told[-1][1] == 1.0


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(0, 5))
def test_any_measurements_make_a_model(seed: int, scale: int, count: int) -> None:
    """Pure noise, few rows, repeated and nested cliques: always a distribution with the
    pooled total, and the same one again.
    """
    rng = np.random.default_rng(seed)
    schema = schema_of(2, 3, 4, 1)
    looks = []
    for _ in range(count):
        k = int(rng.integers(0, 4))
        clique = tuple(rng.permutation(list(schema))[:k].tolist())
        looks.append(
            measured(
                clique, np.rint(rng.normal(0, scale, schema.sizes(clique))), scale=scale
            )
        )
    one, two = (estimate_tree(schema, listed(*looks)) for _ in range(2))
    table = one.marginal(tuple(schema))
    assert np.all(table >= 0)
    assert table.sum() == pytest.approx(likely_total(schema, listed(*looks)))
    assert np.array_equal(table, two.marginal(tuple(schema)))


def test_shrinkage_stays_within_a_few_standard_deviations_of_least_squares() -> None:
    """Where counts are large nothing needs shrinking: the fit is the least-squares
    answer up to a part of its noise.
    """
    schema = schema_of(3, 3)
    table = world(5, (3, 3), 90_000)
    m = look(table, schema, ("a", "b"), 20, np.random.default_rng(5))
    pooled = PooledResiduals.of(schema, listed(m))
    apart = np.abs(
        estimate_tree(schema, listed(m)).marginal(("a", "b"))
        - pooled.marginal(("a", "b"))
    )
    assert np.all(apart < 1.0 * np.sqrt(pooled.variance(("a", "b"))))


def test_cliques_that_fit_together_are_all_kept() -> None:
    sizes = {"a": 2, "b": 2, "c": 2}
    cliques: list[Clique] = [("a", "b"), ("b", "c"), ("a", "b")]
    assert select_fitting_cliques(cliques, sizes, 8) == ([("a", "b"), ("b", "c")], [])


def test_a_lean_fit_believes_of_a_column_what_all_of_its_marginals_say():
    """The column alone was hardly measured; the sums of its pair are five times better,
    and that is what the model must say.
    """
    schema = schema_of(4, 4)
    table = world(3, (4, 4), 2000)
    rng = np.random.default_rng(5)
    looks = listed(
        *(
            look(table, schema, c, s, rng)
            for c, s in ((("a",), 200), (("b",), 200), (("a", "b"), 20))
        )
    )
    pooled, model = (
        PooledResiduals.of(schema, looks),
        fit_measurements(schema, looks, empirical=True, tolerance=1e-4).model,
    )
    variance = {name: float(pooled.variance((name,)).mean()) for name in schema}
    sums = [
        Term((name,), (Identity(4),), pooled.marginal((name,)), v)
        for name, v in variance.items()
    ]
    even = np.full(4, model.total / 4)
    for name, column in zip(
        schema, denoise_one_ways([(t, even) for t in sums]), strict=True
    ):
        deviation = math.sqrt(variance[name])
        assert deviation < 60
        assert np.abs(model.marginal((name,)) - column.values).max() < deviation / 2
        alone = np.abs(
            looks.items[list(schema).index(name)].values
            - counted(table, schema, (name,))
        ).mean()
        assert (
            np.abs(model.marginal((name,)) - counted(table, schema, (name,))).mean()
            < alone
        )


def test_a_column_asked_for_by_differences_too_is_told_once() -> None:
    """What all measurements say of a column is one term: its differences, heard a
    second time, would be believed twice.
    """
    schema = schema_of(4, 4)
    table = world(3, (4, 4), 2000)
    rng = np.random.default_rng(6)
    counts = counted(table, schema, ("a",))
    differences = measured(
        ("a",),
        4 * counts - counts.sum(),
        scale=120,
        law=Law.ROUNDED_GAUSSIAN,
        maps=(Centring(4),),
    )
    looks = listed(
        look(table, schema, ("a",), 30, rng),
        differences,
        look(table, schema, ("a", "b"), 300, rng),
    )
    found = fit_measurements(schema, looks, empirical=True, tolerance=1e-4)
    assert [maps for (clique, maps) in found.weights if clique == ("a",)] == [
        (Identity(4),)
    ]


def test_a_column_that_noise_hides_is_even_over_what_is_possible() -> None:
    """Two of six codes cannot be: of a column that only noise is seen of, the other
    four share all rows.
    """
    rules = tuple(map(parse_predicate, ("a = 'a4'", "a = 'a5'")))
    schema = Schema(columns=schema_of(6).columns, impossible=rules, rows=1000)
    seen = measured(
        ("a",),
        [5000, -3000, 2500, -4000, 0, 0],
        scale=100_000,
        law=Law.ROUNDED_GAUSSIAN,
    )
    model = fit_measurements(schema, listed(seen), empirical=True).model
    shares = model.marginal(("a",)) / model.total
    assert np.all(shares[4:] == 0)
    assert np.allclose(shares[:4], 0.25, atol=0.02)
