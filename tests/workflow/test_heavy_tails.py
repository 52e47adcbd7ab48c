"""Means of heavy-tailed columns of a whole run, with declared and with learned bounds."""

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.schema import Categorical, Real, Schema

ROWS = 5_000


def spending(seed: int) -> pd.DataFrame:
    """Medical spending: two in five have none."""
    rng = np.random.default_rng(seed)
    amounts = rng.lognormal(4.0, 1.5, ROWS).clip(max=100_000).round(2)
    amounts[rng.random(ROWS) < 0.4] = 0
    return pd.DataFrame({"cost": amounts, "sex": rng.choice(["F", "M"], ROWS)})


@pytest.mark.parametrize(
    "bounds", [{"min": 0, "max": 100_000}, {}], ids=["declared", "learned"]
)
def test_the_mean_of_a_heavy_tail_is_kept(bounds, tmp_path):
    """Noise left in the far bins once made the mean three to five times as large with
    declared bounds, and clipping a fifth smaller with learned ones.

    The median of five runs has a deviation of 9 % of the true mean: six of them.
    """
    cost = Real(name="cost", nullable=False, **bounds)
    sex = Categorical(name="sex", values=("F", "M"), nullable=False)
    schema = Schema(columns=(cost, sex))
    ratios = []
    for seed in range(5):
        table = spending(seed)
        ledger = tmp_path / f"{seed}.ledger"
        release = us.synthesize(table, schema, epsilon=1, ledger=ledger)
        ratios.append(release.sample(seed=seed)["cost"].mean() / table["cost"].mean())
    assert np.median(ratios) == pytest.approx(1.0, abs=0.55)
