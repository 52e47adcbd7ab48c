"""DataSynthesizer on a CSV file as it is, in its correlated mode at ε = 1: it guesses
types by itself, reads domains from the rows, which costs it nothing, and takes no δ.

    file_with_datasynthesizer.py IN.csv OUT.csv
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

from DataSynthesizer.DataDescriber import DataDescriber  # noqa: E402
from DataSynthesizer.DataGenerator import DataGenerator  # noqa: E402

EPSILON = 1
LARGEST_PARENTS = 2


def main(rows: str, out: str) -> None:
    """Describe, generate as many rows, save."""
    with tempfile.TemporaryDirectory() as folder:
        description = str(Path(folder, "description.json"))
        describer = DataDescriber()
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=rows, epsilon=EPSILON, k=LARGEST_PARENTS
        )
        describer.save_dataset_description_to_file(description)
        count = describer.data_description["meta"]["num_tuples"]
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(count, description)
        generator.save_synthetic_data(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
