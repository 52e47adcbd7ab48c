"""Checks that a sound curator passes and a broken one does not. `test_mutants` breaks
it on purpose, one way at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from kit.curator.contexts import context_of
from kit.curator.listed import Listed
from kit.privacy.audit import (
    ALPHA,
    alike,
    audited,
    delta_of,
    goodness,
    likelihood_ratio,
    recomputed,
    seen,
)
from kit.privacy.cases import (
    ADD_REMOVE,
    CASES,
    COLOURS,
    FIRST,
    GDP,
    LAST,
    PEOPLE,
    PURE,
    REPLACE,
    Case,
)
from kit.privacy.runs import (
    OTHER,
    PLAIN,
    SCHEMA,
    answer_constantly,
    csv,
    parts,
    release_without_ledger,
)
from kit.privacy.world import additive, ask_repeatedly
from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.run import LedgerRun
from understudy.curator import MechanismContext, Payments
from understudy.curator.mechanisms.marginals import measure_marginals
from understudy.curator.mechanisms.select_marginal import choose_clique
from understudy.curator.mechanisms.sparse_histogram import learn_labels
from understudy.errors import LedgerError
from understudy.noise import draw_noise
from understudy.schema import Boolean, Categorical, Schema

AMOUNT = {PURE: Fraction(4), GDP: Fraction(393, 1000) * 16}
"""What a choice at ε = 4 costs."""

POWER = 1e-3
"""Level of the bounds that show how much an audit sees. Only whether it sees enough
hangs on it; a breach is judged at ALPHA.
"""

PAIRED = Schema(
    columns=(Boolean(name="a", nullable=False), Boolean(name="b", nullable=False))
)
NEITHER, BOTH = {"a": False, "b": False}, {"a": True, "b": True}
PLACES = Schema(columns=(Categorical(name="place"),))


def cut(cost: Cost) -> float:
    """The most telling threshold of a likelihood ratio: the middle for Gaussian noise,
    as far as it goes for Laplace.
    """
    return 0.999 * float(cost.amount) if cost.accounting is PURE else 0.0


def check_case(
    case: Case, times: int, *, tight: float = 0.8, alpha: float = POWER
) -> None:
    """An answer tells no more than its price, and nearly as much where the price is
    tight.
    """
    options = {"times": int(times * case.effort), **case.options}
    here, there, cost = additive(
        case.ask, case.here, case.there, case.schema, **options
    )
    assert not audited(here, there, cost, at=cut(cost)).violated
    if case.tight:
        assert seen(here, there, cost, at=cut(cost), alpha=alpha) > tight


def named(
    name: str, relation: Neighbours = ADD_REMOVE, accounting: Accounting = GDP
) -> Case:
    """One of the cases."""
    return next(
        c
        for c in CASES
        if (c.name, c.relation, c.accounting) == (name, relation, accounting)
    )


class Chequered:
    """A table of which every second cell holds a row."""

    def __init__(self, side: int) -> None:
        self.exact = np.indices((side, side)).sum(axis=0) % 2

    def counts(self, cliques: list[tuple[str, ...]]) -> list[np.ndarray]:
        return [self.exact.copy() for _ in cliques]


def squared(side: int) -> Schema:
    """Two columns of so many values each."""
    return Schema(
        columns=tuple(
            Categorical(name=n, values=tuple(map(str, range(side))), nullable=False)
            for n in "ab"
        )
    )


def check_cells(accounting: Accounting, side: int, *, tight: float = 0.8) -> None:
    """Every cell of one large marginal carries the noise that was paid for, the empty
    ones too.
    """
    schema, table = squared(side), Chequered(side)
    context = replace(
        context_of(
            [], schema, accounting=accounting, epsilon=8 if accounting is PURE else 40
        ),
        table=table,
    )
    measured = measure_marginals(
        context, schema, [("a", "b")], amount=context.payments.amount_left / 4
    )[0]
    empty, full = measured.values[table.exact == 0], measured.values[table.exact == 1]
    zero, one = np.zeros(1, np.int64), np.ones(1, np.int64)
    scores = [
        likelihood_ratio(v[:, None], zero, one, measured.law, measured.scale)
        for v in (empty, full)
    ]
    assert not audited(*scores, measured.cost, at=cut(measured.cost)).violated
    assert seen(*scores, measured.cost, at=cut(measured.cost)) > tight
    for noise in (empty, full - 1):
        found = recomputed(noise, measured.law, l1=1, l2=1, cost=measured.cost)
        assert not found.violated
        assert not found.wasted
        assert goodness(noise, measured.law, measured.scale) > ALPHA


def check_fresh_noise() -> None:
    """Two answers of one request, and two requests, share no noise."""
    schema, table = squared(40), Chequered(40)
    context = replace(context_of([], schema), table=table)
    one, other = measure_marginals(
        context, schema, [("a", "b")] * 2, amount=context.payments.amount_left / 2
    )
    later = measure_marginals(
        context, schema, [("a", "b")] * 2, amount=context.payments.amount_left
    )[0]
    assert alike(one.values - table.exact, other.values - table.exact) > ALPHA
    assert alike(one.values - table.exact, later.values - table.exact) > ALPHA


def chosen(
    relation: Neighbours, accounting: Accounting, *, at: float, times: int
) -> tuple[np.ndarray, np.ndarray, Cost]:
    """Whether the first of two was chosen, on neighbours between which its score rises
    by Δ and the other's falls by Δ.

    `at` is the middle of the log-odds, which move by ε around it.
    """
    here, there = [NEITHER], [NEITHER] * 2 if relation is ADD_REMOVE else [BOTH]
    estimates = {("a",): np.zeros(2), ("b",): np.array([3 - at / 2, 0.0])}
    if relation is REPLACE:
        estimates = {("a",): np.array([10.0, 0.0]), ("b",): np.array([0.0, 10 - at])}

    def ask(context: MechanismContext, schema: Schema) -> object:
        return choose_clique(context, estimates, amount=AMOUNT[accounting])

    options = {
        "relation": relation,
        "accounting": accounting,
        "epsilon": 4 if accounting is PURE else 40,
    }
    repeated = [
        ask_repeatedly(ask, rows, PAIRED, times=times, **options)[0]
        for rows in (here, there)
    ]
    return *(1.0 * (h.stacked("index") == 0) for h in repeated), repeated[0].cost


def check_outcomes(
    mechanism: Callable[..., tuple],
    relation: Neighbours,
    accounting: Accounting,
    times: int,
    *,
    tight: float = 0.8,
) -> None:
    """A choice tells no more than its price, and nearly as much."""
    here, there, cost = mechanism(
        relation, accounting, at=-3.0 if accounting is PURE else 0.0, times=times
    )
    audit = audited(here, there, cost, at=0.5)
    assert not audit.violated
    assert audit.share > tight


def check_new_label(times: int = 10_000) -> None:
    """What one person alone wrote shows with at most the δ that was charged."""
    delta = Fraction(8, 100)

    def ask(context: MechanismContext, schema: Schema) -> object:
        return learn_labels(
            context, "place", amount=context.payments.amount_left, delta=delta
        )

    (repeated,) = ask_repeatedly(
        ask,
        [{"place": "x"}],
        PLACES,
        times=times,
        accounting=PURE,
        epsilon=2,
        delta=delta,
    )
    shown = sum(len(a["counts"]) > 0 for a in repeated.answers)
    assert not delta_of(shown, times, float(repeated.cost.delta)).violated


# The order of payment, on a real ledger


class Watch:
    """Real noise that notes what the ledger says at the moment it is drawn."""

    def __init__(self, path: Path) -> None:
        self.path, self.kinds = path, []

    def __call__(self, law: Law, scale: Fraction, shape: tuple[int, ...]) -> np.ndarray:
        with Ledger.open(self.path) as ledger:
            self.kinds = [e.kind for e in ledger.entries()]
        return draw_noise(law, scale, shape)


def watched(ledger: Ledger, run: LedgerRun) -> tuple[Watch, MechanismContext]:
    watch = Watch(ledger.path)
    return watch, MechanismContext(
        table=Listed(PEOPLE, COLOURS),
        payments=Payments(
            run, replace(run.filter, spent=Fraction(0), spent_delta=Fraction(0))
        ),
        neighbours=ADD_REMOVE,
        accounting=run.filter.accounting,
        epsilon=run.budget.epsilon,
        draw=watch,
    )


def total(context: MechanismContext) -> int:
    return int(
        measure_marginals(context, COLOURS, [()], amount=context.payments.amount_left)[
            0
        ].values
    )


def books() -> Iterator[Ledger]:
    with (
        TemporaryDirectory() as folder,
        Ledger.create(Path(folder, "people.ledger"), dataset="people") as ledger,
    ):
        yield ledger


def check_charged_first() -> None:
    """When noise is drawn, the charge is on disk."""
    for ledger in books():
        watch, context = watched(ledger, ledger.reserve(Budget.of(1, 0), event="test"))
        total(context)
        assert watch.kinds[-1] == "charge"


def check_no_charge_no_answer() -> None:
    """Where the charge fails, for whatever reason, there is no answer and nothing was
    drawn.
    """
    for ledger in books():
        run = ledger.reserve(Budget.of(1, 0), event="test")
        watch, context = watched(ledger, run)
        run.finish()  # a finished run takes no charge
        answers = []
        try:
            answers.append(total(context))
        except LedgerError:
            assert watch.kinds == []
        assert not answers


def check_new_run_pays_and_draws() -> None:
    """The same question in a new run is charged and answered anew."""
    for ledger in books():
        found = []
        for _ in range(20):
            _, context = watched(
                ledger, ledger.reserve(Budget.of("0.01", 0), event="test")
            )
            found.append(total(context))
        kinds = [e.kind for e in ledger.entries()]
        assert kinds.count("charge") == kinds.count("answer") == 20
        assert len(set(found)) > 10  # at ε = 0.01 noise has a deviation of 141


# Whole runs with a constant curator


def released(
    rows: list[list[str]], **options: object
) -> tuple[dict[str, bytes], bytes]:
    """What a release and its synthetic rows hold when no answer depends on rows."""
    with TemporaryDirectory() as folder, answer_constantly():
        path = Path(folder, "people.csv")
        path.write_bytes(csv(*rows))
        age = replace(
            SCHEMA["age"], bins=(0, 18, 65, 121)
        )  # declared: bins that are learned are an answer of their own
        release = release_without_ledger(
            path, Schema(columns=(SCHEMA["sex"], SCHEMA["city"], age)), **options
        )
        release.write(Path(folder, "out.csv"), seed=1)
        return parts(release), Path(folder, "out.csv").read_bytes()


def check_release_ignores_rows() -> None:
    """Two tables that differ in everything give the same release when no answer depends
    on rows.
    """
    assert released([PLAIN] * 3) == released([OTHER] * 40)


__all__ = [name for name in dir() if name.startswith("check_")] + [
    "FIRST",
    "LAST",
    "chosen",
    "cut",
    "named",
]
