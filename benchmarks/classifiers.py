"""What classifiers learn from synthetic rows, beside what they learn from real ones:
several splits, two learners, the label told or not.

    python benchmarks/classifiers.py --data DIR [--table adult] [--epsilon 1] [--seen
    0.8] [--splits 5] [--runs 1] [--only adaptive]

Of every split the synthesizer sees one part, `--seen` of the rows. Both learners of
scikit-learn that boost trees, with their default settings, are trained on that part and
on what stands in for it, to tell the last column (its upper half, where it has more
than two codes). Printed: the area under the curve on the real rows that nobody saw, as
means over all splits and runs, and how far below that of the real part it is, with the
standard error of that difference. One split alone moves the difference by more than a
run does. δ = 1e-9.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np
from coded_tables import load
from uses import Uses

LEARNERS = ("GradientBoostingClassifier", "HistGradientBoostingClassifier")
WHO = ("adaptive", "adaptive label")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="a folder with adult-coded.csv and acs-ma2019.csv"
    )
    parser.add_argument(
        "--table", help="this table (default adult with --data, fair without)"
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
    parser.add_argument(
        "--seen", type=float, default=0.8, help="the part of the rows that is seen"
    )
    parser.add_argument(
        "--splits", type=int, default=5, help="splits to take the mean of"
    )
    parser.add_argument("--runs", type=int, default=1, help="runs on each split")
    options = parser.parse_args()
    title = options.table or ("adult" if options.data else "fair")
    table = load(title, options.data)
    uses = [
        Uses(table, seen=options.seen, split=split) for split in range(options.splits)
    ]
    real = {
        learner: np.array([each.area(each.seen, learner) for each in uses])
        for learner in LEARNERS
    }
    print(
        f"{title}, label {uses[0].label}, {options.splits} splits, {options.seen:.0%} of the rows seen"
    )
    for learner in LEARNERS:
        print(f"{'real':<30} {learner:<32} area {real[learner].mean():.4f}")
    results = []
    for epsilon in options.epsilon or ["1", "10"]:
        for who in options.only or WHO:
            made = [
                [each.make_synthetic(who, epsilon) for _ in range(options.runs)]
                for each in uses
            ]
            for learner in LEARNERS:
                found = np.array(
                    [
                        [each.area(codes, learner) for codes in runs]
                        for each, runs in zip(uses, made, strict=True)
                    ]
                )
                below = (real[learner][:, None] - found).mean(axis=1)
                off = (
                    below.std(ddof=1) / math.sqrt(len(below)) if len(below) > 1 else 0.0
                )
                print(
                    f"ε = {epsilon:<4} {who:<21} {learner:<32} area {found.mean():.4f}, below {below.mean():.4f} ± {off:.4f}",
                    flush=True,
                )
                results.append(
                    {
                        "epsilon": epsilon,
                        "who": who,
                        "learner": learner,
                        "below": float(below.mean()),
                    }
                )
    print(json.dumps(results))


if __name__ == "__main__":
    main()
