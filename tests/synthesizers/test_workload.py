"""The workload: what is understood, what is refused, and which marginals they ask for."""

from __future__ import annotations

import pytest

from understudy.errors import Refused
from understudy.measurements import Partition
from understudy.schema import Boolean, Categorical, Integer, Schema
from understudy.synthesizers import Workload
from understudy.synthesizers.workload import (
    check_targets,
    parse_target,
    parse_targets,
    range_partitions,
    workload_of,
)

SCHEMA = Schema(
    columns=(
        Integer(name="age", min=0, max=99, nullable=False, bins=tuple(range(101))),
        Integer(name="income", min=0, max=999, nullable=False, bins=tuple(range(1001))),
        Boolean(name="smoker", nullable=False),
        Categorical(name="job", values=("a", "b"), nullable=False),
    )
)


@pytest.mark.parametrize(
    "text",
    [
        "triples",
        "pairs*0.5",
        "columns",
        "label=job",
        "pairs=job*2",
        "triples=age",
        "group=age,job*2",
        "ranges=age,income",
        "group=a b,c",
    ],
)
def test_what_is_typed_is_what_is_written_down(text: str) -> None:
    assert str(parse_target(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "everything",
        "label",
        "label=",
        "label=a,b",
        "triples=age,job",
        "pairs=",
        "columns=age",
        "group",
        "group=,",
        "pairs*0",
        "pairs*-1",
        "pairs*x",
        "pairs*0.0000000001",
        "pairs*" + 400 * "9",
    ],
)
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(
        Refused, match=r"A workload is triples, pairs.*Nothing was spent"
    ):
        parse_target(text)


def test_without_a_target_all_triples_matter() -> None:
    assert workload_of(SCHEMA) == Workload.of_order(SCHEMA)


def test_wishes_weigh_one_each_and_add_up() -> None:
    made = workload_of(SCHEMA, parse_targets(["pairs=smoker", "group=job,smoker*2"]))
    assert dict(zip(made.cliques, made.weights, strict=True)) == {
        ("age", "smoker"): pytest.approx(1 / 3),
        ("income", "smoker"): pytest.approx(1 / 3),
        ("smoker", "job"): pytest.approx(1 / 3 + 2),
    }


def test_a_label_asks_for_every_two_other_columns_with_it() -> None:
    wanted = {
        ("age", "income", "smoker"),
        ("age", "smoker", "job"),
        ("income", "smoker", "job"),
    }
    for text in ("label=smoker", "triples=smoker"):
        assert set(workload_of(SCHEMA, parse_targets(text)).cliques) == wanted
    few = Schema(columns=SCHEMA.columns[1:3])
    assert workload_of(few, parse_targets("label=smoker")).cliques == (
        ("income", "smoker"),
    )


def test_ranges_ask_for_columns_pairs_and_coarser_bins() -> None:
    wanted = parse_targets("ranges=income,age")
    assert workload_of(SCHEMA, wanted).cliques == (
        ("age",),
        ("income",),
        ("age", "income"),
    )
    bins = range_partitions(SCHEMA, wanted)
    assert [clique for clique, _ in bins] == [
        ("age",),
        ("age",),
        *[("income",)] * 3,
        ("age", "income"),
    ]
    for clique, axes in bins:
        for name, axis in zip(clique, axes, strict=True):
            assert isinstance(axis, Partition)
            assert axis.size == SCHEMA.sizes((name,))[0]
            assert list(axis.bins) == sorted(axis.bins), "a bin holds neighbours"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label=colour", '"colour" takes no part'),
        ("ranges=age,job", '"job" has no order'),
        ("ranges=smoker", "no order"),
    ],
)
def test_what_the_table_cannot_give_is_refused_before_anything_is_spent(
    text: str, message: str
) -> None:
    with pytest.raises(Refused, match=f"{message}.*Nothing was spent"):
        check_targets(parse_targets(text), SCHEMA)
