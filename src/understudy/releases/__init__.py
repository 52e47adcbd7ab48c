"""The file a custodian hands out: schema, noisy measurements, model, promise and
account. No pickle, no code, no rows.
"""

from understudy.releases.account import BudgetStatement, BudgetStep
from understudy.releases.answers.answer import Answer
from understudy.releases.card.card import Card, CardEntry, MarginalVerdict
from understudy.releases.file.archive import from_bytes, load, save, to_bytes
from understudy.releases.guarantee import Guarantee, GuaranteeKind
from understudy.releases.output.frames import FRAME_KINDS, to_frame
from understudy.releases.output.write import write_rows
from understudy.releases.release import RELEASE_FORMAT_VERSION, Release, ReleaseKind

__all__ = [
    "FRAME_KINDS",
    "RELEASE_FORMAT_VERSION",
    "Answer",
    "BudgetStatement",
    "BudgetStep",
    "Card",
    "CardEntry",
    "Guarantee",
    "GuaranteeKind",
    "MarginalVerdict",
    "Release",
    "ReleaseKind",
    "from_bytes",
    "load",
    "save",
    "to_bytes",
    "to_frame",
    "write_rows",
]
