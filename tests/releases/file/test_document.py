"""The document of a release, and the page that describes it to readers without
Understudy.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from kit.releases.builders import release
from kit.releases.decisions import FAR_PAIR
from understudy.errors import ReleaseError
from understudy.measurements import MomentMeasurement
from understudy.models import MODEL_KINDS
from understudy.releases import Release
from understudy.releases.explanation.explanation import Explanation
from understudy.releases.file.document import from_document, to_document
from understudy.releases.file.measurement_json import moments_to_json

EXPLANATION = Explanation.of([FAR_PAIR])
PAGE = Path(__file__).parents[3] / "docs" / "release-format.md"


def described_fields(section: str) -> set[str]:
    """The names in the first column of a section's table."""
    text = PAGE.read_text().split(f"\n{section}\n")[1].split("\n#")[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("|")]
    return {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}


def test_the_page_describes_every_field() -> None:
    whole = replace(release(), explanation=EXPLANATION)
    first = whole.measurements[0]
    moments = MomentMeasurement(
        "y ~ x",
        (1,),
        first.law,
        (first.scale,),
        replace(first.cost, amount=Fraction(0)),
    )
    measured = replace(whole.measurements, moments=(moments,))
    document, _ = to_document(replace(whole, measurements=measured))
    assert described_fields("## `release.json`") == set(document)
    guarantee, statement = document["guarantee"], document["statement"]
    assert isinstance(guarantee, dict)
    assert isinstance(statement, dict)
    assert described_fields("### `guarantee`") == set(guarantee)
    assert described_fields("### `statement`") == set(statement)
    assert described_fields("### `moments[]`") | {"law", "cost"} == set(
        moments_to_json(moments)
    )
    assert described_fields("### `explanation`") == set(EXPLANATION.rows()[0])


def test_the_page_describes_every_kind_of_model() -> None:
    assert described_fields("### `model`") - {"facts.kind"} == set(MODEL_KINDS)


def test_a_document_comes_back_as_it_was() -> None:
    document, arrays = to_document(release())
    again, same = to_document(from_document(document, arrays, Release))
    assert again == document
    assert list(same) == list(arrays)


@pytest.mark.parametrize("field", ["guarantee", "notes", "gaps", "frame"])
def test_a_field_more_or_less_is_refused(field: str) -> None:
    document, arrays = to_document(release())
    del document[field]
    with pytest.raises(ReleaseError, match="exactly the fields"):
        from_document(document, arrays, Release)
    document, arrays = to_document(release())
    with pytest.raises(ReleaseError, match="exactly the fields"):
        from_document(document | {f"{field}2": 1}, arrays, Release)
