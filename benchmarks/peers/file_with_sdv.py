"""SDV's Gaussian copula on a CSV file as it is: not private, a yardstick of looks.

file_with_sdv.py IN.csv OUT.csv
"""

from __future__ import annotations

import sys
import warnings

warnings.simplefilter("ignore")

import pandas as pd  # noqa: E402
from sdv.metadata import Metadata  # noqa: E402
from sdv.single_table import GaussianCopulaSynthesizer  # noqa: E402


def main(rows: str, out: str) -> None:
    """Detect the metadata, fit, sample as many rows, save."""
    frame = pd.read_csv(rows, sep=None, engine="python")
    tables = {"table": frame}
    synthesizer = GaussianCopulaSynthesizer(Metadata.detect_from_dataframes(tables))
    synthesizer.fit(tables)
    drawn = synthesizer.sample(len(frame))
    drawn["table"].to_csv(out, index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
