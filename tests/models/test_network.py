"""Bayesian networks: sampled by rounding, marginals and completions against brute
force, and parts that are not believed.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

from kit.models.build import listed, measured, schema_of, surprising
from understudy.errors import Refused, ReleaseError
from understudy.models import ConditionalModel, network
from understudy.models.network import NetworkModel
from understudy.models.network_nodes import NetworkNode
from understudy.schema import Boolean, Categorical, Schema, parse_predicate

ADULTS = Schema(
    columns=(
        Categorical(name="sex", values=("female", "male"), nullable=False),
        Categorical(
            name="age", values=("to 30", "30 to 50", "above 50"), nullable=False
        ),
        Categorical(name="edu", values=("college", "non-college"), nullable=False),
        Categorical(name="income", values=("to 50K", "above 50K"), nullable=False),
    )
)


def two_parents() -> NetworkModel:
    """The printed network with at most two parents; its row for men sums to 1.09, so it
    is scaled to one.
    """
    men = np.array([0.29, 0.59, 0.21])
    return NetworkModel(
        ADULTS,
        10_000.0,
        (
            NetworkNode("sex", (), np.array([0.33, 0.67])),
            NetworkNode(
                "age", ("sex",), np.array([[0.40, 0.43, 0.17], men / men.sum()])
            ),
            NetworkNode(
                "edu",
                ("age", "sex"),
                np.array(
                    [
                        [[0.18, 0.82], [0.16, 0.84]],
                        [[0.25, 0.75], [0.28, 0.72]],
                        [[0.17, 0.83], [0.25, 0.75]],
                    ]
                ),
            ),
            NetworkNode(
                "income",
                ("edu", "age"),
                np.array(
                    [
                        [[0.83, 0.17], [0.45, 0.55], [0.41, 0.59]],
                        [[0.96, 0.04], [0.76, 0.24], [0.75, 0.25]],
                    ]
                ),
            ),
        ),
    )


def one_parent() -> NetworkModel:
    """The same columns with one parent each: what the larger network says of sex-age,
    age-edu and edu-income.
    """
    whole = joint(two_parents())
    pairs = {
        "age": ("sex", whole.sum(axis=(2, 3))),
        "edu": ("age", whole.sum(axis=(0, 3))),
        "income": ("edu", whole.sum(axis=(0, 1))),
    }
    nodes = [
        NetworkNode(name, (parent,), t / t.sum(axis=1, keepdims=True))
        for name, (parent, t) in pairs.items()
    ]
    return NetworkModel(
        ADULTS, 10_000.0, (NetworkNode("sex", (), np.array([0.33, 0.67])), *nodes)
    )


def joint(model: NetworkModel) -> np.ndarray:
    """Every cell, one by one: the product of the nodes' shares."""
    names = list(model.schema)
    result = np.ones(model.schema.sizes(tuple(names)))
    for cell in np.ndindex(result.shape):
        at = dict(zip(names, cell, strict=True))
        for node in model.nodes:
            result[cell] *= node.shares[
                (*(at[p] for p in node.parents), at[node.column])
            ]
    return result


def random_network(seed: int) -> NetworkModel:
    rng = np.random.default_rng(seed)
    schema = schema_of(*rng.integers(2, 4, 5))
    placed: list[str] = []
    nodes = []
    for name in rng.permutation(list(schema)).tolist():
        parents = (
            tuple(rng.permutation(placed)[: rng.integers(0, 3)].tolist())
            if placed
            else ()
        )
        shares = rng.dirichlet(
            np.full(schema.sizes((name,))[0], 0.7), size=schema.sizes(parents)
        )
        nodes.append(NetworkNode(name, parents, shares))
        placed.append(name)
    return NetworkModel(schema, 1000.0, tuple(nodes))


@pytest.mark.parametrize("build", [one_parent, two_parents])
def test_printed_networks_are_sampled_by_rounding(build):
    """In every combination of parents each value has the rows it should have, or one
    more or less.
    """
    model = build()
    rows = model.sample(100_000, np.random.default_rng(1))
    for node in model.nodes:
        clique = (*node.parents, node.column)
        counts = np.zeros(ADULTS.sizes(clique))
        np.add.at(counts, tuple(rows[name] for name in clique), 1)
        expected = counts.sum(axis=-1, keepdims=True) * node.shares
        assert np.all(np.abs(counts - expected) < 1 + 1e-6)
    assert np.bincount(rows["sex"]).tolist() == [33_000, 67_000]


def test_one_parent_keeps_its_pairs_and_loses_others():
    small, large = one_parent(), two_parents()
    for pair in (("sex", "age"), ("age", "edu"), ("edu", "income")):
        assert small.marginal(pair) == pytest.approx(large.marginal(pair))
    assert (
        np.abs(
            small.marginal(("age", "income")) - large.marginal(("age", "income"))
        ).sum()
        > 500
    )


@pytest.mark.parametrize("seed", range(12))
def test_marginals_are_those_of_brute_force(seed):
    model = random_network(seed)
    whole = joint(model)
    names = list(model.schema)
    rng = np.random.default_rng(seed)
    for count in range(6):
        clique = tuple(rng.permutation(names)[:count].tolist())
        kept = [n for n in names if n in clique]
        rest = tuple(i for i, n in enumerate(names) if n not in clique)
        expected = (
            whole.sum(axis=rest).transpose([kept.index(n) for n in clique]) * 1000
        )
        assert model.marginal(clique) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_completed_rows_follow_the_conditional_distribution(seed):
    """Given two columns, the other three against brute force; forward sampling that
    forgets what is given is told apart.
    """
    model = random_network(seed)
    whole = joint(model)
    names = list(model.schema)
    given = [model.nodes[-1].column, model.nodes[2].column]
    likely = np.unravel_index(whole.argmax(), whole.shape)
    codes = {name: np.full(20_000, likely[names.index(name)]) for name in given}
    rows = model.complete(codes, np.random.default_rng(seed))
    slices = tuple(
        likely[i] if n in given else slice(None) for i, n in enumerate(names)
    )
    chance = whole[slices] / whole[slices].sum()
    rest = [n for n in names if n not in given]

    def strange(found: dict[str, np.ndarray]) -> bool:
        counts = np.zeros(chance.shape, int)
        np.add.at(counts, tuple(found[n] for n in rest), 1)
        tests = [
            (int(c), float(p))
            for c, p in zip(counts.ravel(), chance.ravel(), strict=True)
        ]
        return any(surprising(c, 20_000, p, tests=chance.size) for c, p in tests)

    assert all(np.array_equal(rows[name], codes[name]) for name in given)
    assert not strange(rows)
    forgetful = {**model.sample(20_000, np.random.default_rng(seed)), **codes}
    ties = np.abs(chance - whole.sum(axis=tuple(names.index(n) for n in given))).max()
    assert strange(forgetful) == (ties > 0.03) or 0.005 < ties < 0.06


def test_completing_from_the_effect_knows_the_cause():
    """Of those with the high income, so many have a college degree as Bayes' rule says."""
    model = two_parents()
    whole = joint(model)
    rows = model.complete({"income": np.ones(50_000, int)}, np.random.default_rng(3))
    rich = whole[..., 1].sum(axis=(0, 1))
    assert np.bincount(rows["edu"]) / 50_000 == pytest.approx(
        rich / rich.sum(), abs=1e-3
    )


def test_what_cannot_be_is_completed_all_the_same():
    """A given code without any mass: the other columns take their overall distribution."""
    schema = schema_of(2, 2)
    nodes = (
        NetworkNode("a", (), np.array([0.25, 0.75])),
        NetworkNode("b", ("a",), np.array([[1.0, 0.0], [1.0, 0.0]])),
    )
    rows = NetworkModel(schema, 8.0, nodes).complete(
        {"b": np.ones(8, int)}, np.random.default_rng(0)
    )
    assert np.bincount(rows["a"]).tolist() == [2, 6]


def test_many_parents_are_beyond_exact_sums(monkeypatch):
    """Where a table would be too large, marginals come from one large rounded sample,
    always the same, and completing is refused.
    """
    model = random_network(3)
    exact = {
        clique: model.marginal(clique)
        for clique in [("a",), ("b", "d"), ("c", "a", "e")]
    }
    monkeypatch.setattr(network, "MAX_ELIMINATION_CELLS", 1)
    for clique, table in exact.items():
        found = model.marginal(clique)
        assert found.sum() == pytest.approx(1000)
        assert np.array_equal(found, model.marginal(clique))
        assert np.abs(found - table).sum() < 5
    child = next(n for n in model.nodes if n.parents)
    with pytest.raises(Refused, match="cells"):
        model.complete({child.column: np.zeros(3, int)}, np.random.default_rng(0))


def test_only_ancestors_are_summed_over():
    """A star of sixty children of one parent: any pair is a table of eight cells, not
    of 2⁶¹.
    """
    schema = schema_of(*[2] * 26)
    half = np.array([[0.5, 0.5], [0.2, 0.8]])
    nodes = (
        NetworkNode("a", (), np.array([0.5, 0.5])),
        *(NetworkNode(n, ("a",), half) for n in list(schema)[1:]),
    )
    model = NetworkModel(schema, 100.0, nodes)
    assert model.marginal(("b", "z"))[1, 1] == pytest.approx(50 * (0.25 + 0.64))


@pytest.mark.parametrize("bits", [24, 64])
def test_rows_are_shuffled_inside_their_groups(bits, monkeypatch):
    """Every row of a group is equally likely to come first, whichever way they are
    sorted.
    """
    monkeypatch.setattr(network, "MIN_SHUFFLE_BITS", bits)
    member = np.array([2, 0, 2, 2, 0, 2])
    rng = np.random.default_rng(1)
    firsts = np.zeros(6, int)
    for _ in range(4000):
        order = network.shuffle_by_group(member, rng)
        assert sorted(order.tolist()) == list(range(6))
        assert member[order].tolist() == [0, 0, 2, 2, 2, 2]
        firsts[order[0]] += 1
        firsts[order[2]] += 1
    assert not any(
        surprising(int(firsts[i]), 4000, 1 / 2 if i in (1, 4) else 1 / 4, tests=12)
        for i in range(6)
    )
    assert surprising(4000, 4000, 1 / 2)


def test_no_rows_and_one_row():
    model = two_parents()
    assert all(
        codes.size == 0 for codes in model.sample(0, np.random.default_rng(0)).values()
    )
    assert all(
        codes.size == 1 for codes in model.sample(1, np.random.default_rng(0)).values()
    )
    assert all(
        codes.size == 0
        for codes in model.complete(
            {"age": np.zeros(0, int)}, np.random.default_rng(0)
        ).values()
    )
    assert isinstance(model, ConditionalModel)


def test_a_network_is_spelled_out_by_its_tables():
    """First columns are children. `a` and `b` lie inside the second table and are
    placed from it when they are met.
    """
    looks = listed(
        measured(("c", "b"), [[30, 20], [20, 30]]),
        measured(("d", "a", "b"), [[[10, 10], [15, 15]], [[10, 10], [15, 15]]]),
    )
    model = NetworkModel.from_measurements(schema_of(2, 2, 2, 2, 2), looks)
    assert [(n.column, n.parents) for n in model.nodes] == [
        ("b", ()),
        ("c", ("b",)),
        ("a", ("b",)),
        ("d", ("a", "b")),
        ("e", ()),
    ]
    assert model.marginal(("e",)) == pytest.approx([50, 50])
    assert model.marginal(("d", "a", "b"))[1, 1, 1] == pytest.approx(15)


def test_tables_without_noise_give_the_truth_back():
    whole = two_parents()
    cliques = [("age", "sex"), ("edu", "age", "sex"), ("income", "edu", "age")]
    looks = listed(*(measured(c, np.rint(whole.marginal(c) * 1000)) for c in cliques))
    model = NetworkModel.from_measurements(ADULTS, looks)
    assert joint(model) == pytest.approx(joint(whole), abs=1e-6)


@pytest.mark.parametrize("clip", [False, True])
def test_negative_counts_and_empty_parents(clip):
    """A parent's value nobody has: the child takes its overall shares there."""
    looks = listed(
        measured(("b", "a"), [[60, -9], [20, -8]]), measured(("a",), [80, -9])
    )
    model = NetworkModel.from_measurements(schema_of(2, 2), looks, clip=clip)
    b = next(n for n in model.nodes if n.column == "b")
    assert np.all(b.shares >= 0)
    assert b.shares[1] == pytest.approx(b.shares[0])


def test_without_any_mass_the_network_is_uniform():
    model = NetworkModel.from_measurements(
        schema_of(2, 4), listed(measured(("b", "a"), [[-1, -2]] * 4))
    )
    assert model.total == 0
    assert model.shares(("b",)) == pytest.approx([0.25] * 4)


def test_impossible_cells_have_no_share():
    schema = Schema(
        columns=(
            Boolean(name="male", nullable=False),
            Boolean(name="pregnant", nullable=False),
        ),
        impossible=(parse_predicate("male = true and pregnant = true"),),
    )
    looks = listed(measured(("pregnant", "male"), [[40, 50], [10, 0]]))
    model = NetworkModel.from_measurements(schema, looks)
    assert model.marginal(("male", "pregnant"))[1, 1] == 0
    rows = model.sample(1000, np.random.default_rng(0))
    assert not np.any((rows["male"] == 1) & (rows["pregnant"] == 1))


def parts():
    facts, arrays = two_parents().to_parts()
    return copy.deepcopy(facts), {name: array.copy() for name, array in arrays.items()}


def test_parts_come_back():
    facts, arrays = parts()
    back = NetworkModel.from_parts(ADULTS, facts, arrays)
    assert joint(back) == pytest.approx(joint(two_parents()), abs=0)


def test_a_network_out_of_order_is_no_model():
    model = two_parents()
    with pytest.raises(AssertionError, match="parents"):
        replace(model, nodes=model.nodes[::-1])


HOSTILE = {
    "no list": lambda f, a: f.update(nodes="abc"),
    "another column": lambda f, a: f["nodes"][0].__setitem__(0, "name"),
    "a column twice": lambda f, a: f["nodes"][3].__setitem__(0, "sex"),
    "a column left out": lambda f, a: (f["nodes"].pop(), a.pop("node3")),
    "a child before its parent": lambda f, a: f["nodes"].reverse(),
    "its own parent": lambda f, a: f["nodes"][0].__setitem__(1, ["sex"]),
    "a parent twice": lambda f, a: f["nodes"][2].__setitem__(1, ["age", "age"]),
    "a parent that is no name": lambda f, a: f["nodes"][1].__setitem__(1, [["sex"]]),
    "an entry too short": lambda f, a: f["nodes"][1].pop(),
    "an array too few": lambda f, a: a.pop("node0"),
    "an array too many": lambda f, a: a.update(extra=np.zeros(1)),
    "another shape": lambda f, a: a.update(node1=np.full((3, 2), 0.5)),
    "another type": lambda f, a: a.update(node0=np.array([0, 1])),
    "not a number": lambda f, a: a.update(node0=np.array([np.nan, 1.0])),
    "negative": lambda f, a: a.update(node0=np.array([-0.5, 1.5])),
    "not summing to one": lambda f, a: a.update(node0=np.array([0.5, 0.6])),
    "no total": lambda f, a: f.update(total=float("inf")),
    "an extra fact": lambda f, a: f.update(more=1),
}


@pytest.mark.parametrize("damage", HOSTILE)
def test_damaged_parts_are_not_believed(damage):
    facts, arrays = parts()
    HOSTILE[damage](facts, arrays)
    with pytest.raises(ReleaseError):
        NetworkModel.from_parts(ADULTS, facts, arrays)
