"""The standalone client: private by enumeration, within its account, alone."""

from __future__ import annotations

import ast
import re
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import mpmath
import pytest

import understudy_client as client
from kit.local.enumeration import enumerate_law, largest_ratio
from kit.local.plans import inputs_of, small_plan
from understudy_client import Account, Coins, CollectionPlan, DonationRefused

ALL = sorted(client.MECHANISMS)
DAY = date(2030, 5, 17)


def worst_ratio(
    plan: CollectionPlan, drawing: CollectionPlan | None = None
) -> Fraction:
    drawn = drawing or plan
    laws = [
        enumerate_law(
            lambda coins, value=value: client.draw_answer(drawn, value, coins)
        )
        for value in inputs_of(plan)
    ]
    return largest_ratio(laws)


def exceeds(ratio: Fraction, epsilon: Fraction) -> bool:
    """Whether ratio > e^ε, at 60 digits."""
    with mpmath.workdps(60):
        power = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        return bool(mpmath.mpf(ratio.numerator) / ratio.denominator > power)


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize("epsilon", ["1/2", "1", "3"])
def test_no_answer_is_likelier_than_the_claim_allows(
    mechanism: str, epsilon: str
) -> None:
    plan = small_plan(mechanism, Fraction(epsilon))
    ratio = worst_ratio(plan)
    assert not exceeds(ratio, plan.epsilon)
    # And the claim is used: nothing is given away.
    assert exceeds(ratio, plan.epsilon - Fraction(1, 10**5))


@pytest.mark.parametrize("mechanism", [name for name in ALL if name != "two_coin"])
def test_a_client_that_uses_one_percent_more_is_caught(mechanism: str) -> None:
    plan = small_plan(mechanism)
    assert exceeds(
        worst_ratio(plan, replace(plan, epsilon=Fraction(101, 100))), Fraction(1)
    )


@pytest.mark.parametrize("mechanism", ["sue", "cms", "rappor"])
def test_a_client_that_forgets_how_many_bits_differ_is_caught(
    mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CollectionPlan, "root_ratio", lambda plan, parts: plan.ratio)
    assert exceeds(worst_ratio(small_plan(mechanism)), Fraction(1))


@pytest.mark.parametrize("mechanism", ["krr", "olh", "prefix"])
def test_a_client_whose_other_answers_are_not_uniform_is_caught(
    mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(index: int, count: int, ratio: Fraction, coins: Coins) -> int:
        return (
            index if coins.flip(ratio / (ratio + count - 1)) else coins.pick(count - 1)
        )

    monkeypatch.setattr(client, "answer_directly", answer)
    assert exceeds(worst_ratio(small_plan(mechanism)), Fraction(1))


def test_two_coins_say_yes_as_often_as_the_book_says() -> None:
    plan = small_plan("two_coin")
    laws = [
        enumerate_law(partial(client.draw_answer, plan, value)) for value in plan.values
    ]
    assert [law[(1,)] for law in laws] == [Fraction(1, 4), Fraction(3, 4)]


@pytest.mark.parametrize("hundredths", [1, 10, 50, 100, 300, 1000, 2000])
def test_the_rational_power_is_just_below(hundredths: int) -> None:
    epsilon = Fraction(hundredths, 100)
    bound = client.bound_exp(epsilon)
    assert not exceeds(bound, epsilon)
    assert exceeds(bound + Fraction(1, 1 << client.RATIO_BITS - 1), epsilon)


def test_a_repeated_question_reveals_nothing_new(tmp_path: Path) -> None:
    plan = replace(small_plan("krr"), max_donations=3, window_days=7)
    account = Account(tmp_path / "own.db")
    monday = date.fromordinal(7 * 100_000)
    first = account.donate(plan, "a", today=monday)
    # The stored answer stands for the whole window, whatever the value is by now.
    week = [
        account.donate(plan, v, today=monday + timedelta(d))
        for d in range(7)
        for v in "abcd"
    ]
    assert set(week) == {first}
    assert account.spent(topic="topic") == 1
    account.donate(plan, "a", today=monday + timedelta(7))
    assert account.spent(topic="topic") == 2


def test_a_topic_has_its_donations_and_no_more(tmp_path: Path) -> None:
    plan = replace(small_plan("krr"), max_donations=2)
    account = Account(tmp_path / "own.db")
    for day in range(2):
        account.donate(plan, "a", today=DAY + timedelta(day))
    with pytest.raises(DonationRefused, match="has had its donations"):
        account.donate(plan, "a", today=DAY + timedelta(2))
    # A server that asks the same topic in another way gets no further.
    with pytest.raises(DonationRefused, match="has had its donations"):
        account.donate(replace(plan, mechanism="oue"), "a", today=DAY + timedelta(2))
    # Nor one that allows itself more than the client does.
    greedy = replace(plan, max_donations=1000)
    for day in range(2, 8):
        account.donate(greedy, "a", today=DAY + timedelta(day))
    with pytest.raises(DonationRefused, match="has had its donations"):
        account.donate(greedy, "a", today=DAY + timedelta(9))


def test_a_topic_that_is_no_text_is_no_way_around_the_caps(tmp_path: Path) -> None:
    """SQL finds nothing equal to NULL, so its charges could be left out of a sum."""
    plan = small_plan("krr")
    text = plan.to_json()
    for other in ("null", "5", "[]"):
        with pytest.raises(DonationRefused, match="topic"):
            CollectionPlan.from_json(
                text.replace('"topic": "topic"', f'"topic": {other}')
            )
    account = Account(tmp_path / "own.db", epsilon_per_day=2)
    nameless = replace(plan, topic=None, max_donations=9)  # type: ignore[arg-type]
    for seed in "xy":
        account.donate(replace(nameless, seed=seed), "a", today=DAY)
    assert account.spent() == 2
    with pytest.raises(DonationRefused, match="today"):
        account.donate(replace(nameless, seed="z"), "a", today=DAY)


def test_the_account_uses_nothing_that_python_takes_away() -> None:
    """Numbered placeholders with a sequence are an error from Python 3.14 on, and warn
    in 3.12 alone: so none of them is in the file.
    """
    text = Path(client.__file__).read_text()
    assert not re.findall(r"\?\d", text)
    assert re.findall(r"\?\d", "SELECT ?1")


def test_a_day_has_its_cap_over_all_topics(tmp_path: Path) -> None:
    account = Account(tmp_path / "own.db", epsilon_per_day=2)
    for topic in "xy":
        account.donate(replace(small_plan("krr"), topic=topic), "a", today=DAY)
    with pytest.raises(DonationRefused, match="today"):
        account.donate(replace(small_plan("krr"), topic="z"), "a", today=DAY)
    account.donate(replace(small_plan("krr"), topic="z"), "a", today=DAY + timedelta(1))


def test_a_clock_that_is_set_back_opens_no_day_anew(tmp_path: Path) -> None:
    """A device that starts in 1970 got fresh answers and another day's cap."""
    plan = replace(small_plan("krr"), max_donations=9)
    account = Account(tmp_path / "own.db", epsilon_per_day=2)
    first = account.donate(plan, "a", today=DAY)
    for back in (1, 400, 20_000):
        assert account.donate(plan, "b", today=DAY - timedelta(back)) == first
    account.donate(replace(plan, topic="x"), "a", today=DAY - timedelta(20_000))
    with pytest.raises(DonationRefused, match="today"):
        account.donate(replace(plan, topic="y"), "a", today=DAY - timedelta(20_000))
    assert account.spent() == account.spent(day=DAY) == 2


def test_clients_that_race_for_one_account_are_charged_once(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    Account(path)
    plan = small_plan("oue")
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(
            lambda _: Account(path).donate(plan, "a", today=DAY), range(16)
        )
        reports = set(found)
    assert len(reports) == 1
    assert Account(path).spent() == 1


def test_a_client_that_dies_before_the_charge_sent_nothing(tmp_path: Path) -> None:
    """A coin that never falls stands for a power cut: no charge, no stored answer."""

    class Broken(Coins):
        def flip(self, probability: Fraction) -> bool:
            raise KeyboardInterrupt

    account = Account(tmp_path / "own.db")
    with pytest.raises(KeyboardInterrupt):
        account.donate(small_plan("krr"), "a", today=DAY, coins=Broken())
    assert account.spent() == 0
    account.donate(small_plan("krr"), "a", today=DAY)
    assert account.spent() == 1


def test_the_account_is_durable_private_and_without_true_values(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    plan = CollectionPlan("t", "oue", Fraction(1), values=("a", "a-telling-value"))
    report = Account(path).donate(plan, "a-telling-value", today=DAY)
    assert Account(path).donate(plan, "a", today=DAY) == report
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"telling" not in path.read_bytes()


ODD_VALUES = ["zebra", "", "nan", "1e100000000", "1/0", "\udcff"]


@pytest.mark.parametrize("mechanism", ALL)
def test_a_value_outside_of_the_plan_is_answered_like_any_other(
    mechanism: str, tmp_path: Path
) -> None:
    """A plan of one label, sent to everybody, would find those who have another one by
    who is silent; it cost nothing, so a server could try label after label.
    """
    plan = small_plan(mechanism)
    laws = [
        enumerate_law(
            lambda coins, value=value: client.draw_answer(
                plan, plan.admit(value, coins), coins
            )
        )
        for value in (*inputs_of(plan), *ODD_VALUES)
    ]
    assert not exceeds(largest_ratio(laws), plan.epsilon)
    for place, odd in enumerate(ODD_VALUES):
        account = Account(tmp_path / f"{place}.db", epsilon_per_day=2)
        assert account.donate(plan, odd, today=DAY).startswith('{"plan":')
        assert account.spent() == plan.epsilon


@pytest.mark.parametrize("value", ["", "a", "z" * 100])
def test_the_length_of_prefixes_silences_nobody(value: str) -> None:
    """Python writes no integer of more than 4,300 decimals: a plan of long texts would
    find those whose text is empty, or begins with a low letter, by who answers.
    """
    sizes = {"groups": 1, "max_bytes": client.MAX_SIZE, "buckets": 3}
    plan = replace(small_plan("prefix"), sizes=sizes)
    assert client.draw_answer(plan, plan.admit(value, client.OS_COINS))[0] == 0


@pytest.mark.parametrize(
    "mechanism", [name for name in client.LISTED_MECHANISMS if name != "subset"]
)
def test_a_plan_without_values_is_refused_whatever_the_value_is(mechanism: str) -> None:
    text = small_plan(mechanism).to_json()
    listed = text[text.index("[") : text.index("]") + 1]
    with pytest.raises(DonationRefused, match="values"):
        CollectionPlan.from_json(text.replace(listed, "[]"))


def test_a_permanent_response_is_kept_and_reported_anew(tmp_path: Path) -> None:
    plan = replace(small_plan("rappor"), sizes={"rows": 2, "width": 64, "hashes": 2})
    account = Account(tmp_path / "own.db")
    reports = {account.donate(plan, "a", today=DAY) for _ in range(8)}
    assert len(reports) > 1  # equal with probability below 2^-300
    assert account.spent() == 1


@pytest.mark.parametrize("mechanism", ALL)
def test_a_plan_is_the_same_after_writing_and_reading(mechanism: str) -> None:
    plan = small_plan(mechanism)
    assert CollectionPlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"1"', '"21"'),
        ('"1"', '"-1"'),
        ('"1"', '"1/0"'),
        ('"1"', "[]"),
        ('"1"', '"1e100000000"'),
        ('"1"', '"1e-1_000_000"'),
        ('"1"', f'"1/{"3" * 5000}"'),
        ('"topic": "topic"', '"topic": "\\ud800"'),
        ('"buckets": 3', f'"buckets": {"[" * 100_000}'),
        ('"olh"', '"plain"'),
        ('"buckets": 3', '"buckets": 0'),
        ('"buckets": 3', '"buckets": 1e999'),
        ('"buckets": 3', '"buckets": 99999999'),
        ('"buckets": 3', '"other": 3'),
        ('"max_donations": 1', '"max_donations": 0'),
        ('"seed"', '"seeds"'),
        ('"format"', '"formed"'),
        ("{", "["),
    ],
)
def test_a_hostile_plan_is_refused(old: str, new: str) -> None:
    text = small_plan("olh").to_json()
    assert old in text
    with pytest.raises(DonationRefused):
        CollectionPlan.from_json(text.replace(old, new))


def test_two_coins_do_not_claim_less_than_they_cost() -> None:
    with pytest.raises(DonationRefused, match="ln 3"):
        CollectionPlan("t", "two_coin", Fraction(1), values=("no", "yes"))


def test_the_client_is_one_short_file_of_the_standard_library() -> None:
    text = Path(client.__file__).read_text()
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= sys.stdlib_module_names
    assert "random" not in imported
    assert len(text.splitlines()) < 600


def test_the_client_runs_alone(tmp_path: Path) -> None:
    """Copied to an empty folder, with no package in reach."""
    (tmp_path / "understudy_client.py").write_text(Path(client.__file__).read_text())
    (tmp_path / "plan.json").write_text(small_plan("oue").to_json())
    command = [sys.executable, "-I", "understudy_client.py", "plan.json"]
    done = subprocess.run(
        [*command, "b", "--account", "own.db"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith('{"plan":"')
    odd = subprocess.run(
        [*command, "zebra", "--account", "other.db"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    # The owner is told of a typing error; whoever reads the report is not.
    assert odd.stderr == f"{client.UNPLACED_TEXT}.\n"
    assert odd.stdout.startswith('{"plan":"')


@pytest.mark.parametrize("odd", [b"\xff\xfe", b"[" * 100_000, b"{}", b""])
def test_a_file_that_is_no_plan_is_refused_in_a_line(
    odd: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.json").write_bytes(odd)
    words = [str(tmp_path / "plan.json"), "b", "--account", str(tmp_path / "own.db")]
    assert client.main(words) == 1
    expected = "this is no plan of a local collection. Nothing was sent.\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE donations SET answer = 'x'",
        "UPDATE donations SET answer = NULL",
        "UPDATE donations SET day = 'someday'",
        "DROP TABLE donations; CREATE TABLE donations (plan TEXT)",
    ],
)
def test_a_damaged_account_sends_nothing(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, own = tmp_path / "plan.json", tmp_path / "own.db"
    plan.write_text(small_plan("krr").to_json())
    words = [str(plan), "b", "--account", str(own)]
    assert client.main(words) == 0
    capsys.readouterr()
    with closing(sqlite3.connect(own)) as db:
        db.executescript(damage)
    assert client.main(words) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith("Nothing was sent.\n")
    assert len(shown.err.splitlines()) == 1


@pytest.mark.parametrize(
    "plan",
    [
        {"mechanism": "subset", "values": ("a", "b"), "sizes": {"size": 3}},
        {"mechanism": "duchi"},
        {"mechanism": "piecewise", "sizes": {"window": 1, "outside": 1}},
        {"mechanism": "square_wave", "sizes": {"levels": 4, "reach": 1}},
    ],
)
def test_a_plan_that_no_answer_fits_is_refused(plan: dict[str, Any]) -> None:
    with pytest.raises(DonationRefused):
        CollectionPlan("topic", epsilon=Fraction(1), **plan)
