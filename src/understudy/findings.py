"""Findings: the results of a comparison with the real rows, in a form that a report can
show and JSON can hold.

Utility and risk both report in these three types. A number that cannot be computed
stays in the list with the reason, and so does a part of one: it is never left out of an
average in silence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from understudy.errors import UnderstudyError

INTERNAL_MARKING = "internal, not private: computed from the real rows without noise"
"""The label of every such result."""

Progress = Callable[[str, float], None]
"""Called with a stage's name and the part of it that is done, from 0 to 1."""

Fact = str | int | float | bool | None | list["Fact"] | dict[str, "Fact"]
"""Whatever JSON can hold."""


def ignore_progress(stage: str, done: float) -> None:
    """Progress that is not shown."""


class BetterDirection(StrEnum):
    """Whether a lower or a higher value is better."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


@dataclass(frozen=True, kw_only=True)
class FindingPart:
    """One part of a finding: a column, a pair, a coefficient, a query.

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
    """One measure: its value and its parts, or the reason why it has no value.

    `family` groups findings in a report; `best` and `worst` are the ends of the scale,
    if it has ends; `baseline` is the value of an uninformed guess, or of a table that
    shares nothing with the real one; `interval` is a 95 % confidence interval; `note`
    says in one line how to read the value. The worst parts come first.

    >>> str(Finding(name="cart", title="Propensity", reason="scikit-learn is missing"))
    'Propensity: not computed (scikit-learn is missing)'
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
        """The parts without a number; the value is computed from the others."""
        return tuple(part for part in self.parts if not part.is_computed)

    @property
    def is_above_by_chance(self) -> bool:
        """Whether the value exceeds its bound by no more than it is uncertain: an attack
        that reaches the bound is estimated above it in every second run.

        >>> from dataclasses import replace
        >>> near = Finding(
        ...     name="a", title="A", value=0.552, interval=(0.546, 0.558), facts={"bound": 0.551}
        ... )
        >>> far = replace(near, value=0.65, interval=(0.6, 0.7))
        >>> near.is_above_by_chance, far.is_above_by_chance
        (True, False)
        """
        bound = self.facts.get("bound")
        if self.value is None or self.interval is None:
            return False
        return isinstance(bound, float) and self.interval[0] <= bound < self.value

    def worst_parts(self, most: int = 5) -> tuple[FindingPart, ...]:
        """The first parts, which are the worst, that have a number."""
        computed = [part for part in self.parts if part.is_computed]
        return tuple(computed[:most])

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
        line = f"{self.title}: {self.value:.4g}"
        if self.interval is None:
            return line
        low, high = self.interval
        return f"{line} ({low:.4g} to {high:.4g})"


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """Findings about one release, in order. Internal, not private.

    >>> columns = Finding(name="tvd_1", title="Columns", value=0.1)
    >>> assessment = Assessment(subject="utility", findings=(columns,))
    >>> assessment["tvd_1"].value, "tvd_9" in assessment
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
        lines = [f"{self.subject} ({self.marking})"]
        lines += [f"  {finding}" for finding in self.findings]
        return "\n".join(lines)


class Unavailable(Exception):
    """A measure cannot be computed on these tables; the message is the reason, and never
    contains a cell's value.
    """


def make_missing_finding(name: str, title: str, reason: str, **rest: str) -> Finding:
    """A finding that could not be computed.

    >>> print(make_missing_finding("tvd_3", "Triples", "fewer than three columns"))
    Triples: not computed (fewer than three columns)
    """
    return Finding(name=name, title=title, reason=reason, family=rest.get("family", ""))


@dataclass(frozen=True)
class Measure:
    """A finding that is still to be computed, with its titles in case that fails."""

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
    >>> measure = Measure("tvd_1", "Columns", "marginals", empty)
    >>> [str(finding) for finding in compute_findings([measure])]
    ['Columns: not computed (one of the tables has no rows)']
    """
    findings = []
    for done, measure in enumerate(measures):
        progress(measure.title, done / len(measures))
        findings.append(_compute_finding(measure))
    progress("done", 1.0)
    return tuple(findings)


def _compute_finding(measure: Measure) -> Finding:
    try:
        return measure.compute()
    except (Unavailable, UnderstudyError) as error:
        reason = str(error)
    # numpy's LinAlgError is a ValueError. Its text may hold numbers of the real rows,
    # so only its type is shown.
    except (ValueError, ArithmeticError, MemoryError) as error:
        reason = f"it could not be computed ({type(error).__name__})"
    return make_missing_finding(
        measure.name, measure.title, reason, family=measure.family
    )


def mean_of_parts(parts: tuple[FindingPart, ...]) -> float | None:
    """The mean of the parts that have a number; None if none has.

    >>> parts = FindingPart(name="a", value=1.0), FindingPart(name="b", reason="constant")
    >>> mean_of_parts(parts)
    1.0
    """
    values = [part.value for part in parts if part.value is not None]
    return sum(values) / len(values) if values else None


def _check_value(name: str, value: float | None, reason: str) -> None:
    # JSON has no NaN and no infinity, and a missing number needs its reason.
    assert (value is None) == bool(reason), (
        f"{name}: a number, or the reason why there is none"
    )
    assert value is None or math.isfinite(value), f"{name}: a number is finite"
