"""Stability-based histogram: show only the cells that are safely above zero, of a
domain too large or too unknown to noise in full.

Bun, Nissim, Stemmer, "Simultaneous private learning of multiple concepts", 2016. Noise
is added to the non-empty cells; a cell shows if its noisy count exceeds T. What is
shown is sorted, so its order tells nothing.

Why it is private. A unit has at most m rows, so it brings into being cells of counts c₁
+ c₂ + … ≤ m that its neighbour lacks. The chance that any of them shows is at most the
sum of P(cᵢ + noise > T). As T ≥ m, the tails are convex there, so the sum is largest
for one cell of m rows or m cells of one row: δ₀ = max(P(m + noise > T), m · P(1 + noise
> T)). Cells that both neighbours have move by at most the histogram's sensitivity Δ.

  * Discrete Laplace, scale Δ₁/ε: (ε, δ₀)-private. In one direction, P[M(x) ∈ S] ≤ δ₀ +
    e^ε P[M(x') ∈ S]. In the other, S holds no new cell, and that none shows has
    probability at least 1 − δ₀; a cell that only x' has uses up at least 1 of the L1
    distance, so the common cells cost at most e^(ε − 1/scale), and e^(ε − 1/scale) / (1
    − δ₀) ≤ e^ε where δ₀ ≤ 1 − e^(−1/scale), which is checked.
  * Gaussian laws: let M̃ be M with the cells of one side only never shown. M and M̃
    differ by at most δ₀ in total variation on either side, and M̃ costs the Gaussian
    price on the common cells. For the whole run, P[M(x) ∈ S] ≤ δ₀ + e^ε (P[M(x') ∈ S] +
    δ₀) + δ(run). So a charge of δ buys δ₀ = δ / (1 + e^ε), with the run's own ε.

What shows must fit into a ledger and a release, so the threshold is raised where it
would not: after the noise, by noisy counts and what shows alone, which costs nothing.
Answers are stored as they fit, so that nothing fails for its size once it is paid for.

Tails are proven upper bounds (noise/tails.py), not floats. Checked in
tests/curator/mechanisms/test_sparse_histogram.py.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import price
from understudy.curator.context import MechanismContext
from understudy.curator.payment import NoisyAnswer
from understudy.errors import Refused
from understudy.measurements import Clique, SparseMeasurement
from understudy.models.rules.structural_zeros import (
    forbidden_rows,
    impossible_masks,
    impossible_rows,
)
from understudy.noise.enclosure import enclose_normal_tail
from understudy.noise.tails import tails_of_law
from understudy.schema import Schema

TAIL_GUARD_BITS = 64
"""Bits of precision of the tail bounds beyond those that δ itself needs."""

MIN_NORMAL_TAIL_SCALE = 1000
"""Scale of discrete Gaussian noise from which its tail is bounded by the Gaussian's."""

MAX_THRESHOLD_EPSILON = 1000
"""Largest ε of a run with Gaussian noise and thresholds: e^ε rows of precision are then
needed, and nothing is protected any more.
"""

MAX_SPARSE_ANSWER_BYTES = 1 << 28
"""Bytes of the cells that one answer shows; a ledger holds 10⁹ of an answer."""

MAX_LABEL_BYTES = 1 << 23
"""Bytes of all labels that a run learns, as a release writes them down twice; its
document holds 2²⁵ in all.
"""

LABEL_OVERHEAD_BYTES = 32
"""Bytes that a label counts for besides its text: at most 2¹⁸ labels fit, about half of
what the list of a schema may hold.
"""

E_UPPER_BOUND = Fraction(27182818285, 10**10)
"""A little more than e."""


def threshold(*, law: Law, scale: Fraction, delta: Fraction, max_rows: int = 1) -> int:
    """Smallest count above which a cell may be shown so that a unit's own cells show
    with probability at most `delta`.

    >>> threshold(law=Law.DISCRETE_LAPLACE, scale=Fraction(2), delta=Fraction(1, 10**6))
    27
    """
    law_tails = tails_of_law(law, scale)
    bits = TAIL_GUARD_BITS + max(
        0, delta.denominator.bit_length() - delta.numerator.bit_length()
    )

    def show_chance(count: int, at: int) -> Fraction:
        if law is Law.DISCRETE_GAUSSIAN and scale > MIN_NORMAL_TAIL_SCALE:
            # P(X > k) ≤ P(N(0, σ²) ≥ k), Canonne, Kamath, Steinke 2020, Prop. 25: the
            # exact sum would be long.
            return Fraction(
                enclose_normal_tail((at - count) / scale, bits)[1], 1 << bits
            )
        return Fraction(law_tails.tail(at - count, bits)[1], 1 << bits)

    def is_safe(at: int) -> bool:
        # One cell of m rows, or m cells of one row: the two worst cases of the proof.
        return all(
            (max_rows // count) * show_chance(count, at) <= delta
            for count in {1, max_rows}
        )

    # The proof needs T ≥ m. Chances fall as T rises, so bisection finds the smallest.
    low = max_rows - 1
    high = max_rows
    while not is_safe(high):
        low = high
        high = 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_safe(middle) else (middle, high)
    return high


def laplace_threshold(
    *,
    epsilon: Fraction,
    delta: Fraction,
    neighbours: Neighbours,
) -> int:
    """The threshold of one (ε, δ) histogram whose unit is the row.

    >>> one, tiny = Fraction(1), Fraction(1, 10**6)
    >>> laplace_threshold(epsilon=one, delta=tiny, neighbours=Neighbours.REPLACE)
    27
    """
    moves = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    return threshold(law=Law.DISCRETE_LAPLACE, scale=moves / epsilon, delta=delta)


def learn_labels(
    context: MechanismContext,
    column: str,
    *,
    amount: Fraction,
    delta: Fraction,
    most_bytes: int = MAX_LABEL_BYTES,
) -> tuple[tuple[str, ...], SparseMeasurement]:
    """The labels of a column that are safely above zero, and their noisy counts; no
    more of them than fit in this many bytes.
    """
    scale, cost, at = _plan_histogram(
        context,
        amount,
        delta,
        f"{column}: its values have to be learned",
    )
    request = {
        "mechanism": "values",
        "column": column,
        "law": context.law,
        "scale": scale,
        "threshold": at,
    }

    def draw_answer(exact: tuple[list[str], NDArray[np.int64]]) -> NoisyAnswer:
        names, counts = exact
        # Sorted, so that the order in which labels show says nothing about the rows.
        order = sorted(range(len(names)), key=names.__getitem__)
        noisy = context.add_noise(counts[np.array(order, np.intp)], scale)
        passed = [names[i] for i, count in zip(order, noisy, strict=True) if count > at]
        noisy = noisy[noisy > at]
        sizes = np.array([_label_bytes(name) for name in passed], np.int64)
        raised = fit_threshold(at, noisy, sizes, most_bytes)
        kept = [
            name for name, count in zip(passed, noisy, strict=True) if count > raised
        ]
        return {
            **pack_labels(kept),
            "counts": noisy[noisy > raised],
            "threshold": np.array(raised),
        }

    answer = context.payments.pay(
        request,
        cost,
        lambda: context.table.labels(column),
        draw_answer,
    )
    shown = unpack_labels(answer)
    codes = np.arange(len(shown), dtype=np.int64)[:, None]
    above = int(answer.get("threshold", np.array(at)))
    return shown, SparseMeasurement(
        (column,),
        codes,
        answer["counts"].astype(np.int64),
        above,
        context.law,
        scale,
        cost,
    )


def _label_bytes(label: str) -> int:
    """Bytes that a label counts for."""
    return LABEL_OVERHEAD_BYTES + len(json.dumps(label, ensure_ascii=False).encode())


def fit_threshold(
    at: int,
    noisy: NDArray[np.int64],
    sizes: NDArray[np.int64],
    most_bytes: int,
) -> int:
    """The lowest threshold from `at` up above which all that shows fits in this many
    bytes.

    >>> counts, sizes = np.array([50, 30, 90]), np.array([4, 4, 4])
    >>> fit_threshold(20, counts, sizes, 8), fit_threshold(20, counts[:2], sizes[:2], 8)
    (30, 20)
    """
    order = np.argsort(-noisy, kind="stable")
    beyond = np.flatnonzero(np.cumsum(sizes[order]) > most_bytes)
    return at if beyond.size == 0 else max(at, int(noisy[order[beyond[0]]]))


def pack_labels(labels: Sequence[str]) -> NoisyAnswer:
    """Texts as one array of bytes and where each ends: an array of texts would make
    each as wide as the widest.

    >>> unpack_labels(pack_labels(["a", "", "ö"]))
    ('a', '', 'ö')
    """
    encoded = [label.encode() for label in labels]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return {"text": np.frombuffer(b"".join(encoded), np.uint8), "ends": ends}


def unpack_labels(answer: NoisyAnswer) -> tuple[str, ...]:
    """The texts of an answer; earlier versions stored them as an array of texts."""
    if "labels" in answer:
        return tuple(str(label) for label in answer["labels"])
    text = answer["text"].tobytes()
    ends = answer["ends"].tolist()
    return tuple(
        text[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)
    )


def measure_sparse_cells(
    context: MechanismContext,
    clique: Clique,
    *,
    amount: Fraction,
    delta: Fraction,
    schema: Schema | None = None,
) -> SparseMeasurement:
    """The cells of a marginal that are safely above zero, and their noisy counts.

    Cells that the schema declares impossible never show, whoever may be in them. The
    schema alone decides which those are, so each unit moves the others by as much as
    before, or less.
    """
    scale, cost, at = _plan_histogram(
        context,
        amount,
        delta,
        "a sparse histogram shows only cells above a threshold",
    )
    request = {
        "mechanism": "cells",
        "clique": clique,
        "law": context.law,
        "scale": scale,
        "threshold": at,
    }

    def draw_answer(exact: tuple[NDArray[np.int64], NDArray[np.int64]]) -> NoisyAnswer:
        codes, counts = exact
        possible = ~_is_impossible(schema, clique, codes)
        codes = codes[possible]
        counts = counts[possible]
        order = np.lexsort(codes.T[::-1])
        noisy = context.add_noise(counts[order], scale)
        codes = codes[order][noisy > at]
        noisy = noisy[noisy > at]
        sizes = np.full(len(noisy), codes.itemsize * (len(clique) + 1), np.int64)
        raised = fit_threshold(at, noisy, sizes, MAX_SPARSE_ANSWER_BYTES)
        return {
            "codes": codes[noisy > raised],
            "counts": noisy[noisy > raised],
            "threshold": np.array(raised),
        }

    answer = context.payments.pay(
        request,
        cost,
        lambda: context.table.sparse_counts(clique),
        draw_answer,
    )
    codes: NDArray[np.int64] = answer["codes"].astype(np.int64).reshape(-1, len(clique))
    above = int(answer.get("threshold", np.array(at)))
    return SparseMeasurement(
        clique,
        codes,
        answer["counts"].astype(np.int64),
        above,
        context.law,
        scale,
        cost,
    )


def _is_impossible(
    schema: Schema | None,
    clique: Clique,
    codes: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Which cells of a clique the schema declares impossible."""
    if schema is None:
        return np.zeros(len(codes), bool)
    columns = dict(zip(clique, codes.T, strict=True))
    if set(clique) == set(schema):
        return forbidden_rows(schema, columns, len(codes))
    within = {
        zeros: mask
        for zeros, mask in impossible_masks(schema).items()
        if set(zeros) <= set(clique)
    }
    return impossible_rows(within, columns, len(codes))


def check_epsilon(epsilon: Fraction, accounting: Accounting) -> None:
    """Refuse an ε at which a threshold under Gaussian noise cannot be computed in any
    useful time.
    """
    if accounting is not Accounting.PURE and epsilon > MAX_THRESHOLD_EPSILON:
        raise Refused(
            "What has to be learned needs a threshold, which has no price above ε = "
            f"{MAX_THRESHOLD_EPSILON:,} here: declare it in the schema,"
            " or use a smaller ε. Nothing was spent"
        )


def _plan_histogram(
    context: MechanismContext,
    amount: Fraction,
    delta: Fraction,
    why: str,
) -> tuple[Fraction, Cost, int]:
    """Scale, price and threshold of one histogram, or a refusal that says why."""
    if delta <= 0:
        remedy = "Declare the values in the schema, or allow a small δ such as 1e-9"
        raise Refused(
            f"{why}, and that cannot be done with δ = 0. {remedy}. Nothing was spent"
        )
    check_epsilon(context.epsilon, context.accounting)
    return plan_threshold(context, amount, delta)


def plan_threshold(
    context: MechanismContext, amount: Fraction, delta: Fraction
) -> tuple[Fraction, Cost, int]:
    """Scale, price and threshold of one histogram for this amount and δ."""
    sensitivity = context.unit_vector()
    scale = context.scale(amount, sensitivity)
    paid = price(context.law, scale, sensitivity, context.accounting)
    # Laplace: δ₀ ≤ 1 − e^(−1/scale), by the bound 1 − e^(−x) ≥ x/(1 + x) for x > 0.
    if context.law is Law.DISCRETE_LAPLACE:
        chance = min(delta, 1 / (1 + scale))
    else:
        chance = delta / (1 + exp_upper_bound(context.epsilon))
    at = threshold(
        law=context.law,
        scale=scale,
        delta=chance,
        max_rows=context.max_rows,
    )
    return scale, Cost(paid.accounting, paid.amount, delta), at


def exp_upper_bound(epsilon: Fraction) -> Fraction:
    """At least e^ε, whatever ε is: whole powers exactly, the rest as a float rounded
    up.
    """
    whole = int(epsilon)
    return E_UPPER_BOUND**whole * Fraction(
        math.exp(float(epsilon - whole)) * (1 + 1e-9)
    )
