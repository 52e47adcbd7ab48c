"""The command line. One module per command; `root` joins them, `stop` decides how a command ends, `screen` what a terminal shows."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `understudy` command."""
    try:
        from understudy.cli.root import run
    except KeyboardInterrupt:
        sys.stderr.write("understudy: interrupted. Nothing was spent and nothing was written.\n")
        sys.exit(130)
    sys.exit(run())
