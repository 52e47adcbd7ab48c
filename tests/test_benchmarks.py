"""The parts of the benchmarks that numbers in documents rest on: the scorer, the budget
that peers get, and how a job's end is recorded.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from understudy.accounting.law import Law

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (BENCHMARKS, BENCHMARKS / "peers"):
        monkeypatch.syspath_prepend(str(folder))


def brute(
    real: dict[str, np.ndarray],
    fake: dict[str, np.ndarray],
    sizes: dict[str, int],
    order: int,
) -> list[float]:
    """Distances by counting each cell by itself."""
    found = []
    for clique in combinations(sizes, order):
        off = 0.0
        for cell in product(*(range(sizes[n]) for n in clique)):
            share = [
                np.mean(
                    np.all(
                        [t[n] == c for n, c in zip(clique, cell, strict=True)], axis=0
                    )
                )
                for t in (real, fake)
            ]
            off += abs(share[0] - share[1]) / 2
        found.append(off)
    return found


def test_the_scorer_agrees_with_counting_cell_by_cell() -> None:
    from score import distances

    rng, sizes = np.random.default_rng(3), {"a": 2, "b": 3, "c": 4, "d": 2}
    real = {n: rng.integers(0, size, 40) for n, size in sizes.items()}
    fake = {n: rng.integers(0, size, 55) for n, size in sizes.items()}
    found = distances(real, fake, sizes)
    for order, name in enumerate(("columns", "pairs", "triples"), 1):
        assert found[name] == pytest.approx(np.mean(brute(real, fake, sizes, order)))
    assert found["worst"] == pytest.approx(max(brute(real, fake, sizes, 2)))
    assert set(distances(real, real, sizes).values()) == {0.0}


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-9), (10.0, 1e-6)])
def test_peers_on_mbi_get_the_budget_that_the_conversion_allows(
    epsilon: float, delta: float
) -> None:
    """A peer that is given less than (ε, δ) allows would look worse than it is: the
    same ρ as in our own account.
    """
    from job import Task

    from understudy.accounting.budget import Budget
    from understudy.accounting.cost import Accounting
    from understudy.accounting.filter import Filter

    rho = Task({}, {}, epsilon, delta).rho
    ours = float(
        Filter.of(Budget.of(str(epsilon), str(delta)), accounting=Accounting.ZCDP).total
    )
    assert rho == pytest.approx(ours, rel=1e-3)


def test_what_becomes_of_a_job_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import peers

    data, domain = tmp_path / "rows.csv", tmp_path / "domain.json"
    data.write_text("a,b\n" + "0,1\n1,0\n" * 50)
    domain.write_text(json.dumps({"a": 2, "b": 2}))
    table = peers.Table("small", data, domain)
    ran = peers.run("understudy", "independent", "1", table, 60)
    assert ran["state"] == "ran"
    assert 0 <= ran["pairs"] <= 1
    assert ran["seconds"] > 0
    assert ran["peak"] > 1e6
    assert peers.run("understudy", "nobody", "1", table, 60)["state"].startswith(
        "died: KeyError"
    )
    # Which of the two limits comes first depends on what else the machine does.
    assert peers.run("understudy", "independent", "1", table, 0.05)["state"] in (
        "over 0 s",
        "given up after 0 s",
    )
    monkeypatch.setattr(peers, "ENVIRONMENTS", tmp_path)
    assert peers.run("mbi", "mst", "1", table, 60)["state"].startswith("not installed")


def test_a_plot_names_every_series(tmp_path: Path) -> None:
    from picture import Series, scatter

    drawn = scatter(
        {
            "ε < 1": [
                Series("ours & us", [(1, 0.1)], bold=True),
                Series("peer", [(10, 0.2), (100, 0.3)]),
            ]
        },
        title="t",
        across="x",
        up="y",
    )
    for words in ("ours &amp; us", ">peer<", "ε &lt; 1", "<polyline"):
        assert words in drawn


def test_ratios_are_drawn_with_what_became_of_those_that_have_none(
    tmp_path: Path,
) -> None:
    import peers

    def found(peer: str, state: str = "ran", **numbers: float) -> dict[str, object]:
        return {
            "table": "t",
            "epsilon": "1",
            "peer": peer,
            "method": "m",
            "state": state,
            **numbers,
        }

    ours = found("understudy", triples=0.1, busy=2.0, peak=1e8)
    some = [
        ours,
        found("slow", triples=0.2, busy=90.0, peak=5e7),
        found("gone", "died: no memory <left>"),
    ]
    peers.draw(some, tmp_path / "peers.svg")
    drawn = (tmp_path / "peers.svg").read_text()
    for words in (
        ">×2<",
        ">×45<",
        ">×0.5<",
        "died: no memory &lt;left&gt;",
        "t, ε = 1",
    ):
        assert words in drawn
    assert "slow m" in (tmp_path / "peers-scatter.svg").read_text()


def test_growth_is_measured_on_a_file_made_for_it(tmp_path: Path) -> None:
    """One small point, through processes of its own, database included."""
    results = tmp_path / "scale.json"
    command = [
        sys.executable,
        BENCHMARKS / "scale.py",
        "--rows",
        "1e4",
        "--only",
        "mst",
        "--results",
        results,
        "--plot",
        tmp_path / "scale.svg",
    ]
    ran = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, cwd=BENCHMARKS
    )
    assert ran.returncode == 0, ran.stderr
    (point,) = json.loads(results.read_text())
    assert point["state"] == "ran"
    assert point["marginals"] == 120
    assert point["scan"] < point["seconds"]
    assert point["duckdb"] > 0


def test_made_up_tables_are_the_same_every_time(tmp_path: Path) -> None:
    from made import write

    first = write("clinic", tmp_path).read_text()
    assert write("clinic", tmp_path).read_text() == first
    assert first.splitlines()[0].split(",")[:3] == ["age", "sex", "bmi"]
    assert len(first.splitlines()) == 12_001


def test_the_scorer_of_mixed_tables_takes_dates_and_times_for_numbers() -> None:
    from mixed import number, score

    assert number("2024-01-02") - number("2024-01-01") == 86_400
    assert (
        number("2024-01-01 10:00") - number("2024-01-01")
        == 10 * 3600
        == number("11:30") - number("01:30")
    )
    assert number("N") is number("a-b") is number("") is None
    days = {
        "day": [f"2024-01-{i + 1:02}" for i in range(30)],
        "ward": ["a", "b", ""] * 10,
    }
    assert score(days, days) == (0.0, 0.0)
    assert score(days, {**days, "ward": ["a"] * 30}) == pytest.approx((1 / 3, 2 / 3))


def test_merged_bins_are_neighbours_and_leave_gaps_apart() -> None:
    from mixed import merged

    from understudy.schema import Categorical, Integer, Schema

    schema = Schema(
        columns=(
            Integer(name="n", min=0, max=9, missing=("-7",)),
            Categorical(name="c", values=("a", "b")),
        )
    )
    found = merged(schema, [("n", "c"), ("c",), ("n",)], 4)
    assert list(found) == [("n", "c")]
    assert found["n", "c"][0].bins == (0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 5)
    assert found["n", "c"][1].out == 3
    assert merged(schema, [("n", "c")], 10) == {}


def test_every_part_of_the_ablation_can_be_switched_off() -> None:
    """A renamed function would leave a part on, and its row at 1."""
    from ablation import PARTS, resolve, switched_off

    for title, part in PARTS.items():
        for where in part.where:
            home, name = resolve(where)
            real = getattr(home, name)
            assert callable(real), title
            with switched_off(part):
                assert getattr(home, name) is part.without, title
            assert getattr(home, name) is real, title


def test_ratios_of_the_ablation_are_told_from_runs_of_the_same_commit() -> None:
    """A part of the fit is paired with its round; one of the run counts as 1 where it
    never acted, and is left out where it acted but was not run.
    """
    from ablation import log_ratios

    def line(part, error, turn, cell="few", commit="a", **more):
        return {
            "table": cell,
            "epsilon": "1",
            "round": turn,
            "part": part,
            "errors": [error, error],
            "busy": 1.0,
            "commit": commit,
            **more,
        }

    lines = [
        line("", 0.1, 0, acted=["contrasts"]),
        line("", 0.2, 1, acted=[]),
        line("one-way prior", 0.11, 0),
        line("one-way prior", 0.22, 1),
        line("", 9.0, 0, commit="b", acted=[]),
        line("triples", 0.3, 0),
    ]
    ((ratio, error),) = log_ratios(lines, "one-way prior", 0).values()
    assert ratio == pytest.approx(np.log(1.1))
    assert error == pytest.approx(0, abs=1e-9)
    ((ratio, _),) = log_ratios(lines, "triples", 0).values()
    assert ratio == pytest.approx(np.log(0.3) - np.log(0.1 * 0.2) / 2)
    assert log_ratios(lines, "chance floor", 0) == {("few", "1"): (0.0, 0.0)}
    assert log_ratios(lines, "contrasts", 0) == {}


def test_least_squares_of_a_made_country_beats_blocks_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a budget where the difference is a hundredfold, whatever the noise."""
    import topdown

    monkeypatch.setattr(sys, "argv", ["topdown.py", "--persons", "3000"])
    topdown.main()
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    errors = {
        (words[0], words[1]): float(words[3].replace(",", ""))
        for words in lines
        if words[0] in ("gls", "bottom-up")
    }
    for level in ("nation", "county", "tract", "block"):
        assert errors["gls", level] < errors["bottom-up", level] / 10


def test_memory_and_seconds_of_processes_beside_are_seen() -> None:
    """A grandchild that takes 300 MB, which had taken 600 MB before the block."""
    import engines

    work = (
        "import sys, time, numpy as np; np.ones(75_000_000); print(flush=True);"
        " input(); kept = np.ones(37_500_000); until = time.process_time() + 0.3\n"
        "while time.process_time() < until: pass\n"
        "print(flush=True); input()"
    )
    shell = ["sh", "-c", '"$0" -c "$1"; true', sys.executable, work]
    with subprocess.Popen(
        shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        with engines.measure(child.pid) as usage:
            print(file=child.stdin, flush=True)
            child.stdout.readline()
        print(file=child.stdin, flush=True)
    assert 300e6 < usage.memory_beside < 450e6
    assert usage.seconds - usage.seconds_here >= 0.25
    assert usage.memory_here > 0


def test_the_toolbox_is_measured_by_the_real_curator() -> None:
    """Its tables are made without a ledger, by a run that must keep up with the curator."""
    from understudy.toolbox.moments import plan_moments

    # By its file: tests have a folder of this name.
    toolbox = runpy.run_path(str(BENCHMARKS / "toolbox.py"))
    schema = toolbox["WORKERS"]
    frame = toolbox["make_workers"](50, np.random.default_rng(1))
    plan = plan_moments("pay ~ age", schema).plan
    measured, cost = toolbox["measure_plan"](plan, frame, schema, 4.0, pure=True)
    assert cost.amount == 4
    values, noise = measured[0]
    # The number of rows: missed by ten deviations less than once in a million.
    assert abs(values[0] - 50) < 10 * noise.deviation


def test_a_changed_constant_is_changed_wherever_it_was_read(tmp_path: Path) -> None:
    """Also where it became a default of a function, or a part of another object."""
    program = (
        "import constants\n"
        "varied = constants.load_constants(('DISTANCE_NOISE_SHARE', '2'))\n"
        "from understudy.synthesizers.adaptive import constants as declared, questions\n"
        "print(declared.DISTANCE_NOISE_SHARE, questions.score_candidates.__defaults__[0])\n"
        "print('UNIFORM_SHAPE_WEIGHT' in varied, 'MAX_FIT_CELLS' in varied)\n"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=BENCHMARKS)
    assert ran.stdout.split() == ["0.04", "0.04", "True", "False"], ran.stderr


def test_the_same_question_gets_the_same_noise_at_any_scale() -> None:
    from constants import SharedNoise

    def ask(number: int, scale: int, cliques: list[str]) -> dict[str, list[int]]:
        noise = SharedNoise(number)
        noise.note_request(
            {"mechanism": "marginals", "cliques": [(c, "", scale) for c in cliques]}
        )
        law = Law.ROUNDED_GAUSSIAN
        return {c: noise.draw(law, Fraction(scale), (500,)) for c in cliques}

    coarse, fine = ask(0, 2_000_000, ["a", "b"]), ask(0, 1_000_000, ["b"])
    assert np.abs(coarse["b"] - 2 * fine["b"]).max() <= 2
    assert abs(np.corrcoef(coarse["a"], coarse["b"])[0, 1]) < 0.3
    assert abs(np.corrcoef(ask(1, 1, ["b"])["b"], fine["b"])[0, 1]) < 0.3
    assert 0.8e6 < fine["b"].std() < 1.2e6


def test_a_change_counts_by_how_far_it_moves_every_cell() -> None:
    from constants import CELLS, judge_range, measure_effect, read_errors

    def line(cell: tuple[str, ...], name: str, factor: str, error: float):
        return {
            "table": cell[0],
            "epsilon": cell[1],
            "delta": cell[2],
            "round": 0,
            "constant": name,
            "factor": factor,
            "errors": [error, error],
        }

    shifts = dict(zip(CELLS, (0.0, 0.0, 0.001, 0.0, 0.002), strict=True))
    lines = [line(cell, "", "1", 0.1) for cell in CELLS]
    lines += [line(cell, "A", "2", 0.1 * np.exp(by)) for cell, by in shifts.items()]
    lines += [
        line(cell, "B", "2", 0.1 * np.exp(0.1 + by)) for cell, by in shifts.items()
    ]
    lines += [line(CELLS[0], "C", "2", 0.1)]
    errors = read_errors(lines)
    small, large = (measure_effect(errors, (name, "2")) for name in "AB")
    assert small.acting == 2
    assert small.mean == pytest.approx(0.0006)
    assert judge_range([small]) == "yes"
    assert judge_range([small, large]) == "no"
    assert measure_effect(errors, ("C", "2")) is None, "not run in every cell"
