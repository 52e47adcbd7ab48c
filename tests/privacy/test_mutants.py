"""Broken on purpose: every check here passes the real curator and catches a broken one.
A check that catches nothing checks nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import understudy.curator.mechanisms.marginals
import understudy.curator.mechanisms.select_marginal
import understudy.curator.mechanisms.sparse_histogram
import understudy.curator.mechanisms.sums
import understudy.releases.contents
import understudy.releases.file.archive
from kit.privacy import checks
from kit.privacy.cases import COLOURS, GDP, PEOPLE, REPLACE, Case, worst_pair
from kit.privacy.world import Remembered
from understudy.accounting.cost import Cost, Sensitivity
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.run import LedgerRun
from understudy.accounting.sensitivity import marginal_sensitivity
from understudy.curator import Curator, MechanismContext, Payments
from understudy.noise import draw_noise
from understudy.schema import Categorical
from understudy.tables import Table

Patch = pytest.MonkeyPatch
MUTANTS: dict[str, tuple[Callable[[Patch], None], Callable[[], None]]] = {}


def mutant(
    check: Callable[[], None],
) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    """Enter a way of breaking things, with the check that has to catch it."""

    def enter(broken: Callable[[Patch], None]) -> Callable[[Patch], None]:
        MUTANTS[broken.__name__] = broken, check
        return broken

    return enter


def cells() -> None:
    checks.check_cells(GDP, 100)


# Noise


@mutant(cells)
def only_non_empty_cells_are_noised(patch: Patch) -> None:
    def noisy(self: MechanismContext, exact: np.ndarray, scale: Fraction) -> np.ndarray:
        return np.where(
            exact > 0, exact + self.draw(self.law, scale, exact.shape), exact
        )

    patch.setattr(MechanismContext, "add_noise", noisy)


@mutant(cells)
def the_scale_is_halved(patch: Patch) -> None:
    def noisy(self: MechanismContext, exact: np.ndarray, scale: Fraction) -> np.ndarray:
        return exact + self.draw(self.law, scale / 2, exact.shape)

    patch.setattr(MechanismContext, "add_noise", noisy)


@mutant(lambda: checks.check_cells(GDP, 300))
def the_scale_is_four_percent_short(patch: Patch) -> None:
    def noisy(self: MechanismContext, exact: np.ndarray, scale: Fraction) -> np.ndarray:
        return exact + self.draw(self.law, scale * Fraction(96, 100), exact.shape)

    patch.setattr(MechanismContext, "add_noise", noisy)


@mutant(cells)
def noise_is_only_ever_added(patch: Patch) -> None:
    def noisy(self: MechanismContext, exact: np.ndarray, scale: Fraction) -> np.ndarray:
        return exact + np.abs(self.draw(self.law, scale, exact.shape))

    patch.setattr(MechanismContext, "add_noise", noisy)


@mutant(cells)
def negative_counts_are_cut_before_release(patch: Patch) -> None:
    """Harmless to privacy, but not what was promised: measurements are unbiased."""
    original = MechanismContext.add_noise
    patch.setattr(
        MechanismContext,
        "add_noise",
        lambda self, exact, scale: np.maximum(original(self, exact, scale), 0),
    )


@mutant(checks.check_fresh_noise)
def noise_is_drawn_once_and_used_twice(patch: Patch) -> None:
    kept: dict[object, np.ndarray] = {}

    def noisy(self: MechanismContext, exact: np.ndarray, scale: Fraction) -> np.ndarray:
        return exact + kept.setdefault(
            exact.shape, draw_noise(self.law, scale, exact.shape)
        )

    patch.setattr(MechanismContext, "add_noise", noisy)


@mutant(checks.check_fresh_noise)
def noise_is_seeded(patch: Patch) -> None:
    def noisy(self: MechanismContext, exact: np.ndarray, scale: Fraction) -> np.ndarray:
        return exact + np.rint(
            np.random.default_rng(0).normal(0, float(scale), exact.shape)
        ).astype(np.int64)

    patch.setattr(MechanismContext, "add_noise", noisy)


# Sensitivities


def plain_counts() -> None:
    ask = checks.named("marginal, counts").ask
    for relation in Neighbours:
        checks.check_case(
            Case("counts", ask, COLOURS, *worst_pair(ask, relation, GDP), relation),
            4000,
            tight=0.6,
        )


@mutant(plain_counts)
def the_sensitivity_is_halved(patch: Patch) -> None:
    original = understudy.curator.mechanisms.marginals._clique_sensitivity

    def halved(*args: object) -> Sensitivity:
        real = original(*args)
        return replace(real, l1=real.l1 / 2, l2_squared=real.l2_squared / 4)

    patch.setattr(
        understudy.curator.mechanisms.marginals, "_clique_sensitivity", halved
    )


@mutant(plain_counts)
def replacing_is_priced_like_adding(patch: Patch) -> None:
    def wrong(
        context: MechanismContext, schema: object, clique: object, axes: object
    ) -> Sensitivity:
        return marginal_sensitivity(axes, Neighbours.ADD_REMOVE)  # type: ignore[arg-type]

    patch.setattr(understudy.curator.mechanisms.marginals, "_clique_sensitivity", wrong)


@mutant(lambda: checks.check_case(checks.named("marginal, centred"), 3000, tight=0.6))
def maps_are_priced_like_counts(patch: Patch) -> None:
    one = Sensitivity(Fraction(1), Fraction(1))
    patch.setattr(
        understudy.curator.mechanisms.marginals,
        "_clique_sensitivity",
        lambda *args: one,
    )


@mutant(lambda: checks.check_case(checks.named("sum, clipped"), 3000, tight=0.6))
def sums_are_not_clipped(patch: Patch) -> None:
    original = Remembered.__getattr__

    def unclipped(self: Remembered, name: str) -> Callable[..., object]:
        asked = original(self, name)
        return (
            (lambda column, low, high: asked(column, low, 2**60))
            if name == "sum"
            else asked
        )

    patch.setattr(Remembered, "__getattr__", unclipped)


@mutant(lambda: checks.check_case(checks.named("errors", REPLACE), 4000, tight=0.6))
def scores_move_as_if_a_row_were_added(patch: Patch) -> None:
    scores = understudy.curator.mechanisms.select_marginal.CHOICE_SCORES
    patch.setitem(scores, "l1", replace(scores["l1"], replace=scores["l1"].add_remove))


@mutant(lambda: checks.check_case(checks.named("vote"), 4000, tight=0.6))
def a_row_votes_in_one_column_only(patch: Patch) -> None:
    import understudy.curator.discovery.types as vote

    def one(
        law: object, scale: Fraction, sensitivity: Sensitivity, accounting: object
    ) -> Cost:
        return original(
            law,
            scale,
            replace(
                sensitivity,
                l1=sensitivity.l1 / 3,
                l2_squared=sensitivity.l2_squared / 3,
            ),
            accounting,
        )

    original = vote.price
    patch.setattr(vote, "price", one)


@mutant(lambda: checks.check_outcomes(checks.chosen, REPLACE, GDP, 3000, tight=0.6))
def the_exponential_mechanism_forgets_its_factor_two(patch: Patch) -> None:
    original = understudy.curator.mechanisms.select_marginal.exponential_mechanism
    patch.setattr(
        understudy.curator.mechanisms.select_marginal,
        "exponential_mechanism",
        lambda scores, **how: original(scores, **how, monotone=True),
    )


# Thresholds


@mutant(checks.check_new_label)
def the_threshold_is_one_too_low(patch: Patch) -> None:
    original = understudy.curator.mechanisms.sparse_histogram.threshold
    patch.setattr(
        understudy.curator.mechanisms.sparse_histogram,
        "threshold",
        lambda **how: original(**how) - 1,
    )


@mutant(checks.check_new_label)
def a_count_at_the_threshold_shows(patch: Patch) -> None:
    original = MechanismContext.add_noise
    patch.setattr(
        MechanismContext,
        "add_noise",
        lambda self, exact, scale: original(self, exact, scale) + 1,
    )  # n + 1 > T is n ≥ T


@mutant(checks.check_new_label)
def delta_is_not_charged(patch: Patch) -> None:
    original = understudy.curator.mechanisms.sparse_histogram._plan_histogram

    def free(*args: object) -> tuple[Fraction, Cost, int]:
        scale, cost, at = original(*args)
        return scale, replace(cost, delta=Fraction(0)), at

    patch.setattr(
        understudy.curator.mechanisms.sparse_histogram, "_plan_histogram", free
    )


# Payment


def two_cliques() -> None:
    def ask(context: MechanismContext, schema: object) -> object:
        return understudy.curator.mechanisms.marginals.measure_marginals(
            context,
            COLOURS,
            [("colour",), ("smoker",)],
            amount=context.payments.amount_left / 3,
        )

    checks.check_case(
        Case("two", ask, COLOURS, PEOPLE[:1], PEOPLE[:2], Neighbours.ADD_REMOVE),
        10_000,
        tight=0.6,
    )


@mutant(two_cliques)
def one_clique_is_not_charged(patch: Patch) -> None:
    original, calls = understudy.curator.mechanisms.marginals.price, []

    def every_second(*args: object) -> Cost:
        calls.append(args)
        paid = original(*args)
        return paid if len(calls) % 2 else replace(paid, amount=Fraction(0))

    patch.setattr(understudy.curator.mechanisms.marginals, "price", every_second)


@mutant(checks.check_charged_first)
def the_charge_comes_after_the_answer(patch: Patch) -> None:
    def late(
        self: Payments,
        request: dict,
        cost: Cost,
        count: Callable[[], object],
        draw: Callable[[object], dict],
    ) -> dict:
        answer = draw(count())
        self._run.charge(0, cost, "digest")
        self._run.store(0, "digest", b"")
        return answer

    patch.setattr(Payments, "pay", late)


@mutant(checks.check_no_charge_no_answer)
def a_charge_that_fails_is_overlooked(patch: Patch) -> None:
    def careless(
        self: Payments,
        request: dict,
        cost: Cost,
        count: Callable[[], object],
        draw: Callable[[object], dict],
    ) -> dict:
        answer = draw(count())
        try:
            self._run.charge(0, cost, "digest")
        except Exception:
            return answer
        return answer

    patch.setattr(Payments, "pay", careless)


@mutant(checks.check_new_run_pays_and_draws)
def a_stored_answer_is_given_to_a_new_run(patch: Patch) -> None:
    def any_run(self: LedgerRun, step: int, digest: str) -> bytes | None:
        with self._file.read_transaction() as connection:
            row = connection.execute(
                "SELECT payload FROM answer WHERE request = ?", (digest,)
            ).fetchone()
        return None if row is None else bytes(row[0])

    patch.setattr(LedgerRun, "answer", any_run)


# What a release holds


@mutant(checks.check_release_ignores_rows)
def the_exact_number_of_rows_is_the_default_sample_size(patch: Patch) -> None:
    seen: list[int] = []
    original = Table.counts

    def counts(self: Table, cliques: list) -> list:
        seen.append(self.rows())
        return original(self, cliques)

    patch.setattr(Table, "counts", counts)
    patch.setattr(understudy.releases.contents, "default_rows", lambda model: seen[-1])


@mutant(checks.check_release_ignores_rows)
def categories_are_those_that_occur(patch: Patch) -> None:
    original = Curator.discover

    def observed(self: Curator, **options: object) -> object:
        schema = original(self, **options)
        for name in schema:
            if isinstance(schema[name], Categorical):
                schema = schema.with_column(
                    replace(
                        schema[name], values=tuple(self._context.table.labels(name)[0])
                    )
                )
        self._schema = schema
        self._context = replace(
            self._context, table=self._context.table.with_schema(schema)
        )
        return schema

    patch.setattr(Curator, "discover", observed)


@mutant(checks.check_release_ignores_rows)
def the_missing_code_is_there_only_if_something_is_missing(patch: Patch) -> None:
    original = Curator.discover

    def observed(self: Curator, **options: object) -> object:
        schema = original(self, **options)
        column = replace(
            schema["age"], nullable=self._context.table.count_valid("age") < 4
        )
        self._schema = schema.with_column(column)
        self._context = replace(
            self._context, table=self._context.table.with_schema(self._schema)
        )
        return self._schema

    patch.setattr(Curator, "discover", observed)


@mutant(checks.check_release_ignores_rows)
def the_release_keeps_the_exact_counts(patch: Patch) -> None:
    kept: list[np.ndarray] = []
    original, document = Table.counts, understudy.releases.file.archive.to_document

    def counts(self: Table, cliques: list) -> list:
        kept[:] = original(self, cliques)
        return [c.copy() for c in kept]

    def with_counts(release: object) -> tuple[object, dict]:
        found, arrays = document(release)
        return found, {**arrays, "arrays/99999.npy": kept[0]}

    patch.setattr(Table, "counts", counts)
    patch.setattr(understudy.releases.file.archive, "to_document", with_counts)


@pytest.mark.parametrize(
    "check",
    dict.fromkeys(check for _, check in MUTANTS.values()),
    ids=lambda c: c.__name__,
)
def test_the_real_one_passes(check):
    check()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_one_is_caught(name, monkeypatch):
    broken, check = MUTANTS[name]
    broken(monkeypatch)
    with pytest.raises(AssertionError):
        check()


def test_there_are_enough_of_them():
    assert len(MUTANTS) >= 20
