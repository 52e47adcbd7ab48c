"""The pages of this room: templates that escape every value, with their own style."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template


def read_asset(name: str) -> str:
    """A template, style or script of this room, as text."""
    return (files("understudy.reports") / "templates" / name).read_text(
        encoding="utf-8"
    )


@cache
def load_page_template(name: str) -> Template:
    """A template in which every value is escaped that is no markup of our own."""
    return Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True
    ).from_string(read_asset(name))
