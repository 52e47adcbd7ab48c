"""The table of what each algorithm adapts to."""

from __future__ import annotations

from pathlib import Path

import pytest

from understudy import synthesizers
from understudy.errors import Refused
from understudy.synthesizers import (
    SYNTHESIZER_CLASSES,
    Awareness,
    Independent,
    Synthesizer,
    make,
)
from understudy.synthesizers.awareness import PUBLISHED_AWARENESS, awareness_rows


def test_the_published_table():
    """Which synthesizers are aware of what, counted per column."""
    assert len(PUBLISHED_AWARENESS) == 12
    assert sum(row.aware.workload for row in PUBLISHED_AWARENESS) == 6
    assert sum(row.aware.data for row in PUBLISHED_AWARENESS) == 9
    assert sum(row.aware.budget for row in PUBLISHED_AWARENESS) == 5
    assert sum(row.aware.efficiency for row in PUBLISHED_AWARENESS) == 9
    assert PUBLISHED_AWARENESS[-1].title == "AIM"
    assert PUBLISHED_AWARENESS[-1].aware == Awareness(
        workload=True, data=True, budget=True, efficiency=True
    )


def test_published_algorithms_that_are_built_say_how_they_are_run():
    """RAP and GEM optimise a neural or relaxed table and are not built here."""
    assert [row.title for row in PUBLISHED_AWARENESS if not row.run_as] == [
        "RAP",
        "GEM",
    ]
    for row in PUBLISHED_AWARENESS:
        if row.run_as:
            name, *options = row.run_as.split(", ")
            chosen = dict(option.split("=") for option in options)
            assert make(name, **{key: value == "true" for key, value in chosen.items()})


@pytest.mark.parametrize("name", SYNTHESIZER_CLASSES)
def test_every_synthesizer_has_one_line_with_its_own_flags(name):
    lines = [row for row in awareness_rows(SYNTHESIZER_CLASSES) if row.name == name]
    assert [row.aware for row in lines] == [SYNTHESIZER_CLASSES[name].aware]
    assert SYNTHESIZER_CLASSES[name].name == name


def test_synthesizers_are_made_by_name_and_options():
    assert make("independent", equal=True) == Independent(equal=True)
    assert all(isinstance(make(name), Synthesizer) for name in SYNTHESIZER_CLASSES)


def test_unknown_names_and_options_are_refused_with_what_there_is():
    with pytest.raises(Refused, match=", ".join(SYNTHESIZER_CLASSES)):
        make("magic")
    with pytest.raises(Refused, match=r'"speed".*equal'):
        make("independent", speed=11)


def test_the_page_prints_the_same_table():
    page = (Path(__file__).parents[2] / "docs" / "synthesizers.md").read_text(
        encoding="utf-8"
    )
    for name, cls in SYNTHESIZER_CLASSES.items():
        flags = [
            cls.aware.workload,
            cls.aware.data,
            cls.aware.budget,
            cls.aware.efficiency,
        ]
        assert (
            f"| {name} | " + " | ".join("yes" if flag else "·" for flag in flags) + " |"
            in page
        )


def test_public_names():
    contract = [
        "About",
        "Awareness",
        "awareness_rows",
        "CuratorProtocol",
        "error_bound",
        "ignore_progress",
        "list_synthesizers",
        "make",
        "Option",
        "options_of",
        "Progress",
        "ResidualPlan",
        "summarise_class",
        "Synthesizer",
        "synthesizer_class",
        "SYNTHESIZER_CLASSES",
        "Workload",
    ]
    classes = [cls.__name__ for cls in SYNTHESIZER_CLASSES.values()]
    assert sorted(synthesizers.__all__) == sorted(contract + classes)
