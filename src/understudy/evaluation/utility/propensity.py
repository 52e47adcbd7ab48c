"""Propensity scores: can a model distinguish a synthetic row from a real one?

Woo, Reiter, Oganian, Karr, "Global measures of data utility for microdata masked for
disclosure limitation", 2009: put both tables together, let p̂ be the estimated
probability that a row is synthetic, and U_p = (1/N) Σ (p̂ − c)² with c the synthetic
share. It is 0 if they are indistinguishable and c(1 − c), a quarter for equal numbers,
if the model is always right.

Snoke, Raab, Nowok, Dibben, Slavkovic, "General and specific utility measures for
synthetic data", 2018: for a logistic model with k parameters, and synthetic rows drawn
from the real table itself, U_p has mean (k − 1) c (1 − c)² / N and standard deviation
√(2(k − 1)) c (1 − c)² / N. A second sample of the population differs from the first by
more, 1/(1 − c) times that mean: twice, for equal numbers. A tree has no formula, so
labels are shuffled instead, which is what a second sample would look like.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from understudy.evaluation.utility.design import (
    Design,
    import_sklearn,
    skip_sklearn_checks,
)
from understudy.findings import BetterDirection, Fact, Finding, Unavailable
from understudy.tables import Records

MAX_PROPENSITY_ROWS = 20_000
"""Rows of each table that a model is fitted to."""

DEFAULT_LABEL_SHUFFLES = 50
"""Shuffles of labels behind the chance level of a tree."""

CART_MAX_DEPTH, CART_MIN_LEAF_ROWS = 8, 5
PROPENSITY_METHODS = {"logistic": "logistic", "cart": "CART"}
_MAX_NEWTON_STEPS, _MAX_ABS_LOGIT = 60, 30.0


@dataclass(frozen=True)
class Propensity:
    """U_p, what chance would give, and how far it is from that."""

    pmse: float
    expected: float
    spread: float
    parameters: int

    @property
    def ratio(self) -> float:
        """Standardised: 1 is chance; below 3 is good, above 10 is not."""
        return self.pmse / self.expected

    @property
    def z(self) -> float:
        """How many standard deviations above chance."""
        return (self.pmse - self.expected) / self.spread


def propensity_mean_square(
    scores: NDArray[np.float64], synthetic: NDArray[np.bool_]
) -> float:
    """U_p of estimated probabilities.

    >>> propensity_mean_square(np.array([0.0, 1.0]), np.array([False, True]))
    0.25
    """
    return float(np.mean((scores - synthetic.mean()) ** 2))


def logistic_scores(
    matrix: NDArray[np.float64], synthetic: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], int]:
    """Fitted probabilities of a logistic model by maximum likelihood, and its number of
    parameters.

    Newton's steps on an orthonormal basis of the columns, halved if they do not help.
    If the tables can be separated perfectly, the likelihood has no maximum; then the
    steps end with probabilities of nearly 0 and 1, which is the right answer.
    """
    full = np.column_stack([np.ones(len(matrix)), matrix])
    # Collinear columns would make Newton's system singular; they are no parameters.
    sizes, turned = np.linalg.eigh(full.T @ full)
    independent = sizes > sizes[-1] * 1e-12
    basis = full @ (turned[:, independent] / np.sqrt(sizes[independent]))
    target = synthetic.astype(np.float64)
    beta = np.zeros(basis.shape[1])

    def loss(b: NDArray[np.float64]) -> float:
        eta = basis @ b
        return float(np.sum(np.logaddexp(0, eta) - target * eta))

    now = loss(beta)
    for _ in range(_MAX_NEWTON_STEPS):
        scores = expit(basis @ beta)
        gradient = basis.T @ (target - scores)
        # Certain rows have no weight; the floor keeps the Hessian invertible.
        weights = np.maximum(scores * (1 - scores), 1e-10)
        hessian = basis.T @ (basis * weights[:, None])
        step = np.linalg.solve(hessian + 1e-12 * np.eye(len(beta)), gradient)
        size = 1.0
        while size > 1e-4 and loss(beta + size * step) > now:
            size /= 2
        beta = beta + size * step
        before, now = now, loss(beta)
        if before - now < 1e-9 * max(now, 1.0):
            break
    logits = np.clip(basis @ beta, -_MAX_ABS_LOGIT, _MAX_ABS_LOGIT)
    return expit(logits), basis.shape[1]


def logistic_propensity(
    matrix: NDArray[np.float64], synthetic: NDArray[np.bool_]
) -> Propensity:
    """U_p by a logistic model of the columns, with its mean and spread under chance."""
    scores, parameters = logistic_scores(matrix, synthetic)
    if parameters < 2:
        raise Unavailable("no column varies")
    rows, c = len(matrix), float(synthetic.mean())
    # Snoke et al.: each parameter but the intercept adds one such unit by chance.
    unit = c * (1 - c) ** 2 / rows
    return Propensity(
        pmse=propensity_mean_square(scores, synthetic),
        expected=(parameters - 1) * unit,
        spread=np.sqrt(2 * (parameters - 1)) * unit,
        parameters=parameters,
    )


def cart_propensity(
    matrix: NDArray[np.float64],
    synthetic: NDArray[np.bool_],
    *,
    rng: np.random.Generator,
    shuffles: int = DEFAULT_LABEL_SHUFFLES,
) -> Propensity:
    """U_p by a classification tree, with its mean and spread under shuffled labels."""
    tree = import_sklearn().tree.DecisionTreeClassifier

    def score_labels(labels: NDArray[np.bool_]) -> float:
        model = tree(
            max_depth=CART_MAX_DEPTH,
            min_samples_leaf=CART_MIN_LEAF_ROWS,
            random_state=int(rng.integers(2**31)),
        )
        scores = model.fit(matrix, labels).predict_proba(matrix)[:, 1]
        return propensity_mean_square(scores, labels)

    if matrix.shape[1] == 0:
        raise Unavailable("no column varies")
    with skip_sklearn_checks():
        # Shuffled labels show what a tree finds by chance, for which there is no
        # formula.
        shuffled = [score_labels(rng.permutation(synthetic)) for _ in range(shuffles)]
        observed = score_labels(synthetic)
    chance = np.array(shuffled)
    expected, spread = float(chance.mean()), float(chance.std(ddof=1))
    if expected == 0 or spread == 0:
        raise Unavailable("the tree cannot split tables this small")
    return Propensity(
        pmse=observed, expected=expected, spread=spread, parameters=matrix.shape[1]
    )


def assess_propensity(
    real: Records,
    synthetic: Records,
    method: str,
    *,
    rng: np.random.Generator,
    rows: int = MAX_PROPENSITY_ROWS,
    shuffles: int = DEFAULT_LABEL_SHUFFLES,
) -> Finding:
    """U_p with its standardised forms, by `logistic` or `cart`."""
    here, there = real.sample(rows, rng), synthetic.sample(rows, rng)
    if min(here.rows, there.rows) < 10:
        raise Unavailable("one of the tables has fewer than ten rows")
    design = Design.of(list(real.codes), here, there)
    matrix = np.vstack([design.matrix(here), design.matrix(there)])
    labels = np.repeat([False, True], [here.rows, there.rows])
    if method == "logistic":
        found = logistic_propensity(matrix, labels)
        chance = "rows drawn from the real table"
    else:
        found = cart_propensity(matrix, labels, rng=rng, shuffles=shuffles)
        chance = "labels shuffled"
    c = float(labels.mean())
    facts: dict[str, Fact] = {
        "standardised": found.ratio,
        "z": found.z,
        "expected": found.expected,
        "rows_real": here.rows,
        "rows_synthetic": there.rows,
        "parameters": found.parameters,
        "chance": chance,
    }
    return Finding(
        name=f"propensity_{method}",
        title=f"Propensity score U_p, {PROPENSITY_METHODS[method]}",
        family="propensity",
        value=found.pmse,
        better=BetterDirection.LOWER,
        best=0.0,
        worst=c * (1 - c),
        baseline=found.expected,
        note=(
            "How well a model tells synthetic rows from real ones. Standardised: 1 is"
            " chance, below 3 good, above 10 poor."
        ),
        facts=facts,
    )
