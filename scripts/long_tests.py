"""Chooses the tests that `make test-fast` leaves out, by what they were seen to take.

    python -m pytest --junit-xml=times.xml        (on an idle machine)
    python scripts/long_tests.py times.xml        writes tests/long.txt

The slowest test functions are left out, one after the other, until the rest fits into
MAX_FAST_SECONDS; all cases of a function go together. Every function above
MAX_FUNCTION_SECONDS goes too, however much room there is, so that nobody waits for one.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LISTING = ROOT / "tests" / "long.txt"
MAX_FAST_SECONDS = 120
"""Of one core. Two cores take about half, and both have to import and collect first."""

MAX_FUNCTION_SECONDS = 3
HEAD = (
    "# What `make test-fast` leaves out: test functions with the seconds that all their"
    " cases took.\n# Written by scripts/long_tests.py; see docs/testing.md.\n"
)


def read_times(report: Path) -> Iterable[tuple[str, float]]:
    """Each case of a JUnit report: file::function[case] and its seconds."""
    for case in ElementTree.parse(report).iter("testcase"):
        path, _, group = case.get("classname", "").partition(".Test")
        file = path.replace(".", "/") + ".py"
        middle = f"::Test{group}" if group else ""
        yield f"{file}{middle}::{case.get('name')}", float(case.get("time", 0))


def sum_functions(times: Iterable[tuple[str, float]]) -> Counter[str]:
    """Seconds of each test function over all its cases."""
    seconds: Counter[str] = Counter()
    for name, taken in times:
        seconds[name.partition("[")[0]] += taken
    return seconds


def choose_long(
    seconds: Counter[str],
    *,
    most: float = MAX_FAST_SECONDS,
    each: float = MAX_FUNCTION_SECONDS,
) -> dict[str, float]:
    """The functions to leave out, slowest first, with their seconds.

    >>> choose_long(Counter({"a": 5.0, "b": 2.0, "c": 1.0}), most=2, each=9)
    {'a': 5.0, 'b': 2.0}
    """
    rest = seconds.total()
    chosen: dict[str, float] = {}
    for name, taken in seconds.most_common():
        if rest <= most and taken <= each:
            break
        chosen[name] = taken
        rest -= taken
    return chosen


def write_listing(chosen: dict[str, float]) -> str:
    """The list as a file, by name, so that a change shows as the lines it is about."""
    lines = [f"{name} {taken:.1f}\n" for name, taken in sorted(chosen.items())]
    return HEAD + "".join(lines)


def main(arguments: list[str]) -> int:
    """Read a report, write the list."""
    seconds = sum_functions(read_times(Path(arguments[0])))
    chosen = choose_long(seconds)
    LISTING.write_text(write_listing(chosen))
    left = seconds.total() - sum(chosen.values())
    print(
        f"{len(chosen)} of {len(seconds)} test functions are long; the others took"
        f" {left:.0f} of {seconds.total():.0f} s."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
