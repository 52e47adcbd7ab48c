"""Understudy itself, the same way as the others: by the name of a synthesizer, or
`default` for the one taken when none is named.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from job import Method, Task, main

from understudy.schema import Integer, Schema
from understudy.synthesizers import SYNTHESIZER_CLASSES
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import DEFAULT_SYNTHESIZER, synthesize


def by(name: str) -> Method:
    """One synthesizer, as `understudy synthesize` runs it."""

    def work(task: Task) -> dict[str, np.ndarray]:
        frame = pa.table(
            {n: pa.array(column.astype(np.int32)) for n, column in task.codes.items()}
        )
        columns = tuple(
            Integer(name=n, min=0, max=size - 1, nullable=False)
            for n, size in task.sizes.items()
        )
        with tempfile.TemporaryDirectory() as folder:
            release = synthesize(
                frame,
                Schema(columns=columns),
                epsilon=str(task.epsilon),
                delta=str(task.delta),
                synthesizer=name,
                ledger=Path(folder, "bench.ledger"),
                run=RunOptions(dataset="bench"),
            )
            sampled = release.sample()
        assert isinstance(sampled, pa.Table)
        return {n: sampled[n].to_numpy() for n in task.sizes}

    return work


if __name__ == "__main__":
    main(
        {name: by(name) for name in SYNTHESIZER_CLASSES}
        | {"default": by(DEFAULT_SYNTHESIZER)}
    )
