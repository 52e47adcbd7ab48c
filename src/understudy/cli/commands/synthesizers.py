"""`understudy synthesizers`: which algorithms there are, what each adapts to, and all
about one of them.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import click

from understudy.cli import options
from understudy.cli.terminal.layout import report, report_json
from understudy.text import align_columns, join_words

if TYPE_CHECKING:
    from understudy.synthesizers import Synthesizer

_AWARENESS_ASPECTS = ("workload", "data", "budget", "efficiency")
_PAGE_WIDTH_CHARACTERS = 100


@click.command(short_help="The algorithms, and what each adapts to.")
@click.argument("name", required=False)
@options.as_json
def synthesizers(name: str | None, as_json: bool) -> None:
    """The algorithms, and what each adapts to: the workload, the data, the budget, its
    own cost. With NAME, all about that one.
    """
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.synthesizers import (
        SYNTHESIZER_CLASSES,
        awareness_rows,
        list_synthesizers,
        synthesizer_class,
    )

    if name is not None:
        chosen = synthesizer_class(name)
        if as_json:
            report_json({**_overview_facts(chosen), **_option_facts(chosen)})
        else:
            report(_page_lines(chosen))
        return
    here = [row for row in awareness_rows(SYNTHESIZER_CLASSES) if row.name is not None]
    if as_json:
        report_json(
            [
                _overview_facts(SYNTHESIZER_CLASSES[row.name])
                for row in here
                if row.name is not None
            ]
        )
        return
    table = [["", *_AWARENESS_ASPECTS, ""]]
    for row in here:
        assert row.name is not None
        about = list_synthesizers()[row.name]
        table.append([row.name, *_awareness_marks(row.aware), about])
    report(
        [
            *align_columns(table),
            "",
            "All about one of them, its options included: understudy synthesizers NAME",
        ]
    )


def _awareness_marks(aware: object) -> list[str]:
    """What an algorithm adapts to, a word for each aspect."""
    return ["yes" if getattr(aware, aspect) else "·" for aspect in _AWARENESS_ASPECTS]


def _overview_facts(kind: type[Synthesizer]) -> dict[str, object]:
    """A line of the table, for a program."""
    from understudy.synthesizers import summarise_class

    return {
        "name": kind.name,
        "aware": {aspect: getattr(kind.aware, aspect) for aspect in _AWARENESS_ASPECTS},
        "reads_rows": kind.reads_rows,
        "needs_delta": kind.needs_delta,
        "about": summarise_class(kind),
    }


def _option_facts(kind: type[Synthesizer]) -> dict[str, object]:
    """The rest of its page, for a program. Values are written as `--set` reads them."""
    from understudy.synthesizers import options_of

    return {
        "use": kind.about.use,
        "avoid": kind.about.avoid,
        "cost": kind.about.cost,
        "paper": kind.about.paper,
        "options": [
            {
                "name": option.name,
                "takes": option.kind,
                "default": option.default_text,
                "help": option.help,
            }
            for option in options_of(kind).values()
        ],
    }


def _page_lines(kind: type[Synthesizer]) -> list[str]:
    """All about one algorithm, for a person."""
    from understudy.synthesizers import options_of, summarise_class

    lines = [f"{kind.name}: {summarise_class(kind)}", ""]
    for label, words in _page_facts(kind):
        if words:
            lines += textwrap.wrap(
                f"{label:<13}{words}",
                _PAGE_WIDTH_CHARACTERS,
                subsequent_indent=" " * 13,
            )
    settings = options_of(kind).values()
    if not settings:
        return [*lines, "", "It has no options."]
    lines += ["", "Options, each set by --set OPTION=VALUE:", ""]
    for option in settings:
        lines.append(f"  {option.name}={option.default_text}   {option.kind}")
        lines += textwrap.wrap(
            option.help,
            _PAGE_WIDTH_CHARACTERS,
            initial_indent=" " * 6,
            subsequent_indent=" " * 6,
        )
    return lines


def _page_facts(kind: type[Synthesizer]) -> list[tuple[str, str]]:
    """When to use an algorithm, and what it needs."""
    # Efficiency is a property of the algorithm, not something it adapts to.
    aspects = _AWARENESS_ASPECTS[:3]
    adapts = [f"the {aspect}" for aspect in aspects if getattr(kind.aware, aspect)]
    nothing = "nothing: what is asked follows from the schema"
    return [
        ("use it when", kind.about.use),
        ("not when", kind.about.avoid),
        ("cost", kind.about.cost),
        ("adapts to", join_words(adapts) if adapts else nothing),
        ("δ", "needs some, for a threshold" if kind.needs_delta else "0 will do"),
        ("paper", kind.about.paper),
    ]
