"""From text to a predicate: a tokenizer and an operator-precedence parser (Pratt, "Top
down operator precedence", 1973).

    predicate  := "if" either "then" either | either
    either     := both ("or" both)*
    both       := negation ("and" negation)*
    negation   := "not" negation | "(" predicate ")" | test
    test       := sum ("=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=") sum
                | name ["not"] "in" "(" literal ("," literal)* ")"
                | name "is" ["not"] ("missing" | "null")
    sum        := term (("+" | "-") term)*          term := operand | number "*" name

Errors name the character. Nothing is evaluated while a predicate is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from understudy.errors import SchemaError
from understudy.schema.predicates.ast import (
    PREDICATE_KEYWORDS,
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    In,
    IsMissing,
    LinearComparison,
    Literal,
    Not,
    Operand,
    Operator,
    Or,
    Predicate,
)

# A predicate may come from a stranger's file. Each test is evaluated on every row, and
# each level of nesting is one of Python's stack.
MAX_PREDICATE_CHARACTERS = 10_000
MAX_PREDICATE_DEPTH = 50
MAX_PREDICATE_TESTS = 200

_PREDICATE_TOKEN_REGEX = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3}(?![0-9]))?(?:/[0-9]+)?(?![A-Za-z0-9_.]))
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<name>"(?:[^"]|"")+")
    |(?P<text>'(?:[^']|'')*')
    |(?P<sign>==|!=|<>|<=|>=|[=<>(),+*-])""",
    re.VERBOSE | re.ASCII,
)

_MIRRORED_OPERATORS = {
    Operator.LESS: Operator.MORE,
    Operator.MORE: Operator.LESS,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.AT_MOST,
}
_OPERATOR_BY_SIGN = {str(operator): operator for operator in Operator} | {
    "==": Operator.EQUAL,
    "<>": Operator.UNEQUAL,
}


WeightedTerms = list[tuple[Fraction, Operand]]
"""Columns and constants with their weights: one side of a comparison."""


def parse_predicate(text: str) -> Predicate:
    """Read a predicate.

    >>> print(parse_predicate("60 < age AND sex == 'F'"))
    age > 60 and sex = 'F'
    """
    if len(text) > MAX_PREDICATE_CHARACTERS:
        raise SchemaError(
            f"a predicate is longer than {MAX_PREDICATE_CHARACTERS:,} characters"
        )
    parser = _PredicateParser(text, _split_tokens(text))
    predicate = parser.parse_predicate(0)
    if parser.kind != "end":
        raise parser.error("expected `and`, `or` or the end")
    return predicate


@dataclass(frozen=True)
class _PredicateToken:
    kind: str
    text: str
    at: int


def _split_tokens(text: str) -> list[_PredicateToken]:
    tokens = []
    at = 0
    while at < len(text):
        match = _PREDICATE_TOKEN_REGEX.match(text, at)
        if match is None:
            problem = f"`{text[at]}` cannot stand here"
            if text[at] in "'\"":
                problem = "a quotation mark is not closed"
            raise SchemaError(f"predicate, character {at + 1}: {problem}")
        assert match.lastgroup is not None
        kind = match.lastgroup
        token = match.group()
        # Keywords and signs are their own kind; keywords in any case.
        if kind == "word" and token.lower() in PREDICATE_KEYWORDS:
            kind = token = token.lower()
        elif kind == "sign":
            kind = token
        if kind != "space":
            tokens.append(_PredicateToken(kind, token, at))
        at = match.end()
    return [*tokens, _PredicateToken("end", "", len(text))]


class _PredicateParser:
    """Walks the tokens; each method reads one form of the grammar and stops after it."""

    def __init__(self, text: str, tokens: list[_PredicateToken]) -> None:
        self.text = text
        self.tokens = tokens
        self.place = 0
        self.tests = 0

    @property
    def token(self) -> _PredicateToken:
        return self.tokens[self.place]

    @property
    def kind(self) -> str:
        return self.token.kind

    def error(self, problem: str, *, at: int | None = None) -> SchemaError:
        """An error at the present token, or at the token of a given number."""
        if at is not None:
            self.place = at
        shown = f"`{self.token.text}`" if self.token.text else "the end"
        return SchemaError(
            f"predicate, character {self.token.at + 1}: {problem}, found {shown}"
        )

    def take(self, *kinds: str) -> _PredicateToken | None:
        if self.kind not in kinds:
            return None
        self.place += 1
        return self.tokens[self.place - 1]

    def expect_token(self, kind: str, problem: str) -> _PredicateToken:
        token = self.take(kind)
        if token is None:
            raise self.error(problem)
        return token

    def parse_predicate(self, depth: int) -> Predicate:
        if depth > MAX_PREDICATE_DEPTH:
            raise self.error(f"more than {MAX_PREDICATE_DEPTH} levels of parentheses")
        if not self.take("if"):
            return self.parse_or(depth)
        premise = self.parse_or(depth)
        self.expect_token("then", "expected `then`")
        return IfThen(premise, self.parse_or(depth))

    def parse_or(self, depth: int) -> Predicate:
        left = self.parse_and(depth)
        while self.take("or"):
            left = Or(left, self.parse_and(depth))
        return left

    def parse_and(self, depth: int) -> Predicate:
        left = self.parse_negation(depth)
        while self.take("and"):
            left = And(left, self.parse_negation(depth))
        return left

    def parse_negation(self, depth: int) -> Predicate:
        if depth > MAX_PREDICATE_DEPTH:
            raise self.error(f"more than {MAX_PREDICATE_DEPTH} levels of `not`")
        if self.take("not"):
            return Not(self.parse_negation(depth + 1))
        if self.take("("):
            inner = self.parse_predicate(depth + 1)
            self.expect_token(")", "expected `)`")
            return inner
        return self.parse_test()

    def parse_test(self) -> Predicate:
        start = self.place
        self.tests += 1
        if self.tests > MAX_PREDICATE_TESTS:
            raise self.error(f"more than {MAX_PREDICATE_TESTS} comparisons")
        left = self.parse_sum()
        if sign := self.take(*_OPERATOR_BY_SIGN):
            operator = _OPERATOR_BY_SIGN[sign.text]
            return self.build_comparison(left, operator, self.parse_sum(), start)
        name = _single_operand(left)
        if not isinstance(name, ColumnName):
            raise self.error("expected a comparison")
        if self.take("is"):
            negated = self.take("not") is not None
            if not self.take("missing", "null"):
                raise self.error("expected `missing`")
            return IsMissing(name, negated)
        negated = self.take("not") is not None
        if not self.take("in"):
            raise self.error(
                f"expected a comparison, `in` or `is missing` after {name}"
            )
        return In(name, self.parse_literals(), negated)

    def build_comparison(
        self, left: WeightedTerms, operator: Operator, right: WeightedTerms, start: int
    ) -> Predicate:
        """A comparison of two sums, as the plainest predicate that it is."""
        first = _single_operand(left)
        second = _single_operand(right)
        # `60 < age` is `age > 60`: the column stands first.
        if isinstance(first, Literal) and isinstance(second, ColumnName):
            first, second = second, first
            operator = _MIRRORED_OPERATORS.get(operator, operator)
        if isinstance(first, ColumnName) and second is not None:
            return ColumnComparison(first, operator, second)
        has_sum = first is None or second is None
        if has_sum and any(map(_is_odd_term, [*left, *right])):
            raise self.error("a sum adds columns and numbers", at=start)
        weights, constant = _move_to_left(left, right)
        if not weights:
            raise self.error(
                "a comparison needs a column. Columns stand bare or in double quotes,"
                " texts in single ones",
                at=start,
            )
        if 0 in weights.values():
            raise self.error("a column is compared with itself", at=start)
        terms = [(weight, name) for name, weight in weights.items()]
        added_first = sorted(terms, key=lambda term: term[0] < 0)
        return _simplest_comparison(tuple(added_first), operator, constant)

    def parse_sum(self) -> WeightedTerms:
        """Weighted columns and numbers."""
        terms = [self.parse_term(Fraction(1))]
        while True:
            if sign := self.take("+", "-"):
                weight = Fraction(-1 if sign.text == "-" else 1)
                terms.append(self.parse_term(weight))
            elif self.kind == "number" and self.token.text[0] in "+-":
                # The tokenizer takes the sign of `a -5` for the number's; it is `a - 5`.
                terms.append(self.parse_term(Fraction(1)))
            else:
                return terms

    def parse_term(self, sign: Fraction) -> tuple[Fraction, Operand]:
        operand = self.parse_operand()
        weight = operand.value if isinstance(operand, Literal) else None
        if not isinstance(weight, Fraction) or not self.take("*"):
            return sign, operand
        name = self.parse_operand()
        if not isinstance(name, ColumnName):
            raise self.error("expected a column after `*`", at=self.place - 1)
        return sign * weight, name

    def parse_operand(self) -> Operand:
        if token := self.take("word"):
            return ColumnName(token.text)
        if token := self.take("name"):
            return ColumnName(token.text[1:-1].replace('""', '"'))
        return self.parse_literal("a column or a value")

    def parse_literal(self, expected: str) -> Literal:
        if token := self.take("number"):
            try:
                return Literal(Fraction(token.text))
            except (ValueError, ZeroDivisionError):
                raise self.error("not a number", at=self.place - 1) from None
        if token := self.take("text"):
            return Literal(token.text[1:-1].replace("''", "'"))
        if token := self.take("true", "false"):
            return Literal(token.text == "true")
        raise self.error(f"expected {expected}")

    def parse_literals(self) -> tuple[Literal, ...]:
        self.expect_token("(", "expected `(`")
        values = [self.parse_literal("a value")]
        while self.take(","):
            values.append(self.parse_literal("a value"))
        self.expect_token(")", "expected `,` or `)`")
        return tuple(values)


def _single_operand(terms: WeightedTerms) -> Operand | None:
    """The operand of a side that is no sum."""
    weight, operand = terms[0]
    return operand if len(terms) == 1 and weight == 1 else None


def _is_odd_term(term: tuple[Fraction, Operand]) -> bool:
    """Whether a term is neither a column nor a number."""
    operand = term[1]
    return isinstance(operand, Literal) and not isinstance(operand.value, Fraction)


def _move_to_left(
    left: WeightedTerms, right: WeightedTerms
) -> tuple[dict[ColumnName, Fraction], Fraction]:
    """The columns of both sides with their weights on the left, and the constant that
    is left over on the right.
    """
    weights: dict[ColumnName, Fraction] = {}
    constant = Fraction(0)
    for weight, operand in [*left, *((-weight, operand) for weight, operand in right)]:
        if isinstance(operand, ColumnName):
            weights[operand] = weights.get(operand, Fraction(0)) + weight
        elif isinstance(operand.value, Fraction):
            constant -= weight * operand.value
    return weights, constant


def _simplest_comparison(
    terms: tuple[tuple[Fraction, ColumnName], ...],
    operator: Operator,
    constant: Fraction,
) -> Predicate:
    """A comparison of one or two columns if the sum is one, else the sum."""
    weight, name = terms[0]
    # With a negative weight the operator would have to be turned round.
    if len(terms) == 1 and weight > 0:
        return ColumnComparison(name, operator, Literal(constant / weight))
    if len(terms) == 2 and weight == -terms[1][0] and constant == 0:
        return ColumnComparison(name, operator, terms[1][1])
    return LinearComparison(terms, operator, constant)
