"""Which spelling a date, moment or time of day votes for, and which one is chosen."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest

from understudy.schema import Schema, UndeclaredColumn
from understudy.schema.columns.moment_format import moment_format_of
from understudy.tables import (
    LOCAL_KINDS,
    MOMENT_SPELLINGS,
    TYPE_CANDIDATES,
    Table,
    choose_spelling,
    open_table,
)

VOTES = {
    "10:15": "%H:%M by 0:01:00",
    "10:00": "%H:%M by 1:00:00",
    "10:15:00": "%H:%M:%S by 0:01:00",
    "10:15:30": "time",
    "10:15:30.250000": "%H:%M:%S.%f by 0:00:00.001000",
    "6:25": "%-H:%M by 0:01:00",
    "6:25:30": "%-H:%M:%S by 0:00:01",
    "24:00": "text",
    "6:75": "text",
    "2024-01-05T10:00:00Z": "%Y-%m-%dT%H:%M:%SZ by 1:00:00",
    "2024-01-05T10:00:01+01:00": "%Y-%m-%dT%H:%M:%S%z by 0:00:01",
    "2024-01-05 10:07": "%Y-%m-%d %H:%M by 0:01:00",
    "2024-01-05 00:00:00": "%Y-%m-%d %H:%M:%S by 1 day, 0:00:00",
    "2024-01-05 10:00:01": "datetime",
    "2024-01-05 10:00:01Z": "instant",
    "2024-02-30 10:00:01": "text",
    "05.01.2024": "dmY. padded",
    "5.1.2024": "dmY. short",
    "25.12.2024": "dmY. short",
    "31.02.2024": "text",
    "05/01/2024": "?/ padded",
    "1/5/2024": "?/ short",
    "13/01/2024": "dmY/ padded",
    "01/13/2024": "mdY/ padded",
    "1/13/2024 9:05": "mdY/ %H:%M short",
    "2024/01/05": "Ymd/ padded",
    "25-12-2024": "dmY- short",
    "25-12.2024": "text",
    "1/5/24": "text",
    "1.2.3": "text",
    "99/99/2024": "text",
}


def test_each_cell_votes_for_one_spelling():
    """The noise of a vote is that of one count a cell: no cell may count twice."""
    frame = pl.DataFrame({f"c{i}": [cell] for i, cell in enumerate(VOTES)})
    columns = tuple(UndeclaredColumn(name=name) for name in frame.columns)
    with open_table(frame) as source:
        counts = Table(source, Schema(columns=columns)).votes(frame.columns)
    assert counts.sum(axis=1).tolist() == [1] * len(VOTES)
    found = [TYPE_CANDIDATES[int(row.argmax())] for row in counts]
    assert dict(zip(VOTES, found, strict=True)) == VOTES


def test_every_spelling_has_a_format_that_can_be_declared():
    for name, spelling in MOMENT_SPELLINGS.items():
        if spelling.format:
            assert moment_format_of(spelling.format) is not None, name


@pytest.mark.parametrize(
    ("kind", "votes", "format", "grain"),
    [
        ("time", {"10:15": 90, "10:00": 10}, "%H:%M", timedelta(minutes=1)),
        ("time", {"10:15": 90, "6:25": 10}, "%-H:%M", timedelta(minutes=1)),
        ("time", {"10:15": 60, "10:15:30": 40}, "", timedelta(seconds=1)),
        (
            "instant",
            {"2024-01-05T10:00:00Z": 100},
            "%Y-%m-%dT%H:%M:%SZ",
            timedelta(hours=1),
        ),
        ("datetime", {"2024-01-05 00:00:00": 100}, "", timedelta(days=1)),
        ("mdY/", {"01/13/2024": 50, "1/5/2024": 3}, "%m/%d/%Y", timedelta(days=1)),
    ],
)
def test_the_most_frequent_format_that_shows_the_grain_is_chosen(
    kind, votes, format, grain
):
    by_candidate = {VOTES[cell]: count for cell, count in votes.items()}
    found = choose_spelling(kind, by_candidate, is_resolution_clear=True)
    assert (found.format, found.resolution) == (format, grain)


def test_a_grain_that_noise_could_hide_is_not_believed():
    votes = {VOTES["2024-01-05T10:00:00Z"]: 100}
    found = choose_spelling("instant", votes, is_resolution_clear=False)
    assert found.resolution == timedelta(seconds=1)


def test_local_kinds_are_dates_or_moments():
    assert set(LOCAL_KINDS.values()) == {"date", "datetime"}
