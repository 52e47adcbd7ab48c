"""Which columns and marginals a formula depends on."""

from __future__ import annotations

import pytest

from understudy.errors import Refused
from understudy.measurements.regression_formula import RegressionFormula

NAMES = ["age", "sex", "pay", "ill", "home town"]


@pytest.mark.parametrize(
    ("formula", "columns", "joint"),
    [
        ("ill ~ age + sex", ("age", "sex", "ill"), ()),
        ("ill ~ 1", ("ill",), ()),
        ("ill ~ age - 1", ("age", "ill"), ()),
        ("ill ~ age*sex + pay", ("age", "sex", "pay", "ill"), (("age", "sex", "ill"),)),
        ("ill ~ age:sex", ("age", "sex", "ill"), (("age", "sex", "ill"),)),
        ("np.log(pay) ~ I(age**2) + age", ("age", "pay"), ()),
        ("ill ~ C(sex, Treatment(reference='pay'))", ("sex", "ill"), ()),
        ('ill ~ Q("home town")', ("ill", "home town"), ()),
        ("ill ~ I(age == 3) + C(sex, Sum)", ("age", "sex", "ill"), ()),
        ("I(pay * ill) ~ age", ("age", "pay", "ill"), (("age", "pay", "ill"),)),
        ("ill ~ np.log(age + pay)", ("age", "pay", "ill"), (("age", "pay", "ill"),)),
    ],
)
def test_columns_and_joint_terms(formula, columns, joint):
    found = RegressionFormula.parse(formula, NAMES)
    assert found.columns == columns
    assert found.joint_cliques() == joint


def test_every_pair_is_needed():
    found = RegressionFormula.parse("ill ~ age + sex + pay", NAMES)
    assert len(found.cliques()) == 6
    assert RegressionFormula.parse("ill ~ 1", NAMES).cliques() == (("ill",),)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("ill", "write a formula"),
        ("~ age", "write a formula"),
        ("ill ~ age ~ sex", "write a formula"),
        ("ill ~ agee", '"agee"'),
        ('ill ~ Q("town")', '"town"'),
        ("ill ~ age:sex:pay", "at most 2 columns"),
    ],
)
def test_what_cannot_be_read_is_refused(formula, said):
    with pytest.raises(Refused, match=said):
        RegressionFormula.parse(formula, NAMES)
