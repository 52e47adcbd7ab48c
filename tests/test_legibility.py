"""Each measure of legibility counts what it says, on a package small enough to count by
hand.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.scripts import ROOT, load_script

legibility = load_script("legibility")

SHAPES = '''\
"""Shapes.

Their areas.
"""

MAX_SIDE = 3
"""Of a square, in metres."""


class Square:
    """A square."""

    def area(self, unit, *, exact=True):
        # Two sides of equal length,
        # hence a power.
        return self.side**2 if exact else 0  # in square metres

    def __len__(self):
        return 4


def settled(values):
    return [v for v in values if v and v > 0]
'''

SOLIDS = '''\
MAX_SIDE = 4


def find_volume(side: int) -> int:
    """Of a cube."""
    text = """
# no comment
"""
    return side**3
'''


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("geometry")
    (root / "solids").mkdir()
    (root / "shapes.py").write_text(SHAPES)
    (root / "solids" / "cube.py").write_text(SOLIDS)
    (root / "solids" / "ball.py").write_text('"""Balls."""\n')
    return {item.name: item.value for item in legibility.measure_package(root)}


# By hand: shapes.py has MAX_SIDE, class, def, return, def, return, def, return = 8 code
# lines; cube.py has MAX_SIDE, def, three lines of text, return = 6; ball.py has none.
# Names: area, settled, find_volume. Complexity: area 2, __len__ 1, settled 4 (a
# comprehension, its condition, `and`), find_volume 1.
BY_HAND = {
    "modules": "3",
    "code lines": "14",
    "module lines, median / max": "9 / 23",
    "function code lines, median / p90 / p99": "2 / 5 / 5",
    "functions over 50 lines": "0 (0.0 %)",
    "radon complexity, mean": "2.00",
    "functions above complexity 10": "0.0 %",
    "conditional expressions per 1,000 lines": "71",
    "comprehensions per 1,000 lines": "71",
    "code lines over 100 characters": "0 (0.0 %)",
    "one-word function names": "67 %",
    "bare participles": "33.3 %",
    "module constants": "1",
    "constant names with several values": "1",
    "comment lines / code": "14.3 %",
    "docstring lines / code": "57 %",
    "module docstrings": "2 of 3",
    "public docstrings": "50 %",
    "return annotations": "25 %",
    "parameters, p99 / max": "2 / 2",
    "classes over 20 methods (max)": "0 (2)",
    "widest folder": "solids (2 modules)",
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_measure_is_what_one_counts_by_hand(
    measured: dict[str, str], name: str
) -> None:
    assert measured[name] == BY_HAND[name]


def test_nothing_is_measured_that_is_not_counted_by_hand(
    measured: dict[str, str],
) -> None:
    assert set(measured) == {*BY_HAND, "syntax nodes per code line"}


def test_a_denser_line_has_more_nodes(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("a = 1\nb = 2\n")
    (tmp_path / "dense").mkdir()
    (tmp_path / "dense" / "x.py").write_text("a, b = (1 if 2 else 3), [4 for _ in 5]\n")
    plain = legibility.Module.read(tmp_path / "plain.py")
    dense = legibility.Module.read(tmp_path / "dense" / "x.py")
    assert plain.count_nodes() / 2 < 5 < dense.count_nodes()


@pytest.mark.parametrize(
    ("text", "missed"),
    [
        ("def settled():\n    return 1\n", "bare participles"),
        ("def f(x):\n    return x\n", "comment lines / code"),
        ("A = 1\nA = 2\n", "constant names with several values"),
        ("def f(x):\n" + "    if x: pass\n" * 9, "radon complexity, mean"),
        ("x = [(1, 2, 3, 4, 5, 6, 7, 8, 9)]\n", "syntax nodes per code line"),
    ],
)
def test_a_missed_goal_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, missed: str
) -> None:
    (tmp_path / "x.py").write_text(text)
    assert legibility.main([str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith(missed)]
    assert line.endswith("← missed")


def test_all_goals_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(
        "def find_root(x):\n    # Newton's method diverges at 0.\n    return x\n"
    )
    assert legibility.main([str(tmp_path)]) == 0


def test_there_is_a_verb_for_it() -> None:
    assert "scripts/legibility.py" in (ROOT / "Makefile").read_text()
