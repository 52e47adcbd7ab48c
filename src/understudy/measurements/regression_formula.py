"""A regression formula, read for the marginals that its coefficients depend on.

Least squares needs every pair of the formula's columns. A term of two columns, such as
`age:sex`, says how both together go with the response, so it needs the three of them at
once. Nothing is evaluated here: statsmodels does that with the whole formula, later.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from understudy.errors import Refused
from understudy.measurements.measurement import Clique

MAX_TERM_COLUMNS = 2
"""Columns of one term: with the response they are a marginal of three columns, beyond
which noise hides most tables.
"""

_QUOTED_NAME = re.compile(r"\bQ\(\s*([\"'])(.*?)\1\s*\)")
_QUOTED_TEXT = re.compile(r"([\"']).*?\1")
# A name that is called, looked into or set is no column; one that is compared (==) is.
_COLUMN_NAME = re.compile(r"(?<![\w.])([^\W\d]\w*)(?!\w)(?!\s*(?:[(.]|=(?!=)))")
_TEXT_PLACEHOLDER = "\N{REPLACEMENT CHARACTER}"
_NO_COLUMNS = frozenset(
    {"True", "False", "None", "and", "or", "not", "in", "if", "else"}
    # How labels are coded in C(town, Sum).
    | {"Treatment", "Sum", "Helmert", "Poly", "Diff"}
)


@dataclass(frozen=True)
class RegressionFormula:
    """The columns on the left of the tilde, and of each term on its right.

    >>> found = RegressionFormula.parse("ill ~ age*sex + np.log(pay)", ["age", "sex", "pay", "ill"])
    >>> found.response, found.terms
    (('ill',), (('age', 'sex'), ('pay',)))
    >>> found.cliques()[-1]
    ('age', 'sex', 'ill')
    """

    text: str
    response: Clique
    terms: tuple[Clique, ...]
    columns: Clique

    @classmethod
    def parse(cls, text: str, names: Sequence[str]) -> RegressionFormula:
        """Read a formula of these columns; refused if it names others."""
        left, tilde, right = text.partition("~")
        response = _find_columns(left, names)
        split = [_find_columns(part, names) for part in _split_terms(right)]
        terms = tuple(dict.fromkeys(term for term in split if term))
        if not tilde or not response or "~" in right:
            raise Refused(
                "write a formula of the release's columns, such as"
                ' "income ~ age + sex"'
            )
        if max(map(len, terms), default=0) > MAX_TERM_COLUMNS:
            raise Refused(
                f"a term of a formula joins at most {MAX_TERM_COLUMNS} columns: write"
                " a:b + a:c in the place of a:b:c"
            )
        used = {*response, *(name for term in terms for name in term)}
        return cls(text.strip(), response, terms, _in_order(used, names))

    def cliques(self) -> tuple[Clique, ...]:
        """Every marginal that the coefficients depend on, pairs first; of a formula of
        one column, that column.
        """
        pairs: list[Clique] = list(combinations(self.columns, 2))
        return (*(pairs or [self.columns]), *self.joint_cliques())

    def joint_cliques(self) -> tuple[Clique, ...]:
        """The response with each term, where they are several columns together."""
        joint = [
            _in_order({*self.response, *term}, self.columns)
            for term in self.terms
            if len(term) + len(self.response) > 2
        ]
        return tuple(dict.fromkeys(clique for clique in joint if len(clique) > 2))


def _split_terms(text: str) -> list[str]:
    """The terms between plus and minus signs that stand outside of brackets."""
    terms, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += sign in "([{"
        depth -= sign in ")]}"
        if depth == 0 and sign in "+-":
            terms.append(text[start:place])
            start = place + 1
    return [*terms, text[start:]]


def _find_columns(text: str, names: Sequence[str]) -> Clique:
    """The columns that a part of a formula names, in the table's order."""
    quoted = [found[1] for found in _QUOTED_NAME.findall(text)]
    bare = _QUOTED_NAME.sub(_TEXT_PLACEHOLDER, text)
    bare = _QUOTED_TEXT.sub(_TEXT_PLACEHOLDER, bare)
    found = {*quoted, *_COLUMN_NAME.findall(bare)} - (_NO_COLUMNS - set(names))
    unknown = sorted(found - set(names))
    if unknown:
        raise Refused(
            f'column "{unknown[0]}" of the formula takes no part in the release'
        )
    return _in_order(found, names)


def _in_order(wanted: Collection[str], names: Iterable[str]) -> Clique:
    return tuple(name for name in names if name in wanted)
