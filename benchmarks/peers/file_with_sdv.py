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
    metadata = Metadata.detect_from_dataframe(frame)
    synthesizer = GaussianCopulaSynthesizer(metadata)
    synthesizer.fit(frame)
    synthesizer.sample(len(frame)).to_csv(out, index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
