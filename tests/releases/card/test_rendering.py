"""The card in words: what is counted, in which order lines come, what is escaped."""

from __future__ import annotations

from understudy.releases.card.entry import CardEntry, MarginalVerdict
from understudy.releases.card.rendering import card_html, card_lines, card_sentence

COLUMNS = [
    CardEntry(("age",), True, 73, 1.5, 0.01),
    CardEntry(("<b>",), True, 3, 1.5, 0.3, lost=True),
    CardEntry(("sex",), True, 2, 1.5, 0.05),
]


def pair(first: str, second: str, error: float | None) -> CardEntry:
    return CardEntry((first, second), error is not None, 146, None, error)


def test_the_verdict_follows_the_error_and_what_is_lost() -> None:
    verdicts = [entry.verdict for entry in COLUMNS]
    assert verdicts == [
        MarginalVerdict.GOOD,
        MarginalVerdict.LOST,
        MarginalVerdict.USABLE,
    ]
    assert pair("a", "b", 0.2).verdict is MarginalVerdict.POOR
    assert pair("a", "b", None).verdict is MarginalVerdict.UNKNOWN


def test_the_sentence_counts_verdicts_and_names_the_worst_pair() -> None:
    pairs = [pair("age", "sex", 0.2), pair("age", "<b>", 1.0), pair("sex", "<b>", None)]
    assert card_sentence([*COLUMNS, *pairs]) == (
        "2 of 3 columns are good or usable; of 3 pairs 2 poor, 1 no bound; least sure:"
        " age × <b> (at most 100 % of rows in a wrong cell)."
    )


def test_the_sentence_of_columns_alone_ends_there() -> None:
    assert card_sentence(COLUMNS) == "2 of 3 columns are good or usable."


def test_the_sentence_of_one_pair_gives_its_verdict() -> None:
    listed = [*COLUMNS[::2], pair("age", "sex", 0.01)]
    assert card_sentence(listed) == (
        "2 of 2 columns are good or usable; their pair: good."
    )


def test_lines_put_columns_first_and_what_has_no_bound_last() -> None:
    pairs = [pair("sex", "<b>", None), pair("age", "sex", 0.2)]
    lines = card_lines([*pairs, *COLUMNS])
    assert [line.split("  ")[0] for line in lines] == [
        "marginal",
        "age",
        "sex",
        "<b>",
        "age × sex",
        "sex × <b>",
    ]
    assert lines[1].endswith("1.0 %  good")


def test_names_are_escaped_and_pairs_beyond_twenty_are_folded() -> None:
    pairs = [pair("age", f"c{i}", 0.2) for i in range(21)]
    html = card_html([*COLUMNS, *pairs], ["<i>said</i>"])
    assert "<b>" not in html
    assert "<p>&lt;i&gt;said&lt;/i&gt;</p>" in html
    assert "<details><summary>1 more pairs</summary>" in html
    assert "<details>" not in card_html(COLUMNS, [])
