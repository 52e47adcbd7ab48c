"""Tasks: train on synthetic rows, test on real ones.

A classifier learns to predict one column from the others on the synthetic table and is
judged on real rows it never saw. Two baselines stand beside it: the same classifier
trained on the other real rows, and always answering the most frequent class.
Misclassification is compared, and for two classes the area under the ROC curve too,
which a skewed label cannot flatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.utility.design import (
    Design,
    import_sklearn,
    skip_sklearn_checks,
)
from understudy.findings import (
    BetterDirection,
    Fact,
    Finding,
    FindingPart,
    Unavailable,
    mean_of_parts,
)
from understudy.schema import Boolean, Categorical, Role, Schema
from understudy.tables import Records

MAX_TASK_ROWS = 20_000
TASK_TEST_SHARE = 0.3
MAX_TARGET_CLASSES = 20
MAX_DEFAULT_TARGETS = 3
FOREST_TREE_COUNT = 25


def default_targets(schema: Schema, most: int = MAX_DEFAULT_TARGETS) -> tuple[str, ...]:
    """Columns worth predicting where nobody names any: sensitive ones first, then those
    with the fewest classes.
    """
    found = [
        name
        for name in schema
        if isinstance(schema[name], Categorical | Boolean)
        and 2 <= len(schema.codecs[name].bins) <= MAX_TARGET_CLASSES
    ]
    return tuple(
        sorted(
            found,
            key=lambda n: (
                schema[n].role is not Role.SENSITIVE,
                len(schema.codecs[n].bins),
                n,
            ),
        )[:most]
    )


def assess_tasks(
    real: Records,
    synthetic: Records,
    targets: Sequence[str],
    *,
    rng: np.random.Generator,
    rows: int = MAX_TASK_ROWS,
    holdout: Records | None = None,
) -> Finding:
    """Misclassification of classifiers trained on the synthetic table, mean over
    targets and learners; tests on `holdout` where one is given.
    """
    if not targets:
        raise Unavailable("no column has between 2 and 20 classes; name a target")
    parts: list[FindingPart] = []
    for target in targets:
        for learner in ("logistic", "forest"):
            name = f"{target}, {learner}"
            try:
                parts.append(
                    _run_task(
                        real, synthetic, target, learner, name, rng, rows, holdout
                    )
                )
            except Unavailable as reason:
                parts.append(
                    FindingPart(name=name, columns=(target,), reason=str(reason))
                )
    value = mean_of_parts(tuple(parts))
    if value is None:
        raise Unavailable(
            parts[0].reason
            if len({part.reason for part in parts}) == 1
            else "no task could be run"
        )
    ran = [part for part in parts if part.is_computed]
    ranked = sorted(parts, key=lambda part: -_excess_error(part))
    return Finding(
        name="tasks",
        title="Train on synthetic, test on real: misclassification",
        family="tasks",
        value=value,
        better=BetterDirection.LOWER,
        best=0.0,
        worst=1.0,
        baseline=_mean_fact(ran, "majority"),
        note=(
            "Compare with training on real rows (“nonprivate”) and with always"
            " answering the most frequent class (“majority”)."
        ),
        parts=tuple(ranked),
        facts={
            "nonprivate": _mean_fact(ran, "nonprivate"),
            "majority": _mean_fact(ran, "majority"),
        },
    )


def _run_task(
    real: Records,
    synthetic: Records,
    target: str,
    learner: str,
    name: str,
    rng: np.random.Generator,
    rows: int,
    holdout: Records | None,
) -> FindingPart:
    known, made = (_drop_unlabelled(records, target) for records in (real, synthetic))
    if holdout is None:
        order = rng.permutation(known.rows)
        cut = int(known.rows * TASK_TEST_SHARE)
        test, train = known.take(order[:cut]), known.take(order[cut:])
    else:
        test, train = _drop_unlabelled(holdout, target), known
    train, made, test = (records.sample(rows, rng) for records in (train, made, test))
    if min(train.rows, made.rows, test.rows) < 20:
        raise Unavailable("fewer than twenty rows to train or test on")
    design = Design.of(
        [column for column in real.codes if column != target], train, made
    )
    if not design.features:
        raise Unavailable("no other column varies")
    truth = test.codes[target]
    scores: dict[str, Fact] = {}
    for word, rows_used in (("synthetic", made), ("nonprivate", train)):
        error, area = _test_classifier(
            design, rows_used, test, target, learner, int(rng.integers(2**31))
        )
        scores[word] = error
        if area is not None:
            scores[f"{word}_auc"] = area
    frequent = np.bincount(train.codes[target]).argmax()
    scores["majority"] = float(np.mean(truth != frequent))
    scores["test_rows"] = test.rows
    value = scores["synthetic"]
    assert isinstance(value, float)
    return FindingPart(name=name, columns=(target,), value=value, facts=scores)


def _test_classifier(
    design: Design, train: Records, test: Records, target: str, learner: str, seed: int
) -> tuple[float, float | None]:
    labels, truth = train.codes[target], test.codes[target]
    classes = np.unique(labels)
    if len(classes) == 1:
        return float(np.mean(truth != classes[0])), 0.5
    seen = design.matrix(test)
    area = None
    with skip_sklearn_checks():
        model = _make_learner(learner, seed).fit(design.matrix(train), labels)
        guesses = model.predict(seen)
        if set(np.unique(truth)) == set(classes) and len(classes) == 2:
            area = auc(model.predict_proba(seen)[:, 1], truth == classes[1])
    return float(np.mean(guesses != truth)), area


def auc(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """Area under the ROC curve: the chance that a positive outranks a negative, ties
    counted half.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    from scipy.stats import rankdata

    ranks = rankdata(scores)
    ones, zeros = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def _make_learner(learner: str, seed: int) -> Any:
    import_sklearn()
    if learner == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(
            n_estimators=FOREST_TREE_COUNT, min_samples_leaf=5, random_state=seed
        )
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _drop_unlabelled(records: Records, target: str) -> Records:
    return records.take(~records.absent(target))


def _excess_error(part: FindingPart) -> float:
    """How much worse than training on real rows; parts that did not run come last."""
    there, real = part.facts.get("synthetic"), part.facts.get("nonprivate")
    return (
        there - real if isinstance(there, float) and isinstance(real, float) else -2.0
    )


def _mean_fact(parts: list[FindingPart], word: str) -> float:
    return float(
        np.mean(
            [value for part in parts if isinstance(value := part.facts[word], float)]
        )
    )
