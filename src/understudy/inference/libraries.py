"""pandas and statsmodels, which an extra brings, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from understudy.errors import Refused
from understudy.version import install_command


def import_pandas() -> Any:
    """pandas, or a refusal that says how to get it."""
    return _import_extra("pandas")


def import_formulas() -> Any:
    """The formula interface of statsmodels."""
    return _import_extra("statsmodels.formula.api")


def import_families() -> Any:
    """The families of generalised linear models of statsmodels."""
    return _import_extra("statsmodels.genmod.families")


def _import_extra(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        package = module.split(".")[0]
        raise Refused(
            f"{package} is not installed: {install_command('evaluate')}"
        ) from None
