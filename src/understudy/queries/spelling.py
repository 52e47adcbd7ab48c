"""The forgiving spelling of a question: conditions as people write them, as a predicate
that the parser reads (schema/predicates/parser.py).

    age between 20 and 30     20 <= age < 30     sex in (F, M)     AGE ≥ 60
    born < 1980-01-01         woke < 7:30        not smoker

`between` takes both ends, the lower one first: as in SQL no row is between 30 and 20,
and a missing age is neither between ages nor not.

Words are taken one by one, and those in quotes are left alone, so a label may read like
anything. What a predicate can say already is not changed: this spelling is tried only
if the strict reading fails (conditions.py).
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
_ORDER_TESTS = frozenset({"<", "<=", ">", ">="})
_CONDITION_STARTS = frozenset({"(", "and", "or", "not", "if", "then"})
_CONDITION_ENDS = frozenset({")", "and", "or", "then"})
"""Words between which a column stands alone, as a condition of its own."""

_QUESTION_TESTS = frozenset(
    {
        *_ORDER_TESTS,
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
    >>> age, smoker = Integer(name="age", min=0, max=99), Boolean(name="smoker")
    >>> schema = Schema(columns=(age, smoker))
    >>> normalise_question("Age between 20 and 30 and not smoker", schema)
    '(age >= 20 and age <= 30) and not smoker = true'
    >>> normalise_question("20 <= age < 30", schema)
    '(20 <= age and age < 30)'
    """
    words = [
        _normalise_word(word)
        for word in _QUESTION_WORD.findall(text)
        if not word.isspace()
    ]
    words = _restore_column_case(words, schema)
    words = _expand_booleans(_expand_ranges(words), schema)
    joined = " ".join(_quote_listed_labels(words))
    return joined.replace("( ", "(").replace(" )", ")")


def suggest_quotes(text: str, schema: Schema) -> str:
    """What to do about a condition that cannot be read: which column or label in it
    wants quotes, if one does.

    >>> income = Categorical(name="income", values=("<=50K", ">50K"))
    >>> schema = Schema(columns=(Boolean(name="native-born"), income))
    >>> suggest_quotes("native-born = true", schema)
    '. Write "native-born" in double quotes'
    >>> suggest_quotes("income = >50K", schema)
    ". Labels stand in single quotes: '>50K'"
    >>> suggest_quotes("income = '>50K' or", schema)
    ''
    """
    bare = _QUOTED_QUESTION_TEXT.sub(" ", text)
    if name := _find_unquoted(bare, schema):
        return f". Write {_quote_column(name)} in double quotes"
    labels: list[str] = []
    for name in schema:
        column = schema[name]
        if isinstance(column, Categorical):
            labels.extend(column.values or ())
    if label := _find_unquoted(bare, labels):
        return ". Labels stand in single quotes: '" + label.replace("'", "''") + "'"
    return ""


def _find_unquoted(bare: str, words: Iterable[str]) -> str | None:
    """The longest of those words that needs quotes and stands here without them."""
    odd = [word for word in words if not _UNQUOTED_WORD.fullmatch(word)]
    # The longest first: one name may be part of another.
    for word in sorted(odd, key=len, reverse=True):
        if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", bare, re.IGNORECASE):
            return word
    return None


def _normalise_word(word: str) -> str:
    # Dates and times need quotes, and hours two digits, for the parser to read them.
    if clock := _DAY_AND_CLOCK.fullmatch(word):
        day, hour, rest = clock.groups("")
        return f"'{day}{hour and hour.zfill(2)}{rest}'"
    if word.startswith("`"):
        return _quote_column(word[1:-1])
    return _OPERATOR_SPELLINGS.get(word, word)


def _quote_column(name: str) -> str:
    """A column as a predicate spells it."""
    if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        return name
    return '"' + name.replace('"', '""') + '"'


def _restore_column_case(words: list[str], schema: Schema) -> list[str]:
    """Names of columns as the schema spells them, where they stand as columns do: before
    a test, or as a truth value.
    """
    spelled = {name.casefold(): name for name in schema}
    restored = list(words)
    for i, word in enumerate(words):
        name = spelled.get(word.casefold())
        is_keyword = word.casefold() in _QUESTION_KEYWORDS
        if name is None or word in schema or is_keyword:
            continue
        after = words[i + 1].casefold() if i + 1 < len(words) else ""
        if after in _QUESTION_TESTS or isinstance(schema[name], Boolean):
            restored[i] = _quote_column(name)
    return restored


def _expand_ranges(words: list[str]) -> list[str]:
    """`between`, and a column between two ends, as two comparisons."""
    expanded: list[str] = []
    i = 0
    while i < len(words):
        following = words[i : i + 6]
        match [word.casefold() for word in following]:
            case [_, "not", "between", _, "and", _]:
                name, low, high = following[0], following[3], following[5]
                expanded += ["(", name, "<", low, "or", name, ">", high, ")"]
                i += 6
            case [_, "between", _, "and", _, *_]:
                name, low, high = following[0], following[2], following[4]
                expanded += ["(", name, ">=", low, "and", name, "<=", high, ")"]
                i += 5
            case [_, first, _, second, _, *_] if {first, second} <= _ORDER_TESTS:
                low, _, name, _, high = following[:5]
                expanded += ["(", low, first, name, "and", name, second, high, ")"]
                i += 5
            case _:
                expanded.append(following[0])
                i += 1
    return expanded


def _expand_booleans(words: list[str], schema: Schema) -> list[str]:
    """A boolean column that stands alone is compared with true."""
    expanded: list[str] = []
    for i, word in enumerate(words):
        expanded.append(word)
        name = word[1:-1].replace('""', '"') if word.startswith('"') else word
        before = words[i - 1].casefold() if i else "("
        after = words[i + 1].casefold() if i + 1 < len(words) else ")"
        is_alone = before in _CONDITION_STARTS and after in _CONDITION_ENDS
        if is_alone and name in schema and isinstance(schema[name], Boolean):
            expanded += ["=", "true"]
    return expanded


def _quote_listed_labels(words: list[str]) -> list[str]:
    """Bare words in a list are labels."""
    quoted: list[str] = []
    is_inside = False
    for i, word in enumerate(words):
        is_inside = is_inside and word != ")"
        is_bare = re.fullmatch(r"[^\W\d]\w*", word) is not None
        is_truth = word.casefold() in ("true", "false")
        quoted.append(f"'{word}'" if is_inside and is_bare and not is_truth else word)
        follows_in = i > 0 and words[i - 1].casefold() == "in"
        is_inside = is_inside or (word == "(" and follows_in)
    return quoted
