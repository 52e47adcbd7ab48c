"""Draw the picture in the README from a real run: `python scripts/capture.py
docs/images/demo.svg`.

The run is the demo, in a directory that is thrown away. What the terminal showed is
saved as SVG that fetches nothing from elsewhere.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from understudy.cli.root import run
from understudy.cli.terminal.screen import Screen

WIDTH = 104


def main() -> int:
    """Run the demo and save what it showed."""
    target = Path(sys.argv[1]).resolve()
    console = Console(
        record=True,
        width=WIDTH,
        force_terminal=True,
        force_interactive=False,
        highlight=False,
        file=io.StringIO(),
    )
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        code = run(["demo"], screen=Screen(console))
    if code == 0:
        target.parent.mkdir(parents=True, exist_ok=True)
        fetched = re.compile(r"@font-face \{\{.*?\}\}|<!--.*?-->", re.DOTALL)
        target.write_text(
            console.export_svg(
                title="understudy demo", code_format=fetched.sub("", CONSOLE_SVG_FORMAT)
            )
        )
    return code


if __name__ == "__main__":
    sys.exit(main())
