"""The files of a census release: microdata, tables, measurements and the card, in one
folder that appears whole or not at all.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from understudy.accounting.cost import Accounting
from understudy.atomic import write_file_atomically, write_folder_atomically
from understudy.censuses.bias import (
    BiasFigures,
    SizeError,
    choose_repeats,
    simulate_bias,
)
from understudy.censuses.expected_error import ExpectedError, expect_errors
from understudy.censuses.measurement_plan import spell_query
from understudy.censuses.output.linked_rows import write_linked_rows
from understudy.censuses.output.measurement_file import write_measurements
from understudy.censuses.output.place_figure import draw_places
from understudy.censuses.output.size_figure import (
    draw_error_by_size,
    draw_imbalance_by_size,
)
from understudy.censuses.output.table_files import TableColumns, write_table
from understudy.censuses.places import list_places
from understudy.censuses.release import CensusRelease
from understudy.releases.output.write import write_rows

MAX_TABLE_ROWS = 2_000_000
"""Lines of one CSV table; what is larger is in the microdata and measurements alone."""

MAX_FILE_NAME_BYTES = 200
"""Bytes of a table's name: file systems take 255, of which a number and `.csv` need some."""

MAX_SIMULATED_CELLS = 5_000_000
"""Cells of all units up to which the card simulates its bias: some seconds of work."""

_CENSUS_PAGE_STYLE = (
    "body{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "svg{max-width:100%;height:auto}"
    "table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:right}"
    "td:first-child,th:first-child{text-align:left}"
)


def write_census(
    release: CensusRelease, folder: str | Path, rng: Generator
) -> list[str]:
    """Write all products, and give back the names of the files."""
    design = release.design
    with write_folder_atomically(folder) as folder_draft:
        if design.households is None:
            write_rows(
                design.schema, release.microdata(), folder_draft / "persons.csv", rng
            )
        else:
            write_linked_rows(release, design.households, folder_draft, rng)
        for level in design.hierarchy.levels:
            for query in _list_queries(release, level):
                table = release.table(level, query)
                _write_table(table, f"table-{level}-{query}", folder_draft)
            for query in _list_household_queries(release, level):
                table = release.household_table(level, query)
                _write_table(table, f"households-{level}-{query}", folder_draft)
        for area in design.areas:
            for query in _list_queries(release, design.hierarchy.levels[-1]):
                table = release.area_table(area, query)
                _write_table(table, f"table-{area}-{query}", folder_draft)
        write_measurements(release, folder_draft / "measurements.npz")
        bias = _simulate_small(release, rng)
        errors = expect_errors(
            design,
            release.guarantee.amount,
            release.guarantee.neighbours,
            release.guarantee.accounting or Accounting.ZCDP,
        )
        facts = describe_census(release, errors, bias)
        written = json.dumps(facts, indent=1, ensure_ascii=False)
        _write_text(folder_draft / "census.json", written)
        _write_text(folder_draft / "card.html", _write_page(release, errors, bias))
        return sorted(path.name for path in folder_draft.iterdir())


def _write_text(path: Path, text: str) -> None:
    with write_file_atomically(path, private=False) as draft:
        draft.write_text(text, "utf-8")


def describe_census(
    release: CensusRelease, errors: Sequence[ExpectedError], bias: BiasFigures | None
) -> dict[str, Any]:
    """The card for a program."""
    design, fitted = release.design, release.estimate.fitted
    guarantee = release.guarantee
    facts: dict[str, Any] = {
        "guarantee": release.sentence(),
        "details": list(guarantee.details()),
        "accounting": str(guarantee.accounting),
        "amount": float(guarantee.amount),
        "epsilon": float(guarantee.epsilon),
        "delta": float(guarantee.delta),
        "exact_amount": str(guarantee.amount),
        "exact_epsilon": str(guarantee.epsilon),
        "exact_delta": str(guarantee.delta),
        "neighbours": guarantee.neighbours.value,
        "unit": guarantee.unit,
        "max_rows": guarantee.max_rows,
        "public": list(guarantee.public),
        "invariants": list(guarantee.invariants),
        "run": release.statement.run,
        "method": release.method,
        "persons": release.persons,
        "households": release.household_count,
        "levels": {
            name: design.hierarchy.count_units(i)
            for i, name in enumerate(design.hierarchy.levels)
        },
        "detail_share": float(design.plan.detail_share(design.columns)),
        "unpublished_share": float(
            design.plan.unpublished_share(design.published_queries)
        ),
        "lost_answers": list(release.lost_answers),
        "fits": fitted.fits,
        "stopped_fits": fitted.stopped_fits,
        "expected_errors": [_error_to_dict(each) for each in errors],
        "tree": list_places(release).to_dict(),
    }
    if bias is not None:
        facts["simulated_releases"] = bias.repeats
        for name in ("producer", "consumer"):
            by_level = getattr(bias, name)
            facts[f"{name}_errors"] = {
                level: [_size_to_dict(each) for each in rows]
                for level, rows in by_level.items()
            }
    return facts


def _list_queries(release: CensusRelease, level: str) -> list[str]:
    """The queries whose tables are written, at every level."""
    cliques = release.design.published_queries
    place = release.design.hierarchy.levels.index(level)
    units = release.design.hierarchy.count_units(place)
    sizes = {q: units * int(np.prod(release.design.schema.sizes(q))) for q in cliques}
    kept = [query for query in cliques if sizes[query] <= MAX_TABLE_ROWS]
    return [spell_query(query, release.design.columns) for query in kept]


def _list_household_queries(release: CensusRelease, level: str) -> list[str]:
    """The queries about households whose tables are written."""
    households = release.design.households
    if households is None:
        return []
    place = release.design.hierarchy.levels.index(level)
    units = release.design.hierarchy.count_units(place)
    return [
        spell_query(query, households.table_columns)
        for query in dict.fromkeys([(), *households.plan.cliques()])
        if units * math.prod(households.find_sizes(query, release.design.schema))
        <= MAX_TABLE_ROWS
    ]


def _write_table(table: TableColumns, title: str, folder: Path) -> None:
    whole = re.sub(r"[^\w-]+", "_", title)
    name = whole.encode()[:MAX_FILE_NAME_BYTES].decode(errors="ignore")
    path, number = folder / f"{name}.csv", 2
    # `age * sex` and a column age_sex have one name; asking the folder knows its case too.
    while path.exists():
        path, number = folder / f"{name}-{number}.csv", number + 1
    write_table(table, path)


def _simulate_small(release: CensusRelease, rng: Generator) -> BiasFigures | None:
    units, cells = release.design.hierarchy.unit_count, release.design.lattice.cells
    if units * cells > MAX_SIMULATED_CELLS:
        return None
    repeats = choose_repeats(release, MAX_SIMULATED_CELLS)
    return simulate_bias(release, rng, repeats=repeats)


def _error_to_dict(error: ExpectedError) -> dict[str, Any]:
    is_known = np.isfinite(error.standard_error)
    return {
        "level": error.level,
        "query": error.query,
        "units": error.units,
        "share": float(error.share),
        "noise_sd": error.noise_sd,
        "standard_error": error.standard_error if is_known else None,
    }


def _size_to_dict(error: SizeError) -> dict[str, Any]:
    return {
        "size": error.size,
        "places": error.places,
        "bias": error.bias,
        "mean_absolute_error": error.mean_absolute_error,
        "imbalance": error.imbalance,
    }


def _write_page(
    release: CensusRelease, errors: Sequence[ExpectedError], bias: BiasFigures | None
) -> str:
    """The card for a person."""
    details = "".join(
        f"<li>{escape(line)}</li>" for line in release.guarantee.details()
    )
    plan = release.design.plan
    share = float(plan.detail_share(release.design.columns))
    hidden = float(plan.unpublished_share(release.design.published_queries))
    parts = [
        f"<h1>Census release</h1><p>{escape(release.sentence())}</p><ul>{details}</ul>",
        f"<p>{_count_products(release)}; {share:.0%} of the budget measures the finest"
        f" detail, and {hidden:.0%} queries that no published table shows.</p>"
        f"{_list_lost_answers(release)}<h2>Expected error</h2>",
        _write_html_table(
            ["level", "query", "share", "noise sd", "standard error"],
            [
                [
                    e.level,
                    e.query,
                    f"{float(e.share):.1%}",
                    f"{e.noise_sd:.2f}",
                    f"{e.standard_error:.2f}",
                ]
                for e in errors
            ],
        ),
    ]
    parts += ["<h2>Places</h2>", draw_places(list_places(release))]
    if bias is not None:
        parts += [
            "<h2>Error by size of place (simulated)</h2>",
            f"<p>The released tables taken for the truth, measured and fitted again"
            f" {bias.repeats} times: this cost nothing.</p>",
            draw_error_by_size(bias.producer),
            "<h2>Bias B by size of place (simulated)</h2>",
            draw_imbalance_by_size(bias.producer),
        ]
        parts.append(
            "<h3>Given the true size (producer)</h3>" + _write_bias_table(bias.producer)
        )
        parts.append(
            "<h3>Given the released size (consumer)</h3>"
            + _write_bias_table(bias.consumer)
        )
    head = '<!doctype html><meta charset="utf-8"><title>Census release</title>'
    return f"{head}<style>{_CENSUS_PAGE_STYLE}</style>{''.join(parts)}"


def _count_products(release: CensusRelease) -> str:
    words = f"{release.persons:,} persons"
    if release.design.households is None:
        return words
    return f"{words} in {release.household_count:,} households or outside of them"


def _list_lost_answers(release: CensusRelease) -> str:
    """A sentence about answers that are missing, if any are."""
    if not release.lost_answers:
        return ""
    lost = escape(", ".join(release.lost_answers))
    return (
        f"<p>Paid for and lost when the run was cut off: {lost}. The tables are made of"
        " the other answers.</p>"
    )


def _write_bias_table(by_level: dict[str, list[SizeError]]) -> str:
    titles = ["level", "persons", "places in all", "mean error"]
    titles += ["mean absolute error", "B"]
    rows = [
        [
            level,
            e.size,
            f"{e.places:,}",
            f"{e.bias:+.2f}",
            f"{e.mean_absolute_error:.2f}",
            f"{e.imbalance:+.2f}",
        ]
        for level, errors in by_level.items()
        for e in errors
    ]
    return _write_html_table(titles, rows)


def _write_html_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><tr>{head}</tr>{body}</table>"
