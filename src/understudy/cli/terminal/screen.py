"""What a terminal shows of a run: a bar while a stage lasts, then one line for each
stage. In a pipe, and with --quiet, it shows nothing; with --verbose, also in a pipe, a
line as each stage begins.

Everything here goes to stderr, so that stdout belongs to reports and `--json`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from understudy.cli.terminal.printer import show_controls
from understudy.cli.terminal.stop import raise_if_interrupted
from understudy.text import format_percent

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from understudy.cli.terminal.console import TextConsole
    from understudy.notices import Notice

_STAGE_NAME_WIDTH, _STAGE_TEXT_WIDTH = 10, 52


class Screen:
    """A terminal to write on, or none.

    >>> Screen(None).line("not shown")
    """

    def __init__(self, console: TextConsole | None) -> None:
        self._console = console
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._spent: float | None = None
        self._began: float | None = None
        """When a verbose screen began to time stages; None if it is not verbose."""
        self._stage_name = ""
        self.notes: list[str] = []
        """What a run left out or had no room for, to be shown when it is over."""
        self.early_warnings: list[str] = []
        """What was shown before the run was charged."""

    @classmethod
    def of_process(cls) -> Screen:
        """The terminal behind stderr, if there is one."""
        # In a pipe nothing is shown, so that a cron job mails nothing but errors.
        if not sys.stderr.isatty():
            return cls(None)
        from understudy.cli.terminal.console import TextConsole

        return cls(TextConsole(stderr=True, highlight=False))

    @classmethod
    def plain(cls) -> Screen:
        """Plain text on stdout, for the demo in a pipe."""
        from understudy.cli.terminal.console import TextConsole

        return cls(
            TextConsole(
                file=sys.stdout,
                width=100,
                highlight=False,
                force_terminal=False,
                color_system=None,
            )
        )

    def silence(self) -> None:
        """Show nothing from here on, as in a pipe."""
        self._console = None

    def time_stages(self) -> None:
        """From here on write a line as each stage begins, with the seconds so far; on
        stderr even where that is no terminal, so that a log file has them.
        """
        if self._console is None:
            from understudy.cli.terminal.console import TextConsole

            self._console = TextConsole(
                stderr=True, highlight=False, force_terminal=False, color_system=None
            )
        self._began = time.monotonic()

    @property
    def is_watched(self) -> bool:
        """Whether there is a terminal."""
        return self._console is not None

    @contextmanager
    def progress(self) -> Iterator[None]:
        """While this lasts, `step` draws bars; they are gone afterwards."""
        if self._console is None or not self._console.is_interactive:
            yield
            return
        from rich.progress import BarColumn, Progress, TextColumn

        with Progress(
            # Without markup: a column called [red] is a name, not a colour.
            TextColumn(" {task.description:<20}", markup=False),
            BarColumn(bar_width=32),
            TextColumn("{task.fields[said]}", markup=False),
            console=self._console,
            transient=True,
        ) as bars:
            self._bars = bars
            try:
                yield
            finally:
                self._bars, self._tasks = None, {}

    def note_spending(self, share: float) -> None:
        """The account has charged this part of the run's budget; shown beside the next
        step.
        """
        self._spent = share

    def warn(self, lines: Iterable[str]) -> None:
        """Show warnings at once, while there is time to stop; `early_warnings` has
        them.
        """
        for line in lines:
            self.early_warnings.append(line)
            self.line(line, style="yellow")

    def keep_notice(self, notice: Notice) -> None:
        """Keep a notice for the end of the run; that of a new account is shown at once,
        before it is charged.
        """
        from understudy.notices import NoticeKind

        if notice.kind is NoticeKind.NEW_ACCOUNT:
            self.warn([notice.text])
        else:
            self.notes.append(notice.text)

    def step(self, stage: str, done: float) -> None:
        """A stage has come this far, from 0 to 1; its rounds share one bar."""
        # DuckDB may swallow Ctrl-C; the next word of progress notices it.
        raise_if_interrupted()
        # A share belongs to one step: the next stage may charge nothing.
        spent, self._spent = self._spent, None
        # All rounds of a stage share a bar, and a line.
        name = stage.partition(" round ")[0]
        self._time_stage(name)
        if self._bars is None:
            return
        said = (
            format_percent(done)
            if spent is None
            else f"{format_percent(spent)} of the budget spent"
        )
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(
                show_controls(name), total=1.0, said=said
            )
        self._bars.update(
            self._tasks[name],
            description=show_controls(stage),
            completed=done,
            said=said,
        )

    def _time_stage(self, name: str) -> None:
        """A line for a stage that begins, if the screen is verbose."""
        if self._began is None or name == self._stage_name:
            return
        self._stage_name = name
        self.lines([f"{time.monotonic() - self._began:8.1f} s  {name}"], style="dim")

    def stage(self, name: str, what: str, share: str = "") -> None:
        """A stage that is over: what it did, and its part of the budget."""
        if self._console is None:
            return
        from rich.text import Text

        shown = show_controls(what)
        text = Text.assemble(
            (f" {name:<{_STAGE_NAME_WIDTH}} ", "bold cyan"),
            f"{shown:<{_STAGE_TEXT_WIDTH}}" if share else shown,
        )
        if share:
            text.append(f" {share:>6}", style="dim")
        self._console.print_line(text)

    def line(self, text: str = "", *, style: str = "") -> None:
        """A sentence, wrapped between words and indented like the stages."""
        if self._console is None:
            return
        from rich.text import Text

        # Wrapped here: rich would not indent what follows the first line.
        for part in Text(show_controls(text)).wrap(
            self._console, self._console.width - 2
        ) or [Text()]:
            part.rstrip()
            self._console.print(Text.assemble(" " if part else "", (part.plain, style)))

    def lines(self, text: Iterable[str], *, style: str = "") -> None:
        """Lines as they are, one below the other."""
        if self._console is None:
            return
        from rich.text import Text

        for line in text:
            self._console.print_line(Text(f" {show_controls(line)}", style=style))

    def close(self) -> None:
        """Leave the terminal as it was found, whatever happened."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = None
