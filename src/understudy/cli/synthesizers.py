"""`understudy synthesizers`: which algorithms there are, and what each adapts to."""

from __future__ import annotations

import click

from understudy.cli import options
from understudy.cli.layout import aligned, report, report_json

_ASPECTS = ("workload", "data", "budget", "efficiency")


@click.command(short_help="The algorithms, and what each adapts to.")
@options.as_json
def synthesizers(as_json: bool) -> None:
    """The algorithms, and what each adapts to: the workload, the data, the budget, its own cost."""
    from understudy.synthesizers import SYNTHESIZERS
    from understudy.synthesizers.table import rows

    here = [row for row in rows(SYNTHESIZERS) if row.name is not None]
    if as_json:
        report_json(
            [
                {
                    "name": row.name,
                    "aware": {aspect: getattr(row.aware, aspect) for aspect in _ASPECTS},
                    "reads_rows": SYNTHESIZERS[row.name].reads_rows,
                    "needs_delta": SYNTHESIZERS[row.name].needs_delta,
                    "about": _about(SYNTHESIZERS[row.name]),
                }
                for row in here
                if row.name is not None
            ]
        )
        return
    table = [["", *_ASPECTS, ""]]
    for row in here:
        assert row.name is not None
        marks = ["yes" if getattr(row.aware, aspect) else "·" for aspect in _ASPECTS]
        table.append([row.name, *marks, _about(SYNTHESIZERS[row.name])])
    report(aligned(table))


def _about(kind: type) -> str:
    """The first sentence of its description."""
    return (kind.__doc__ or "").strip().split("\n")[0].split(". ")[0].rstrip(".")
