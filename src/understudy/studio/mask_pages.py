"""The second door: masked copies. Disclosure control without differential privacy, on
pages of its own that say so, apart from the way to a private release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from keyword import iskeyword
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from understudy.errors import Refused
from understudy.imputation.tuning import MaskTuning
from understudy.releases.guarantee import Guarantee, GuaranteeKind
from understudy.schema import Boolean, Categorical, Lattice, Role, Schema
from understudy.studio.asking import read_body, run_in_thread, text_of
from understudy.studio.rendering import PageRenderer
from understudy.workflow.masking.tune_mask import DEFAULT_RISK_TARGET, tune_mask

STUDIO_TUNED_COPIES = (3, 5)
"""Numbers of copies that the page tries: a person waits for it."""


class MaskPages:
    """The way from a table to masked copies of it."""

    def __init__(self, renderer: PageRenderer) -> None:
        self.renderer = renderer
        self.workspace = renderer.workspace
        # One at a time: it holds the rows. What is written is what was measured.
        self._measured: tuple[str, MaskTuning] | None = None

    async def show_form(self, request: Request) -> Response:
        """Which columns are replaced, for which analysis, and how much risk is borne."""
        name = request.path_params["table"]
        schema = await run_in_thread(lambda: self.workspace.schema(name))
        values = {
            "table": name,
            "columns": [column.name for column in schema.columns if column.use],
            "replaced": _list_quasi_identifiers(schema),
            "responses": [n for n in schema if _response_family(schema, n)],
            "risk_target": DEFAULT_RISK_TARGET,
            "promise": Guarantee(kind=GuaranteeKind.MASKED).sentence(),
        }
        return self.renderer.render_page(request, "mask.html", values)

    async def tune_masks(self, request: Request) -> Response:
        """Measure settings, and answer with their picture and the recommended one."""
        name, body = request.path_params["table"], await read_body(request)
        path, schema = self.workspace.path(name), self.workspace.schema(name)
        tuned = await run_in_thread(lambda: _tune_table(path, schema, body))
        self._measured = (name, tuned)
        return JSONResponse(
            {
                "figure": tuned.picture(),
                "choice": tuned.describe_choice(),
                "has_choice": tuned.recommended_setting is not None,
                "settings": [
                    {**one.to_dict(), "name": one.name, "risk": one.risk}
                    for one in tuned.settings
                ],
            }
        )

    async def write_copies(self, request: Request) -> Response:
        """Write the recommended copies into a folder beside the table."""
        name = request.path_params["table"]
        measured = self._measured
        if measured is None or measured[0] != name:
            raise Refused("Measure settings of this table first.")
        folder = self.workspace.free_mask_folder(name)
        masked = measured[1].recommend_copies()
        await run_in_thread(lambda: masked.write(folder))
        return JSONResponse({"folder": str(folder), "copies": masked.copies})


def _list_quasi_identifiers(schema: Schema) -> list[str]:
    return [c.name for c in schema.columns if c.role is Role.QUASI_IDENTIFIER]


def _tune_table(path: Path, schema: Schema, body: Mapping[str, object]) -> MaskTuning:
    replaced = body.get("replaced")
    if not isinstance(replaced, list) or not replaced:
        raise Refused("Choose at least one column to replace.")
    return tune_mask(
        path,
        schema=schema,
        replaced=[str(name) for name in replaced],
        formulas=_read_formula(schema, text_of(body, "response")),
        risk_target=_read_risk_target(text_of(body, "risk_target")),
        copies=STUDIO_TUNED_COPIES,
    )


def _read_risk_target(text: str) -> float:
    try:
        target = float(text)
    except ValueError:
        target = math.nan
    if not 0 <= target <= 1:
        raise Refused("The risk target is a number between 0 and 1, such as 0.05.")
    return target


def _read_formula(schema: Schema, response: str) -> dict[str, str]:
    """The regression of a column on all others. A formula is code to statsmodels, so
    none is taken from a request: it is made of names that the schema has.
    """
    if not response:
        return {}
    family = _response_family(schema, response) if response in schema else None
    if family is None:
        raise Refused("This column cannot be the outcome of an analysis.")
    others = [n for n in schema if n != response and _is_plain_name(n)]
    if not others:
        raise Refused("There is no other column to explain the outcome by.")
    return {f"{response} ~ {' + '.join(others)}": family}


def _response_family(schema: Schema, name: str) -> str | None:
    """How a column is regressed; None if it cannot be."""
    column = schema[name]
    if not _is_plain_name(name):
        return None
    if isinstance(column, Lattice):
        return "gaussian"
    is_pair = isinstance(column, Categorical) and len(column.values or ()) == 2
    return "logit" if is_pair or isinstance(column, Boolean) else None


def _is_plain_name(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not iskeyword(name)
