"""The command line. One module per command in `commands`; `root` joins them, `stop` decides how a
command ends, `screen` what a terminal shows.

Whatever is printed goes through `printer`, or through `console` where it has colours.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `understudy` command."""
    # Importing the commands takes a moment, in which Ctrl-C is not caught by `run` yet.
    try:
        from understudy.cli.root import run
    except KeyboardInterrupt:
        sys.stderr.write(
            "understudy: interrupted. Nothing was spent and nothing was written.\n"
        )
        sys.exit(130)
    try:
        sys.exit(run())
    # `run` lets an exception through only where UNDERSTUDY_DEBUG asks for it.
    except Exception:  # UNDERSTUDY_DEBUG asks for it
        from understudy.cli.terminal.printer import write_traceback

        write_traceback()
        sys.exit(1)
