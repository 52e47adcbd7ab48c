"""The page a person edits: comments that say what is public, what costs, what is
dropped.
"""

from __future__ import annotations

from understudy.schema import (
    Boolean,
    Categorical,
    Identifier,
    Integer,
    Real,
    Role,
    Schema,
    Text,
    UndeclaredColumn,
    dump_schema,
)


def lines(*columns):
    return [
        line.strip()
        for line in dump_schema(Schema(columns=columns))
        .split("columns:")[1]
        .splitlines()
    ]


def test_the_page_says_what_it_is():
    page = dump_schema(Schema(columns=(Boolean(name="x"),)))
    comment = [line for line in page.splitlines() if line.startswith("#")]
    words = " ".join(line.removeprefix("# ") for line in comment)
    assert words.startswith(
        "What this table looks like. Everything written here counts as public, by your"
        " declaration"
    )
    assert max(len(line) for line in page.splitlines()) <= 100


def test_each_line_says_whether_it_is_public_or_costs():
    assert "values: [F, M]  # public" in lines(Categorical(name="x", values=("F", "M")))
    assert "values: [F]  # learned within the budget" in lines(
        Categorical(name="x", values=("F",), learned=("values",))
    )
    assert (
        "values: learn  # will be learned within the budget; or fill in, as in [a, b]"
        in lines(Categorical(name="x"))
    )
    assert (
        "bounds: learn  # will be learned within the budget; or fill in min and max"
        in lines(Integer(name="x"))
    )
    assert "max: learn  # will be learned within the budget; or fill in" in lines(
        Integer(name="x", min=0)
    )
    assert (
        "type: learn  # will be learned within the budget; or fill in, as in integer"
        in lines(UndeclaredColumn(name="x"))
    )
    assert "min: 0  # learned within the budget" in lines(
        Real(name="x", min=0, max=1, learned=("bounds",))
    )
    assert "type: real  # learned within the budget" in lines(
        Real(name="x", learned=("type",))
    )


def test_what_is_dropped_says_so():
    assert "type: text  # dropped: free text is never released" in lines(Text(name="x"))
    assert "type: identifier  # dropped: identifiers are never released" in lines(
        Identifier(name="x")
    )
    assert "use: false  # dropped by your choice" in lines(Boolean(name="x", use=False))
    direct = Categorical(name="x", role=Role.DIRECT_IDENTIFIER)
    assert (
        "role: direct_identifier  # dropped: direct identifiers are never released"
        in lines(direct)
    )


def test_long_lists_are_wrapped():
    column = Categorical(name="code", values=tuple(f"value {i}" for i in range(300)))
    page = dump_schema(Schema(columns=(column,)))
    assert max(len(line) for line in page.splitlines()) <= 120
    assert len(page.splitlines()) < 60
    assert Schema.parse(page)["code"] == column


def test_texts_that_other_readers_would_turn_into_something_else_are_quoted():
    page = dump_schema(
        Schema(
            columns=(
                Categorical(
                    name="x",
                    values=(
                        "no",
                        "1",
                        "1.0",
                        "2020-01-01",
                        "null",
                        "Off",
                        "plain text",
                    ),
                ),
            )
        )
    )
    assert 'values: ["no", "1", "1.0", "2020-01-01", "null", "Off", plain text]' in page
