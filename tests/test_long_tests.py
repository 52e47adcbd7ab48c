"""The choice of what `make test-fast` leaves out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kit.scripts import ROOT, load_script

long_tests = load_script("long_tests")

REPORT = """<testsuites><testsuite>
<testcase classname="tests.models.test_tree" name="test_a[one-x]" time="1.5"/>
<testcase classname="tests.models.test_tree" name="test_a[two]" time="2.0"/>
<testcase classname="tests.test_docs" name="test_b" time="0.25"/>
<testcase classname="tests.test_docs.TestKind" name="test_c" time="0.5"/>
</testsuite></testsuites>"""


def test_cases_of_a_function_are_summed(tmp_path: Path) -> None:
    (tmp_path / "times.xml").write_text(REPORT)
    seconds = long_tests.sum_functions(long_tests.read_times(tmp_path / "times.xml"))
    assert seconds == {
        "tests/models/test_tree.py::test_a": 3.5,
        "tests/test_docs.py::test_b": 0.25,
        "tests/test_docs.py::TestKind::test_c": 0.5,
    }


def test_the_slowest_go_until_the_rest_fits() -> None:
    seconds = Counter({f"f{i}": float(i) for i in range(1, 11)})
    chosen = long_tests.choose_long(seconds, most=21, each=100)
    assert list(chosen) == ["f10", "f9", "f8", "f7"]
    assert set(long_tests.choose_long(seconds, most=1000, each=8)) == {"f10", "f9"}


def test_most_of_what_is_listed_exists() -> None:
    """A test that was renamed is run by `make test-fast` again; a few are no harm."""
    names = [
        line.split()[0]
        for line in long_tests.LISTING.read_text().splitlines()
        if not line.startswith("#")
    ]
    assert names == sorted(set(names))
    missing = []
    for name in names:
        file, _, function = name.partition("::")
        path = ROOT / file
        if (
            not path.exists()
            or f"def {function.split('::')[-1]}(" not in path.read_text()
        ):
            missing.append(name)
    assert len(missing) <= len(names) / 5, missing


def test_long_tests_carry_the_mark(request: pytest.FixtureRequest) -> None:
    listed = long_tests.LISTING.read_text()
    for item in request.session.items:
        name = item.nodeid.partition("[")[0]
        if f"{name} " in listed:
            assert item.get_closest_marker("long") is not None
