"""Steps from a simple model to a rich one."""

from __future__ import annotations

import numpy as np

from understudy.measurements import Centring, Identity
from understudy.models.estimates.loss_terms import Term
from understudy.models.fitting.staged import fit_in_stages, split_into_stages
from understudy.models.inference.calibration import Calibration
from understudy.models.inference.junction_tree import JunctionTree

SIZES = dict.fromkeys("abc", 4)
COLUMNS = {name: np.full(4, 2500.0) for name in "abc"}
N = 10_000.0


def chained() -> np.ndarray:
    """a and b, b and c are alike in seven rows of ten; a and c only through b."""
    like = 0.7 * np.eye(4) + 0.3 / 4
    return N / 4 * np.einsum("ab,bc->abc", like, like)


def noisy(
    counts: np.ndarray,
    clique: tuple[str, ...],
    deviation: float,
    rng: np.random.Generator,
) -> Term:
    rest = tuple(i for i, name in enumerate("abc") if name not in clique)
    table = counts.sum(axis=rest)
    return Term(
        clique, (Identity(4),) * len(clique), rng.normal(table, deviation), deviation**2
    )


def fitted(terms: list[Term]) -> np.ndarray:
    cliques = list(
        dict.fromkeys(
            [*((n,) for n in SIZES), ("a", "b", "c"), *(t.clique for t in terms)]
        )
    )
    oracle = Calibration(JunctionTree.of(cliques, SIZES), cliques, SIZES)
    base = {(name,): np.log(column / N) for name, column in COLUMNS.items()}
    found = fit_in_stages(oracle, terms, COLUMNS, N, base=base, warm={}, tolerance=1e-3)
    return N * oracle.run(found.potentials)[0]["a", "b", "c"]


def test_the_forest_comes_first():
    terms = [
        noisy(chained(), clique, 10.0, np.random.default_rng(0))
        for clique in (("a", "c"), ("a", "b"), ("b", "c"))
    ]
    assert [
        [t.clique for t in step] for step in split_into_stages(terms, COLUMNS, N)
    ] == [
        [("a", "b"), ("b", "c")],
        [("a", "c")],
    ]


def test_where_noise_hides_the_pairs_no_forest_comes_first():
    """At a noise of three times all rows which pairs are strong is chance alone."""
    for deviation, stages in ((10.0, 2), (3 * N, 1)):
        rng = np.random.default_rng(7)
        terms = [
            noisy(chained(), clique, deviation, rng)
            for clique in (("a", "b"), ("b", "c"), ("a", "c"))
        ]
        assert len(split_into_stages(terms, COLUMNS, N)) == stages


def test_noise_on_what_the_forest_explains_is_not_believed():
    """A very noisy look at a and c, which b explains, hardly moves the model; by itself
    it would be taken for strong.
    """
    off = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        sharp = [
            noisy(chained(), clique, 10.0, rng) for clique in (("a", "b"), ("b", "c"))
        ]
        blurred = noisy(chained(), ("a", "c"), 150.0, rng)
        truth = chained().sum(axis=1)
        off.append(
            [
                np.abs(blurred.values - truth).sum(),
                np.abs(fitted([*sharp, blurred]).sum(axis=1) - truth).sum(),
                np.abs(fitted(sharp).sum(axis=1) - truth).sum(),
            ]
        )
    raw, with_it, without = np.mean(off, axis=0)
    assert with_it < 0.3 * raw
    assert with_it < without + 0.2 * raw


def test_a_triple_says_what_its_pairs_do_not():
    parity = (
        np.fromfunction(lambda a, b, c: (a + b + c) % 4 == 0, (4, 4, 4))
        * (0.8 * N / 16)
        + 0.2 * N / 64
    )
    rng = np.random.default_rng(1)
    pairs = [
        noisy(parity, clique, 10.0, rng)
        for clique in (("a", "b"), ("b", "c"), ("a", "c"))
    ]
    triple = noisy(parity, ("a", "b", "c"), 10.0, rng)
    assert np.abs(fitted(pairs) - parity).sum() > 0.5 * N
    assert np.abs(fitted([*pairs, triple]) - parity).sum() < 0.1 * N


def test_differences_say_as_much_as_counts():
    """Of two values, differences measured beside columns that are known lead to the
    model that counts lead to.
    """
    sizes, total = {"a": 2, "b": 4}, 10_000.0
    truth = np.array([[3000.0, 1000.0, 1500.0, 500.0], [500.0, 500.0, 1000.0, 2000.0]])
    columns = {"a": truth.sum(axis=1), "b": truth.sum(axis=0)}
    cliques = [("a",), ("b",), ("a", "b")]
    base = {(name,): np.log(column / total) for name, column in columns.items()}
    alone = [
        Term((name,), (Identity(column.size),), column, 1.0)
        for name, column in columns.items()
    ]
    found = []
    for maps in ((Identity(2), Identity(4)), (Centring(2), Identity(4))):
        whole = Term(("a", "b"), maps, np.zeros((2, 4)), 4.0)
        asked = Term(("a", "b"), maps, whole.answer(truth), 4.0)
        oracle = Calibration(JunctionTree.of(cliques, sizes), cliques, sizes)
        fit = fit_in_stages(
            oracle, [*alone, asked], columns, total, base=base, warm={}, tolerance=1e-4
        )
        found.append(total * oracle.run(fit.potentials)[0]["a", "b"])
    assert np.abs(found[0] - truth).max() < 5
    assert np.abs(found[1] - truth).max() < 5


def test_a_pair_of_differences_may_be_part_of_the_forest():
    columns = {
        "a": np.full(2, 5000.0),
        "b": np.full(4, 2500.0),
        "c": np.full(4, 2500.0),
    }
    far = np.multiply.outer([1.0, -1.0], [800.0, -800.0, 400.0, -400.0])
    differences = Term(("a", "b"), (Centring(2), Identity(4)), 2 * far, 100.0)
    weak = Term(
        ("b", "c"), (Identity(4), Identity(4)), np.full((4, 4), 625.0) + 5, 100.0
    )
    first, *_ = split_into_stages([weak, differences], columns, N)
    assert differences in first


def test_columns_that_are_known_well_do_not_end_a_fit_before_pairs_and_triples_are_heard():
    """Rows are few and columns weigh hundreds of times as much as pairs: by their noise
    any pair would do.
    """
    rng = np.random.default_rng(5)
    rows = (
        rng.multinomial(200, rng.dirichlet(np.full(64, 0.3)))
        .reshape(4, 4, 4)
        .astype(float)
    )
    columns = {
        name: rows.sum(axis=tuple({0, 1, 2} - {i})) for i, name in enumerate("abc")
    }
    cliques = [
        ("a",),
        ("b",),
        ("c",),
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
        ("a", "b", "c"),
    ]
    terms = [noisy(rows, clique, 1.5, rng) for clique in cliques]
    oracle = Calibration(JunctionTree.of(cliques, SIZES), cliques, SIZES)
    base = {
        (name,): np.log(np.maximum(column, 0.5) / 200)
        for name, column in columns.items()
    }

    def loose(tolerance: float) -> np.ndarray:
        found = fit_in_stages(
            oracle, terms, columns, 200.0, base=base, warm={}, tolerance=tolerance
        )
        return 200 * oracle.run(found.potentials)[0]["a", "b", "c"]

    usual, best = loose(0.03), loose(1e-6)
    assert np.abs(usual - best).sum() < 0.1 * np.abs(best - rows).sum()
