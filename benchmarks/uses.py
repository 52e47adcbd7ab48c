"""What a release is used for: pairs of columns, ranges, and a classifier; with direct
synthesis beside, and with the use said beforehand.

    python benchmarks/uses.py --data DIR [--table adult] [--epsilon 1] [--runs 3]
    [--only "adaptive"]

Each line is a synthesizer, and the workload it was told, if any. Synthesizers see two
thirds of the rows. `pairs` is the mean total variation distance over all pairs of
columns, `with label` that over the pairs that hold the last column, both from the rows
that were seen; `ranges` the mean error of 1,000 random boxes over three columns, as a
share of the rows (understudy.evaluation.utility.range_queries); `area` that under the
curve of gradient boosting with scikit-learn's default settings, trained on synthetic
rows to tell the last column (its upper half, where it has more than two codes) and
tested on the real third that nobody saw; the first line has it for the real two thirds.

`manual` is the baseline of marginals chosen by hand for the task, as in Zhang et al.: every
column with the label, measured and fitted as by `mst`, with nothing spent on choosing.
`majority`, the largest class for everybody, has an area of 0.5 by definition.

`privsyn` makes rows directly from its marginals, `adaptive` samples a model of them.
Zhang et al., "PrivSyn", 2021, report that the two ways are close on pairs and that
direct synthesis wins on ranges and classification. Means over the runs, with standard
errors. δ = 1e-9.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
from adaptive import shares
from coded_tables import Coded, load

from understudy.evaluation.utility.ranges import assess_range_queries
from understudy.schema import Integer, Schema
from understudy.synthesizers import Synthesizer, make
from understudy.tables import Table, open_table
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

WHO = (
    "adaptive",
    "privsyn",
    "mst",
    "manual",
    "aim",
    "adaptive label",
    "adaptive label triples*0.3",
    "adaptive ranges",
)
SCORES = ("pairs", "with label", "ranges", "area", "busy")


class Uses:
    """A table in two parts, and what any synthetic table of the first is scored by."""

    def __init__(self, table: Coded, *, seen: float = 2 / 3, split: int = 0) -> None:
        draw = np.random.default_rng(split).permutation(table.rows)
        seen, unseen = np.split(draw, [int(table.rows * seen)])
        self.sizes, self.label = table.sizes, list(table.sizes)[-1]
        self.seen = {name: codes[seen] for name, codes in table.codes.items()}
        self.unseen = {name: codes[unseen] for name, codes in table.codes.items()}
        self.schema = Schema(
            columns=tuple(
                Integer(name=n, min=0, max=size - 1, nullable=False)
                for n, size in table.sizes.items()
            )
        )
        self.cut = (
            float(np.median(self.seen[self.label]))
            if table.sizes[self.label] > 2
            else 0.5
        )
        self.pairs = list(combinations(table.sizes, 2))
        self.real = shares(self.seen, self.sizes, self.pairs)

    def frame(self, codes: dict[str, np.ndarray]) -> pa.Table:
        """Codes as a table of whole numbers."""
        return pa.table({n: pa.array(codes[n].astype(np.int32)) for n in self.sizes})

    def area(
        self,
        codes: dict[str, np.ndarray],
        learner: str = "HistGradientBoostingClassifier",
    ) -> float:
        """How well a classifier trained on these rows tells the label of rows that
        nobody saw.
        """
        from sklearn import ensemble
        from sklearn.metrics import roc_auc_score

        names = [name for name in self.sizes if name != self.label]
        model = getattr(ensemble, learner)(random_state=0)
        model.fit(
            np.stack([codes[n] for n in names], axis=1), codes[self.label] > self.cut
        )
        held = np.stack([self.unseen[n] for n in names], axis=1)
        return float(
            roc_auc_score(
                self.unseen[self.label] > self.cut, model.predict_proba(held)[:, 1]
            )
        )

    def spell_workload(self, words: list[str]) -> list[str]:
        """Words of a line as a workload."""
        ranges = ",".join(self.sizes)
        return [
            word.replace("label", f"label={self.label}").replace(
                "ranges", f"ranges={ranges}"
            )
            for word in words
        ]

    def find_synthesizer(self, name: str) -> str | Synthesizer:
        """A synthesizer by its name, or `mst` with pairs chosen by hand."""
        if name != "manual":
            return name
        chosen = tuple((n, self.label) for n in self.sizes if n != self.label)
        return make("mst", public=chosen)

    def make_synthetic(self, who: str, epsilon: str) -> dict[str, np.ndarray]:
        """The codes of one run on the rows that may be seen."""
        name, *words = who.split()
        with tempfile.TemporaryDirectory() as folder:
            release = synthesize(
                self.frame(self.seen),
                self.schema,
                epsilon=epsilon,
                delta="1e-9",
                synthesizer=self.find_synthesizer(name),
                workload=self.spell_workload(words),
                ledger=Path(folder, "bench.ledger"),
                run=RunOptions(dataset="bench"),
            )
            sampled = release.sample()
        assert isinstance(sampled, pa.Table)
        return {n: sampled[n].to_numpy() for n in self.sizes}

    def scores(self, who: str, epsilon: str) -> list[float]:
        """One run and its scores."""
        start = time.process_time()
        fake = self.make_synthetic(who, epsilon)
        busy = time.process_time() - start
        off = [
            float(np.abs(a - b).sum()) / 2
            for a, b in zip(
                self.real, shares(fake, self.sizes, self.pairs), strict=True
            )
        ]
        labelled = [
            d for pair, d in zip(self.pairs, off, strict=True) if self.label in pair
        ]
        tables = [
            Table(open_table(self.frame(codes)), self.schema)
            for codes in (self.seen, fake)
        ]
        boxes = assess_range_queries(
            *tables, self.schema, rng=np.random.default_rng(0)
        ).value
        assert boxes is not None
        return [
            float(np.mean(off)),
            float(np.mean(labelled)),
            boxes,
            self.area(fake),
            busy,
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="a folder with adult-coded.csv and acs-ma2019.csv"
    )
    parser.add_argument(
        "--table",
        action="append",
        help="this table; may be repeated (default fair, and adult with --data)",
    )
    parser.add_argument(
        "--epsilon", action="append", help="this ε; may be repeated (default 1 and 10)"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="WHO",
        help="'adaptive label', say; may be repeated",
    )
    parser.add_argument("--runs", type=int, default=3, help="runs to take the mean of")
    options = parser.parse_args()
    results = []
    for title in options.table or ["fair", *(["adult"] if options.data else [])]:
        uses = Uses(load(title, options.data))
        print(
            f"{title}, label {uses.label}: area of real rows {uses.area(uses.seen):.4f}"
        )
        print(
            f"{'ε':>5} {'':<24}{'pairs':>16}{'with label':>16}{'ranges':>16}{'area':>16}{'processor s':>13}"
        )
        for epsilon in options.epsilon or ["1", "10"]:
            for who in options.only or WHO:
                found = np.array(
                    [uses.scores(who, epsilon) for _ in range(options.runs)]
                )
                mean = found.mean(axis=0)
                off = (
                    found.std(axis=0, ddof=1) / math.sqrt(len(found))
                    if len(found) > 1
                    else np.zeros(len(mean))
                )
                cells = "".join(
                    f"{m:>8.4f} ±{o:.4f}"
                    for m, o in zip(mean[:-1], off[:-1], strict=True)
                )
                print(f"{epsilon:>5} {who:<24}{cells}{mean[-1]:>13.1f}", flush=True)
                results.append(
                    {
                        "table": title,
                        "epsilon": epsilon,
                        "who": who,
                        **dict(zip(SCORES, mean.tolist(), strict=True)),
                    }
                )
    print(json.dumps(results))


if __name__ == "__main__":
    main()
