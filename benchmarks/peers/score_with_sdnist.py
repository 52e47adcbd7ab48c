"""The k-marginal score of SDNist 2.4, by its own functions, beside `understudy evaluate
REAL SYNTHETIC --schema SCHEMA --group PUMA`.

    python score_with_sdnist.py REAL.csv SYNTHETIC.csv DICTIONARY.json

pip install sdnist    in an environment of its own

The tool itself compares with the excerpts that it downloads; here its steps are taken
with files that are there. It cannot score rows of an area that the real file lacks:
leave these out for both.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import sdnist.report.dataset  # noqa: F401 -- first: the metrics import it in a circle
from sdnist.metrics.kmarginal import KMarginal
from sdnist.report.dataset.binning import (
    add_bin_for_NA,
    bin_density,
    percentile_rank_synthetic,
    percentile_rank_target,
)
from sdnist.report.dataset.transform import transform
from sdnist.report.dataset.validate import validate

RANKED = ["AGEP", "POVPIP", "PINCP", "PWGTP", "WGTP"]
"""Columns that the tool cuts at percentiles (sdnist/report/dataset/__init__.py)."""


def describe_columns(dictionary: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The tool's schema of a file, from its data dictionary."""
    schema: dict[str, Any] = {}
    for name in names:
        values = dictionary[name].get("values", {})
        has_null = "N" in values or name == "INDP"
        is_number = "min" in values and (not has_null or name in RANKED)
        described = {"min": 0} if is_number else {"values": list(values)}
        null = {"has_null": True, "null_value": "N"} if has_null else {}
        schema[name] = {**described, **null}
    return schema


def main() -> None:
    real, synthetic = (pd.read_csv(path) for path in sys.argv[1:3])
    dictionary = json.loads(Path(sys.argv[3]).read_text(encoding="utf-8"))
    names = sorted(set(real.columns) & set(synthetic.columns))
    # Columns with a value that the dictionary lacks are dropped by the tool.
    there, dropped = validate(synthetic[names], dictionary, names)
    here, _ = validate(real[names], dictionary, names)
    names = sorted(there.columns)
    here, there = here[names], there[names]
    for each in (here, there):
        if "DENSITY" in names:
            bin_density(each, dictionary)
    schema = describe_columns(dictionary, names)
    coded = [transform(each, schema) for each in (here, there)]
    ranked = add_bin_for_NA(percentile_rank_target(here, RANKED), here, RANKED)
    placed = percentile_rank_synthetic(there, here, ranked, RANKED)
    placed = add_bin_for_NA(placed, there, RANKED)
    others = [name for name in names if name not in RANKED]
    for binned, codes in zip((ranked, placed), coded, strict=True):
        binned[others] = codes[others]
    metric = KMarginal(ranked, placed, ["PUMA"])
    print(f"score {metric.compute_score()}")
    print("areas", *sorted(metric.scores))
    print("dropped", *dropped["values_out_of_bound"])


if __name__ == "__main__":
    main()
