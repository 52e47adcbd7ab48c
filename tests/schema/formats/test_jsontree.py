"""JSON trees: what the standard reader finds, with lines; what it refuses, at the same
place.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

import pytest

from kit.schema.formats import ALL
from understudy.errors import SchemaError
from understudy.schema.formats import load_format
from understudy.schema.formats.jsontree import from_json
from understudy.schema.yaml.nodes import DocumentNode, DocumentSource, from_plain

SOURCE = DocumentSource("t.json")
TEXTS = [text for text in ALL.values() if text.lstrip().startswith("{")]
TEXTS.append(
    '{"a": [1, -0.5e3, NaN, -Infinity, true, null, "\\u00e9\\ud83d\\ude00"], "b": {}, "c": [], "d": [[], {}]}'
)


def plain(node: DocumentNode) -> object:
    """A tree without its lines."""
    if node.items is not None:
        return [plain(item) for item in node.items]
    if node.entries is not None:
        return [(entry.key, plain(entry.node)) for entry in node.entries]
    return node.text, node.written


def reference(text: str) -> object:
    return plain(
        from_plain(
            json.loads(text, parse_float=str, parse_int=str, parse_constant=str), SOURCE
        )
    )


def outcome(read: Callable[[], object]) -> object:
    try:
        return read()
    except json.JSONDecodeError:
        return "refused"


def test_damaged_or_not_it_reads_what_the_standard_reader_reads():
    rng = random.Random(1)
    refused = 0
    for _ in range(3000):
        text = rng.choice(TEXTS)
        for _ in range(rng.choice((0, 1, 2))):
            at, mark = rng.randrange(len(text)), rng.choice('{}[],:"0 1e\n.-tnul\\')
            text = rng.choice(
                (
                    text[:at] + mark + text[at + 1 :],
                    text[:at] + text[at + 1 :],
                    text[:at] + mark + text[at:],
                )
            )
        found, expected = (
            outcome(lambda text=text: plain(from_json(text, SOURCE))),
            outcome(lambda text=text: reference(text)),
        )
        assert found == expected
        refused += expected == "refused"
    assert 500 < refused < 2500


def test_lines_are_those_of_the_file():
    tree = from_json('{\n "a": 1,\n "b": [\n  2,\n\n  {"c": 3}]}', SOURCE)
    assert [entry.line for entry in tree.entries] == [2, 3]
    assert [item.line for item in tree.entries[1].node.items] == [4, 6]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '{"a": 1,\n "a": 2}',
            "t.json:2: `a` stands here twice; the first is in line 1",
        ),
        ("[" * 20 + "]" * 20, "t.json:1: too large or nested too deep"),
        ('{"a":\n  1,}', "t.json:2:5: not valid JSON"),
        ('{"a": "x', "t.json:1:7: not valid JSON"),
        ("{" * 50_000, "t.json:1:2: not valid JSON"),
        (
            '{"fields": [\n {"name": "age", "type": "integer",\n  "constraints": {"minimum": 90, "maximum": 17}}]}',
            r't.json:\d: .*"age"',
        ),
    ],
)
def test_an_error_says_where(text, says, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(SchemaError) as caught:
        load_format(path)
    assert re.search(says, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)
