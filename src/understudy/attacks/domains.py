"""Domains of the solver: the values that a person's number may still have, as the bits
of an integer.

Bit i stands for the i-th value of the puzzle; values are evenly spaced and rise.
"""

from __future__ import annotations

from collections.abc import Sequence

Domain = int


def domain_of_row(row: Sequence[bool]) -> Domain:
    """The domain with the values that are marked.

    >>> bin(domain_of_row([True, False, True]))
    '0b101'
    """
    return sum(1 << i for i, marked in enumerate(row) if marked)


def lowest_index(domain: Domain) -> int:
    """The smallest value of a domain that is not empty."""
    # d & −d is the lowest bit alone: the two's complement flips all bits above it.
    return (domain & -domain).bit_length() - 1


def highest_index(domain: Domain) -> int:
    """The largest value of a domain that is not empty."""
    return domain.bit_length() - 1


def is_settled(domain: Domain) -> bool:
    """Whether a domain that is not empty has one value.

    >>> is_settled(0b100), is_settled(0b110)
    (True, False)
    """
    return domain & (domain - 1) == 0


def keep_up_to(domain: Domain, index: int) -> Domain:
    """The part of a domain up to and including an index."""
    return domain & ((1 << (index + 1)) - 1) if index >= 0 else 0


def keep_from(domain: Domain, index: int) -> Domain:
    """The part of a domain from an index on."""
    return domain >> index << index if index > 0 else domain


def index_below(values: Sequence[int], value: int) -> int:
    """The index of the largest value that is at most this one; -1 if there is none.

    >>> index_below([10, 20, 30], 25), index_below([10, 20, 30], 5)
    (1, -1)
    """
    step = values[1] - values[0] if len(values) > 1 else 1
    return max(-1, min((value - values[0]) // step, len(values) - 1))


def index_above(values: Sequence[int], value: int) -> int:
    """The index of the smallest value that is at least this one; their number if there
    is none.
    """
    return index_below(values, value - 1) + 1
