"""dpmm on codes: its pipelines as they come, without the step that finds bins, since
there is nothing to bin.
"""

from __future__ import annotations

import warnings

warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline  # noqa: E402
from job import Method, Task, main  # noqa: E402


def by(pipeline: type, **settings: object) -> Method:
    """One pipeline, with its own defaults but for the budget."""

    def work(task: Task) -> dict[str, np.ndarray]:
        frame = pd.DataFrame(
            {name: column.astype(int) for name, column in task.codes.items()}
        )
        made = pipeline(
            epsilon=task.epsilon, delta=task.delta, disable_processing=True, **settings
        )
        made.fit(frame, domain=dict(task.sizes))
        drawn = made.generate(n_records=task.rows)
        return {name: drawn[name].to_numpy() for name in task.sizes}

    return work


if __name__ == "__main__":
    main(
        {
            "mst": by(MSTPipeline),
            "privbayes": by(PrivBayesPipeline),
            "aim": by(AIMPipeline, max_model_size=80),
        }
    )
