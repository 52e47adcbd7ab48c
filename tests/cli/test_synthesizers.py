"""The table of algorithms."""

from __future__ import annotations

from understudy.synthesizers import SYNTHESIZERS

from .conftest import Shell


def test_every_algorithm_is_listed(shell: Shell) -> None:
    told = shell("synthesizers", "--json").json
    assert {entry["name"] for entry in told} == set(SYNTHESIZERS)
    text = shell("synthesizers").out
    assert all(name in text for name in SYNTHESIZERS)


def test_awareness_is_the_class_s_own(shell: Shell) -> None:
    for entry in shell("synthesizers", "--json").json:
        aware = SYNTHESIZERS[entry["name"]].aware
        assert entry["aware"] == {
            "workload": aware.workload,
            "data": aware.data,
            "budget": aware.budget,
            "efficiency": aware.efficiency,
        }
