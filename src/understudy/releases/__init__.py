"""The file a custodian hands out: schema, noisy measurements, model, guarantee and
account. No pickle, no code, no rows.
"""

from understudy.releases.account import BudgetStatement, BudgetStep
from understudy.releases.answers.answer import Answer
from understudy.releases.answers.question import Question, QuestionKind
from understudy.releases.card.card import Card
from understudy.releases.card.entry import CardEntry, MarginalVerdict
from understudy.releases.contents import RELEASE_FORMAT_VERSION, ReleaseKind
from understudy.releases.evidence import Evidence
from understudy.releases.explanation.explanation import Explanation
from understudy.releases.guarantee import Guarantee, GuaranteeKind
from understudy.releases.output.frames import FRAME_KINDS, to_frame
from understudy.releases.output.write import write_rows
from understudy.releases.release import (
    Release,
    from_bytes,
    load_release,
    save,
    to_bytes,
)

__all__ = [
    "FRAME_KINDS",
    "RELEASE_FORMAT_VERSION",
    "Answer",
    "BudgetStatement",
    "BudgetStep",
    "Card",
    "CardEntry",
    "Evidence",
    "Explanation",
    "Guarantee",
    "GuaranteeKind",
    "MarginalVerdict",
    "Question",
    "QuestionKind",
    "Release",
    "ReleaseKind",
    "from_bytes",
    "load_release",
    "save",
    "to_bytes",
    "to_frame",
    "write_rows",
]
