"""A row that keeps every rule, found before anything is spent, or the rules that no row
can keep.

A found row does more than prove that there is one: sampling falls back on it where rows
cannot be repaired, so a run that began with it never ends in a row that breaks a rule,
nor in an error. That is why a schema is refused also where the search ends undecided
(models/rules/row_search.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from understudy.errors import Refused, SchemaError
from understudy.models.rules.domains import OutOfSteps
from understudy.models.rules.row_finder import RowFinder, all_rules
from understudy.models.rules.row_search import SearchAnswer
from understudy.schema import DecodedCells, NeverRule, Predicate, Rule, Schema

# How many rules a message names, and how much of each it quotes.
MAX_NAMED_RULES, MAX_TITLE_CHARACTERS = 6, 120


def find_row(
    schema: Schema, *, filled: Collection[str] = ()
) -> Mapping[str, DecodedCells] | None:
    """One row of the columns that have rules, each rule kept and each of `filled` with
    a value; None where none is found.

    >>> from understudy.schema import Schema
    >>> page = '''
    ... columns: {a: {type: integer, min: 0, max: 9}, b: {type: integer, min: 0, max: 9}}
    ... rules: [a + b = 17, a < b]
    ... '''
    >>> row = find_row(Schema.parse(page), filled=("a", "b"))
    >>> int(row["a"].index[0]), int(row["b"].index[0])
    (8, 9)
    """
    try:
        finder = RowFinder(schema, all_rules(schema), filled)
    except OutOfSteps:
        return None
    return finder.find_row(filled)


def refuse_contradictions(schema: Schema) -> None:
    """Refuse a schema whose rules no row can keep, and say which rule it is. What is
    still to be learned is left alone.

    >>> from understudy.schema import Schema
    >>> page = '''
    ... columns: {a: {type: integer, min: 5, max: 9}, b: {type: integer, min: 0, max: 3}}
    ... rules: [a <= b]
    ... '''
    >>> try:
    ...     refuse_contradictions(Schema.parse(page))
    ... except SchemaError as error:
    ...     print(str(error).split(". ")[0])
    rule a <= b: no row can keep it
    """
    rules = [rule for rule in all_rules(schema) if _is_about_known(schema, rule)]
    if not rules:
        return
    try:
        finder = RowFinder(schema, rules)
    except OutOfSteps:
        raise _undecided_error(rules) from None
    numbers = range(len(finder.rules))
    # As many steps as sampling has for the same search: what is found here will be
    # found there.
    finder.refill()
    if finder.decide(numbers, valued=True) is SearchAnswer.FOUND:
        return
    # A single rule that no row can keep is named by itself: it is the likelier slip.
    finder.refill()
    _refuse_single_rules(finder)
    finder.refill()
    answer = finder.decide(numbers, valued=False)
    if answer is SearchAnswer.FOUND:
        return
    if answer is SearchAnswer.UNDECIDED:
        raise _undecided_error(finder.rules)
    finder.refill()
    *others, last = (finder.rules[number] for number in _find_contradiction(finder))
    raise SchemaError(
        f"rule {_short_title(last)}: no row can keep it together with"
        f" {_name_rules(others)}. Loosen one. Nothing was spent"
    )


def _refuse_single_rules(finder: RowFinder) -> None:
    """Refuse the first rule that no row can keep even alone."""
    for number, rule in enumerate(finder.rules):
        if finder.decide([number], valued=True) is SearchAnswer.IMPOSSIBLE:
            where = ", ".join(sorted(rule.columns))
            raise SchemaError(
                f"rule {_short_title(rule)}: no row can keep it. Loosen the rule, or"
                f" the bounds of {where}. Nothing was spent"
            )


def _find_contradiction(finder: RowFinder) -> list[int]:
    """Rules that no row can keep together, where all of them are known to be such: as
    few as the steps allow, the last of them behind all others.

    More rules leave fewer rows, so the first rule too many is found by halves. The
    others of its contradiction are found in the same way among those before it.
    """
    core: list[int] = []
    rest = list(range(len(finder.rules)))
    while rest and len(core) <= MAX_NAMED_RULES:
        if core and finder.decide(core, valued=False) is SearchAnswer.IMPOSSIBLE:
            return core
        fine, broken = 0, len(rest)
        while broken - fine > 1:
            middle = (fine + broken) // 2
            answer = finder.decide([*rest[:middle], *core], valued=False)
            if answer is SearchAnswer.IMPOSSIBLE:
                broken = middle
            else:
                fine = middle
        core.insert(0, rest[broken - 1])
        rest = rest[: broken - 1]
    return [*rest, *core]


def _undecided_error(rules: Sequence[Rule]) -> Refused:
    return Refused(
        f"The {len(rules):,} rules of the schema tie its columns so much that no row"
        " which keeps them all was found, so none could be promised. Remove some rules,"
        f" or make them simpler: {_name_rules(rules)}. Nothing was spent"
    )


def _name_rules(rules: Sequence[Rule]) -> str:
    """The titles of some rules; of many, the first."""
    named = "; ".join(_short_title(rule) for rule in rules[:MAX_NAMED_RULES])
    more = len(rules) - MAX_NAMED_RULES
    return f"{named}; and {more:,} more" if more > 0 else named


def _short_title(rule: Rule) -> str:
    title = rule.title
    if len(title) <= MAX_TITLE_CHARACTERS:
        return title
    return title[: MAX_TITLE_CHARACTERS - 1] + "…"


def drop_unsatisfiable_rules(schema: Schema) -> tuple[Schema, list[str]]:
    """The schema without the rules that what was learned leaves no row for, and their
    names: a paid run must not end in an error.

    A rule about declared columns alone was checked before anything was spent, and
    stays.
    """
    judged = [rule for rule in schema.rules if _is_learned_rule(schema, rule)]
    never = [
        p for p in schema.impossible if _is_learned_rule(schema, NeverRule(predicate=p))
    ]
    if not (judged or never) or find_row(schema) is not None:
        return schema, []
    kept = _remove_rules(schema, judged, never)
    return kept, [*(f"never {p}" for p in never), *(rule.title for rule in judged)]


def _remove_rules(
    schema: Schema, rules: Sequence[Rule], never: Sequence[Predicate]
) -> Schema:
    return replace(
        schema,
        rules=tuple(rule for rule in schema.rules if rule not in rules),
        impossible=tuple(p for p in schema.impossible if p not in never),
    )


def _is_learned_rule(schema: Schema, rule: Rule) -> bool:
    return any(schema[name].learned for name in rule.columns) or bool(
        getattr(rule, "learned", False)
    )


def _is_about_known(schema: Schema, rule: Rule) -> bool:
    """Whether everything that a rule is about is declared."""
    return all(name in schema and schema[name].is_closed for name in rule.columns)
