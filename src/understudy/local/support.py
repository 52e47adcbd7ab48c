"""What a report says about a value: the probabilities with which it supports the true
value and any other, and the variance that follows.

Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency
estimation", 2017: in a *pure* protocol a report supports a set of values, the true one
with probability p and any other with probability q. If C reports of n support a value,
(C/n - q)/(p - q) is an unbiased estimate of its share.

Subset selection: Ye, Barg, "Optimal schemes for discrete distribution estimation under
locally differential privacy", 2018. Hadamard response: Acharya, Sun, Zhang, "Hadamard
response", 2019, here with one bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from understudy_client import CollectionPlan


@dataclass(frozen=True)
class SupportProbabilities:
    """That a report supports the true value (p), and any one other value (q).

    >>> warner = SupportProbabilities(Fraction(3, 4), Fraction(1, 4))
    >>> warner.estimate_share(0.4), round(warner.variance(0.3, 1000), 7)
    (0.3, 0.00096)
    """

    p: Fraction
    q: Fraction

    @property
    def gap(self) -> float:
        """How much likelier the support of the true value is."""
        return float(self.p - self.q)

    def estimate_share(self, supporting: float) -> float:
        """The unbiased share of a value that this part of the reports supports."""
        return round((supporting - float(self.q)) / self.gap, 15)

    def variance(self, share: float, respondents: int) -> float:
        """Variance of an estimated share, if respondents are a random sample of the
        population that has this share.
        """
        supporting = float(self.q) + share * self.gap
        return supporting * (1 - supporting) / (respondents * self.gap**2)

    def noise_variance(self, share: float, respondents: int) -> float:
        """Variance of an estimated share of the respondents themselves: of the
        randomisation alone.
        """
        p, q = float(self.p), float(self.q)
        spread = share * p * (1 - p) + (1 - share) * q * (1 - q)
        return spread / (respondents * self.gap**2)


def _support_krr(plan: CollectionPlan) -> SupportProbabilities:
    total = plan.ratio + len(plan.values) - 1
    return SupportProbabilities(plan.ratio / total, 1 / total)


def _support_sue(plan: CollectionPlan) -> SupportProbabilities:
    root = plan.root_ratio(2)
    return SupportProbabilities(root / (root + 1), 1 / (root + 1))


def _support_oue(plan: CollectionPlan) -> SupportProbabilities:
    return SupportProbabilities(Fraction(1, 2), 1 / (plan.ratio + 1))


def _support_subset(plan: CollectionPlan) -> SupportProbabilities:
    size = plan.sizes["size"]
    others = len(plan.values) - 1
    weight = plan.ratio * size
    inside = weight / (weight + others + 1 - size)
    # The places that the true value leaves are filled by the others, all alike.
    return SupportProbabilities(inside, (size - inside) / others)


def _support_olh(plan: CollectionPlan) -> SupportProbabilities:
    buckets = plan.sizes["buckets"]
    keep = plan.ratio / (plan.ratio + buckets - 1)
    # Two values share a bucket with probability 1/buckets, up to 2^-60.
    return SupportProbabilities(keep, Fraction(1, buckets))


def _support_hadamard(plan: CollectionPlan) -> SupportProbabilities:
    # Two columns of a Hadamard matrix agree in exactly half of the rows.
    return SupportProbabilities(plan.ratio / (plan.ratio + 1), Fraction(1, 2))


PURE_PROTOCOLS: dict[str, Callable[[CollectionPlan], SupportProbabilities]] = {
    "two_coin": _support_krr,
    "krr": _support_krr,
    "sue": _support_sue,
    "oue": _support_oue,
    "subset": _support_subset,
    "olh": _support_olh,
    "hadamard": _support_hadamard,
}


def support_probabilities(plan: CollectionPlan) -> SupportProbabilities:
    """The probabilities of a plan with a pure protocol.

    >>> plan = CollectionPlan("x", "krr", Fraction(1), values=("a", "b", "c", "d"))
    >>> support = support_probabilities(plan)
    >>> round(float(support.p), 5), round(float(support.q), 5)
    (0.47537, 0.17488)
    """
    return PURE_PROTOCOLS[plan.mechanism](plan)
