"""The measurement plan: which part of the budget each level gets, and inside a level
each query.

A query is a marginal of the persons' columns: `total` counts all persons of a unit,
`detail` is the whole cross of the columns. With shares g of levels and w of queries,
each adding up to 1, a query costs ρ·g·w, so the plan costs ρ whatever the number of
units is: the units of one level are disjoint.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from understudy.accounting.budget import to_exact_fraction
from understudy.errors import Refused, SchemaError
from understudy.measurements import Clique

TOTAL_WORD = "total"
DETAIL_WORD = "detail"

HOUSEHOLD_PREFIX = "households: "
"""Before the name of a query about households."""

Name = TypeVar("Name")

QueryShares = Mapping[Clique, Fraction]
"""The share of a level's budget that each query gets."""


@dataclass(frozen=True)
class MeasurementPlan:
    """Shares of the budget by level, and by query inside each level; each adds up to 1.

    >>> plan = MeasurementPlan.of(
    ...     ("nation", "state"), ("age", "sex"), levels={"nation": 1, "state": 3}
    ... )
    >>> plan.share("state", ("age", "sex"))
    Fraction(3, 8)
    """

    levels: Mapping[str, Fraction]
    queries: Mapping[str, QueryShares]

    @classmethod
    def of(
        cls,
        levels_of_hierarchy: Sequence[str],
        columns: Clique,
        *,
        levels: Mapping[str, object] | None = None,
        queries: Mapping[str, object] | None = None,
    ) -> MeasurementPlan:
        """A plan from weights, which need not add up to 1. All levels get the same by
        default, and `total` and `detail` half of each. `queries` are weights for all
        levels, or for single levels by their names.
        """
        for said in (levels, queries):
            if said is not None and not isinstance(said, Mapping):
                raise SchemaError(
                    "census: plan: `levels` and `queries` are weights by name, such as"
                    " {total: 1, detail: 2}"
                )
        names = tuple(levels_of_hierarchy)
        given = dict(levels or dict.fromkeys(names, 1))
        _refuse_unknown("level", given, names)
        by_level = _share_out(given, "level")
        default: Mapping[str, object] = {TOTAL_WORD: 1, DETAIL_WORD: 1}
        asked = queries or default
        single = {
            name: asked[name] for name in asked if isinstance(asked[name], Mapping)
        }
        _refuse_unknown("level", single, names)
        common = {name: asked[name] for name in asked if name not in single}
        of_level = {}
        for name in by_level:
            weights = single.get(name, common or default)
            assert isinstance(weights, Mapping)
            of_level[name] = _read_queries(weights, columns)
        return cls(by_level, of_level)

    def share(self, level: str, query: Clique) -> Fraction:
        """The part of the whole budget that a query of a level gets."""
        return self.levels[level] * self.queries[level][query]

    def cliques(self) -> tuple[Clique, ...]:
        """Every query of some level, once."""
        return tuple(
            dict.fromkeys(q for shares in self.queries.values() for q in shares)
        )

    def steps(self) -> list[tuple[str, Clique, Fraction]]:
        """Every level and query that is measured, with its part of the budget."""
        return [
            (level, query, self.share(level, query))
            for level in self.levels
            for query in self.queries[level]
        ]

    def without(self, lost: Collection[tuple[str, Clique]]) -> MeasurementPlan:
        """The plan without some queries of some levels; the others keep their shares."""
        queries = {
            level: {q: share for q, share in shares.items() if (level, q) not in lost}
            for level, shares in self.queries.items()
        }
        return replace(self, queries=queries)

    def detail_share(self, columns: Clique) -> Fraction:
        """The part of the budget that the finest tables get."""
        return sum(
            (share for _, query, share in self.steps() if set(query) == set(columns)),
            Fraction(0),
        )

    def unpublished_share(self, published: Sequence[Clique]) -> Fraction:
        """The part of the budget spent on queries that no published table shows."""
        hidden = [
            share
            for _, query, share in self.steps()
            if not any(set(query) <= set(shown) for shown in published)
        ]
        return sum(hidden, Fraction(0))


def parse_query(text: str, columns: Clique) -> Clique:
    """The columns that a query counts, in the order of the schema.

    >>> parse_query("sex * age", ("age", "sex", "race")), parse_query("total", ("age",))
    (('age', 'sex'), ())
    """
    words = [word.strip() for word in text.split("*")]
    if words == [TOTAL_WORD]:
        return ()
    if words == [DETAIL_WORD]:
        return columns
    _refuse_unknown("query", words, columns)
    if len(set(words)) < len(words):
        raise Refused(f'census: query "{text}" names a column twice. Nothing was spent')
    return tuple(name for name in columns if name in words)


def reads_otherwise(name: str, columns: Clique) -> bool:
    """Whether a column's name, asked as a query, would mean another one.

    >>> columns = ("age", "sex", "age * sex", "a*b")
    >>> [name for name in columns if reads_otherwise(name, columns)]
    ['age * sex']
    """
    words = [word.strip() for word in name.split("*")]
    is_product = len(words) > 1 and set(words) <= set(columns)
    return is_product or words in ([TOTAL_WORD], [DETAIL_WORD])


def spell_query(query: Clique, columns: Clique) -> str:
    """The words for a query.

    >>> spell_query((), ("age",)), spell_query(("age",), ("age", "sex"))
    ('total', 'age')
    """
    if not query:
        return TOTAL_WORD
    return DETAIL_WORD if query == columns else " * ".join(query)


def name_answer(level: str, query: Clique, columns: Clique, prefix: str = "") -> str:
    """What the answer to a query of a level is called in files.

    >>> name_answer("state", ("size",), ("size", "tenure"), HOUSEHOLD_PREFIX)
    'state/households: size'
    """
    return f"{level}/{prefix}{spell_query(query, columns)}"


def _read_queries(weights: Mapping[str, object], columns: Clique) -> QueryShares:
    parsed: dict[Clique, object] = {}
    for text, weight in weights.items():
        query = parse_query(text, columns)
        if query in parsed:
            raise Refused(f'census: query "{text}" stands twice. Nothing was spent')
        parsed[query] = weight
    return _share_out(parsed, "query")


def _share_out(weights: Mapping[Name, object], noun: str) -> dict[Name, Fraction]:
    """Exact shares that add up to 1."""
    try:
        exact = {name: to_exact_fraction(weight) for name, weight in weights.items()}
    except ValueError:
        exact = {}
    if not exact or min(exact.values()) <= 0:
        raise Refused(
            f"census: every {noun} of the plan needs a weight above 0; leave out what"
            " is not measured. Nothing was spent"
        )
    total = sum(exact.values())
    return {name: weight / total for name, weight in exact.items()}


def _refuse_unknown(
    noun: str, given: Mapping[str, object] | list[str], known: Sequence[str]
) -> None:
    for name in given:
        if name not in known:
            raise Refused(
                f'census: "{name}" is no {noun} here; there are {", ".join(known)}.'
                " Nothing was spent"
            )
