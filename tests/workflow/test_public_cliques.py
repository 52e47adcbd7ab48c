"""Cliques from a public table: the tree, its triples, and nothing that chance made."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import Refused
from understudy.synthesizers import make
from understudy.workflow.public_cliques import mutual_information, select_public_cliques

N = 4_000


def schema(names: str) -> us.Schema:
    return us.Schema(
        columns=tuple(us.Categorical(name=n, values=("0", "1")) for n in names)
    )


def frame(**columns: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        {name: bits.astype(int).astype(str) for name, bits in columns.items()}
    )


@pytest.fixture
def chain() -> pd.DataFrame:
    """a – b – c – d, each a noisy copy of the one before; e by itself."""
    rng = np.random.default_rng(6)
    bits = [rng.random(N) < 0.5]
    for _ in range(3):
        bits.append(bits[-1] ^ (rng.random(N) < 0.2))
    return frame(**dict(zip("abcd", bits, strict=True)), e=rng.random(N) < 0.5)


def test_a_chain_is_found_and_columns_by_themselves_are_left_out(
    chain: pd.DataFrame,
) -> None:
    """Given the middle, the ends of a chain are independent: no triple."""
    found = select_public_cliques(chain, schema("abcde"))
    assert {frozenset(clique) for clique in found} == {
        frozenset("ab"),
        frozenset("bc"),
        frozenset("cd"),
    }


def test_a_triple_that_pairs_do_not_explain_is_found_and_covers_its_pairs() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.random(N) < 0.5, rng.random(N) < 0.4
    both = frame(a=a, b=b, c=(a & b) ^ (rng.random(N) < 0.05))
    (found,) = select_public_cliques(both, schema("abc"))
    assert set(found) == set("abc")
    pairs = select_public_cliques(both, schema("abc"), triples=False)
    assert sorted(map(len, pairs)) == [2, 2]


def test_a_small_limit_leaves_the_triple_out() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.random(N) < 0.5, rng.random(N) < 0.4
    both = frame(a=a, b=b, c=a & b)
    assert {
        len(clique) for clique in select_public_cliques(both, schema("abc"), limit=20)
    } == {2}


def test_independent_columns_have_no_clique() -> None:
    rng = np.random.default_rng(8)
    table = rng.integers(0, 2, (7, N))
    information = [
        mutual_information(np.histogram2d(x, y, bins=2)[0].astype(int)[:, None, :])
        for i, x in enumerate(table) for y in table[:i]
    ]  # fmt: skip
    assert max(information) < 0


def test_conditional_information_is_that_of_the_entropies() -> None:
    rng = np.random.default_rng(9)
    counts = rng.integers(1, 50, (3, 2, 4))
    p = counts / counts.sum()

    def entropy(axes: tuple[int, ...]) -> float:
        q = p.sum(axis=axes)
        return float(-(q * np.log(q)).sum())

    plain = entropy((2,)) + entropy((0,)) - entropy(()) - entropy((0, 2))
    chance = (12 + 3 * 24**0.5) / (2 * counts.sum())
    assert mutual_information(counts) == pytest.approx(plain - chance)


def test_the_cliques_are_measured_and_declared(chain: pd.DataFrame) -> None:
    found = select_public_cliques(chain, schema("abcde"))
    release = us.synthesize(
        chain,
        schema("abcde"),
        epsilon=1,
        synthesizer=make("mst", public=found),
        ledger="memory.ledger",
    )
    measured = {frozenset(m.clique) for m in release.measurements if len(m.clique) == 2}
    assert measured == {frozenset(clique) for clique in found}
    assert any("depend on each other" in line for line in release.guarantee.public)


def test_what_cannot_be_selected_from_is_refused(chain: pd.DataFrame) -> None:
    with pytest.raises(Refused, match="fewer than two"):
        select_public_cliques(chain[["a"]], schema("ax"))
    with pytest.raises(Refused, match="declared"):
        select_public_cliques(
            chain,
            us.Schema(columns=(us.Categorical(name="a"), us.Categorical(name="b"))),
        )
