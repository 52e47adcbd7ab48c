"""Settings of the documentation site; `make docs` builds it.

Sphinx with MyST and furo, because pages stay plain Markdown that a code host shows too,
the reference comes from docstrings, a warning can be an error, and the result needs
nothing from elsewhere: no fonts, no scripts, search in the browser. MkDocs with
Material, the usual other choice, ended its maintenance in November 2026.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from understudy.version import PACKAGE_VERSION

sys.path.insert(0, str(Path(__file__).resolve().parent))

project = "Understudy"
copyright = "the Understudy contributors"
version = release = PACKAGE_VERSION
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "flowchart"]
exclude_patterns = ["_site"]
nitpicky = False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "off"  # notebooks hold their output; the slow tests run them
suppress_warnings = ["mystnb.unknown_mime_type"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
add_module_names = False

html_theme = "furo"
html_title = "Understudy"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "monokai"

CODE_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def write_code_as_literals(
    _app: object,
    _kind: str,
    _name: str,
    _thing: object,
    _options: object,
    lines: list[str],
) -> None:
    """Docstrings mark code with one backtick, as Markdown does; Sphinx wants two, and
    takes what stands between bars, such as the size of a set, for a substitution.
    """
    # A span may run over the end of a line.
    text = CODE_SPAN.sub(r"``\1``", "\n".join(lines))
    paragraphs = [
        paragraph if ">>>" in paragraph else escape_bars(paragraph)
        for paragraph in text.split("\n\n")
    ]
    lines[:] = "\n\n".join(paragraphs).split("\n")


def escape_bars(paragraph: str) -> str:
    """Bars outside code, as themselves."""
    parts = paragraph.split("``")
    parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
    return "``".join(parts)


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", write_code_as_literals)  # type: ignore[attr-defined]
