"""Schema files: one that uses every word, a Hypothesis strategy for whole schemas, and
YAML as editors read it.
"""

from __future__ import annotations

import re

import yaml
from hypothesis import strategies as st

from kit.schema.columns import columns
from understudy.schema import Identifier, Integer, Real, Schema, Unit, parse_predicate


@st.composite
def schemas(draw):
    """Whole schemas: up to four columns, a unit, rows, predicates that no row may meet."""
    found = draw(st.lists(columns, max_size=4, unique_by=lambda c: c.name))
    ids = [c.name for c in found if isinstance(c, Identifier)]
    unit = (
        Unit(id=ids[0], max_rows=draw(st.integers(1, 9)))
        if ids and draw(st.booleans())
        else Unit()
    )
    numbers = [c.name for c in found if isinstance(c, Integer | Real)]
    impossible = [
        parse_predicate(f'"{name.replace(chr(34), chr(34) * 2)}" > 0.5')
        for name in numbers
    ]
    rows = draw(st.one_of(st.none(), st.integers(0, 10**9)))
    return Schema(
        columns=tuple(found), unit=unit, rows=rows, impossible=tuple(impossible)
    )


FULL = """
version: 1
unit: {id: patient, max_rows: 5}
rows: 6366
columns:
  patient: identifier
  age: {type: integer, min: 0, max: 90, bins: [0, 18, 65], missing: [-7, NA], role: quasi-identifier}
  sex:
    type: categorical
    values: [F, M, no, 010, 1.0, ~]
    other: else
    nullable: no
    levels: {kind: {a: [F, M], b: [no, 010, 1.0, ~]}}
  weight: {type: real, min: 0.10, max: 1e2, step: 1/3, outside: missing}
  price: {type: real, decimals: 3, min: learn, max: 0.3}
  born: {type: date, min: 1900-01-01, max: "2020-12-31", bins: 4}
  seen: {type: datetime, zone: Europe/Zurich, resolution: 15 min, bounds: learn}
  when: {type: time, resolution: 1h, min: 08:00, max: "18:00"}
  smoker: {type: boolean, true: ja, false: [nein, nie], use: false, note: "asked since 2019"}
  open: {type: categorical, values: learn, ordered: yes}
  what:
  how: learn
impossible:
  - age < 15 and weight > 99.5
"""


class EditorLoader(yaml.SafeLoader):
    """YAML 1.2 as editors read it: true and false, numbers, null; everything else, and
    every key, is text.
    """

    def construct_mapping(self, node, deep=False):
        return {
            key.value: self.construct_object(value, deep=True)
            for key, value in node.value
        }


EditorLoader.yaml_implicit_resolvers = {}
for tag, pattern, first in (
    ("bool", r"true|false", "tf"),
    ("null", r"~|null|", ["~", "n", ""]),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    EditorLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{tag}", re.compile(rf"^(?:{pattern})$"), first
    )
EditorLoader.add_constructor(
    "tag:yaml.org,2002:int", lambda loader, node: int(node.value)
)


def edited(text):
    """A file as an editor hands it to a validator."""
    return yaml.load(text, EditorLoader)
