"""Seeds: none reaches the noise, all reach the sampling; and forks share nothing."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from kit.curator.contexts import context_of
from kit.privacy.cases import COLOURS, PEOPLE
from kit.privacy.runs import OTHER, PLAIN, SCHEMA, csv, release_without_ledger
from understudy.accounting.law import Law
from understudy.curator.mechanisms.marginals import measure_marginals
from understudy.noise import draw_noise
from understudy.releases import Release
from understudy.schema import Schema
from understudy.synthesizers import SYNTHESIZER_CLASSES
from understudy.workflow.synthesize import synthesize

DECLARED = Schema(columns=tuple(SCHEMA[name] for name in ("sex", "city")))


def pin() -> None:
    """Every seed a program could set."""
    random.seed(0)
    np.random.seed(0)


def noisy(_: int = 0) -> bytes:
    """One noisy answer of the curator, in bytes."""
    pin()
    context = context_of(PEOPLE, COLOURS, epsilon="0.01")
    return measure_marginals(
        context, COLOURS, [("colour", "smoker")], amount=context.payments.amount_left
    )[0].values.tobytes()


def test_a_hundred_runs_with_every_seed_pinned_all_differ():
    """At ε = 0.01 the noise on six cells has a deviation in the thousands: equal
    answers do not happen by chance.
    """
    assert len({noisy() for _ in range(100)}) == 100


def test_a_run_with_the_same_seed_has_other_noise_and_the_same_sampling(tmp_path):
    # So many that no noise leaves a single value in both columns: then all rows would
    # be alike, whatever the seed.
    (tmp_path / "people.csv").write_bytes(csv(*[PLAIN, OTHER] * 1000))
    releases = []
    for name in ("a", "b"):
        pin()
        releases.append(
            synthesize(
                tmp_path / "people.csv",
                DECLARED,
                epsilon=1,
                seed=7,
                ledger=tmp_path / f"{name}.ledger",
            )
        )
    # Of two columns the default asks for the pair alone: six cells or more, whose noise
    # has a deviation of five rows.
    first, second = (
        {m.clique: m.values.ravel() for m in r.measurements} for r in releases
    )
    assert list(first) == list(second) == [("sex", "city")]
    assert first["sex", "city"].size >= 6
    assert (first["sex", "city"] != second["sex", "city"]).any()
    releases[0].save(tmp_path / "a.understudy")
    samples = [
        Release.load(tmp_path / "a.understudy").sample(500, seed=3, kind="pandas")
        for _ in range(2)
    ]
    assert samples[0].equals(samples[1])
    assert samples[0].equals(releases[0].sample(500, seed=3, kind="pandas"))
    assert not samples[0].equals(releases[0].sample(500, seed=4, kind="pandas"))


@pytest.mark.parametrize("method", ["independent", "histogram", "stability"])
def test_estimating_uses_no_noise_of_its_own(method, tmp_path):
    """From the same measurements and seed comes the same model, so resuming a run
    changes nothing.
    """
    (tmp_path / "people.csv").write_bytes(csv(*[PLAIN, OTHER] * 30))
    release = release_without_ledger(tmp_path / "people.csv", DECLARED, method=method)
    models = [
        SYNTHESIZER_CLASSES[method]().estimate(
            release.schema, release.measurements, np.random.default_rng(5)
        )
        for _ in range(2)
    ]
    one, other = (m.sample(200, np.random.default_rng(6)) for m in models)
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_processes_with_the_same_hash_seed_draw_differently(tmp_path):
    code = (
        "import random; random.seed(0); import numpy as np; np.random.seed(0)\n"
        "from fractions import Fraction; from understudy.noise import draw_noise; from understudy.accounting.law import Law\n"
        "print(draw_noise(Law.DISCRETE_LAPLACE, Fraction(1000), 50).tolist())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    shown = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(3)
    }
    assert len(shown) == 3


def block(_: int) -> str:
    """Noise of one forked worker, after every law has been drawn from once."""
    pin()
    return hashlib.sha256(
        draw_noise(Law.ROUNDED_GAUSSIAN, Fraction(50), 2000).tobytes()
    ).hexdigest()


def check_forks(count: int) -> None:
    for law in Law:
        draw_noise(
            law, Fraction(50), 10
        )  # tables and buffers exist before the fork, and are inherited
    blocks = [block(0)]
    with multiprocessing.get_context("fork").Pool(8, maxtasksperchild=1) as pool:
        blocks += pool.map(block, range(count), chunksize=1)
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        blocks += pool.map(noisy_digest, range(count // 4), chunksize=1)
    assert len(set(blocks)) == len(blocks)


def noisy_digest(_: int) -> str:
    return hashlib.sha256(noisy()).hexdigest()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_forks_never_repeat_each_other():
    check_forks(40)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_two_hundred_forks_never_repeat_each_other():
    check_forks(200)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_the_check_of_forks_has_teeth():
    """Generators that are copied with the process do repeat each other."""
    state = np.random.default_rng(0)
    with multiprocessing.get_context("fork").Pool(
        1, initializer=keep, initargs=(state,), maxtasksperchild=1
    ) as pool:
        blocks = pool.map(copied, range(4), chunksize=1)
    assert len(set(blocks)) == 1


_kept: list[np.random.Generator] = []


def keep(state: np.random.Generator) -> None:
    _kept[:] = [state]


def copied(_: int) -> str:
    return hashlib.sha256(_kept[0].normal(size=2000).tobytes()).hexdigest()


def test_the_ledger_of_a_run_names_no_seed(tmp_path: Path):
    """A seed is the sampler's business: it is written neither into the ledger nor into
    the release.
    """
    (tmp_path / "people.csv").write_bytes(csv(PLAIN, OTHER))
    release = synthesize(
        tmp_path / "people.csv",
        DECLARED,
        epsilon=1,
        seed=918273645,
        ledger=tmp_path / "people.ledger",
    )
    release.save(tmp_path / "people.understudy")
    for path in tmp_path.iterdir():
        assert b"918273645" not in path.read_bytes()
