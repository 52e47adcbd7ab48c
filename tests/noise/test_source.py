"""Randomness: nothing seeds it, nothing repeats it, nothing else is used."""

import ast
import multiprocessing
import random
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import understudy.noise
from kit.noise.oracle import ALPHA, goodness
from kit.noise.scripted import Scripted
from understudy.accounting.law import Law
from understudy.noise import OS_SOURCE, draw_noise
from understudy.noise.source import UniformReal, draw_below

ROOM = sorted(Path(understudy.noise.__file__).parent.glob("*.py"))


def test_there_are_modules_to_read():
    assert {"source.py", "cdf_table.py", "samplers.py", "choice.py", "quantile.py"} <= {
        p.name for p in ROOM
    }


def forbidden(tree: ast.AST) -> list[str]:
    """Imports of seedable randomness, and parameters that could carry a seed."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [
                a.name
                for a in node.names
                if a.name.split(".")[0] in ("random", "secrets")
                or "numpy.random" in a.name
            ]
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [f"{module}.{a.name}" for a in node.names]
            found += [
                n
                for n in [module, *names]
                if n.split(".")[0] == "random" or n.startswith("numpy.random")
            ]
        if isinstance(node, ast.Attribute) and node.attr == "random":
            found.append("attribute random")
        if isinstance(node, ast.arg) and node.arg in (
            "seed",
            "rng",
            "random_state",
            "generator",
            "key",
        ):
            found.append(f"parameter {node.arg}")
    return found


@pytest.mark.parametrize("path", ROOM, ids=lambda p: p.name)
def test_no_module_uses_seedable_randomness(path):
    assert forbidden(ast.parse(path.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "import numpy.random as r",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.normal()",
        "def f(*, seed=0): ...",
    ],
)
def test_the_scan_finds_what_it_looks_for(text):
    assert forbidden(ast.parse(text))


@pytest.mark.parametrize("law", Law)
def test_seeds_do_not_reach_noise(law):
    runs = set()
    for _ in range(100):
        random.seed(0)
        np.random.seed(0)
        runs.add(draw_noise(law, Fraction(100), 40).tobytes())
    assert len(runs) == 100


def _child(_: int) -> bytes:
    return draw_noise(Law.DISCRETE_LAPLACE, Fraction(1000), 10_000).tobytes()


def blocks_of(workers: int) -> list[bytes]:
    """Noise of forked workers and of their parent, cut into blocks of eight draws."""
    np.random.seed(1)
    own = [_child(0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking is the point here
        with multiprocessing.get_context("fork").Pool(
            workers, maxtasksperchild=1
        ) as pool:
            noise = own + pool.map(_child, range(workers), chunksize=1)
    assert len(noise) == workers + 1
    return [n[i : i + 64] for n in noise for i in range(0, len(n), 64)]


def test_forks_never_repeat_noise():
    blocks = blocks_of(20)
    assert len(set(blocks)) == len(blocks)


@pytest.mark.slow
def test_two_hundred_forks_never_repeat_noise():
    blocks = blocks_of(200)
    assert len(set(blocks)) == len(blocks)


def test_bits_are_fair_and_as_many_as_asked():
    assert OS_SOURCE.bits(0) == 0
    assert max(OS_SOURCE.bits(5) for _ in range(500)) == 31
    assert OS_SOURCE.words(0).size == 0
    ones = (
        np.unpackbits(OS_SOURCE.words(20_000).view(np.uint8))
        .reshape(-1, 64)
        .sum(axis=0, dtype=np.int64)
    )
    assert np.all(np.abs(ones - 10_000) < 6 * np.sqrt(20_000) / 2)


def test_below_is_uniform_and_in_range():
    seen = np.bincount([draw_below(10) for _ in range(20_000)], minlength=10)
    assert seen.size == 10
    assert goodness(seen, np.full(10, 0.1)) > ALPHA


def exactly(p: Fraction):
    """Bounds of a rational number."""
    return lambda bits: (
        (p.numerator << bits) // p.denominator,
        -(-(p.numerator << bits) // p.denominator),
    )


@pytest.mark.parametrize(
    ("words", "answer"),
    [((0,), True), ((2**64 - 1,), False), ((2**63 // 3, 2**40), None)],
)
def test_comparison_reads_the_bits_it_needs(words, answer):
    third = Fraction(1, 3)
    known = UniformReal(Scripted(*words, 5))
    drawn = known.below(exactly(third))
    u = Fraction(known.prefix, 2**known.count)
    assert drawn is (u < third)
    assert answer in (None, drawn)


def test_comparison_asks_again_on_a_tie():
    """Bits of 1/3 itself: undecided after one word and after two, decided by the third."""
    tie = (2**64 - 1) // 3
    for last, answer in ((0, True), (2**64 - 1, False)):
        source = Scripted(tie, tie, last)
        assert UniformReal(source).below(exactly(Fraction(1, 3))) is answer
        assert source.used == 3
