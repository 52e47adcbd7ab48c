"""Evidence: what a release knows, from its measurements and from its own rows, computed
once.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import understudy
from kit.releases.builders import SMALL, codes_of, measured, release
from understudy.models.estimates.residuals import PooledResiduals
from understudy.releases import Evidence, Guarantee, Release, ReleaseKind
from understudy.releases.evidence import Evidence as SameEvidence

ROOM = Path(understudy.__file__).parent / "releases"


def test_least_squares_are_built_once_whatever_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    built = []
    original = PooledResiduals.of.__func__

    def count(cls: type, *arguments: object) -> PooledResiduals:
        built.append(arguments)
        return original(cls, *arguments)

    monkeypatch.setattr(PooledResiduals, "of", classmethod(count))
    made = release()
    made.card.sentence()
    repr(made)
    made.answer("count where sex = F")
    made.answer("share where smoker")
    made.sample(5, seed=1, kind="numpy")
    made.save(tmp_path / "r.understudy")
    assert len(built) == 1


def test_own_marginals_are_those_of_the_model() -> None:
    made = release()
    assert made.model is not None
    for clique in (("sex",), ("sex", "smoker")):
        assert np.array_equal(
            made.evidence.marginal(clique), made.model.marginal(clique)
        )
    assert made.evidence.has_rows


def test_own_marginals_of_fixed_rows_are_counted_from_them() -> None:
    codes = codes_of(SMALL, 400)
    made = Release(
        guarantee=Guarantee.without_data(),
        schema=SMALL,
        kind=ReleaseKind.MICRODATA,
        microdata=codes,
    )
    table = made.evidence.marginal(("sex", "smoker"))
    for sex in range(2):
        for smoker in range(3):
            rows = (codes["sex"] == sex) & (codes["smoker"] == smoker)
            assert table[sex, smoker] == rows.sum()
    assert made.evidence.marginal(()) == 400
    assert made.evidence.shares("sex").sum() == pytest.approx(1)


def test_tables_alone_have_the_least_squares_cut_at_zero() -> None:
    evidence = Evidence(schema=SMALL, measurements=measured())
    pooled = evidence.least_squares.marginal(("sex", "age"))
    assert pooled.min() < 0
    assert np.array_equal(evidence.marginal(("sex", "age")), np.maximum(pooled, 0))
    assert not evidence.has_rows
    assert evidence.sampling_error(("sex",)) == 0


def test_a_released_distance_is_turned_to_the_order_that_is_asked_for() -> None:
    gaps = measured().gaps
    assert gaps, "the builders measure a distance"
    clique = gaps[-1].distance.clique
    evidence = Evidence(schema=SMALL, measurements=measured())
    turned = evidence.released_distance(clique[::-1])
    assert turned is not None
    assert turned.distance.clique == clique[::-1]
    assert np.array_equal(turned.estimate, gaps[-1].estimate.T)
    assert evidence.released_distance(("smoker",)) is None


def test_a_copy_of_a_release_has_evidence_of_its_own() -> None:
    made = release()
    fewer = replace(made, measurements=replace(made.measurements, gaps=()))
    assert fewer.evidence is not made.evidence
    assert fewer.evidence.measurements.gaps == ()
    assert isinstance(made.evidence, SameEvidence)


def test_no_module_of_the_room_imports_another_inside_a_function_or_for_types_only() -> (
    None
):
    """Either would be a way around the layers that the import contracts check."""
    hidden = []
    for path in ROOM.rglob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Module):
                continue
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.ImportFrom) and (
                    child.module or ""
                ).startswith("understudy"):
                    hidden.append(f"{path.name}: {child.module}")
    assert hidden == []
