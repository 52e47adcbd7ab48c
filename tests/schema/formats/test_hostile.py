"""Documents that nobody means well with: one line each, nothing built, nothing looped
over for ever.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.schema.formats import ALL
from understudy.errors import SchemaError
from understudy.schema.formats import FOREIGN_FORMATS, load_format, read_format

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 10**400, 1e308, float("inf"), "", "x", "x\ny", "\0", "\ud800", "learn", "1/0", "9" * 5000, [], [[]],
    [None], {}, {"": {}}, {"a": {"b": {"c": {}}}}, "__proto__", "2024-02-30", [1, "1", 1.0], ["a"] * 300, object(),
)  # fmt: skip


def document(name: str) -> Any:
    return (
        yaml.safe_load(ALL[name])
        if FOREIGN_FORMATS[name].yaml
        else json.loads(ALL[name])
    )


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything inside a document."""
    yield way
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in inner:
        yield from places(one, (*way, key))


def replaced(value: Any, way: tuple[Any, ...], new: Any) -> Any:
    if not way:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[way[0]] = replaced(value[way[0]], way[1:], new)
    return copy


def refusal(act: Callable[[], object]) -> str | None:
    """What it is refused with; None where it is not."""
    try:
        act()
    except SchemaError as error:
        return str(error)
    return None


def one_line(text: str) -> bool:
    return bool(text) and "\n" not in text and len(text) < 1000


@pytest.mark.parametrize("name", sorted(ALL))
def test_anything_anywhere_is_read_or_refused_in_one_line(name: str) -> None:
    """Every place of a real file takes each odd thing in turn (a part of them, the same
    each time).
    """
    whole = document(name)
    ways = list(places(whole))
    chosen = random.Random(name).sample(
        [(way, odd) for way in ways for odd in ODD], 400
    )
    said = [
        refusal(lambda way=way, odd=odd: read_format(replaced(whole, way, odd), name))
        for way, odd in chosen
    ]
    assert all(one_line(text) for text in said if text is not None)
    assert {text is None for text in said} == {True, False}


@pytest.mark.parametrize("name", sorted(ALL))
def test_deep_nesting_is_refused(name: str, tmp_path: Path) -> None:
    for text in ("[" * 100_000, '{"a":' * 100_000, "a: " * 5_000, "- " * 50_000):
        path = tmp_path / "deep"
        path.write_text(text)
        with pytest.raises(SchemaError) as caught:
            load_format(path, name)
        assert one_line(str(caught.value))


def test_a_deep_document_in_memory_is_refused() -> None:
    deep: Any = {}
    for _ in range(5_000):
        deep = {"columns": deep}
    with pytest.raises(SchemaError):
        read_format(deep)


@pytest.mark.parametrize("name", sorted(ALL))
def test_cut_off_files_are_refused_or_read(name: str, tmp_path: Path) -> None:
    text = ALL[name]
    for at in range(0, len(text), max(1, len(text) // 60)):
        path = tmp_path / ("m.yaml" if FOREIGN_FORMATS[name].yaml else "m.json")
        path.write_text(text[:at])
        said = refusal(lambda path=path: load_format(path, name))
        assert said is None or (one_line(said) and said.startswith(str(path)))


def test_bombs_are_refused(tmp_path: Path) -> None:
    layers = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    layers += [
        f"{b}: &{b} [{', '.join(['*' + a] * 9)}]"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    bomb = tmp_path / "bomb.yaml"
    bomb.write_text("\n".join(layers))
    with pytest.raises(SchemaError):
        load_format(bomb)
    large = tmp_path / "large.json"
    large.write_text('{"fields": [' + '"x",' * 3_000_000 + '"x"]}')
    with pytest.raises(SchemaError, match="larger than"):
        load_format(large)


def test_no_file_and_no_text(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="cannot be read"):
        load_format(tmp_path / "none.json")
    (tmp_path / "latin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="not UTF-8"):
        load_format(tmp_path / "latin")


def test_a_dictionary_of_many_codes_takes_no_square_of_time() -> None:
    codes = {str(i): "x" for i in range(50_000, 0, -1)} | {"min": 60_000, "max": 60_001}
    found = read_format(
        {
            "A": {
                "description": "a",
                "values": {str(k): v for k, v in list(codes.items())[-190:]},
            }
        }
    )
    assert found.format == "nist"
    with pytest.raises(SchemaError, match="missing codes"):
        read_format({"A": {"description": "a", "values": codes}})
