"""Findings: what a comparison with the real rows came to, in a form that a page can
show and JSON can hold.

Utility and risk both answer in these three types. A number that cannot be computed
stays in the list with the reason, and so does a part of one: it is never averaged away
in silence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from understudy.errors import UnderstudyError

INTERNAL_MARKING = "internal, not private: computed from the real rows without noise"
"""Stands wherever such a result is written."""

Progress = Callable[[str, float], None]
"""Told a stage's name and how much of it is done, from 0 to 1."""

Fact = str | int | float | bool | None | list["Fact"] | dict[str, "Fact"]
"""What JSON can hold."""


def ignore_progress(stage: str, done: float) -> None:
    """Progress nobody watches."""


class BetterDirection(StrEnum):
    """Which way is good."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


@dataclass(frozen=True, kw_only=True)
class FindingPart:
    """One piece of a finding: a column, a pair, a coefficient, a query.

    >>> FindingPart(name="age × sex", columns=("age", "sex"), value=0.25).is_computed
    True
    """

    name: str
    value: float | None = None
    columns: tuple[str, ...] = ()
    reason: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_value(self.name, self.value, self.reason)

    @property
    def is_computed(self) -> bool:
        """Whether there is a number."""
        return self.value is not None

    def to_dict(self) -> dict[str, Fact]:
        """The part as JSON holds it."""
        return {
            "name": self.name,
            "value": self.value,
            "columns": list(self.columns),
            "reason": self.reason,
            "facts": dict(self.facts),
        }


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One measure: its value, what it is made of, or why there is none.

    `family` groups findings on a page; `best` and `worst` are the ends of the scale
    where it has ends; `baseline` is what an uninformed guess, or a table with nothing
    in common, would get; `interval` holds the value with 95 % confidence; `note` says
    in one line how to read it. Parts come farthest from good first.

    >>> Finding(name="propensity_cart", title="Propensity, CART", reason="scikit-learn is not installed").is_computed
    False
    """

    name: str
    title: str
    value: float | None = None
    family: str = ""
    better: BetterDirection = BetterDirection.NEITHER
    best: float | None = None
    worst: float | None = None
    baseline: float | None = None
    interval: tuple[float, float] | None = None
    note: str = ""
    reason: str = ""
    parts: tuple[FindingPart, ...] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_value(self.name, self.value, self.reason)
        for number in (self.best, self.worst, self.baseline, *(self.interval or ())):
            assert number is None or math.isfinite(number), (
                f"{self.name}: a number is finite"
            )

    @property
    def is_computed(self) -> bool:
        """Whether there is a number."""
        return self.value is not None

    @property
    def left_out(self) -> tuple[FindingPart, ...]:
        """The parts without a number; the value is about the others."""
        return tuple(part for part in self.parts if not part.is_computed)

    def worst_parts(self, most: int = 5) -> tuple[FindingPart, ...]:
        """The parts farthest from good."""
        return tuple(part for part in self.parts if part.is_computed)[:most]

    def to_dict(self) -> dict[str, Fact]:
        """The finding as JSON holds it."""
        return {
            "name": self.name,
            "title": self.title,
            "value": self.value,
            "family": self.family,
            "better": self.better.value,
            "best": self.best,
            "worst": self.worst,
            "baseline": self.baseline,
            "interval": None if self.interval is None else list(self.interval),
            "note": self.note,
            "reason": self.reason,
            "parts": [part.to_dict() for part in self.parts],
            "facts": dict(self.facts),
        }

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.title}: not computed ({self.reason})"
        between = (
            ""
            if self.interval is None
            else f" ({self.interval[0]:.4g} to {self.interval[1]:.4g})"
        )
        return f"{self.title}: {self.value:.4g}{between}"


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """Findings about one release, in order. Internal, not private.

    >>> found = Assessment(subject="utility", findings=(Finding(name="tvd_1", title="Columns", value=0.1),))
    >>> found["tvd_1"].value, "tvd_9" in found
    (0.1, False)
    """

    subject: str
    findings: tuple[Finding, ...]
    facts: Mapping[str, Fact] = field(default_factory=dict)
    marking: str = INTERNAL_MARKING

    def __post_init__(self) -> None:
        names = [finding.name for finding in self.findings]
        assert len(set(names)) == len(names), "a finding stands twice"

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(finding.name == name for finding in self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def families(self) -> tuple[str, ...]:
        """The families, in order of their first finding."""
        return tuple(dict.fromkeys(finding.family for finding in self.findings))

    @property
    def not_computed(self) -> tuple[tuple[str, str], ...]:
        """Every finding, and every part of one, that has no number: its title and the
        reason.
        """
        missing: list[tuple[str, str]] = []
        for finding in self.findings:
            if not finding.is_computed:
                missing.append((finding.title, finding.reason))
            missing += [
                (f"{finding.title}: {part.name}", part.reason)
                for part in finding.left_out
            ]
        return tuple(missing)

    def to_dict(self) -> dict[str, Fact]:
        """The assessment as JSON holds it."""
        missing: list[Fact] = [
            {"title": title, "reason": reason} for title, reason in self.not_computed
        ]
        return {
            "subject": self.subject,
            "marking": self.marking,
            "facts": dict(self.facts),
            "findings": [finding.to_dict() for finding in self.findings],
            "not_computed": missing,
        }

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.subject} ({self.marking})",
                *(f"  {finding}" for finding in self.findings),
            ]
        )


class Unavailable(Exception):
    """A measure that cannot be computed here; the message is the reason, and never
    holds a cell's value.
    """


def make_missing_finding(name: str, title: str, reason: str, **rest: str) -> Finding:
    """A finding that could not be computed.

    >>> print(make_missing_finding("tvd_3", "Triples", "fewer than three columns"))
    Triples: not computed (fewer than three columns)
    """
    return Finding(name=name, title=title, reason=reason, family=rest.get("family", ""))


@dataclass(frozen=True)
class Measure:
    """A finding still to be computed, and what it is called should that fail."""

    name: str
    title: str
    family: str
    compute: Callable[[], Finding]


def compute_findings(
    measures: Sequence[Measure], progress: Progress = ignore_progress
) -> tuple[Finding, ...]:
    """Compute what can be computed; the rest is listed with the reason.

    >>> def empty() -> Finding:
    ...     raise Unavailable("one of the tables has no rows")
    >>> [str(found) for found in compute_findings([Measure("tvd_1", "Columns", "marginals", empty)])]
    ['Columns: not computed (one of the tables has no rows)']
    """
    found: list[Finding] = []
    for done, measure in enumerate(measures):
        progress(measure.title, done / len(measures))
        try:
            found.append(measure.compute())
        except (Unavailable, UnderstudyError) as reason:
            found.append(
                make_missing_finding(
                    measure.name, measure.title, str(reason), family=measure.family
                )
            )
        except (
            ValueError,
            ArithmeticError,
            MemoryError,
        ) as error:  # numpy's LinAlgError is a ValueError
            why = f"it could not be computed ({type(error).__name__})"
            found.append(
                make_missing_finding(
                    measure.name, measure.title, why, family=measure.family
                )
            )
    progress("done", 1.0)
    return tuple(found)


def mean_of_parts(parts: tuple[FindingPart, ...]) -> float | None:
    """The mean of the parts that have a number; None where none has.

    >>> mean_of_parts((FindingPart(name="a", value=1.0), FindingPart(name="b", reason="constant")))
    1.0
    """
    values = [part.value for part in parts if part.value is not None]
    return sum(values) / len(values) if values else None


def _check_value(name: str, value: float | None, reason: str) -> None:
    assert (value is None) == bool(reason), (
        f"{name}: a number, or the reason why there is none"
    )
    assert value is None or math.isfinite(value), f"{name}: a number is finite"
