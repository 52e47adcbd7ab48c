"""What the owner declared, what was paid for, and what is still open: the lines that
stand under every guarantee.

Everything about a table is in one of three states. Public: the owner wrote it into the
schema. Paid for: the curator learned it at a price, and it is listed in `learned`.
Open: a hole, which only those two can fill.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from understudy.schema.columns.base import Column, OutOfBoundsPolicy
from understudy.schema.columns.discrete import (
    Boolean,
    Categorical,
    Identifier,
    UndeclaredColumn,
)
from understudy.schema.columns.lattice import Lattice
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.columns.temporal import Datetime, Time
from understudy.schema.predicates.rules import (
    AllowedCombinations,
    BrokenRowPolicy,
    FunctionalDependency,
    NeverRule,
    Rule,
)
from understudy.schema.schema import Schema

LOST_COLUMN_NOTE = "no bounds stood out of the noise, so its values are lost"
"""What is noted of a column whose rows are too few, for its part of the budget, to tell
where they lie.
"""


@dataclass(frozen=True)
class OpenDomain:
    """Something about a column that is not known yet: its "type", "values" or "bounds"."""

    column: str
    what: str


def open_domains(schema: Schema) -> tuple[OpenDomain, ...]:
    """What is left to learn about the columns of the release.

    >>> open_domains(Schema(columns=(Categorical(name="sex"), UndeclaredColumn(name="x"))))
    (OpenDomain(column='sex', what='values'), OpenDomain(column='x', what='type'))
    """
    return tuple(
        OpenDomain(name, _open_part(schema[name]))
        for name in schema
        if not schema[name].is_closed
    )


def _open_part(column: Column) -> str:
    if isinstance(column, UndeclaredColumn):
        return "type"
    return "values" if isinstance(column, Categorical) else "bounds"


def describe_declared(schema: Schema) -> tuple[str, ...]:
    """What is public by the owner's declaration, one thing a line.

    >>> from understudy.schema import Integer
    >>> for line in describe_declared(Schema(columns=(Integer(name="age", min=0, max=90), Categorical(name="sex")))):
    ...     print(line)
    the names and order of 2 columns
    the types of 2 columns
    the bounds of age
    """
    columns = [schema[name] for name in schema]
    every = len(schema.columns)
    # A name alone may have made an identifier, which says nothing of its cells.
    typed = sum(
        not isinstance(c, UndeclaredColumn | Identifier) and "type" not in c.learned
        for c in schema.columns
    )
    lines = [
        f"the names and order of {_column_count_text(every)}",
        f"the types of {_column_count_text(typed)}" if typed else "",
    ]
    for what, applies in _PUBLIC_FACTS.items():
        named = [c.name for c in columns if applies(c)]
        lines.append(
            what.format(
                columns=", ".join(named),
                has="has" if len(named) == 1 else "have",
                is_="is" if len(named) == 1 else "are",
            )
            if named
            else ""
        )
    stored = [c.name for c in columns if c.dtype is not None]
    if stored:
        lines.append(f"the storage types of {', '.join(stored)}")
    if schema.rows is not None:
        lines.append(f"the number of rows ({schema.rows:,})")
    if schema.unit.id is not None:
        most = f"{schema.unit.max_rows:,} row{'s' if schema.unit.max_rows > 1 else ''}"
        lines.append(
            f"that {schema.unit.id} tells apart whom the guarantee protects, with at"
            f" most {most} each (enforced)"
        )
    if schema.unit.sizes and not schema.unit.learned:
        lines.append(f"how many rows each {schema.unit.id} has")
    lines += [f"that no row has {predicate}" for predicate in schema.impossible]
    lines += [_describe_rule(rule) for rule in schema.rules]
    if schema.named_breaches and schema.broken is not BrokenRowPolicy.KEEP:
        fate = (
            "are left out"
            if schema.broken is BrokenRowPolicy.DROP
            else "lose the cells it speaks of"
        )
        lines.append(f"that rows which break a rule {fate}")
    return tuple(line for line in lines if line)


def describe_learned(schema: Schema) -> tuple[str, ...]:
    """What was learned at a price, one thing a line.

    >>> describe_learned(Schema(columns=(Categorical(name="sex", values=("F",), learned=("values",)),)))
    ('the values of sex',)
    """
    found: dict[str, list[str]] = {}
    for column in schema.columns:
        for what in column.learned:
            found.setdefault(what, []).append(column.name)
    lines = [f"the {what} of {', '.join(names)}" for what, names in found.items()]
    if schema.unit.learned:
        lines.append(f"how many rows each {schema.unit.id} has")
    maps = [
        rule
        for rule in schema.rules
        if isinstance(rule, FunctionalDependency) and rule.learned
    ]
    return (*lines, *(f"the map from {rule.source} to {rule.target}" for rule in maps))


def _describe_rule(rule: Rule) -> str:
    match rule:
        case NeverRule(predicate=predicate):
            return f"that no row has {predicate}"
        case AllowedCombinations(names=names, combinations=combinations):
            return (
                f"which {len(combinations):,} combinations of {', '.join(names)}"
                " there are"
            )
        case FunctionalDependency(source=source, target=target, map=pairs) if (
            pairs is not None and not rule.learned
        ):
            return f"which {target} goes with each {source}"
    return f"that in every row {rule}"


def _column_count_text(number: int) -> str:
    return f"{number:,} column{'' if number == 1 else 's'}"


def _has_values(column: Column) -> bool:
    return (
        isinstance(column, Categorical)
        and column.values is not None
        and "values" not in column.learned
    )


def _has_levels(column: Column) -> bool:
    return isinstance(column, Categorical) and bool(column.levels)


def _has_bounds(column: Column) -> bool:
    if isinstance(column, Time):
        return (column.min, column.max) != (Time.min, Time.max)
    return (
        isinstance(column, Lattice)
        and column.is_closed
        and "bounds" not in column.learned
    )


def _has_half_a_bound(column: Column) -> bool:
    return (
        isinstance(column, Lattice)
        and not column.is_closed
        and (column.low, column.high) != (None, None)
    )


def _has_step(column: Column) -> bool:
    """Steps other than whole numbers, whole days and whole seconds; a voted type
    brought its own.
    """
    if "type" in column.learned:
        return False
    if isinstance(column, Datetime | Time):
        return column.resolution != Datetime.resolution
    return isinstance(column, Real) or (
        isinstance(column, Integer) and column.step != 1
    )


def _has_bins(column: Column) -> bool:
    return (
        isinstance(column, Lattice)
        and column.bins is not None
        and "bins" not in column.learned
    )


_PUBLIC_FACTS: dict[str, Callable[[Column], bool]] = {
    "the values of {columns}": _has_values,
    "the levels of {columns}": _has_levels,
    "the bounds of {columns}": _has_bounds,
    "one bound of {columns}": _has_half_a_bound,
    "the bins of {columns}": _has_bins,
    "the step of {columns}": lambda column: _has_step(column),
    "the time zone of {columns}": lambda column: (
        isinstance(column, Datetime) and column.zone is not None
    ),
    "where values of {columns} beyond the bounds go": lambda column: (
        isinstance(column, Lattice) and column.outside is not OutOfBoundsPolicy.CLIP
    ),
    "what unlisted values of {columns} are called": lambda column: (
        isinstance(column, Categorical)
        and column.other is not None
        and "values" not in column.learned
    ),
    "which values {columns} may have beyond those that are shown, and how often": (
        lambda column: isinstance(column, Categorical) and bool(column.unfold)
    ),
    "the words for yes and no in {columns}": lambda column: (
        isinstance(column, Boolean)
        and (column.true, column.false) != (Boolean.true, Boolean.false)
    ),
    "the weekdays of {columns}": lambda column: (
        bool(getattr(column, "weekdays", ())) and "weekdays" not in column.learned
    ),
    "that {columns} {is_} the same in all rows of a unit": lambda column: (
        column.constant
    ),
    "the missing codes of {columns}": lambda column: (
        bool(column.missing) and "missing codes" not in column.learned
    ),
    "that {columns} {has} no missing values": lambda column: (
        not column.nullable and not column.missing
    ),
    "that {columns} {has} no empty cells": lambda column: (
        not column.nullable and bool(column.missing)
    ),
}

_IDENTIFIER_WORDS = frozenset({
    "id", "uid", "uuid", "guid", "pid", "key", "ssn", "nino", "nif", "nie", "dni", "cpf", "curp", "ahv", "avs", "nhs", "mrn", "npi", "iban",
    "bic", "cvv", "imei", "imsi", "email", "mail", "phone", "telephone", "tel", "mobile", "fax", "address", "street", "addr", "name",
    "surname", "lastname", "firstname", "fullname", "forename", "username", "login", "nickname", "passport", "licence", "license", "vin",
    "url", "ip", "signature", "fingerprint", "photo",
})  # fmt: skip
"""Words that name a person, or a thing that leads to one, when they stand alone or end
a column's name.
"""

_PERSON_WORDS = frozenset({
    "first", "last", "given", "family", "middle", "maiden", "full", "sur", "user", "patient", "person", "client", "customer", "employee",
    "student", "member", "respondent", "participant", "subject", "doctor", "physician", "nurse", "teacher", "contact", "mother", "father",
    "child", "guardian", "spouse",
})  # fmt: skip
"""Words before `name` that make it a person's: `patient_name`, but not `drug_name`."""

_NAME_WORD_BREAK = re.compile(
    r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
)


def guess_identifier(name: str) -> bool:
    """Whether a column's name, which is public, says that it identifies people.

    The last word decides (`patient_id`, `homeAddress`, `IBAN`), or a first word such as
    `email` (`email_work`). A `name` counts when it stands alone or is somebody's (`last
    name`). No value is looked at.

    >>> [n for n in ("patient_id", "Last Name", "drug_name", "covid", "userID", "e-mail", "idle") if guess_identifier(n)]
    ['patient_id', 'Last Name', 'userID', 'e-mail']
    """
    words = [word.lower() for word in _NAME_WORD_BREAK.split(name) if word]
    if words[:2] == ["e", "mail"]:
        return True
    if not words:
        return False
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    last = words[-1].rstrip("0123456789") or words[-1]
    if last in ("number", "no", "nr", "num") and len(words) > 1:
        last, words = words[-2], words[:-1]
        if last in (
            "patient",
            "account",
            "card",
            "policy",
            "case",
            "customer",
            "member",
            "record",
            "insurance",
        ):
            return True
    if last == "name":
        return len(words) == 1 or words[-2] in _PERSON_WORDS
    if last == "code" and words[:1] in (["postal"], ["zip"]):
        return False
    return last in _IDENTIFIER_WORDS or words[0] in (
        "email",
        "ssn",
        "iban",
        "phone",
        "passport",
    )
