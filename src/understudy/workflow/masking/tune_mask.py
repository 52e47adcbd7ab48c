"""Tune masks: measure settings on a table, and recommend one under a risk target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import randbits

from understudy.errors import Refused
from understudy.imputation.mask_grid import MaskGrid
from understudy.imputation.mask_strength import MaskStrength
from understudy.imputation.masked_table import MaskedTable
from understudy.imputation.sequence import TABLE_METHODS, plan_columns
from understudy.imputation.tree import DEFAULT_LEAF_ROWS, DonorLeaves
from understudy.imputation.tuning import MaskTuning, SettingMeter, measure_settings
from understudy.schema import Lattice, Schema
from understudy.tables import Records
from understudy.workflow.masking.mask import (
    SEED_BITS,
    choose_replaced,
    describe_rows,
    read_people,
)
from understudy.workflow.open import TableLike, open_source

TUNED_COPIES = (3, 5, 20)
"""Numbers of copies that are tried: the fewest that combine well, the usual one, and
one at which intervals are no longer widened.
"""

TUNED_METHODS = ("da-mi", "norm+logit", "cart")
"""Ways that are tried: masks of every strength, and the two plain ones."""

DEFAULT_RISK_TARGET = 0.05
"""Largest share of people found, and largest mean chance of finding one: one in twenty,
the reciprocal of a common smallest cell in published tables.
"""


def tune_mask(
    data: TableLike,
    *,
    formulas: Mapping[str, str] | Sequence[str] = (),
    risk_target: float = DEFAULT_RISK_TARGET,
    schema: Schema | str | Path | None = None,
    replaced: Sequence[str] | None = None,
    methods: Sequence[str] = TUNED_METHODS,
    grid: MaskGrid | None = None,
    copies: Sequence[int] = TUNED_COPIES,
    radius: Mapping[str, float] | None = None,
    leaf_rows: int = DEFAULT_LEAF_ROWS,
    smooth: bool = False,
    ledger: str | Path | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> MaskTuning:
    """What each way of masking keeps and risks, and the most useful one whose risks are
    all within `risk_target`.

    `formulas` are the analyses that matter, as in `evaluate`: a list (least squares) or a
    mapping to `gaussian`, `logit`, `probit` or `poisson`. `methods` says which ways are
    tried, `da-mi` at every strength of the `grid`, each at every number of `copies`. An
    intruder knows the replaced columns, numbers within a `radius`. What is recommended is
    given back by `recommend_copies()`. INTERNAL: the figures are computed from real rows.

    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> age = np.rint(rng.normal(50, 10, 300))
    >>> people = pd.DataFrame({"age": age, "cost": np.rint(9 * age + rng.normal(0, 50, 300))})
    >>> grid = MaskGrid(copies=(1, 20), keep=(0.8,))
    >>> tuned = tune_mask(people, formulas=["cost ~ age"], replaced=["age"], grid=grid,
    ...                   methods=["da-mi"], copies=[3], risk_target=0.2, seed=1)
    >>> len(tuned.settings), tuned.recommended_setting.risk <= 0.2
    (2, True)
    """
    if not 0 <= risk_target <= 1:
        raise Refused("tune_mask: a risk target lies between 0 and 1, such as 0.05")
    if not copies or min(copies) < 2:
        raise Refused("tune_mask: copies that can be combined are at least 2")
    _check_tuned_methods(methods)
    models = dict.fromkeys(formulas, "gaussian")
    if isinstance(formulas, Mapping):
        models = dict(formulas)
    source = open_source(data)
    described = describe_rows(source, schema)
    chosen = choose_replaced(described, replaced)
    kept = [name for name in described if name not in chosen]
    if not kept:
        raise Refused(
            "tune_mask: every column would be replaced; keep at least one, so that rows"
            " stand for somebody and can be matched"
        )
    plans = {
        method: tuple(plan_columns(described, chosen, kept=kept, method=method))
        for method in methods
    }
    original = read_people(source, described, ledger, progress)
    base = MaskedTable(
        original=original,
        plans=(),
        copies=max(copies),
        leaves=DonorLeaves(rows=leaf_rows, smooth=smooth),
        entropy=randbits(SEED_BITS) if seed is None else seed,
    )
    strengths = _choose_grid(grid, original, chosen)
    tables: list[MaskedTable] = []
    for method, columns in plans.items():
        table = replace(base, plans=columns, method=method)
        if method == "da-mi":
            tables += [table.with_strength(strength) for strength in strengths]
        else:
            tables.append(table)
    meter = SettingMeter(original, chosen, models, radius)
    return measure_settings(meter, tables, sorted(copies), risk_target, progress)


def _check_tuned_methods(methods: Sequence[str]) -> None:
    # A copula has masks for three groups of risk, which no grid here lists.
    tuned = [method for method in TABLE_METHODS if method != "copula"]
    if not methods or any(method not in tuned for method in methods):
        raise Refused(f"tune_mask: the methods are among {', '.join(tuned)}")


def _choose_grid(
    grid: MaskGrid | None, original: Records, replaced: Sequence[str]
) -> list[MaskStrength]:
    is_number = [isinstance(original.schema[name], Lattice) for name in replaced]
    return (grid or MaskGrid()).list_strengths(
        has_numbers=any(is_number), has_labels=not all(is_number)
    )
