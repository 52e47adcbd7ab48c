"""smartnoise-synth on codes, every column categorical, its settings as they come."""

from __future__ import annotations

import warnings

warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from job import Method, Task, main  # noqa: E402
from snsynth import Synthesizer  # noqa: E402


def by(name: str, *, delta: bool) -> Method:
    """One of its synthesizers; some take no δ."""

    def work(task: Task) -> dict[str, np.ndarray]:
        frame = pd.DataFrame(
            {name: column.astype(int) for name, column in task.codes.items()}
        )
        made = Synthesizer.create(
            name, epsilon=task.epsilon, **({"delta": task.delta} if delta else {})
        )
        made.fit(frame, categorical_columns=list(task.sizes), preprocessor_eps=0.0)
        drawn = made.sample(task.rows)
        return {name: drawn[name].to_numpy().astype(int) for name in task.sizes}

    return work


if __name__ == "__main__":
    main({"mst": by("mst", delta=True), "mwem": by("mwem", delta=False)})
