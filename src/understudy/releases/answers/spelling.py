"""Questions as people write them, put into the words of a predicate
(schema/predicates/parser.py).

    age between 20 and 30     20 <= age < 30     sex in (F, M)     born < 1980-01-01     woke < 7:30     not smoker     AGE ≥ 60

`between` takes both ends, the lower one first: as in SQL nobody is between 30 and 20,
and who has no age is neither between ages nor not.

Words are looked at one by one, and those in quotes are left alone, so a label may read
like anything. What a predicate says already is not changed: these spellings are tried
where it cannot be read (releases/answers/answer.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from understudy.schema import Boolean, Categorical, Schema

_QUESTION_WORD = re.compile(
    r"""\s+|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]+`
    |\d{4}-\d\d(?:-\d\d(?:[T ]\d\d?:\d\d(?::\d\d)?)?)?(?![\w-])|\d\d?:\d\d(?::\d\d)?(?![\w:])
    |[<>=!]+|&&|\|\||[^\W\d]\w*|(?<![\w)'"])[+-]?\d[\w.]*(?:(?<=[eE])[+-]\d+)?(?:/\d+)?|.""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED_QUESTION_TEXT = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]+`""")
_UNQUOTED_WORD = re.compile(r"[A-Za-z_]\w*|[+-]?\d[\d.]*|[-=<>(),+*.!/ ]*", re.ASCII)
"""What needs no quotes, and what is found in any condition."""

_DAY_AND_CLOCK = re.compile(
    r"(\d{4}-\d\d(?:-\d\d[T ]?)?)?(?:(\d\d?)(:\d\d.*))?", re.DOTALL
)
"""A day, or the month of one, and a time of day; hours may have one digit."""

_OPERATOR_SPELLINGS = {
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
    "=>": ">=",
    "=<": "<=",
    "&&": "and",
    "||": "or",
}
_QUESTION_ORDER_TESTS = frozenset({"<", "<=", ">", ">="})
_QUESTION_TESTS = frozenset(
    {
        *_QUESTION_ORDER_TESTS,
        "=",
        "==",
        "!=",
        "<>",
        "in",
        "is",
        "not",
        "between",
        "+",
        "-",
        "*",
    }
)
_QUESTION_KEYWORDS = frozenset(
    {
        "and",
        "or",
        "not",
        "in",
        "is",
        "if",
        "then",
        "between",
        "missing",
        "null",
        "true",
        "false",
    }
)


def normalise_question(text: str, schema: Schema) -> str:
    """A condition in the words of a predicate.

    >>> from understudy.schema import Integer
    >>> schema = Schema(columns=(Integer(name="age", min=0, max=99), Boolean(name="smoker")))
    >>> normalise_question("Age between 20 and 30 and not smoker", schema)
    '(age >= 20 and age <= 30) and not smoker = true'
    >>> normalise_question("20 <= age < 30", schema)
    '(20 <= age and age < 30)'
    """
    names = {name.casefold(): name for name in schema}
    words = [
        _normalise_word(word)
        for word in _QUESTION_WORD.findall(text)
        if not word.isspace()
    ]
    for i, word in enumerate(words):
        after = words[i + 1].casefold() if i + 1 < len(words) else ""
        known = (
            word not in schema
            and word.casefold() in names
            and word.casefold() not in _QUESTION_KEYWORDS
        )
        if known and (
            after in _QUESTION_TESTS
            or isinstance(schema[names[word.casefold()]], Boolean)
        ):
            words[i] = _quote_column(names[word.casefold()])
    return (
        " ".join(_quote_listed_labels(_expand_booleans(_expand_ranges(words), schema)))
        .replace("( ", "(")
        .replace(" )", ")")
    )


def suggest_quotes(text: str, schema: Schema) -> str:
    """What to do about a condition that cannot be read: which column or label in it
    wants quotes, if one does.

    >>> schema = Schema(columns=(Boolean(name="native-born"), Categorical(name="income", values=("<=50K", ">50K"))))
    >>> suggest_quotes("native-born = true", schema), suggest_quotes("income = >50K", schema), suggest_quotes("income = '>50K' or", schema)
    ('. Write "native-born" in double quotes', ". Labels stand in single quotes: '>50K'", '')
    """
    bare = _QUOTED_QUESTION_TEXT.sub(" ", text)
    if name := _find_unquoted(bare, schema):
        return f". Write {_quote_column(name)} in double quotes"
    columns = (schema[name] for name in schema)
    labels = (
        label
        for column in columns
        if isinstance(column, Categorical)
        for label in column.values or ()
    )
    if label := _find_unquoted(bare, labels):
        return ". Labels stand in single quotes: '" + label.replace("'", "''") + "'"
    return ""


def _find_unquoted(bare: str, words: Iterable[str]) -> str | None:
    """The longest of those words that only quotes hold together, and that stands here
    without.
    """
    odd = sorted(
        (word for word in words if not _UNQUOTED_WORD.fullmatch(word)),
        key=len,
        reverse=True,
    )
    return next(
        (
            word
            for word in odd
            if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", bare, re.IGNORECASE)
        ),
        None,
    )


def _normalise_word(word: str) -> str:
    if clock := _DAY_AND_CLOCK.fullmatch(word):
        day, hour, rest = clock.groups("")
        return f"'{day}{hour and hour.zfill(2)}{rest}'"
    if word.startswith("`"):
        return _quote_column(word[1:-1])
    return _OPERATOR_SPELLINGS.get(word, word)


def _quote_column(name: str) -> str:
    """A column as a predicate has it."""
    return (
        name
        if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)
        else '"' + name.replace('"', '""') + '"'
    )


def _expand_ranges(words: list[str]) -> list[str]:
    """`between`, and a column between two ends."""
    made: list[str] = []
    i = 0
    while i < len(words):
        some = words[i : i + 6]
        match [word.casefold() for word in some]:
            case [_, "not", "between", _, "and", _]:
                made += ["(", some[0], "<", some[3], "or", some[0], ">", some[5], ")"]
                i += 6
            case [_, "between", _, "and", _, *_]:
                made += [
                    "(",
                    some[0],
                    ">=",
                    some[2],
                    "and",
                    some[0],
                    "<=",
                    some[4],
                    ")",
                ]
                i += 5
            case [_, first, _, second, _, *_] if (
                first in _QUESTION_ORDER_TESTS and second in _QUESTION_ORDER_TESTS
            ):
                made += [
                    "(",
                    some[0],
                    some[1],
                    some[2],
                    "and",
                    some[2],
                    some[3],
                    some[4],
                    ")",
                ]
                i += 5
            case _:
                made.append(some[0])
                i += 1
    return made


def _expand_booleans(words: list[str], schema: Schema) -> list[str]:
    """A column that is true or false stands for itself."""
    made: list[str] = []
    for i, word in enumerate(words):
        made.append(word)
        name = word[1:-1].replace('""', '"') if word.startswith('"') else word
        before = words[i - 1].casefold() if i else "("
        after = words[i + 1].casefold() if i + 1 < len(words) else ")"
        alone = before in ("(", "and", "or", "not", "if", "then") and after in (
            ")",
            "and",
            "or",
            "then",
        )
        if alone and name in schema and isinstance(schema[name], Boolean):
            made += ["=", "true"]
    return made


def _quote_listed_labels(words: list[str]) -> list[str]:
    """Bare words in a list are labels."""
    made: list[str] = []
    inside = False
    for i, word in enumerate(words):
        inside = inside and word != ")"
        bare = re.fullmatch(
            r"[^\W\d]\w*", word
        ) is not None and word.casefold() not in ("true", "false")
        made.append(f"'{word}'" if inside and bare else word)
        inside = inside or (word == "(" and i > 0 and words[i - 1].casefold() == "in")
    return made
