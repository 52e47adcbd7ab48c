"""The same model on every copy, combined as the release says."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import Refused, ReleaseError
from understudy.inference.combining_rules import CombiningRule, CopyKind
from understudy.inference.copies import SyntheticCopies


def make_copies(count=3, seed=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=300)
    frames = []
    for _ in range(count):
        y = 1 + 2 * x + rng.normal(size=300)
        chance = 1 / (1 + np.exp(-x))
        smoker = np.where(rng.random(300) < chance, "yes", "no")
        frames.append(pd.DataFrame({"x": x, "y": y, "smoker": smoker}))
    return SyntheticCopies.of_frames(frames, CombiningRule(kind=CopyKind.PARTIAL))


def test_a_formula_is_fitted_on_every_copy():
    got = us.analyse(make_copies(), "y ~ x")
    assert got.names == ("Intercept", "x")
    assert got.combined.estimate == pytest.approx([1, 2], abs=0.3)
    frame = got.to_frame()
    assert (frame.low < frame.estimate).all()
    assert "3 copies" in str(got)
    assert "3 copies" in got._repr_html_()


@pytest.mark.parametrize("family", ["binomial", "probit"])
def test_two_labels_are_a_response(family):
    got = us.analyse(make_copies(), "smoker ~ x", family=family)
    assert got.combined.estimate[1] > 0.3


def test_an_estimator_is_any_function_of_a_frame():
    got = us.analyse(
        make_copies(), estimator=lambda f: (f.y.mean(), f.y.var() / len(f))
    )
    assert got.names == ("estimate",)


def test_fits_by_hand_equal_the_analysis():
    copies = make_copies()
    by_hand = us.combine(
        [(f.y.mean(), f.y.var() / len(f)) for f in copies], kind="partial"
    )
    same = us.analyse(copies, estimator=lambda f: (f.y.mean(), f.y.var() / len(f)))
    assert by_hand.combined.variance == pytest.approx(same.combined.variance)


def test_coefficients_are_tested_together():
    got = us.analyse(make_copies(), "y ~ x")
    assert got.check_all_zero(["x"]).p_value < 1e-6
    with pytest.raises(Refused, match="Intercept, x"):
        got.check_all_zero(["z"])


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: us.analyse(make_copies()), "either a formula or"),
        (lambda: us.analyse([pd.DataFrame()], "y ~ x"), "do not say how"),
        (lambda: us.analyse(make_copies(), "y ~ x", family="gamma"), "gaussian"),
        (lambda: us.analyse(make_copies(), "y ~ nothing"), "cannot be fitted"),
        (lambda: us.analyse(make_copies(), "y ~ x", level=95), "0.95"),
        (lambda: us.analyse(make_copies(1), "y ~ x"), "at least 2"),
        (lambda: us.combine([(1, 2), (1, 2)], kind="guess"), "partial"),
        (lambda: us.combine([1, 2], kind="partial"), "pair"),
        (lambda: us.combine([(1, 2)] * 2, kind="partial", level=2), "0.95"),
        (lambda: us.combine([((1, 2), 3)] * 2, kind="partial"), "one variance"),
    ],
)
def test_refusals_name_the_remedy(ask, said):
    with pytest.raises(Refused, match=said):
        ask()


def test_separation_in_one_copy_is_refused_and_not_averaged():
    fits = [(1.0, 0.1), (1.1, 0.1), (30.0, 1e9)]
    with pytest.raises(Refused, match="separation"):
        us.combine(fits, kind="partial")


def copies_of(*frames):
    return SyntheticCopies.of_frames(frames, CombiningRule(kind=CopyKind.PARTIAL))


def make_outcome(is_separated, seed):
    """Labels of which a rare one never has the outcome, or has it as others do."""
    rng = np.random.default_rng(seed)
    kind = np.where(np.arange(200) < 12, "rare", "common")
    ill = (rng.random(200) < 0.4).astype(int)
    ill[:12] = 0 if is_separated else np.arange(12) % 2
    return pd.DataFrame({"kind": kind, "ill": ill})


@pytest.mark.parametrize("family", ["binomial", "probit", "poisson"])
@pytest.mark.parametrize("separated", [(True, True, True), (True, False)])
def test_separation_is_refused_however_many_copies_have_it(separated, family):
    """A majority of diverged fits has a large median error, and two copies have none."""
    frames = [make_outcome(is_one, i) for i, is_one in enumerate(separated)]
    with pytest.raises(Refused, match="separation"):
        us.analyse(copies_of(*frames), "ill ~ kind", family=family)
    fine = [make_outcome(False, i) for i in range(len(separated))]
    assert us.analyse(copies_of(*fine), "ill ~ kind", family=family).names


def test_predictors_that_are_collinear_are_refused_by_name():
    frame = make_copies().load(0).assign(double=lambda f: 2 * f.x + 1)
    with pytest.raises(Refused, match=r'"(x|double|Intercept)" is a combination'):
        us.analyse(copies_of(frame, frame), "y ~ x + double")
    # Nearly so, and in other units, is no combination.
    near = frame.assign(near=1e9 * (frame.x + 1e-4 * frame.y**2))
    assert us.analyse(copies_of(near, near), "y ~ x + near").names


def test_labels_that_a_copy_lacks_are_named_and_other_references_refused():
    frame = pd.DataFrame({"kind": list("abcabc"), "y": [1.0, 2, 3, 2, 3, 5]})
    without_last = frame.replace({"kind": {"c": "b"}})
    without_first = frame.replace({"kind": {"a": "b"}})
    got = us.analyse(copies_of(without_last, frame), "y ~ kind")
    assert got.names == ("Intercept", "kind[T.b]")
    assert "lack it: kind[T.c]" in str(got)
    with pytest.raises(Refused, match="first label"):
        us.analyse(copies_of(frame, without_first), "y ~ kind")
    named = us.analyse(copies_of(frame, without_first), "y ~ C(kind, Treatment('c'))")
    assert "C(kind, Treatment('c'))[T.b]" in named.names


@pytest.mark.parametrize("fit", [(float("nan"), 1.0), (1.0, float("nan")), (1.0, -0.1)])
def test_what_is_no_number_is_refused(fit):
    with pytest.raises(Refused, match="no number"):
        us.combine([(1.0, 0.1), fit], kind="partial")


@pytest.mark.parametrize("manifest", ["[" * 200_000, "twice"])
def test_a_manifest_is_read_without_trust(manifest, tmp_path):
    if manifest == "twice":
        rule = {"kind": "partial", "proper": True, "rows_ratio": 1, "nest": 1}
        files = [{"name": "a.csv", "sha256": ""}] * 2
        document = {"format": "understudy copies 1", "rule": rule, "files": files}
        manifest = json.dumps(document)
    (tmp_path / "copies.json").write_text(manifest)
    with pytest.raises(ReleaseError, match="is no list of copies"):
        us.load_copies(tmp_path)


def test_a_folder_without_a_manifest_is_no_set_of_copies(tmp_path):
    with pytest.raises(ReleaseError, match=r"copies\.json"):
        us.load_copies(tmp_path)
