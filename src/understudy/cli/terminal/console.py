"""A terminal with colours, on which control characters of a text are shown and not
obeyed, as cli/terminal/printer.py does without colours.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from understudy.cli.terminal.printer import show_controls


class TextConsole(Console):
    """A console of rich whose own control sequences pass, and no others."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """What is about to be written: every piece of text made harmless, whatever it
        was part of.
        """
        for segment in super().render(renderable, options):
            # Cursor movements of rich's own progress bars.
            if segment.control:
                yield segment
                continue
            # Line breaks are rich's own layout here; within a cell of text they were shown
            # before (print_line).
            parts = segment.text.split("\n")
            yield Segment(
                "\n".join(show_controls(part) for part in parts), segment.style
            )

    def print_line(self, line: Text) -> None:
        """One line, whatever line breaks there are in its words."""
        parts = line.split("\n", allow_blank=True)
        self.print(Text("\\n").join(parts), soft_wrap=True)
