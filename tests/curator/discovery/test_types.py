"""The vote on types: one odd cell flips nothing, and one row moves one vote a column."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from kit.curator.contexts import context_of, neighbouring, no_noise
from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator.discovery.bounded_column import (
    FINEST_REAL_STEP,
    with_learned_bounds,
)
from understudy.curator.discovery.point_spelling import spell_points_alike
from understudy.curator.discovery.types import (
    VoteNoise,
    _elect_column,
    elect_lattice_type,
    elect_type,
    learn_types,
)
from understudy.noise import draw_noise
from understudy.schema import (
    Categorical,
    Date,
    Datetime,
    Integer,
    Real,
    Schema,
    Time,
    UndeclaredColumn,
)
from understudy.tables import TYPE_CANDIDATES, Table, open_table

SAMPLES = {
    Integer: ["12", "-7", "300"],
    Real: ["1.25", "-0.50", "3.75"],
    Date: ["2024-02-29", "1999-12-31"],
    Datetime: ["2024-02-29 12:30:00", "1999-12-31 00:00:01"],
    Time: ["12:30:00", "00:00:01"],
    Categorical: ["red", "green", "12b", "yes"],
}


def elected(cells, epsilon=50):
    schema = Schema(columns=(UndeclaredColumn(name="x"),))
    context = context_of(
        [{"x": c} for c in cells], schema, epsilon=epsilon
    )  # so little noise that the tolerance decides
    return learn_types(context, [schema["x"]], amount=context.payments.amount_left)[
        0
    ].column


@pytest.mark.parametrize("kind", SAMPLES, ids=lambda k: k.__name__)
@pytest.mark.parametrize(
    "odd", [[], ["surprise"], ["2024-01-01"], ["3.14159"], [""] * 300]
)
def test_a_few_odd_cells_do_not_flip_a_type(kind, odd):
    cells = SAMPLES[kind] * 700 + odd
    assert type(elected(cells)) is kind


def test_decimals_are_counted():
    assert elected(["1.5", "2.25"] * 1000).step == Fraction(1, 4)
    assert elected(["1.5", "2.27"] * 1000).step == Fraction(1, 100)


def test_zeros_and_ones_stay_numbers_and_yes_and_no_stay_words():
    """A release spells a cell as the file does."""
    bits = elected(["0", "1", "1"] * 700)
    assert (type(bits), bits.min, bits.max, bits.learned) == (
        Integer,
        0,
        1,
        ("type", "bounds"),
    )
    assert type(elected(["yes", "no"] * 700)) is Categorical


def test_a_mostly_zero_column_is_not_taken_for_yes_and_no():
    assert isinstance(elected(["0"] * 1900 + ["150"] * 100), Integer)


@pytest.mark.parametrize("cells", [[], ["12"], [""] * 200])
def test_nothing_to_go_by_gives_a_list_of_labels(cells):
    """But for noise beyond four deviations in one of some thirty candidates: once in a
    thousand votes, so not four times in thirty (3e-8).
    """
    others = sum(
        not isinstance(elected(cells, epsilon=1), Categorical) for _ in range(30)
    )
    assert others < 4


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("accounting", [Accounting.PURE, Accounting.GDP])
def test_no_row_moves_more_than_one_vote_a_column(relation, accounting):
    names = ("a", "b")
    schema = Schema(columns=tuple(UndeclaredColumn(name=n) for n in names))
    universe = [
        {"a": x, "b": y}
        for x, y in [("1", ""), ("x", "0606"), ("2020-01-01", "true"), (None, "0")]
    ]
    for here, there in neighbouring(universe, 4, relation):
        a, b = (
            context_of(rows, schema, noise=no_noise).table.votes(names)
            for rows in (here, there)
        )
        moved = np.abs(a - b)
        assert moved.sum() <= (1 if relation is Neighbours.ADD_REMOVE else 2) * len(
            names
        )
        assert moved.sum(axis=1).max() <= (
            1 if relation is Neighbours.ADD_REMOVE else 2
        )


def split(cells, epsilon=50):
    """What is elected of a column in which words stand beside values."""
    schema = Schema(columns=(UndeclaredColumn(name="x"),))
    context = context_of([{"x": c} for c in cells], schema, epsilon=epsilon)
    return learn_types(context, [schema["x"]], amount=context.payments.amount_left)[0]


@pytest.mark.parametrize(
    "kind", [Integer, Real, Date, Datetime, Time], ids=lambda k: k.__name__
)
def test_words_beside_values_leave_open_what_the_values_would_make(kind):
    found = split(SAMPLES[kind] * 500 + ["N"] * 400 + ["refused"] * 300)
    assert type(found.column) is Categorical
    assert type(found.beside) is kind
    assert abs(found.words - 700) < 50
    coded = found.with_missing_codes(
        ["12:30:00", "N", "refused"] if kind is Time else ["12", "N", "refused"],
        [500, 400, 300],
        1.0,
    )
    if kind in (Integer, Real, Time):
        assert coded.missing == ("N", "refused")
        assert coded.learned == ("type", "missing codes")


def test_a_column_of_one_kind_leaves_nothing_open():
    for cells in (
        SAMPLES[Integer] * 700,
        SAMPLES[Categorical][:2] * 700,
        ["yes", "no"] * 700,
    ):
        assert split(cells).beside is None


def test_words_are_codes_only_where_they_are_few_and_account_for_all_votes():
    found = split(
        ["12", "345"] * 800 + [f"word{i % 40}" for i in range(1000)] + ["N"] * 1000
    )
    assert (
        found.with_missing_codes(["12", "345", "N"], [800, 800, 1000], 1.0) is None
    )  # a thousand words would be lost, and no number otherwise
    many = [f"word{i}" for i in range(40)]
    assert (
        found.with_missing_codes(["N", *many], [1000, *[25] * 40], 1.0) is None
    )  # a list of labels, some of them numbers
    few = split(["12", "345"] * 800 + ["N"] * 1000)
    assert few.with_missing_codes(
        ["12", "345", "N"], [800, 800, 1000], 1.0
    ).missing == ("N",)
    assert (
        few.with_missing_codes(["12", "345"], [800, 800], 1.0) is None
    )  # no word is shown that could be one, and all numbers are


def test_numbers_too_many_to_list_stay_numbers_though_a_word_among_them_is_lost():
    found = split([str(100 + i) for i in range(3000)] + ["N"] * 400)
    coded = found.with_missing_codes([], [], 1.0)
    assert isinstance(coded, Integer)
    assert (coded.missing, coded.learned) == ((), ("type",))
    assert found.with_missing_codes(["N"], [400], 1.0).missing == ("N",)


def test_zeros_ones_and_a_code_are_a_number_with_a_code():
    found = split(["0", "1"] * 700 + ["refused"] * 600)
    assert (type(found.beside), found.beside.min, found.beside.max) == (Integer, 0, 1)


def test_text_wins_where_the_noise_drowns_the_votes():
    ballots = np.zeros(len(TYPE_CANDIDATES), np.int64)
    ballots[TYPE_CANDIDATES.index("integer")] = 20
    assert elect_type(ballots, VoteNoise(50.0)) == "text"


def test_moments_with_an_offset_are_instants_unless_many_have_none():
    ballots = np.zeros(len(TYPE_CANDIDATES), np.int64)
    ballots[TYPE_CANDIDATES.index("instant")] = 1000
    assert elect_type(ballots, VoteNoise(1.0)) == "instant"
    ballots[TYPE_CANDIDATES.index("datetime")] = 3
    assert elect_type(ballots, VoteNoise(1.0)) == "instant", "a few are no reason"
    ballots[TYPE_CANDIDATES.index("datetime")] = 300
    assert elect_type(ballots, VoteNoise(1.0)) == "datetime"
    ballots[TYPE_CANDIDATES.index("text")] = 300
    assert elect_lattice_type(ballots, VoteNoise(1.0)) == "datetime"


def ballots_of(**votes: int) -> np.ndarray:
    ballots = np.zeros(len(TYPE_CANDIDATES), np.int64)
    for candidate, count in votes.items():
        ballots[TYPE_CANDIDATES.index(candidate)] = count
    return ballots


@pytest.mark.parametrize(
    ("votes", "elected"),
    [
        ({"integer1000": 500, "zero": 300}, "integer1000"),
        ({"integer1000": 500, "integer100": 400}, "integer100"),
        ({"integer10": 500, "integer5": 400, "zero": 100}, "integer5"),
        ({"integer10": 500, "bit": 400}, "integer"),
        ({"half": 500, "integer": 500}, "half"),
        ({"half": 500, "decimal1": 500}, "decimal1"),
        ({"quarter": 500, "decimal1": 500}, "twentieth"),
        ({"fiftieth": 500, "decimal1": 500, "half": 100}, "fiftieth"),
        ({"fifth": 500, "integer": 500}, "fifth"),
        ({"integer2": 500, "integer10": 500, "zero": 90}, "integer2"),
        ({"integer2": 500, "bit": 500}, "integer"),
        ({"zero": 500}, "bit"),
    ],
)
def test_the_coarsest_step_that_holds_what_stands_out_is_elected(votes, elected):
    assert elect_type(ballots_of(**votes), VoteNoise(1.0)) == elected


def test_a_step_is_not_believed_where_noise_could_hide_what_lies_between():
    """A tenth of 300 numbers are no hundreds: at a noise of 10 that cannot be seen."""
    votes = ballots_of(integer100=270, integer=30)
    assert elect_type(votes, VoteNoise(0.5)) == "integer"
    assert elect_type(votes, VoteNoise(10.0)) == "integer"
    assert elect_type(ballots_of(integer100=300), VoteNoise(20.0)) == "integer"
    assert elect_type(ballots_of(integer100=300), VoteNoise(2.0)) == "integer100"


def test_votes_for_rare_steps_hide_no_common_ones():
    """Children by family: with the noise of six counts, none of them a hundred or a
    thousand, the sum of the votes would not stand out, and they would be labels.
    """
    votes = ballots_of(zero=200, bit=200, integer2=330, integer=290, integer5=30)
    noise = VoteNoise(85.0)
    assert votes.sum() - 400 < noise.bar(6)
    assert elect_type(votes, noise) == "integer"
    # Half as many are no evidence.
    assert elect_type(votes // 2, noise) == "text"


def test_round_steps_are_believed_where_nothing_speaks_against_them():
    """Noise could hide a seventh of the numbers, and seems to hold none of them."""
    votes = ballots_of(integer100=150, integer10=120)
    noise = VoteNoise(9.5)
    assert elect_type(votes, noise) == "integer10"
    votes = ballots_of(integer100=150, integer10=120, integer=30)
    assert elect_type(votes, noise) == "integer"
    # Fives and halves may be chance: they take more rows.
    assert elect_type(ballots_of(integer5=150, integer10=120), noise) == "integer"
    assert elect_type(ballots_of(integer5=150, integer10=120), VoteNoise(2.0)) == (
        "integer5"
    )


def test_whole_numbers_with_gaps_stay_whole():
    """What pandas writes: 1.0, 2.0 and an empty cell."""
    found = elected(["1.0", "2.0", ""] * 200)
    assert type(found) is Integer
    assert found.step == 1


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["11:15", "06:25"], Time(name="x", learned=("type",), resolution=timedelta(minutes=1), format="%H:%M")),
        (["2024-01-05T10:00:00Z", "2024-01-05T11:00:00Z"], Datetime(name="x", learned=("type",), zone="UTC", resolution=timedelta(hours=1), format="%Y-%m-%dT%H:%M:%SZ")),
        (["05.01.2024", "31.12.2024"], Date(name="x", learned=("type",), format="%d.%m.%Y")),
        (["1/13/2024", "1/5/2024"], Date(name="x", learned=("type",), format="%-m/%-d/%Y")),
        (["05/01/2024", "06/02/2024"], Categorical(name="x", learned=("type",))),
        (["12.57", "3.00"], Real(name="x", learned=("type",), trailing_zeros=True)),
        (["12.5", "3.07", "2.0"], Real(name="x", learned=("type",), trailing_zeros=False)),
        (["7", "7.5", "8.27"], Real(name="x", learned=("type",), trailing_zeros=False, whole_point=False)),
        (["7", "7.5", "8.3"], Real(name="x", learned=("type",), step=Fraction(1, 10), whole_point=False)),
        (["1.0", "2.0", ""], Integer(name="x", learned=("type",), whole_point=True)),
        (["0.0", "1.0", ""], Integer(name="x", learned=("type", "bounds"), min=0, max=1, whole_point=True)),
        (["0", "1"], Integer(name="x", learned=("type", "bounds"), min=0, max=1)),
        (["00123", "10115"], Categorical(name="x", learned=("type",))),
        (["0.12345678", "2.23456789"], Real(name="x", learned=("type",), step=FINEST_REAL_STEP)),
        (["0.12345678", "7"], Real(name="x", learned=("type",), step=FINEST_REAL_STEP, whole_point=False)),
        (["0.12345678", "2.5e+12"], Real(name="x", learned=("type",))),
    ],
)  # fmt: skip
def test_the_vote_finds_how_cells_are_spelled(cells, found):
    """Each cell has one vote, whatever it is spelled like: nothing costs more."""
    frame = pl.DataFrame({"x": cells * 500})
    schema = Schema(columns=(UndeclaredColumn(name="x"),))
    with open_table(frame) as source:
        (ballots,) = Table(source, schema).votes(["x"])
    assert ballots.sum() == len(frame)
    assert _elect_column(schema["x"], ballots, VoteNoise(2.0)).column == found


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(-3.2, 5.1, 10**-4), (0.0, 0.0031, 10**-7), (80.0, 90_000.5, 10**-2)],
)
def test_bounds_say_how_many_decimals_of_a_real_matter(low, high, step):
    fine = Real(name="x", learned=("type",), step=FINEST_REAL_STEP)
    bounds = [int(bound / float(FINEST_REAL_STEP)) for bound in (low, high)]
    closed = with_learned_bounds(fine, *bounds)
    assert isinstance(closed, Real)
    assert float(closed.step) == pytest.approx(step)
    assert float(closed.min) == pytest.approx(low, abs=2 * step)
    assert float(closed.max) == pytest.approx(high, abs=2 * step)
    # A step that the owner declared stays.
    declared = with_learned_bounds(Real(name="x", step=FINEST_REAL_STEP), *bounds)
    assert declared.step == FINEST_REAL_STEP


def test_codes_with_zeros_before_them_stay_labels():
    """As a number 00501 would be 501."""
    numbers = [str(10_000 + i) for i in range(400)]
    # Too many to list, and far fewer than the others: they stand out together.
    found = split([*[f"{i:05}" for i in range(1, 41)], *numbers])
    assert isinstance(found.column, Categorical)
    assert found.beside is None
    assert isinstance(split([*["N"] * 40, *numbers]).beside, Integer)
    # Those that stand out as labels alone, and account for every word, are no missing
    # codes either.
    few = split([*["N"] * 1000, *numbers])
    labels = ["00501", "00077", "N"]
    assert few.with_missing_codes(labels, [9, 8, 1000], 1.0) is None
    assert few.with_missing_codes(["N"], [1000], 1.0) is not None
    # Beside dates they are codes for missing ones, and dates lose nothing.
    assert isinstance(split([*["00"] * 40, *["2024-02-29"] * 400]).beside, Date)


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize("counts", [1, 5])
def test_noise_alone_hardly_reaches_the_bar(law, counts):
    """Of 400,000 sums about 4 are expected beyond it; more than 40 has a probability
    below 1e-20. At 4 deviations 700 single counts of Laplace noise would be.
    """
    scale = Fraction(20)
    sums = draw_noise(law, scale, (400_000, counts)).sum(axis=1)
    beyond = sums > VoteNoise.of(law, scale).bar(counts)
    assert beyond.sum() <= 40


def test_years_beside_many_zeros_are_no_flags():
    """They divide their votes among the steps, and as a flag all would be the year 1."""
    years = {"integer": 280, "integer2": 360, "integer5": 130, "integer10": 90}
    votes = ballots_of(zero=20_000, **years)
    # At this noise each of them alone could be chance, and the even ones alone too.
    noise = VoteNoise(85.0)
    assert elect_type(votes, VoteNoise(noise.deviation / 2)) == "integer"
    assert elect_type(votes, noise) == "integer"
    assert elect_type(ballots_of(zero=20_000, bit=500), noise) == "bit"


def test_ones_without_zeros_are_no_flags():
    """An answer from 1 to 4 that nearly everybody gives alike: as a flag it would come
    back with zeros.
    """
    noise = VoteNoise(20.0)
    assert elect_type(ballots_of(bit=1450, integer2=30, integer=15), noise) == "integer"
    assert elect_type(ballots_of(bit=1400, zero=60), noise) == "bit"
    ones = ballots_of(**{"bit.0": 1450, "integer2.0": 30, "integer.0": 15})
    assert elect_type(ones, noise) == "integer"


@pytest.mark.parametrize("point", [None, False])
def test_decimals_of_which_few_are_whole_are_spelled_as_the_others(point):
    """Votes for a whole latitude are noise; one program wrote all columns of a file."""
    pointed = {"half": 900, "integer.0" if point is None else "integer": 800}
    # By its own votes the latitude would be spelled the other way.
    noisy = {"decimal4": 1700, "integer" if point is None else "integer.0": 60}
    real = Real(name="x", step=Fraction(1, 2))
    ballots = [ballots_of(**pointed), ballots_of(**noisy)]
    floors, latitude = spell_points_alike(
        [real, real], ballots, VoteNoise(30.0), point=point is not None
    )
    assert (floors.whole_point, latitude.whole_point) == (point, point)


def test_decimals_whose_votes_are_noise_are_spelled_as_their_program_does():
    real = Real(name="x", step=Fraction(1, 100))
    votes = ballots_of(**{"decimal2": 1900, "integer": 30, "integer.0": 40})
    for point in (True, False):
        (amount,) = spell_points_alike([real], [votes], VoteNoise(30.0), point=point)
        assert amount.whole_point is (None if point else False)
