"""What is said of a column in one line, and the view of a schema in a notebook."""

from __future__ import annotations

from html.parser import HTMLParser

from kit.studio.markup import HOSTILE
from understudy.schema import Categorical, Schema
from understudy.schema.declared_domain import MAX_DOMAIN_LETTERS, list_declared_domains

TEXT = """\
columns:
  age: {type: integer, min: 18, max: 90}
  income: {type: real, decimals: 2, bounds: learn}
  town: {type: categorical, values: learn}
  smoker: {type: boolean}
  insured: {type: boolean, "true": ["Ja", "ja"], "false": ["Nein"]}
  name: {type: text, note: free text}
"""


class Reader(HTMLParser):
    """The cells of a table, and the tags that a view may not have."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "td":
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def test_every_column_says_its_domain_and_where_it_comes_from() -> None:
    schema = Schema.parse(TEXT)
    said = [(d.name, d.summary(), d.source) for d in list_declared_domains(schema)]
    assert said == [
        ("age", "18 to 90", "declared"),
        ("income", "", "to be learned"),
        ("town", "", "to be learned"),
        ("smoker", "true or false", "declared"),
        ("insured", "Ja, ja, Nein", "declared"),
        ("name", "", "left out"),
    ]
    view = schema._repr_html_()
    assert "6 columns, protects each row" in view
    assert Reader(view).cells[:4] == ["age", "integer", "18 to 90", "declared"]
    assert Reader(view).cells[-1] == "free text"


def test_a_long_domain_is_cut_to_a_line() -> None:
    values = tuple(f"value number {i}" for i in range(500))
    (domain,) = list_declared_domains(
        Schema(columns=(Categorical(name="x", values=values),))
    )
    assert len(domain.summary()) == MAX_DOMAIN_LETTERS
    assert domain.summary().startswith("500 values: value number 0")


def test_names_and_labels_are_text_in_a_notebook() -> None:
    columns = tuple(Categorical(name=name, values=tuple(HOSTILE)) for name in HOSTILE)
    found = Reader(Schema(columns=columns)._repr_html_())
    assert found.tags == {"table", "caption", "tr", "th", "td"}
    assert set(found.cells[::5]) == set(HOSTILE)
