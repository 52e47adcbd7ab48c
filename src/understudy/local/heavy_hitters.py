"""Frequent values of an open vocabulary, found by prefix extension.

Wang, Li, Jha, "Locally differentially private heavy hitter identification", 2021. Each
respondent belongs to one random group and reports a prefix of their value, as long as
the group says, by optimal local hashing. The most frequent prefixes of one group are
extended by every continuation, and the next group says which of these are frequent.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.local.counting import count_hashed
from understudy.local.estimates import FrequencyTable, estimate_shares
from understudy.local.reports import Integers
from understudy.local.support import SupportProbabilities, support_probabilities
from understudy_client import CollectionPlan, hash_prefix, prefix_length

KEPT_PREFIXES_PER_RESULT = 2
"""Prefixes kept for each result: noise may hide a frequent one among the first."""


def find_frequent_texts(
    plan: CollectionPlan, reports: Integers, count: int, level: float
) -> FrequencyTable:
    """The most frequent values and their shares, from reports (group, a, b, bucket).

    The intervals hold together, for all candidates of the last group, so that they
    cover in spite of the selection.
    """
    prefixes = [0]
    length = 0
    for group in range(plan.sizes["groups"]):
        members = reports[reports[:, 0] == group, 1:]
        longer = prefix_length(plan, group)
        prefixes = extend_prefixes(prefixes, longer - length)
        length = longer
        counts = count_prefixes(plan, members, prefixes, length)
        tried = len(prefixes)
        order = np.argsort(-counts, kind="stable")[: KEPT_PREFIXES_PER_RESULT * count]
        prefixes = [prefixes[i] for i in order]
        counts = counts[order]
    texts = [decode_prefix(prefix, plan.sizes["max_bytes"]) for prefix in prefixes]
    legible = [i for i, text in enumerate(texts) if text][:count]
    # Every candidate of the last group could have been chosen: Bonferroni.
    together = 1 - (1 - level) / tried
    values = tuple(str(texts[i]) for i in legible)
    table = estimate_shares(
        values, counts[legible], len(members), hash_support(plan), together
    )
    return replace(table, level=level)


def hash_support(plan: CollectionPlan) -> SupportProbabilities:
    """The probabilities of optimal local hashing with the plan's buckets."""
    return support_probabilities(
        CollectionPlan(
            plan.topic,
            "olh",
            plan.epsilon,
            sizes={"buckets": plan.sizes["buckets"]},
        )
    )


def extend_prefixes(prefixes: list[int], step: int) -> list[int]:
    """Every continuation of the prefixes by `step` bits.

    >>> extend_prefixes([0, 2], 1)
    [0, 1, 4, 5]
    """
    return [(prefix << step) + more for prefix in prefixes for more in range(1 << step)]


def count_prefixes(
    plan: CollectionPlan, members: Integers, prefixes: list[int], length: int
) -> Integers:
    """How many reports of a group support each prefix."""
    points = np.array([hash_prefix(prefix, length) for prefix in prefixes])
    a, b, bucket = members.T
    return count_hashed(a, b, bucket, points, plan.sizes["buckets"])


def decode_prefix(prefix: int, max_bytes: int) -> str | None:
    """A whole value as text; None where its bytes are no text."""
    padded = prefix.to_bytes(max_bytes, "big")
    try:
        return padded.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        return None
