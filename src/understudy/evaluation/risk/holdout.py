"""The control of an attack: rows of the same kind that the release was not made from.

Without them a high success rate may be what anybody would guess, so an attack that
compares is not made.
"""

from __future__ import annotations

from understudy.findings import Unavailable
from understudy.tables import Records

NO_HOLDOUT = (
    "it needs a holdout: rows of the same kind that the release was not made from"
)


def require_holdout(
    members: Records, control: Records | None, synthetic: Records
) -> Records:
    """The control; Unavailable without one, or where another table has no rows."""
    if control is None or not control.rows:
        raise Unavailable(NO_HOLDOUT)
    if not members.rows or not synthetic.rows:
        raise Unavailable("one of the tables has no rows")
    return control
