"""Opening: what can be known to fail fails before anything is spent."""

from __future__ import annotations

from fractions import Fraction

import pytest

from understudy.errors import Refused
from understudy.schema import Boolean, Identifier, Integer, Schema
from understudy.workflow.run import synthesize


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-30", "1e-10"])
def test_an_epsilon_too_small_for_any_noise_is_refused_before_it_is_spent(epsilon, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("smoker\nyes\n")
    schema = Schema(columns=(Boolean(name="smoker"),))
    with pytest.raises(Refused, match=r"noise alone.*Nothing was spent"):
        synthesize(path, schema, epsilon=epsilon, delta=0)
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]


def test_the_smallest_epsilon_is_not_refused(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("smoker\nyes\n")
    columns = (*(Boolean(name=f"c{i}") for i in range(30)), Boolean(name="smoker"))
    path.write_text(",".join(c.name for c in columns) + "\n")
    assert synthesize(path, Schema(columns=columns), epsilon="1e-5", delta=0).guarantee.epsilon == Fraction(1, 10**5)


def test_a_schema_that_could_not_be_read_again_is_refused_before_anything_is_spent(tmp_path):
    """Two hundred thousand bins are no bins that a file may state: a release with them would be paid for, and lost when it is opened."""
    path = tmp_path / "people.csv"
    path.write_text("x\n5\n")
    schema = Schema(columns=(Integer(name="x", min=0, max=399_999, bins=(*range(0, 400_000, 2), 400_000)),))
    with pytest.raises(Refused, match=r'could not be read again. column "x": .*Nothing was spent'):
        synthesize(path, schema, epsilon=1)
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]


def test_columns_come_back_in_the_order_of_the_table_and_not_of_the_schema(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a,b,c,id\n1,0,1,7\n" * 3)
    columns = (Boolean(name="c"), Identifier(name="id"), Boolean(name="a"), Boolean(name="b"))
    release = synthesize(path, Schema(columns=columns), epsilon=1)
    assert list(release.schema) == ["a", "b", "c"]
    assert release.sample(5, kind="pyarrow").column_names == ["a", "b", "c"]
