"""The root command, and how every command ends: one line and an exit code, never a
traceback.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import click
from click.exceptions import NoArgsIsHelpError

from understudy import __version__
from understudy.cli import options
from understudy.cli.commands.answer import answer
from understudy.cli.commands.attack import attack
from understudy.cli.commands.audit import audit
from understudy.cli.commands.card import card
from understudy.cli.commands.census import census
from understudy.cli.commands.demo import demo
from understudy.cli.commands.describe import describe
from understudy.cli.commands.doctor import doctor
from understudy.cli.commands.evaluate import evaluate
from understudy.cli.commands.explain import explain
from understudy.cli.commands.infer import infer
from understudy.cli.commands.ledger import ledger
from understudy.cli.commands.local import local
from understudy.cli.commands.mask import mask
from understudy.cli.commands.plan import plan
from understudy.cli.commands.questions.analyst import analyst
from understudy.cli.commands.questions.ask import ask, price
from understudy.cli.commands.questions.serve import serve
from understudy.cli.commands.sample import sample
from understudy.cli.commands.schema import schema
from understudy.cli.commands.signoff import signoff
from understudy.cli.commands.studio import studio
from understudy.cli.commands.synthesize import synthesize
from understudy.cli.commands.synthesizers import synthesizers
from understudy.cli.commands.toolbox import toolbox
from understudy.cli.terminal.layout import report
from understudy.cli.terminal.screen import Screen
from understudy.cli.terminal.stop import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_USAGE,
    CommandSignals,
    CommandStopped,
    is_interruption,
    write_last_line,
)
from understudy.errors import UnderstudyError

EXTRA_ARGUMENT = re.compile(r"unexpected extra arguments? \(([^ )]+)")
"""How Click names words that a command has no place for."""

HELP_EPILOG = "Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted."


@click.group(
    cls=options.OrderedGroup,
    epilog=HELP_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(
    __version__, prog_name="understudy", message="%(prog)s %(version)s"
)
def understudy() -> None:
    """Differentially private synthetic tables.

    Describe a sensitive table, plan the privacy cost of a release, make it inside a
    budget that a ledger records, and evaluate what it keeps and risks.
    """


for command in (
    describe,
    schema,
    plan,
    synthesize,
    sample,
    card,
    explain,
    answer,
    infer,
    mask,
    local,
    census,
    price,
    ask,
    toolbox,
    serve,
    analyst,
    evaluate,
    signoff,
    ledger,
    synthesizers,
    attack,
    audit,
    studio,
    demo,
    doctor,
):
    understudy.add_command(command)


def run(arguments: Sequence[str] | None = None, *, screen: Screen | None = None) -> int:
    """Run one command line and return its exit code; `arguments` default to those of
    the process.

    >>> run(["synthesize", "people.csv", "--epsilon", "0", "-o", "out.csv"])
    1
    """
    shown = screen or Screen.of_process()
    # Read here and not by an option: it must work for wrong usage too.
    debug = bool(os.environ.get("UNDERSTUDY_DEBUG"))
    with CommandSignals() as signals:
        try:
            code = understudy.main(
                args=None if arguments is None else list(arguments),
                prog_name="understudy",
                standalone_mode=False,
                obj=shown,
            )
            return code if isinstance(code, int) else EXIT_DONE
        # Asked with nothing to do, a group shows its commands, laid out as its help.
        except NoArgsIsHelpError as error:
            report(error.format_message().splitlines())
            return EXIT_USAGE
        # Click would print two lines and its own hint.
        except click.UsageError as error:
            write_last_line(f"{_usage_message(error)} Nothing was done.")
            return EXIT_USAGE
        except click.ClickException as error:
            write_last_line(error.format_message())
            return error.exit_code
        except CommandStopped as stop:
            write_last_line(str(stop))
            return signals.code
        except BaseException as error:
            if is_interruption(error) or isinstance(error, click.Abort):
                write_last_line(
                    "interrupted. Nothing was spent and nothing was written."
                )
                return signals.code
            # Only now: an interruption is no error that debugging explains.
            if debug or isinstance(error, SystemExit | GeneratorExit):
                raise
            write_last_line(_failure_message(error))
            return EXIT_FAILED
        finally:
            shown.close()


def _failure_message(error: BaseException) -> str:
    """What went wrong, in one line."""
    if isinstance(error, UnderstudyError):
        return str(error)
    # An unforeseen message may quote a cell, so only its kind is shown.
    from understudy.accounting.aftermath import find_spent_note

    return (
        f"stopped by an unexpected {type(error).__name__}. {find_spent_note(error)}"
        " UNDERSTUDY_DEBUG=1 shows where, on this terminal only."
    )


def _usage_message(error: click.UsageError) -> str:
    """What was wrong with the command line, and where its help is."""
    what = " ".join(error.format_message().split()).rstrip(".")
    where = error.ctx.command_path if error.ctx else "understudy"
    extra = EXTRA_ARGUMENT.search(what)
    if extra and Path(extra[1]).is_file():
        # A shell writes out a pattern that is not quoted.
        what += '. Several files are one table by a quoted pattern ("parts/*.csv")'
    return f"{what[:1].lower()}{what[1:]}. See {where} --help."
