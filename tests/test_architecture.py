"""The map of the architecture shows the package as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kit.scripts import ROOT

PACKAGE = ROOT / "src" / "understudy"
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def packages_below(folder: str = "") -> Iterator[str]:
    """Rooms, and the rooms inside each, as the map writes them."""
    for path in sorted((PACKAGE / folder).iterdir()):
        if (path / "__init__.py").exists():
            yield f"{folder}{path.name}/"


def read_map() -> list[str]:
    """Rooms of the map; a room inside another is indented by two more spaces."""
    tree = PAGE.split("src/understudy/\n")[1].split("```")[0]
    rooms: list[str] = []
    outer = ""
    for indent, name in re.findall(r"^( {2}| {4})(\w+/)", tree, flags=re.MULTILINE):
        outer = name if len(indent) == 2 else outer
        rooms.append(name if len(indent) == 2 else outer + name)
    return rooms


def test_the_map_shows_every_room_once() -> None:
    rooms = list(packages_below())
    inside = [name for room in rooms for name in packages_below(room)]
    assert sorted(read_map()) == sorted(rooms + inside)


def test_the_map_names_every_module_outside_the_rooms() -> None:
    tree = PAGE.split("src/understudy/\n")[1].split("```")[0]
    shown = set(tree.splitlines()[-1].split())
    assert shown == {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}


def test_the_table_says_of_every_room_what_it_may_use() -> None:
    table = PAGE.split("| room | what it may use |")[1].split("\n\n")[0]
    firsts = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    ruled = [name for cell in firsts for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(ruled) == [name.rstrip("/") for name in packages_below()]
