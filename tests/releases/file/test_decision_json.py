"""Explanations in release files: as they were, optional, and checked."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from kit.releases.builders import release
from kit.releases.decisions import FAR_PAIR, NEAR_PAIR, UNASKED_COLUMN
from understudy.errors import ReleaseError
from understudy.releases import Release
from understudy.releases.explanation.explanation import Explanation
from understudy.releases.file.document import from_document, to_document

EXPLAINED = Explanation(
    (FAR_PAIR, NEAR_PAIR, UNASKED_COLUMN), left_out={"forest": 99_000}
)


def test_an_explanation_comes_back_as_it_was() -> None:
    data = replace(release(), explanation=EXPLAINED).to_bytes()
    again = Release.from_bytes(data)
    assert again.explanation == EXPLAINED
    assert again.to_bytes() == data


def test_a_file_without_decisions_has_no_such_field() -> None:
    document, arrays = to_document(release())
    assert "explanation" not in document
    assert from_document(document, arrays, Release).explanation == Explanation()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("clique", ["sex", "shoes"]),
        ("clique", "sex"),
        ("stage", 7),
        ("stage", "x" * 201),
        ("verdict", "why not"),
        ("gain", "1"),
        ("gain", True),
        ("part", None),
        ("distance", 10**400),
        ("noisy_distance", []),
    ],
)
def test_a_decision_that_is_not_sound_is_refused(field: str, value: object) -> None:
    document, arrays = to_document(replace(release(), explanation=EXPLAINED))
    damaged = copy.deepcopy(EXPLAINED.to_dict())
    damaged["decisions"][0][field] = value
    with pytest.raises(ReleaseError, match=rf"explanation\.decisions\[0\]\.{field}"):
        from_document(document | {"explanation": damaged}, arrays, Release)


@pytest.mark.parametrize(
    "explanation",
    [
        None,
        [],
        {},
        {"decisions": []},
        {"decisions": {}, "left_out": {}},
        {"decisions": [], "left_out": {"forest": 0}},
        {"decisions": [], "left_out": {"forest": 1.5}},
        {"decisions": [], "left_out": []},
        {"decisions": [{"stage": "forest"}], "left_out": {}},
    ],
)
def test_an_explanation_that_is_not_sound_is_refused(explanation: object) -> None:
    document, arrays = to_document(release())
    with pytest.raises(ReleaseError, match="explanation"):
        from_document(document | {"explanation": explanation}, arrays, Release)
