"""One conformance suite for every synthesizer: what must hold whatever the algorithm.

Each check is a plain function of a synthesizer and a way to open a real curator on
simulated rows; it raises AssertionError with a sentence that says what does not hold. A
refusal (`errors.Refused`) by `check` is an answer too, as long as it came before
anything was spent and names a remedy.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.models import ConditionalModel, PortableModel, from_parts
from understudy.schema import Boolean, Categorical, Integer, Schema, parse_predicate
from understudy.synthesizers.base import Synthesizer
from understudy.testing.trial import (
    TRIAL_DELTA,
    OpenCurator,
    TrialRows,
    assert_clear_refusal,
    assert_sample_fits,
    is_same_sample,
    mixed_table,
    people_table,
    run_sound_trial,
    run_trial,
    unused_cost_part,
)


def check_synthesizer(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """Run every check; the first that fails raises AssertionError."""
    for check in CONFORMANCE_CHECKS:
        check(synthesizer, open_curator)


def check_mixed_table(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """Columns of several types, with missing values and under both relations: the model
    and its rows fit the schema.
    """
    schema, rows = mixed_table(300)
    for neighbours in Neighbours:
        run_sound_trial(synthesizer, open_curator, schema, rows, neighbours=neighbours)


def check_pure(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """δ = 0: a sound model or a refusal."""
    schema, rows = mixed_table(300)
    for neighbours in Neighbours:
        run_sound_trial(
            synthesizer,
            open_curator,
            schema,
            rows,
            delta=Fraction(0),
            neighbours=neighbours,
        )


def check_nulls(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """A column of which nothing is known but that it is missing."""
    schema = Schema(
        columns=(
            Boolean(name="smoker"),
            Integer(name="age", min=0, max=3, missing=("-9",)),
        )
    )
    rows: TrialRows = {"smoker": [None] * 60, "age": [None, "-9", 2] * 20}
    run_sound_trial(synthesizer, open_curator, schema, rows)


def check_constant_column(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """A column with a single possible value, and one with a single value in the rows."""
    schema = Schema(
        columns=(
            Categorical(name="country", values=("NL",), nullable=False),
            Categorical(name="city", values=("Delft", "Leiden"), nullable=False),
        )
    )
    rows = {"country": ["NL"] * 50, "city": ["Delft"] * 50}
    for neighbours in Neighbours:
        run_sound_trial(synthesizer, open_curator, schema, rows, neighbours=neighbours)


def check_one_row(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """A table of one row."""
    schema, rows = mixed_table(1)
    run_sound_trial(synthesizer, open_curator, schema, rows)


def check_no_rows(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """A table without rows."""
    schema, rows = mixed_table(0)
    for neighbours in Neighbours:
        run_sound_trial(synthesizer, open_curator, schema, rows, neighbours=neighbours)


def check_empty_category(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """Values that are declared and never occur, `other` among them."""
    column = Categorical(
        name="religion", values=("a", "b", "c", "d"), other="else", nullable=False
    )
    rows = {"religion": ["a"] * 40}
    run_sound_trial(synthesizer, open_curator, Schema(columns=(column,)), rows)


def check_two_columns(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """The smallest table that can have a correlation."""
    schema = Schema(
        columns=(
            Boolean(name="smoker", nullable=False),
            Boolean(name="cough", nullable=False),
        )
    )
    rows = {
        "smoker": [True, True, False, False] * 25,
        "cough": [True, True, False, True] * 25,
    }
    run_sound_trial(synthesizer, open_curator, schema, rows)


def check_people(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """The guarantee protects people with several rows each, under both relations. The
    number of rows is private then.
    """
    # Two rows of each person count, so every sensitivity doubles.
    schema, rows = people_table(300)
    for neighbours in Neighbours:
        trial = run_sound_trial(
            synthesizer, open_curator, schema, rows, neighbours=neighbours
        )
        assert trial is None or list(trial.schema) == [
            "smoker",
            "sex",
            "age",
        ], f"{synthesizer.name}: it models the id"


def check_one_candidate(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """One pair to choose from, and nothing to choose at all."""
    city = Categorical(name="city", values=("Delft",), nullable=False)
    smoker, cough = (Boolean(name=name, nullable=False) for name in ("smoker", "cough"))
    rows: TrialRows = {
        "city": ["Delft"] * 60,
        "smoker": [True, False, False] * 20,
        "cough": [True, False, True] * 20,
    }
    for columns in ((city, smoker, cough), (city, smoker), (city,), (smoker,)):
        few = {column.name: rows[column.name] for column in columns}
        for neighbours in Neighbours:
            run_sound_trial(
                synthesizer,
                open_curator,
                Schema(columns=columns),
                few,
                neighbours=neighbours,
            )


def check_impossible(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """What the schema declares impossible is in no sampled and no completed row, also
    if it is in the table.
    """
    plain, rows = mixed_table(400)
    schema = replace(plain, impossible=(parse_predicate("smoker = true and age > 1"),))
    trial = run_sound_trial(synthesizer, open_curator, schema, rows)
    if trial is not None and isinstance(trial.model, ConditionalModel):
        given = np.repeat(np.arange(schema.codecs["smoker"].size), 30)
        whole = trial.model.complete({"smoker": given}, np.random.default_rng(2))
        assert_sample_fits(synthesizer, schema, whole, given.size)


def check_many_columns(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """Forty columns: a model, or a refusal before anything is spent; never an exhausted
    memory.
    """
    # 40 columns of 2 to 8 codes: far more cells than memory, if anything is dense.
    names = [f"q{i}" for i in range(40)]
    schema = Schema(
        columns=tuple(
            Integer(name=name, min=0, max=i % 7 + 1) for i, name in enumerate(names)
        )
    )
    draw = np.random.default_rng(5)
    rows: TrialRows = {
        name: draw.integers(0, i % 7 + 2, 200).tolist() for i, name in enumerate(names)
    }
    run_sound_trial(synthesizer, open_curator, schema, rows)


def check_budget(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """At most the budget is spent, and at least 99 % of it, unless the algorithm asks
    for nothing at all.
    """
    schema, rows = mixed_table(300)
    for neighbours in Neighbours:
        for delta in (Fraction(0), TRIAL_DELTA):
            trial = run_trial(
                synthesizer,
                open_curator,
                schema,
                rows,
                delta=delta,
                neighbours=neighbours,
            )
            if trial is None:
                continue
            left = trial.curator.share_left
            # Unused budget is noise that need not have been there.
            assert left >= 0, f"{synthesizer.name}: more was spent than there was"
            if synthesizer.reads_rows:
                assert left <= Fraction(1, 100), (
                    f"{synthesizer.name}: {float(left):.1%} of the budget was left"
                    " unused"
                )
            else:
                assert left == 1, (
                    f"{synthesizer.name}: says it reads no rows and spent something"
                )


def check_answers_are_used(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """At least 99 % of what marginals cost went to answers that the model depends on."""
    schema, rows = mixed_table(150)
    trial = run_trial(synthesizer, open_curator, schema, rows)
    if trial is None:
        return
    part = unused_cost_part(synthesizer, trial)
    assert part <= Fraction(1, 100), (
        f"{synthesizer.name}: {float(part):.1%} was spent on answers that are not used"
    )


def check_estimate_is_pure(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """The same measurements and seed give the same model and the same rows."""
    schema, rows = mixed_table(300)
    trial = run_trial(synthesizer, open_curator, schema, rows)
    if trial is None:
        return
    again = synthesizer.estimate(
        trial.schema, trial.measurements, np.random.default_rng(7)
    )
    assert again.total == trial.model.total, (
        f"{synthesizer.name}: the same measurements gave another total"
    )
    for name in schema:
        first_marginal = trial.model.marginal((name,))
        assert np.array_equal(again.marginal((name,)), first_marginal), (
            f"{synthesizer.name}: the same measurements gave another marginal of"
            f' "{name}"'
        )
    first, second = (
        model.sample(50, np.random.default_rng(8)) for model in (again, trial.model)
    )
    assert is_same_sample(first, second), (
        f"{synthesizer.name}: the same seed gave other rows"
    )


def check_parts(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """A model written as JSON and arrays comes back as it was."""
    schema, rows = mixed_table(300)
    trial = run_trial(synthesizer, open_curator, schema, rows)
    if trial is None:
        return
    model = trial.model
    assert hasattr(model, "to_parts"), (
        f"{synthesizer.name}: its model cannot be written to a file"
    )
    portable: PortableModel = model  # type: ignore[assignment]
    facts, arrays = portable.to_parts()
    # Through JSON and copies, as a file would: nothing may hang on shared objects.
    back = from_parts(
        trial.schema,
        json.loads(json.dumps(facts)),
        {name: array.copy() for name, array in arrays.items()},
    )
    first, second = (one.sample(50, np.random.default_rng(8)) for one in (model, back))
    assert back.total == model.total, (
        f"{synthesizer.name}: the total changed on its way through a file"
    )
    assert is_same_sample(first, second), (
        f"{synthesizer.name}: rows changed on the model's way through a file"
    )


def check_conditional(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """If the model can complete rows, the given codes stay, for every code of every
    column.
    """
    schema, rows = mixed_table(300)
    trial = run_trial(synthesizer, open_curator, schema, rows)
    if trial is None or not isinstance(trial.model, ConditionalModel):
        return
    for name in schema:
        codes = np.repeat(np.arange(schema.codecs[name].size), 3)
        whole = trial.model.complete({name: codes}, np.random.default_rng(9))
        assert_sample_fits(synthesizer, schema, whole, codes.size)
        assert np.array_equal(whole[name], codes), (
            f'{synthesizer.name}: given codes of "{name}" were changed'
        )
    for one, other in combinations(schema, 2):
        # Every cell of the pair, also those that no row is in.
        pair = np.indices(schema.sizes((one, other))).reshape(2, -1)
        whole = trial.model.complete(
            {one: pair[0], other: pair[1]}, np.random.default_rng(9)
        )
        assert_sample_fits(synthesizer, schema, whole, pair.shape[1])
        is_kept = [
            np.array_equal(whole[one], pair[0]),
            np.array_equal(whole[other], pair[1]),
        ]
        assert all(is_kept), (
            f'{synthesizer.name}: given codes of "{one}" and "{other}" were changed'
        )


def check_learns(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:
    """With next to no noise, one-way marginals are those of the rows: no column or code
    is taken for another.
    """
    schema, rows = mixed_table(400)
    # At ε = 100 the noise on a count is far below one row.
    trial = run_trial(synthesizer, open_curator, schema, rows, epsilon=Fraction(100))
    if trial is None or not synthesizer.reads_rows:
        return
    for name in schema:
        codec = schema.codecs[name]
        codes = [codec.code(value) for value in rows[name]]
        truth = np.bincount(codes, minlength=codec.size)
        error = np.abs(trial.model.marginal((name,)) - truth).sum() / 400
        # Two codes that are exchanged move far more; a coarse model may miss by less.
        assert error < 0.1, (
            f'{synthesizer.name}: without noise, the marginal of "{name}" is'
            f" {error:.0%} off"
        )


def check_refusals(synthesizer: Synthesizer, open_curator: OpenCurator) -> None:  # noqa: ARG001
    """What cannot work is refused in one line, before anything is spent."""
    # A schema may be valid and still leave nothing to release.
    nothing = Schema(columns=(Boolean(name="smoker", use=False),))
    try:
        synthesizer.check(nothing, delta=TRIAL_DELTA)
    except Refused as refusal:
        assert_clear_refusal(synthesizer, refusal)
    else:
        raise AssertionError(
            f"{synthesizer.name}: a schema without any column to release was not"
            " refused"
        )
    schema, _ = mixed_table(0)
    if synthesizer.needs_delta:
        try:
            synthesizer.check(schema, delta=Fraction(0))
        except Refused as refusal:
            assert_clear_refusal(synthesizer, refusal)
        else:
            raise AssertionError(
                f"{synthesizer.name}: it needs δ, and δ = 0 was not refused"
            )


CONFORMANCE_CHECKS: tuple[Callable[[Synthesizer, OpenCurator], None], ...] = (
    check_refusals,
    check_two_columns,
    check_one_candidate,
    check_people,
    check_mixed_table,
    check_pure,
    check_nulls,
    check_constant_column,
    check_one_row,
    check_no_rows,
    check_empty_category,
    check_impossible,
    check_many_columns,
    check_budget,
    check_answers_are_used,
    check_estimate_is_pure,
    check_parts,
    check_conditional,
    check_learns,
)
"""Every check, in the order they run."""
