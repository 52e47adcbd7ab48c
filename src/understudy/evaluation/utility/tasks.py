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
"""Of each table that a classifier is trained or tested on."""

MIN_TASK_ROWS = 20
TASK_TEST_SHARE = 0.3
"""Of the real rows, if there is no holdout."""

MAX_TARGET_CLASSES = 20
MAX_DEFAULT_TARGETS = 3
FOREST_TREE_COUNT = 25


def default_targets(schema: Schema, most: int = MAX_DEFAULT_TARGETS) -> tuple[str, ...]:
    """Columns to predict if none is named: sensitive ones first, then those with the
    fewest classes.
    """
    classes = {
        name: len(schema.codecs[name].bins)
        for name in schema
        if isinstance(schema[name], Categorical | Boolean)
    }
    eligible = [n for n, many in classes.items() if 2 <= many <= MAX_TARGET_CLASSES]

    def rank(name: str) -> tuple[bool, int, str]:
        return schema[name].role is not Role.SENSITIVE, classes[name], name

    return tuple(sorted(eligible, key=rank)[:most])


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
    targets and learners; tests on `holdout` if one is given.
    """
    if not targets:
        raise Unavailable("no column has between 2 and 20 classes; name a target")
    parts: list[FindingPart] = []
    for target in targets:
        for learner in ("logistic", "forest"):
            name = f"{target}, {learner}"
            try:
                part = _run_task(
                    real, synthetic, target, learner, name, rng, rows, holdout
                )
            except Unavailable as reason:
                part = FindingPart(name=name, columns=(target,), reason=str(reason))
            parts.append(part)
    value = mean_of_parts(tuple(parts))
    if value is None:
        reasons = {part.reason for part in parts}
        raise Unavailable(
            reasons.pop() if len(reasons) == 1 else "no task could be run"
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
    train, made = (_drop_unlabelled(records, target) for records in (real, synthetic))
    if holdout is None:
        order = rng.permutation(train.rows)
        cut = int(train.rows * TASK_TEST_SHARE)
        test, train = train.take(order[:cut]), train.take(order[cut:])
    else:
        test = _drop_unlabelled(holdout, target)
    train, made, test = (records.sample(rows, rng) for records in (train, made, test))
    if min(train.rows, made.rows, test.rows) < MIN_TASK_ROWS:
        raise Unavailable("fewer than twenty rows to train or test on")
    predictors = [column for column in real.codes if column != target]
    design = Design.of(predictors, train, made)
    if not design.features:
        raise Unavailable("no other column varies")
    truth = test.codes[target]
    scores: dict[str, Fact] = {}
    # The same test rows and the same design for both, so only the training differs.
    for word, rows_used in (("synthetic", made), ("nonprivate", train)):
        error, area = _test_classifier(
            design, rows_used, test, target, learner, int(rng.integers(2**31))
        )
        scores[word] = error
        if area is not None:
            scores[f"{word}_auc"] = area
    # The majority of the real training rows: what needs no release at all.
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
        # No learner fits one class; the constant answer has no ranking.
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

    # Mann and Whitney: the rank sum of the positives, less what it is at least.
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
    synthetic, real = part.facts.get("synthetic"), part.facts.get("nonprivate")
    if isinstance(synthetic, float) and isinstance(real, float):
        return synthetic - real
    return -2.0


def _mean_fact(parts: list[FindingPart], word: str) -> float:
    values = [part.facts[word] for part in parts]
    return float(np.mean([value for value in values if isinstance(value, float)]))
