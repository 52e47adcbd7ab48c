"""The walls: what a synthesizer holds leads to no row, noise takes no seed, and every
mechanism says why it is private.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import FunctionType, MethodType, ModuleType

import numpy as np
import pytest

import understudy
import understudy.curator
import understudy.noise
from kit.curator.contexts import context_of
from kit.curator.listed import Listed
from kit.privacy.cases import COLOURS, PEOPLE
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator, CuratorView, MechanismContext, Payments
from understudy.errors import Refused
from understudy.measurements import Identity, Partition
from understudy.schema import Integer, Schema
from understudy.synthesizers import SYNTHESIZER_CLASSES, Workload, ignore_progress

ROOT = Path(understudy.__file__).parent
FORBIDDEN = (Curator, MechanismContext, Payments, Listed)


def make_curator(**options: object) -> Curator:
    return Curator(context_of(PEOPLE, COLOURS, **options), COLOURS)


def reachable(start: object, *, depth: int = 12) -> list[tuple[str, object]]:
    """Everything that attributes, slots, items and elements lead to, private names
    included; so do a method's owner and what a function carries. Only closures are not
    opened.
    """
    found, seen, todo = [], set(), [("", start, 0)]
    while todo:
        path, thing, level = todo.pop()
        if (
            id(thing) in seen
            or level > depth
            or isinstance(thing, type | ModuleType | str | bytes | int | np.ndarray)
        ):
            continue
        seen.add(id(thing))
        found.append((path, thing))
        if isinstance(thing, MethodType):
            todo.append((f"{path}.__self__", thing.__self__, level + 1))
            continue
        if isinstance(thing, FunctionType):
            carried = (vars(thing), thing.__defaults__, thing.__kwdefaults__)
            todo.append((f"{path}()", carried, level + 1))
            continue
        if isinstance(thing, dict):
            todo += [(f"{path}[{k!r}]", v, level + 1) for k, v in thing.items()]
        elif isinstance(thing, list | tuple | set | frozenset):
            todo += [(f"{path}[{i}]", v, level + 1) for i, v in enumerate(thing)]
        names = set(vars(thing)) if hasattr(thing, "__dict__") else set()
        names |= {
            n for cls in type(thing).__mro__ for n in getattr(cls, "__slots__", ())
        }
        names |= {n for n in dir(thing) if not n.startswith("_")}
        for name in names:
            todo.append((f"{path}.{name}", getattr(thing, name, None), level + 1))
    return found


def test_a_window_leads_to_no_table():
    assert [
        path
        for path, thing in reachable(CuratorView(make_curator()))
        if isinstance(thing, FORBIDDEN)
    ] == []


def wrapped(curator: Curator) -> FunctionType:
    @functools.wraps(curator.measure)
    def measure(*args: object, **kwargs: object) -> object:
        return curator.measure(*args, **kwargs)

    return measure


@pytest.mark.parametrize(
    "keep",
    [
        lambda curator: curator,
        lambda curator: curator.measure,
        lambda curator: functools.partial(curator.measure),
        wrapped,
    ],
    ids=["curator", "bound method", "partial", "wrapped function"],
)
def test_the_walk_has_teeth(keep):
    """It finds the table behind a view that keeps more than a plain function."""

    class Careless(CuratorView):
        __slots__ = ("kept",)

    careless = Careless(make_curator())
    careless.kept = keep(make_curator())
    for holder in (make_curator(), careless):
        assert any(isinstance(thing, Listed) for _, thing in reachable(holder))


def test_a_window_cannot_be_given_more():
    view = CuratorView(make_curator())
    with pytest.raises(AttributeError):
        view.table = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "method", [name for name, cls in SYNTHESIZER_CLASSES.items() if cls.reads_rows]
)
def test_what_a_synthesizer_makes_leads_to_no_table(method):
    """Neither its measurements nor its model."""
    curator = make_curator(epsilon=5)
    made = SYNTHESIZER_CLASSES[method]()
    measured = made.measure(
        CuratorView(curator), Workload.of_order(COLOURS), ignore_progress
    )
    model = made.estimate(COLOURS, measured, np.random.default_rng(0))
    for held in (measured, model):
        assert [
            path for path, thing in reachable(held) if isinstance(thing, FORBIDDEN)
        ] == []


def modules(package: ModuleType) -> list[ModuleType]:
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [importlib.import_module(module.name) for module in found]


@pytest.mark.parametrize(
    "module",
    modules(understudy.noise) + modules(understudy.curator),
    ids=lambda m: m.__name__,
)
def test_no_function_of_noise_or_curator_takes_a_seed(module):
    for _, function in inspect.getmembers(
        module, lambda f: inspect.isfunction(f) or inspect.isclass(f)
    ):
        try:
            names = set(inspect.signature(function).parameters)
        except ValueError:
            continue
        assert not names & {"seed", "rng", "random_state", "generator"}, (
            f"{module.__name__}.{function.__name__}"
        )


def draws(path: Path) -> bool:
    """Whether a module of the curator turns exact integers into an answer."""
    return any(
        isinstance(node, ast.Call)
        and ast.unparse(node.func).split(".")[-1]
        in {
            "add_noise",
            "choose",  # those that a mechanism of a session is made with
            "choose_countable",
            "draw",
            "draw_noise",
            "draw_rounded_cauchy",
            "exponential_mechanism",
            "noise",
            "quantile",
        }
        for node in ast.walk(ast.parse(path.read_text()))
    )


MECHANISMS = [
    p
    for p in sorted((ROOT / "curator").rglob("*.py"))
    if draws(p) and p.name not in {"context.py", "payment.py", "dry_run.py"}
]


AUDITED = {
    "extras",
    "bounds",
    "geounits",  # tests/curator/mechanisms/test_geounits.py
    "graph_statistics",  # tests/toolbox/test_graphs.py
    "select_marginal",
    "tree_histogram",
    "key_search",  # tests/curator/test_key_search.py
    "marginals",
    "moments",  # tests/curator/test_moments.py
    "quantile_search",  # test_questions.py, and questions too
    "quantiles",
    "questions",
    "select_cell",
    "select_value",
    "select_itemsets",  # tests/curator/mechanisms/test_select_itemsets.py
    "single_answers",  # what it lets draw has an audit of its own
    "smooth_median",  # tests/curator/mechanisms/test_smooth_median.py
    "online_counts",  # tests/curator/mechanisms/test_online_counts.py
    "sparse_histogram",
    "sums",
    "types",
}


def test_every_mechanism_is_audited():
    """A new one has to be: add it to tests/kit/privacy/cases.py, test_audit.py or
    test_questions.py, then here.
    """
    assert {p.stem for p in MECHANISMS} <= AUDITED


@pytest.mark.parametrize("path", MECHANISMS, ids=lambda p: p.stem)
def test_every_mechanism_says_why_it_is_private(path):
    words = (ast.get_docstring(ast.parse(path.read_text())) or "").lower()
    assert "why it is private" in words


@pytest.mark.parametrize(
    "room", ["synthesizers", "models", "measurements", "releases", "schema"]
)
def test_the_public_rooms_run_without_the_private_ones(room):
    """Import contracts hold at run time too: importing a public room loads no table, no
    curator and no noise.
    """
    code = (
        f"import importlib, pkgutil, sys, understudy.{room} as room\n"
        "for m in pkgutil.walk_packages(room.__path__, room.__name__ + '.'): importlib.import_module(m.name)\n"
        "print([m for m in sys.modules if m.startswith(('understudy.tables', 'understudy.curator', 'understudy.noise'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# What a synthesizer hands in is public, and must not stretch a sensitivity


@pytest.mark.parametrize("ask", ["choose", "errors"])
@pytest.mark.parametrize(
    "estimate",
    [
        np.zeros((1000, 3)),
        np.zeros((3, 1)),
        np.zeros(()),
        np.full(3, np.nan),
        np.full(3, np.inf),
        np.full(3, 2.0**60),
    ],
    ids=["stretched", "turned", "scalar", "nan", "inf", "huge"],
)
def test_an_estimate_that_would_stretch_a_score_is_refused(ask, estimate):
    """numpy would stretch a marginal to the estimate's shape, or wrap it around, and
    the sensitivity with it.
    """
    with pytest.raises(Refused):
        getattr(CuratorView(make_curator()), ask)({("colour",): estimate}, share=1)


@pytest.mark.parametrize(
    "weights", [[np.inf, 1.0], [np.nan, 1.0], [0.0, 1.0], [-1.0, 1.0]], ids=str
)
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(Refused, match="Nothing was spent"):
        CuratorView(make_curator()).choose(
            {("colour",): np.zeros(3), ("smoker",): np.zeros(2)},
            share=1,
            weights=weights,
        )


def test_huge_weights_are_only_ratios():
    """A score times a weight must not leave 64 bits: whether it does would depend on
    the rows.
    """
    candidates = {("colour",): np.zeros(3), ("smoker",): np.zeros(2)}
    assert (
        CuratorView(make_curator()).choose(candidates, share=1, weights=[1e300, 1e300])
        in candidates
    )


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(
    "maps",
    [
        (),
        (Identity(1),),
        (Identity(2),),
        (Partition((0, 0)),),
        (Identity(3), Identity(1)),
    ],
    ids=str,
)
def test_maps_that_do_not_fit_are_refused(maps, relation):
    """Under replace a map onto one cell moves nothing and would be free: it has to be
    the map that is applied.
    """
    asked = make_curator(neighbours=relation)
    with pytest.raises(Refused, match="Nothing was spent"):
        CuratorView(asked).measure([("colour",)], share=1, maps=[maps])
    assert asked.share_left == 1


@pytest.mark.parametrize(
    "alpha",
    [Fraction(0.1), Fraction(1, 10**9), Fraction(3, 2), Fraction(-1, 2)],
    ids=str,
)
def test_a_quantile_too_fine_is_refused_before_rows_are_looked_at(alpha):
    """With many rows it would overflow, and whether it does would tell how many there
    are.
    """
    schema = Schema(columns=(Integer(name="x", min=0, max=9),))
    for rows in (0, 500):
        asked = Curator(context_of([{"x": 3}] * rows, schema), schema)
        with pytest.raises(Refused, match="Nothing was spent"):
            asked.quantiles("x", [alpha], share=1)
        assert asked.share_left == 1
