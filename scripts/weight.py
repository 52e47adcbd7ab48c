"""What installing the core weighs: the project's own requirements and all of theirs, as
they are installed here.

Exits 1 if everything beside numpy, scipy and DuckDB, without which there is no core,
weighs more than the limit.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
FOUNDATION = {"numpy", "scipy", "duckdb"}
MAX_REST_MEGABYTES = 50


def normalise(name: str) -> str:
    """A distribution's name as the index compares it.

    >>> normalise("PyYAML"), normalise("markdown_it.py")
    ('pyyaml', 'markdown-it-py')
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def list_requirements(lines: list[str]) -> Iterator[str]:
    """Names of what is required here, on this platform and without extras."""
    for line in lines:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or marker.evaluate({"extra": ""}):
            yield normalise(requirement.name)


def collect_closure(names: set[str]) -> dict[str, Distribution]:
    """These distributions and everything that they require in turn."""
    closure: dict[str, Distribution] = {}
    waiting = sorted(names)
    while waiting:
        name = waiting.pop()
        if name in closure:
            continue
        closure[name] = distribution(name)
        waiting.extend(list_requirements(closure[name].requires or []))
    return closure


def sum_bytes(found: Distribution) -> int:
    """What the files of a distribution take up, without compiled caches."""
    paths = [
        Path(str(item.locate())) for item in found.files or [] if item.suffix != ".pyc"
    ]
    return sum(path.stat().st_size for path in paths if path.is_file())


def main() -> int:
    """Print the sum, and the largest parts of it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    closure = collect_closure(set(list_requirements(project["dependencies"])))
    sizes = {name: sum_bytes(found) / 1e6 for name, found in closure.items()}
    rest = sum(size for name, size in sizes.items() if name not in FOUNDATION)
    total = sum(sizes.values())
    largest = sorted(sizes, key=lambda name: -sizes[name])[:5]
    parts = ", ".join(f"{name} {sizes[name]:.0f}" for name in largest)
    print(
        f"The core weighs {total:.0f} MB in {len(sizes)} packages ({parts}, …);"
        f" {rest:.0f} MB beside numpy, scipy and DuckDB, at most {MAX_REST_MEGABYTES}."
    )
    return 1 if rest > MAX_REST_MEGABYTES else 0


if __name__ == "__main__":
    sys.exit(main())
