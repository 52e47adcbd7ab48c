"""Stability histograms: thresholds against their table, privacy by exact enumeration,
and broken twins that fail it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp

import numpy as np
import pytest

from kit.curator.contexts import context_of, no_noise
from kit.privacy.runs import answer_constantly
from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator
from understudy.curator.mechanisms.sparse_histogram import (
    LABEL_OVERHEAD_BYTES,
    laplace_threshold,
    learn_labels,
    measure_sparse_cells,
    pack_labels,
    threshold,
    unpack_labels,
)
from understudy.errors import Refused
from understudy.noise.tails import tails_of_law
from understudy.schema import (
    Boolean,
    Categorical,
    Identifier,
    Schema,
    Unit,
    parse_predicate,
)

MILLIONTH = Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("epsilon", "tightest"), [("1/2", 53), ("1", 27), ("2", 14), ("4", 7)]
)
def test_thresholds_are_the_smallest_that_hold(epsilon, tightest):
    assert (
        laplace_threshold(
            epsilon=Fraction(epsilon), delta=MILLIONTH, neighbours=Neighbours.REPLACE
        )
        == tightest
    )


def shown(count: int, at: int, t: float) -> float:
    """Exact chance that a cell of this count shows: c + G > at."""
    k = at - count
    return t ** (k + 1) / (1 + t) if k >= 0 else 1 - t ** (-k) / (1 + t)


def pmf(count: int, at: int, t: float, upto: int) -> dict[int | None, float]:
    """What one cell shows: a noisy count above the threshold, or nothing; counts beyond
    `upto` are pooled, which can only hide a breach.
    """
    if count == 0:
        return {None: 1.0}
    out: dict[int | None, float] = {None: 1 - shown(count, at, t)}
    for y in range(at + 1, upto):
        out[y] = (1 - t) / (1 + t) * t ** abs(y - count)
    out[upto] = shown(count, upto - 1, t)
    return out


def worst_delta(
    epsilon: float,
    s: float,
    at: int,
    relation: Neighbours,
    cells_: int = 3,
    rows: int = 4,
) -> float:
    """The largest δ that any small neighbouring pair needs at ε, by exact summation
    over the product of cells.
    """
    t, worst = exp(-s), 0.0
    for n in range(rows):
        for dataset in combinations_with_replacement(range(cells_), n):
            for a in range(cells_):
                for b in (None, *range(cells_)):
                    if (b is None) != (relation is Neighbours.ADD_REMOVE) or a == b:
                        continue
                    here = np.bincount([*dataset, a], minlength=cells_)
                    there = np.bincount(
                        [*dataset, *([] if b is None else [b])], minlength=cells_
                    )
                    for x, y in ((here, there), (there, here)):
                        worst = max(worst, _divergence(epsilon, x, y, at, t))
    return worst


def _divergence(epsilon: float, x, y, at: int, t: float) -> float:
    upto = at + 12
    joint = {(): (1.0, 1.0)}
    for i in range(len(x)):
        if x[i] == y[i]:
            continue  # equal cells cancel
        p, q = pmf(int(x[i]), at, t, upto), pmf(int(y[i]), at, t, upto)
        joint = {
            (*key, o): (u * p.get(o, 0.0), v * q.get(o, 0.0))
            for key, (u, v) in joint.items()
            for o in {*p, *q}
        }
    return sum(max(0.0, u - exp(epsilon) * v) for u, v in joint.values())


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_every_small_pair_of_neighbours_is_within_epsilon_delta(epsilon, relation):
    delta = Fraction(1, 100)
    at = laplace_threshold(epsilon=Fraction(epsilon), delta=delta, neighbours=relation)
    s = epsilon if relation is Neighbours.ADD_REMOVE else epsilon / 2
    assert worst_delta(epsilon, s, at, relation) <= float(delta) * (1 + 1e-9)


@pytest.mark.parametrize("relation", Neighbours)
def test_a_threshold_one_lower_would_not_hold(relation):
    delta = Fraction(1, 100)
    at = laplace_threshold(epsilon=Fraction(1), delta=delta, neighbours=relation)
    s = 1.0 if relation is Neighbours.ADD_REMOVE else 0.5
    assert worst_delta(1.0, s, at - 1, relation) > float(delta)


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize("max_rows", [1, 3, 10])
def test_a_units_own_cells_show_with_at_most_delta(law, max_rows):
    """Every way a unit can spread its rows over new cells, by the exact tails."""
    scale = Fraction(4)
    at = threshold(law=law, scale=scale, delta=MILLIONTH, max_rows=max_rows)
    chance = [Fraction(0)] + [
        Fraction(tails_of_law(law, scale).tail(at - c, 128)[1], 2**128)
        for c in range(1, max_rows + 1)
    ]

    def partitions(n: int, most: int):
        if n == 0:
            yield []
        for c in range(min(n, most), 0, -1):
            yield from ([c, *rest] for rest in partitions(n - c, c))

    worst = max(sum(chance[c] for c in p) for p in partitions(max_rows, max_rows))
    assert worst <= MILLIONTH
    lower = threshold(law=law, scale=scale, delta=MILLIONTH, max_rows=max_rows) - 1
    again = [
        Fraction(tails_of_law(law, scale).tail(lower - c, 128)[0], 2**128)
        for c in range(1, max_rows + 1)
    ]
    assert max((max_rows // c) * p for c, p in enumerate(again, 1)) > MILLIONTH


PLACES = Schema(columns=(Categorical(name="place"),))


@pytest.mark.parametrize("accounting", Accounting)
def test_common_labels_show_and_rare_ones_do_not(accounting):
    rows = [
        {"place": p}
        for p in ["Aarhus"] * 2000 + ["Berlin"] * 2000 + ["a person's own words"]
    ]
    context = context_of(rows, PLACES, accounting=accounting)
    found, bought = learn_labels(
        context,
        "place",
        amount=context.payments.amount_left,
        delta=context.payments.delta_left,
    )
    assert found == ("Aarhus", "Berlin")
    assert (bought.values > bought.threshold).all()


def test_a_long_label_among_many_short_ones_makes_no_large_answer():
    """As an array of texts each would be as wide as the widest: 1,000 labels, one of
    1,000 characters, took 4 MB; 262,000 took 1 GB.
    """
    packed = pack_labels(["x" * 1000, *(f"label {i}" for i in range(1000))])
    assert sum(array.nbytes for array in packed.values()) < 20_000
    assert unpack_labels(packed)[:2] == ("x" * 1000, "label 0")


def test_labels_that_an_earlier_version_stored_are_read():
    assert unpack_labels(
        {"labels": np.array(["Aarhus", "Berlin"]), "counts": np.array([3, 4])}
    ) == ("Aarhus", "Berlin")


def test_what_shows_fits_by_raising_the_threshold():
    rows = [{"place": f"place {i}"} for i in range(10) for _ in range(1000 * (i + 1))]
    context = context_of(rows, PLACES)
    size = LABEL_OVERHEAD_BYTES + len('"place 0"')
    found, bought = learn_labels(
        context,
        "place",
        amount=context.payments.amount_left,
        delta=context.payments.delta_left,
        most_bytes=3 * size + size // 2,
    )
    assert found == ("place 7", "place 8", "place 9")
    assert 6500 < bought.threshold < 7500  # the first that did not fit
    assert (bought.values > bought.threshold).all()


def test_without_delta_it_is_refused_with_the_remedy_and_free():
    context = context_of([{"place": "x"}], PLACES, accounting=Accounting.PURE, delta=0)
    with pytest.raises(Refused, match=r"place.*Declare the values.*Nothing was spent"):
        learn_labels(
            context,
            "place",
            amount=context.payments.amount_left,
            delta=context.payments.delta_left,
        )
    assert context.payments.amount_left == 1


def test_gaussian_runs_pay_for_both_directions():
    """δ buys δ₀ = δ/(1 + e^ε): the threshold must be that of the smaller chance."""
    context = context_of([], PLACES, accounting=Accounting.GDP, epsilon=3)
    _, bought = learn_labels(
        context, "place", amount=context.payments.amount_left, delta=Fraction(1, 10**7)
    )
    plain = threshold(law=bought.law, scale=bought.scale, delta=Fraction(1, 10**7))
    needed = threshold(
        law=bought.law, scale=bought.scale, delta=Fraction(1, 10**7) / (1 + 20)
    )
    assert bought.threshold >= needed > plain


def test_a_huge_key_domain_costs_only_what_occurs():
    """10⁹ possible cells, two thousand rows."""
    columns = tuple(
        Categorical(name=f"c{i}", values=tuple(map(str, range(1000))), nullable=False)
        for i in range(3)
    )
    schema = Schema(columns=columns)
    rows = [{"c0": "7", "c1": "8", "c2": "9"}] * 2000 + [
        {"c0": str(i), "c1": "0", "c2": "0"} for i in range(500)
    ]
    context = context_of(rows, schema)
    found = measure_sparse_cells(
        context,
        ("c0", "c1", "c2"),
        amount=context.payments.amount_left,
        delta=context.payments.delta_left,
    )
    # Each of the five hundred lonely rows shows once in several million runs; that two
    # do in one run happens less than once in 10⁸.
    assert [7, 8, 9] in found.codes.tolist()
    assert len(found.codes) <= 2


def test_bounded_units_raise_scale_and_threshold():
    schema = Schema(
        columns=(Identifier(name="id"), Categorical(name="place")),
        unit=Unit(id="id", max_rows=5),
    )
    found = []
    for described in (PLACES, schema):
        context = context_of([], described, noise=no_noise)
        found.append(
            learn_labels(
                context,
                "place",
                amount=context.payments.amount_left,
                delta=context.payments.delta_left,
            )[1]
        )
    single, five = found
    assert abs(five.scale / single.scale - 5) < Fraction(1, 1000)
    assert five.threshold > 4 * single.threshold


@pytest.mark.parametrize("epsilon", [1, 100, 1000])
def test_a_large_epsilon_ends_and_still_pays_e_to_the_epsilon(epsilon):
    """δ₀ = δ/(1 + e^ε) may be far below what a float can hold."""
    context = context_of([], PLACES, epsilon=epsilon)
    _, bought = learn_labels(
        context, "place", amount=context.payments.amount_left, delta=MILLIONTH / 2
    )
    shows = Fraction(
        tails_of_law(bought.law, bought.scale).tail(bought.threshold - 1, 4096)[0],
        2**4096,
    )
    assert shows * Fraction(271, 100) ** epsilon < MILLIONTH


def test_an_epsilon_without_a_price_is_refused_and_free():
    context = context_of([], PLACES, epsilon=5000)
    before = context.payments.amount_left
    with pytest.raises(Refused, match=r"ε = 1,000.*Nothing was spent"):
        learn_labels(context, "place", amount=before, delta=MILLIONTH / 2)
    assert context.payments.amount_left == before


def test_the_bound_for_wide_discrete_gaussian_noise_is_no_lower_than_its_tail():
    scale, delta = Fraction(1001), Fraction(1, 1000)
    at = threshold(law=Law.DISCRETE_GAUSSIAN, scale=scale, delta=delta)
    assert (
        Fraction(tails_of_law(Law.DISCRETE_GAUSSIAN, scale).tail(at - 1, 64)[1], 2**64)
        <= delta
    )


IMPOSSIBLE = Schema(
    columns=(Boolean(name="male"), Boolean(name="pregnant"), Boolean(name="smoker")),
    impossible=(parse_predicate("male = true and pregnant = true"),),
)
HELD = [
    *[{"male": True, "pregnant": True, "smoker": False}] * 5000,
    *[{"male": True, "pregnant": False, "smoker": True}] * 3000,
    *[{"male": False, "pregnant": True, "smoker": None}] * 2000,
]


@pytest.mark.parametrize(
    "clique", [("male", "pregnant", "smoker"), ("pregnant", "male")], ids=len
)
def test_cells_that_are_declared_impossible_never_show(clique):
    """However many rows a mistake put there; and the others show as they did."""
    context = context_of(HELD, IMPOSSIBLE, noise=no_noise)
    found = Curator(context, IMPOSSIBLE).sparse(clique, share=1).sparse[0]
    assert sorted(found.values.tolist()) == [2000, 3000]
    shown = {
        tuple(dict(zip(clique, cell, strict=True))[n] for n in ("male", "pregnant"))
        for cell in found.codes.tolist()
    }
    assert shown == {(1, 0), (0, 1)}


def test_what_a_smaller_table_cannot_tell_is_left_in():
    """Every man shows in the table of men alone, also those of impossible rows."""
    context = context_of(HELD, IMPOSSIBLE, noise=no_noise)
    assert sorted(
        Curator(context, IMPOSSIBLE)
        .sparse(("male",), share=1)
        .sparse[0]
        .values.tolist()
    ) == [2000, 8000]


def test_the_rows_of_impossible_cells_move_no_other_cell():
    """One row more in an impossible cell: the same counts are noised, in the same
    order.
    """
    seen = []
    for rows in (HELD, [*HELD, HELD[0]], HELD[1:]):
        with answer_constantly() as asked:
            Curator(context_of(rows, IMPOSSIBLE), IMPOSSIBLE).sparse(
                ("male", "pregnant"), share=1
            )
        seen.append([exact.tolist() for exact in asked])
    assert seen[0] == seen[1] == seen[2] == [[2000, 3000]]
