"""The table of algorithms."""

from __future__ import annotations

from kit.cli import Shell
from understudy.synthesizers import SYNTHESIZER_CLASSES, options_of


def test_every_algorithm_is_listed(shell: Shell) -> None:
    told = shell("synthesizers", "--json").json
    assert {entry["name"] for entry in told} == set(SYNTHESIZER_CLASSES)
    text = shell("synthesizers").out
    assert all(name in text for name in SYNTHESIZER_CLASSES)


def test_awareness_is_the_class_s_own(shell: Shell) -> None:
    for entry in shell("synthesizers", "--json").json:
        aware = SYNTHESIZER_CLASSES[entry["name"]].aware
        assert entry["aware"] == {
            "workload": aware.workload,
            "data": aware.data,
            "budget": aware.budget,
            "efficiency": aware.efficiency,
        }


def test_one_algorithm_is_explained_with_its_options(shell: Shell) -> None:
    text = shell("synthesizers", "aim").out
    assert "use it when" in text
    assert "VLDB 2022" in text
    told = shell("synthesizers", "aim", "--json").json
    assert [option["name"] for option in told["options"]] == list(
        options_of(SYNTHESIZER_CLASSES["aim"])
    )
    for option in told["options"]:
        assert f"  {option['name']}={option['default']}   {option['takes']}\n" in text
        assert option["help"].split()[0] in text


def test_all_of_them_have_a_page(shell: Shell) -> None:
    for name in SYNTHESIZER_CLASSES:
        done = shell("synthesizers", name)
        assert done.code == 0
        assert max(map(len, done.out.splitlines())) <= 100


def test_an_unknown_one_is_met_with_the_nearest(shell: Shell) -> None:
    done = shell("synthesizers", "privbays")
    assert done.code == 1
    assert "Did you mean `privbayes`?" in done.err
