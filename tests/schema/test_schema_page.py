"""docs/schema.md: every file shown on the page is one, and everything the page offers
exists.
"""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema
import pytest

from kit.schema.files import edited
from understudy.schema import Schema, dump_schema, json_schema
from understudy.schema.yaml.keys import (
    COLUMN_KEYS_BY_TYPE,
    COMMON_COLUMN_KEYS,
    SCHEMA_FILE_KEYS,
)

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "schema.md").read_text()
FILES = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("text", FILES, ids=range(len(FILES)))
def test_every_file_on_the_page_is_a_schema(text):
    schema = Schema.parse(text, source="docs/schema.md")
    assert Schema.parse(dump_schema(schema)) == schema
    jsonschema.Draft202012Validator(json_schema()).validate(edited(text))


def test_the_page_shows_files_and_python():
    assert len(FILES) >= 2
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        compile(block, "docs/schema.md", "exec")


@pytest.mark.parametrize(
    "word",
    sorted(
        {
            *SCHEMA_FILE_KEYS,
            *COMMON_COLUMN_KEYS,
            *COLUMN_KEYS_BY_TYPE,
            *(k for keys in COLUMN_KEYS_BY_TYPE.values() for k in keys),
        }
    ),
)
def test_the_page_explains_every_word(word):
    assert re.search(rf"`[^`\n]*\b{word}\b[^`\n]*`", PAGE), f"{word} is not explained"
