"""DA-MI: how much of the original passes through a mask, and what it keeps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import Refused


def make_table(rows=3000, seed=1):
    rng = np.random.default_rng(seed)
    number = np.rint(rng.normal(0, 1000, rows))
    label = rng.choice(["a", "b"], rows)
    other = rng.choice(["p", "q", "r", "s"], rows)
    noise = np.rint(rng.normal(0, 100, rows))
    return pd.DataFrame({"x": number, "label": label, "other": other, "z": noise})


TABLE = make_table()


def mask_by(strength, replaced, table=TABLE, copies=1, **more):
    return us.mask(
        table,
        replaced=replaced,
        method="da-mi",
        strength=strength,
        copies=copies,
        seed=3,
        **more,
    )


@pytest.mark.parametrize(("copies", "variance"), [(20, 1.0), (1, 1.0), (1, 4.0)])
def test_a_number_moves_as_far_as_its_mask_says(copies, variance):
    """Unrelated to all others, x̃ − x has variance 2(1 − κ)σ² with κ = K/(K + σ_e²)."""
    strength = us.MaskStrength(copies=copies, variance=variance)
    drawn = mask_by(strength, ["x"]).frame(0)
    moved = (drawn.x - TABLE.x).std() / TABLE.x.std()
    expected = np.sqrt(2 * (1 - strength.transfer))
    # 3,000 rows: a standard deviation is known within 1.3 %; five of these.
    assert moved == pytest.approx(expected, rel=0.065)


@pytest.mark.parametrize("keep", [0.5, 0.8, 0.95])
def test_a_label_changes_as_often_as_its_mask_says(keep):
    """Two labels, equally frequent: 2π(1 − π) of the cells change."""
    drawn = mask_by(us.MaskStrength(keep=keep), ["label"]).frame(0)
    changed = (drawn.label != TABLE.label).mean()
    expected = 2 * keep * (1 - keep)
    assert changed == pytest.approx(expected, abs=5 * np.sqrt(0.25 / 3000))


@pytest.mark.parametrize(("alpha", "share"), [(1, 0.398), (2, 0.225), (3, 0.099)])
def test_ordered_labels_change_as_often_as_published(alpha, share):
    drawn = mask_by(us.MaskStrength(alpha=alpha), ["label"]).frame(0)
    changed = (drawn.label != TABLE.label).mean()
    assert changed == pytest.approx(share, abs=5 * np.sqrt(0.25 / 3000))


def test_masks_that_say_nothing_give_the_draw_of_multiple_imputation():
    rng = np.random.default_rng(5)
    z = rng.normal(size=4000)
    table = pd.DataFrame(
        {
            "x": np.rint(1000 * (z + rng.normal(size=4000))),
            "label": np.where(z + rng.normal(size=4000) > 0, "a", "b"),
            "z": np.rint(1000 * z),
        }
    )
    silent = us.MaskStrength(copies=0, keep=0.5)
    augmented = mask_by(silent, ["x", "label"], table).frame(0)
    imputed = us.mask(
        table, replaced=["x", "label"], method="norm+logit", copies=1, seed=9
    ).frame(0)
    for frame in (augmented, imputed):
        # Given z nothing of a person's own deviation is left.
        left = np.corrcoef(frame.x - frame.z, table.x - table.z)[0, 1]
        assert abs(left) < 5 / np.sqrt(4000)
    gaps = [f.groupby("label").x.mean().diff().iloc[-1] for f in (augmented, imputed)]
    assert gaps[0] == pytest.approx(gaps[1], abs=250)
    assert augmented.x.corr(augmented.z) == pytest.approx(
        imputed.x.corr(imputed.z), abs=0.06
    )


def test_all_copies_share_one_mask():
    """With a mask for each copy the mean of many copies would be the original."""
    masked = mask_by(us.MaskStrength(copies=1), ["x"], copies=8)
    mean = np.mean([masked.frame(i).x for i in range(8)], axis=0)
    left = (mean - TABLE.x).std() / TABLE.x.std()
    # κ = ½: W's own error of κσ stays, whatever the number of copies.
    assert left > 0.6


def test_relations_of_replaced_columns_survive():
    rng = np.random.default_rng(8)
    x = np.rint(rng.normal(0, 1000, 2000))
    label = np.where(x + rng.normal(0, 500, 2000) > 0, "a", "b")
    table = pd.DataFrame({"x": x, "label": label, "z": np.arange(2000) % 7})
    drawn = mask_by(us.MaskStrength(copies=2), ["x", "label"], table).frame(0)
    gap = drawn.groupby("label").x.mean().diff().iloc[-1]
    assert gap == pytest.approx(
        table.groupby("label").x.mean().diff().iloc[-1], rel=0.15
    )


def test_a_column_without_predictors_is_masked_too():
    strength = us.MaskStrength(copies=20)
    drawn = mask_by(strength, ["x"], predictors={"x": []}).frame(0)
    moved = (drawn.x - TABLE.x).std() / TABLE.x.std()
    assert moved == pytest.approx(np.sqrt(2 * (1 - strength.transfer)), rel=0.065)


@pytest.mark.parametrize(("name", "method"), [("x", "cart"), ("other", "cart")])
def test_what_da_mi_cannot_mask_is_refused_and_not_drawn_without_a_mask(name, method):
    with pytest.raises(Refused, match="cannot mask"):
        mask_by(us.MaskStrength(), [name], methods={name: method}).frame(0)
    many = TABLE.assign(town=[f"t{i % 40}" for i in range(len(TABLE))])
    with pytest.raises(Refused, match="30 labels"):
        mask_by(us.MaskStrength(), ["town"], many).frame(0)


def test_refusals_name_the_remedy():
    holed = TABLE.assign(x=TABLE.x.where(TABLE.x > -500))
    with pytest.raises(Refused, match="missing numbers"):
        mask_by(us.MaskStrength(), ["x"], holed).frame(0)
    with pytest.raises(Refused, match="da-mi"):
        us.mask(TABLE, replaced=["x"], strength=us.MaskStrength())
    with pytest.raises(Refused, match="above 0"):
        us.MaskStrength(variance=0)
