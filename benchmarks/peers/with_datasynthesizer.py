"""DataSynthesizer on codes, every column categorical: its Bayesian network, two parents
at most. It takes no δ, and works on files.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from DataSynthesizer.DataDescriber import DataDescriber  # noqa: E402
from DataSynthesizer.DataGenerator import DataGenerator  # noqa: E402
from job import Task, main  # noqa: E402


def network(task: Task) -> dict[str, np.ndarray]:
    """A network of two parents at most, learned and sampled."""
    every = dict.fromkeys(task.sizes, True)
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        data, description = (
            str(Path(folder, "rows.csv")),
            str(Path(folder, "description.json")),
        )
        pd.DataFrame(
            {name: column.astype(int) for name, column in task.codes.items()}
        ).to_csv(data, index=False)
        seed = int(np.random.default_rng().integers(2**31))
        describer = DataDescriber(category_threshold=max(task.sizes.values()) + 1)
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=data,
            epsilon=task.epsilon,
            k=2,
            attribute_to_is_categorical=every,
            attribute_to_is_candidate_key=dict.fromkeys(task.sizes, False),
            seed=seed,
        )
        describer.save_dataset_description_to_file(description)
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(
            task.rows, description, seed=seed
        )
        drawn = generator.synthetic_dataset
    return {
        name: pd.to_numeric(drawn[name]).fillna(0).to_numpy().astype(int)
        for name in task.sizes
    }


if __name__ == "__main__":
    main({"network": network})
