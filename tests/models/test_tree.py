"""The tree model against brute force: marginals, samples, completions, zeros, and its
journey through a file.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from kit.models.brute_force import brute
from kit.models.build import ALPHA, schema_of
from understudy.errors import Refused, ReleaseError, SchemaError
from understudy.models import (
    ConditionalModel,
    Model,
    TreeModel,
    from_parts,
    tree,
    tree_potentials,
)
from understudy.models.inference import elimination
from understudy.models.inference.calibrated_tree import divide_or_zero
from understudy.models.rules.structural_zeros import impossible_masks, impossible_rows
from understudy.models.sampling import tree_evidence
from understudy.models.sampling.to_targets import draw_matching_rows, draw_tree_rows
from understudy.schema import Boolean, Categorical, Integer, Schema, parse_predicate

RNG = np.random.default_rng


@st.composite
def models(draw, *, most: int = 5, spread: float = 2.0):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=most))
    schema = schema_of(*sizes)
    names = list(schema)
    some = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True).map(
        tuple
    )
    cliques = draw(st.lists(some, min_size=0, max_size=6, unique=True))
    rng = RNG(draw(st.integers(0, 2**32 - 1)))
    potentials = {
        clique: rng.normal(0, spread, schema.sizes(clique)) for clique in cliques
    }
    return TreeModel.from_potentials(schema, 100.0, cliques, potentials)


def joint(model: TreeModel) -> np.ndarray:
    names = tuple(model.schema)
    sizes = dict(zip(names, model.schema.sizes(names), strict=True))
    return brute(sizes, [names], model.potentials)[0][names]


def summed(
    table: np.ndarray, names: tuple[str, ...], clique: tuple[str, ...]
) -> np.ndarray:
    kept = [name for name in names if name in clique]
    return table.sum(
        axis=tuple(i for i, n in enumerate(names) if n not in clique)
    ).transpose([kept.index(name) for name in clique])


def counted(codes, clique, sizes) -> np.ndarray:
    return np.bincount(
        np.ravel_multi_index([codes[n] for n in clique], sizes),
        minlength=int(np.prod(sizes)),
    ).reshape(sizes)


def test_it_is_a_model_that_can_complete_rows():
    model = TreeModel.from_potentials(schema_of(2, 3), 5.0, [], {})
    assert isinstance(model, Model)
    assert isinstance(model, ConditionalModel)
    np.testing.assert_allclose(model.marginal(("b", "a")), np.full((3, 2), 5 / 6))


@settings(max_examples=60)
@given(models())
def test_every_marginal_is_exact(model):
    names, truth = tuple(model.schema), joint(model)
    for k in range(len(names) + 1):
        for clique in itertools.islice(itertools.permutations(names, k), 40):
            np.testing.assert_allclose(
                model.marginal(clique),
                100 * summed(truth, names, clique),
                rtol=1e-8,
                atol=1e-10,
            )


@settings(max_examples=40)
@given(models())
def test_many_marginals_at_once_are_the_same(model):
    names = tuple(model.schema)
    cliques = [clique for k in range(4) for clique in itertools.permutations(names, k)]
    found = model.marginals(cliques)
    assert set(found) == set(cliques)
    for clique, table in found.items():
        np.testing.assert_allclose(table, model.marginal(clique), rtol=1e-9, atol=1e-11)


@given(models(), st.integers(0, 400), st.integers(0, 99))
def test_samples_are_rounded(model, rows, seed):
    """The first column of the root is within one row of its expectation, as rows are
    drawn; those of a crowded node are then refined.
    """
    names = tuple(model.schema)
    codes = model.sample(rows, RNG(seed))
    assert list(codes) == list(names)
    assert {column.size for column in codes.values()} == {rows}
    codes = draw_tree_rows(model.schema, model.beliefs, rows, RNG(seed))
    first = model.beliefs.tree.nodes[model.beliefs.tree.root][:2]
    for clique in (first[:1], first):
        counts = counted(codes, clique, model.schema.sizes(clique))
        expected = model.marginal(clique) / 100 * rows
        if len(clique) == 1:
            assert np.all(np.abs(counts - expected) < 1 + 1e-6)
        else:  # rounded within a group of a rounded number of rows
            groups = counts.sum(axis=1, keepdims=True)
            inside = (
                divide_or_zero(expected, expected.sum(axis=1, keepdims=True)) * groups
            )
            assert np.all(np.abs(counts - inside) < 1 + 1e-6)


def test_rows_of_a_crowded_node_meet_its_pairs(monkeypatch):
    """Six columns in one node of 15,625 cells, 3,000 rows: hardly any share their
    parents, so that rounding keeps little.
    """
    schema = schema_of(5, 5, 5, 5, 5, 5)
    names, rng, rows = tuple(schema), RNG(3), 3000
    model = TreeModel.from_potentials(
        schema, 1.0, [names], {names: rng.normal(0, 1, schema.sizes(names))}
    )

    def away(codes) -> list[float]:
        far = {
            c: np.abs(counted(codes, c, (5,) * len(c)) - rows * model.marginal(c)).sum()
            for c in cliques
        }
        return [
            float(np.mean([x for c, x in far.items() if len(c) == k])) / 2 / rows
            for k in (1, 2, 3)
        ]

    cliques = [c for k in (1, 2, 3) for c in itertools.combinations(names, k)]
    rounded, found = (
        away(make)
        for make in (
            draw_tree_rows(schema, model.beliefs, rows, RNG(0)),
            model.sample(rows, RNG(0)),
        )
    )
    assert found[0] < rounded[0] / 2
    assert found[1] < rounded[1] / 2
    assert found[2] < rounded[2]
    again = model.sample(rows, RNG(0))
    assert away(again) == found
    monkeypatch.setattr(tree, "CROWDED_ROWS_PER_CELL", 0)
    assert away(model.sample(rows, RNG(0)))[1] > 1.5 * found[1]


def test_rare_combinations_of_a_crowded_node_live():
    """Rows in cells of pairs that expect less than half a row, beside the rows expected
    there: aimed at one by one, they would die out.
    """
    schema = schema_of(30, 3, 30)
    names, rows = tuple(schema), 800
    weights = RNG(0).dirichlet(np.full(2700, 0.05)).reshape(schema.sizes(names))
    model = TreeModel.from_marginals(schema, 1.0, {names: weights})
    expected = model.marginal(("a", "c")) * rows
    few = (expected < 0.5) & (expected > 0)
    found = {
        rare: [
            counted(
                draw_matching_rows(
                    schema, model.beliefs, model._tables, rows, RNG(i), rare=rare
                ),
                ("a", "c"),
                (30, 30),
            )[few].sum()
            for i in range(20)
        ]
        for rare in (0.0, tree.RARE_CELL_ROWS)
    }
    assert 0.9 < np.mean(found[tree.RARE_CELL_ROWS]) / expected[few].sum() < 1.1
    assert np.mean(found[0.0]) / expected[few].sum() < 0.85


def test_samples_follow_the_whole_joint_distribution():
    """Five columns in a ring: cells no clique holds come out right, and the same test
    notices a model with one potential off.
    """
    schema = schema_of(2, 3, 2, 2, 3)
    names, rng = tuple(schema), RNG(3)
    cliques = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a")]
    potentials = {c: rng.normal(0, 0.7, schema.sizes(c)) for c in cliques}
    model = TreeModel.from_potentials(schema, 1.0, cliques, potentials)
    wrong = TreeModel.from_potentials(
        schema, 1.0, cliques, potentials | {("a", "b"): potentials["a", "b"] * 0.8}
    )
    rows = 60_000
    counts = counted(model.sample(rows, RNG(1)), names, schema.sizes(names))
    assert not off(counts, joint(model), rows)
    assert off(counts, joint(wrong), rows)


def off(counts, shares, rows) -> bool:
    """Whether some cell is further from its share than independent draws ever are;
    rounding draws closer still.
    """
    z = (counts - rows * shares) / np.sqrt(rows * shares * (1 - shares))
    return bool(np.abs(z).max() > norm.isf(ALPHA / counts.size / 2))


@settings(max_examples=60)
@given(models(most=5), st.data())
def test_completions_follow_the_exact_conditional(model, data):
    """Each row's distribution is its conditional: expected counts over many rows with
    the same given codes.
    """
    names, truth = tuple(model.schema), joint(model)
    known = tuple(
        data.draw(
            st.lists(
                st.sampled_from(names), min_size=1, max_size=len(names), unique=True
            )
        )
    )
    sizes = model.schema.sizes(known)
    one = [data.draw(st.integers(0, n - 1)) for n in sizes]
    rows = 300
    partial = {name: np.full(rows, code) for name, code in zip(known, one, strict=True)}
    codes = model.complete(partial, RNG(0))
    index = tuple(one[known.index(n)] if n in known else slice(None) for n in names)
    conditional = truth[index] / truth[index].sum()
    rest = tuple(n for n in names if n not in known)
    for name in known:
        assert np.array_equal(codes[name], partial[name])
    for name in rest:
        share = summed(conditional, rest, (name,))
        counts = np.bincount(codes[name], minlength=share.size)
        assert np.all(counts[share == 0] == 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.nan_to_num(
                np.abs(counts - rows * share) / np.sqrt(rows * share * (1 - share) + 1)
            )
        assert z.max() < 8


def test_completing_mixed_evidence_at_both_ends_of_a_chain():
    """What is known at one end must be heard at the other: exact posterior of the
    middle, and a deaf twin is caught.
    """
    schema = schema_of(2, 2, 2, 2, 2)
    theta = np.log(np.array([[4.0, 1.0], [1.0, 4.0]]))
    cliques = list(itertools.pairwise("abcde"))
    model = TreeModel.from_potentials(
        schema, 1.0, cliques, dict.fromkeys(cliques, theta)
    )
    truth, rows = joint(model), 40_000
    given_codes = {
        "a": np.tile([0, 0, 1, 1], rows // 4),
        "e": np.tile([0, 1, 0, 1], rows // 4),
    }
    codes = model.complete(given_codes, RNG(2))
    for a, e in itertools.product(range(2), range(2)):
        here = (given_codes["a"] == a) & (given_codes["e"] == e)
        share = truth[a, :, :, :, e] / truth[a, :, :, :, e].sum()
        counts = counted({n: codes[n][here] for n in "bcd"}, "bcd", (2, 2, 2))
        assert not off(counts, share, here.sum())
    deaf = truth[0, :, :, :, :].sum(axis=3) / truth[0].sum()
    here = (given_codes["a"] == 0) & (given_codes["e"] == 1)
    assert off(
        counted({n: codes[n][here] for n in "bcd"}, "bcd", (2, 2, 2)), deaf, here.sum()
    )


def test_completing_in_many_parts_is_the_same_distribution(monkeypatch):
    monkeypatch.setattr(tree_evidence, "MAX_LIKELIHOOD_CELLS", 1)
    test_completing_mixed_evidence_at_both_ends_of_a_chain()


def test_given_codes_without_mass_are_completed_all_the_same():
    schema = schema_of(2, 2, 2)
    model = TreeModel.from_marginals(
        schema,
        9.0,
        {("a", "b"): np.array([[1.0, 0], [0, 1.0]]), ("b", "c"): np.ones((2, 2))},
    )
    codes = model.complete({"a": np.array([0, 0]), "b": np.array([1, 0])}, RNG(0))
    assert codes["a"].tolist() == [0, 0]
    assert codes["b"].tolist() == [1, 0]
    with pytest.raises(Refused, match="at least one"):
        model.complete({}, RNG(0))
    with pytest.raises(SchemaError, match='"z"'):
        model.complete({"z": np.array([0])}, RNG(0))


# --- structural zeros
# ------------------------------------------------------------------------------------------------------------------

MARRIED = Schema(
    columns=(
        Integer(name="age", min=0, max=29, nullable=False),
        Boolean(name="married", nullable=False),
        Integer(name="years", min=0, max=29, nullable=False),
        Categorical(name="town", values=("x", "y", "z"), nullable=False),
    ),
    impossible=(
        parse_predicate("age < 15 and married = true"),
        parse_predicate("years > age"),
        parse_predicate("married = false and years > 0"),
    ),
)


def violations(schema, codes) -> int:
    return int(
        impossible_rows(
            impossible_masks(schema), codes, len(next(iter(codes.values())))
        ).sum()
    )


@pytest.mark.parametrize("limit", [tree_potentials.MAX_TREE_CELLS, 100])
def test_no_row_is_ever_impossible(limit):
    """Columns that were never measured together, with room for the declarations in the
    tree and without.
    """
    rng = RNG(0)
    potentials = {(name,): rng.normal(0, 1, MARRIED.sizes((name,))) for name in MARRIED}
    model = TreeModel.from_potentials(
        MARRIED, 10.0, potentials, potentials, limit=limit
    )
    assert violations(MARRIED, model.sample(50_000, rng)) == 0
    given_codes = {"years": rng.integers(0, 10, 500)}
    assert violations(MARRIED, model.complete(given_codes, rng)) == 0
    if limit == tree_potentials.MAX_TREE_CELLS:
        for clique, zeros in impossible_masks(MARRIED).items():
            assert not np.any(model.marginal(clique)[zeros])


@pytest.mark.slow
def test_no_row_of_a_million_is_impossible():
    rng = RNG(0)
    potentials = {(name,): rng.normal(0, 1, MARRIED.sizes((name,))) for name in MARRIED}
    model = TreeModel.from_potentials(MARRIED, 10.0, potentials, potentials)
    assert violations(MARRIED, model.sample(1_000_000, rng)) == 0


def test_given_codes_that_contradict_the_schema_are_refused():
    model = TreeModel.from_potentials(MARRIED, 10.0, [], {})
    with pytest.raises(
        Refused,
        match=r"^age, married: the schema declares that no row has these values together\. Nothing was",
    ):
        model.complete({"age": np.array([3]), "married": np.array([1])}, RNG(0))


def test_a_schema_that_allows_nothing_is_refused():
    columns = (Boolean(name="a", nullable=False), Boolean(name="b", nullable=False))
    schema = Schema(
        columns=columns, impossible=(parse_predicate("a = true or a = false"),)
    )
    with pytest.raises(Refused, match="no row possible"):
        TreeModel.from_potentials(schema, 1.0, [], {}).sample(3, RNG(0))


# --- closed form
# -----------------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1))
def test_marginals_on_a_tree_come_back_unchanged(seed):
    rng, schema = RNG(seed), schema_of(2, 3, 4, 2)
    truth = rng.dirichlet(np.ones(48)).reshape(2, 3, 4, 2)
    names = tuple(schema)
    cliques = [("b", "a"), ("c", "b"), ("d", "c")]
    model = TreeModel.from_marginals(
        schema, 50.0, {c: 20 * summed(truth, names, c) for c in cliques}
    )
    for clique in cliques:
        np.testing.assert_allclose(
            model.marginal(clique), 50 * summed(truth, names, clique), rtol=1e-9
        )
    b_given_a = summed(truth, names, ("a", "b")) / summed(truth, names, ("a",))[:, None]
    c_given_b = summed(truth, names, ("b", "c")) / summed(truth, names, ("b",))[:, None]
    independent = summed(truth, names, ("a",))[:, None] * (b_given_a @ c_given_b)
    np.testing.assert_allclose(model.marginal(("a", "c")), 50 * independent, rtol=1e-9)


def test_marginals_that_close_a_ring_are_no_tree():
    schema = schema_of(2, 2, 2)
    ring = {
        ("a", "b"): np.ones((2, 2)),
        ("b", "c"): np.ones((2, 2)),
        ("a", "c"): np.ones((2, 2)),
    }
    with pytest.raises(ValueError, match="no marginal holds them all"):
        TreeModel.from_marginals(schema, 1.0, ring)


def test_an_empty_corner_of_a_marginal_is_filled_evenly():
    """The pair (b, c) saw no row with b = 1, but (a, b) did: then every c is as likely."""
    schema = schema_of(2, 2, 4)
    pairs = {
        ("a", "b"): np.array([[3.0, 1.0], [2.0, 4.0]]),
        ("b", "c"): np.array([[4.0, 1, 0, 0], [0, 0, 0, 0]]),
    }
    found = TreeModel.from_marginals(schema, 10.0, pairs).marginal(("b", "c"))
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(10)


# --- sizes
# -----------------------------------------------------------------------------------------------------------------------------


def test_a_chain_of_sixty_columns_gives_far_pairs_and_rows():
    names = [f"x{i}" for i in range(60)]
    schema = Schema(columns=tuple(Boolean(name=name, nullable=False) for name in names))
    cliques = list(itertools.pairwise(names))
    theta = np.log(np.array([[9.0, 1.0], [1.0, 9.0]]))
    model = TreeModel.from_potentials(
        schema, 1.0, cliques, dict.fromkeys(cliques, theta)
    )
    agree = 0.5 * (1 + 0.8**59)  # a product of 59 correlations of 0.8
    np.testing.assert_allclose(np.trace(model.marginal(("x0", "x59"))), agree)
    np.testing.assert_allclose(
        np.trace(model.marginals([("x59", "x0"), ("x0", "x1")])["x59", "x0"]), agree
    )
    assert len(model.sample(100, RNG(0))) == 60


def test_a_tree_that_is_too_large_is_refused_before_it_is_built():
    schema = schema_of(*[9] * 12)
    pairs = {pair: np.zeros((9, 9)) for pair in itertools.combinations(schema, 2)}
    with pytest.raises(Refused, match="more than"):
        TreeModel.from_potentials(schema, 1.0, pairs, pairs)


def test_a_marginal_that_is_too_large_is_refused_before_it_is_built(monkeypatch):
    monkeypatch.setattr(elimination, "MAX_MARGINAL_CELLS", 100)
    model = TreeModel.from_potentials(schema_of(5, 5, 5, 5), 1.0, [], {})
    with pytest.raises(Refused, match="625 cells"):
        model.marginal(tuple("abcd"))


def test_chunks_add_up():
    model = TreeModel.from_potentials(schema_of(2, 3), 5.0, [], {})
    chunks = list(model.sample_chunks(25, RNG(0), 10))
    assert [len(chunk["a"]) for chunk in chunks] == [10, 10, 5]
    with pytest.raises(ValueError, match="at least one"):
        next(model.sample_chunks(25, RNG(0), 0))


def test_more_rows_than_a_chunk_come_in_several(monkeypatch):
    monkeypatch.setattr(tree, "MAX_ROUNDED_ROWS", 100)
    model = TreeModel.from_potentials(schema_of(2, 3), 5.0, [], {})
    assert [column.size for column in model.sample(250, RNG(0)).values()] == [250, 250]


def test_nothing_to_do_is_done():
    """No row, no column, a single code: each is a table too."""
    model = TreeModel.from_potentials(
        schema_of(2, 3, 2), 5.0, [("a", "b")], {("a", "b"): np.zeros((2, 3))}
    )
    assert [column.size for column in model.sample(0, RNG(0)).values()] == [0, 0, 0]
    nobody = np.zeros(0, np.int64)
    assert [
        column.size
        for column in model.complete({"a": nobody, "c": nobody}, RNG(0)).values()
    ] == [0, 0, 0]
    bare = TreeModel.from_potentials(Schema(columns=()), 3.0, [], {})
    assert bare.marginal(()).tolist() == 3
    assert bare.sample(5, RNG(0)) == {}
    constant = TreeModel.from_potentials(schema_of(1), 3.0, [()], {(): np.array(2.0)})
    assert constant.marginal(("a",)).tolist() == [3]
    assert constant.sample(2, RNG(0))["a"].tolist() == [0, 0]


def test_whole_rows_are_given_back():
    model = TreeModel.from_potentials(
        schema_of(2, 3), 5.0, [("a", "b")], {("a", "b"): np.zeros((2, 3))}
    )
    codes = model.complete({"b": np.array([2, 1]), "a": np.array([0, 1])}, RNG(0))
    assert {name: column.tolist() for name, column in codes.items()} == {
        "a": [0, 1],
        "b": [2, 1],
    }


def test_the_same_seed_gives_the_same_rows():
    model = TreeModel.from_potentials(
        schema_of(2, 3), 5.0, [("a", "b")], {("a", "b"): np.arange(6.0).reshape(2, 3)}
    )
    first, second = (model.sample(50, RNG(4)) for _ in range(2))
    assert all(np.array_equal(first[name], second[name]) for name in first)


# --- parts
# -----------------------------------------------------------------------------------------------------------------------------


@given(models())
def test_parts_make_the_same_model(model):
    facts, arrays = model.to_parts()
    assert all(np.isfinite(array).all() for array in arrays.values())
    again = from_parts(model.schema, facts, arrays)
    assert isinstance(again, TreeModel)
    first, second = model.sample(30, RNG(1)), again.sample(30, RNG(1))
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_zeros_survive_the_journey():
    model = TreeModel.from_potentials(MARRIED, 10.0, [], {})
    again = from_parts(MARRIED, *model.to_parts())
    np.testing.assert_array_equal(
        again.marginal(("age", "years")), model.marginal(("age", "years"))
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"total": -1.0}, "total"),
        ({"cliques": "ab"}, "no list"),
        ({"cliques": [["a", "z"]]}, "not the schema's"),
        ({"cliques": [["a", 1]]}, "not the schema's"),
        ({"cliques": [["a", "a"]]}, "twice"),
        ({"cliques": [["a", "b"], ["a", "b"]]}, "twice"),
        ({"cliques": []}, "arrays"),
        ({"extra": 1}, "facts"),
        ({"potential0": np.zeros((3, 2))}, "shape"),
        ({"potential0": np.zeros((2, 3), np.int64)}, "type"),
        ({"potential0": np.full((2, 3), np.nan)}, "no number"),
        (
            {"potential0": np.full((2, 3), tree_potentials.STORED_MINUS_INFINITY)},
            "no model",
        ),
        ({"potential1": np.zeros((2, 3))}, "arrays"),
    ],
)
def test_parts_that_are_not_believable_are_refused(change, words):
    schema = schema_of(2, 3)
    facts, arrays = TreeModel.from_potentials(
        schema, 5.0, [("a", "b")], {("a", "b"): np.zeros((2, 3))}
    ).to_parts()
    for name, value in change.items():
        (arrays if name.startswith("potential") else facts)[name] = value
    with pytest.raises(ReleaseError, match=words):
        from_parts(schema, facts, arrays)


def test_parts_of_a_tree_too_large_are_refused():
    schema = schema_of(*[9] * 12)
    pairs = list(itertools.combinations(schema, 2))
    facts = {"kind": "tree", "total": 1.0, "cliques": [list(pair) for pair in pairs]}
    with pytest.raises(ReleaseError, match="more than"):
        from_parts(
            schema,
            facts,
            {f"potential{i}": np.zeros((9, 9)) for i in range(len(pairs))},
        )


def test_what_rounding_leaves_is_told_where_rows_are_rounded_alone():
    """Against many samples: squared errors of counts are no larger than told, and a
    tenth at least, in nodes, columns and components.
    """
    schema = schema_of(3, 4, 2, 3, 5)
    a, b, c, d, e = schema
    rng = RNG(4)
    cliques = [(a, b, c), (c, d), (e,)]
    potentials = {clique: rng.normal(0, 1, schema.sizes(clique)) for clique in cliques}
    model = TreeModel.from_potentials(schema, 333.0, cliques, potentials)
    samples = [model.sample(333, RNG(seed)) for seed in range(300)]
    for clique in (
        (a,),
        (b,),
        (c,),
        (d,),
        (e,),
        (a, b),
        (c, b),
        (c, a),
        (d, c),
        (b, a, c),
    ):
        told = model.rounding_variance(clique)
        assert told is not None
        table = model.marginal(clique)
        assert told.shape == table.shape
        square = np.mean(
            [(counted(rows, clique, table.shape) - table) ** 2 for rows in samples],
            axis=0,
        )
        assert 0.1 * told.sum() < square.sum() < 1.2 * told.sum(), clique
    assert model.rounding_variance((a, d)) is None  # no node holds it
    few = TreeModel.from_potentials(schema, 40.0, cliques, potentials)
    assert few.rounding_variance((a, b)) is not None  # so few that nothing is refined
    crowded = TreeModel.from_potentials(
        schema_of(9, 9), 100.0, [("a", "b")], {("a", "b"): np.zeros((9, 9))}
    )
    assert crowded.rounding_variance(("a", "b")) is None  # rows are refined there
