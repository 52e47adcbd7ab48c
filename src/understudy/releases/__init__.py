"""The file a custodian hands out: schema, noisy measurements, model, promise and account. No pickle, no code, no rows."""

from understudy.releases.account import Statement, Step
from understudy.releases.answers.answer import Answer
from understudy.releases.card.card import Card, Entry, Verdict
from understudy.releases.file.archive import from_bytes, load, save, to_bytes
from understudy.releases.guarantee import Guarantee, Promise
from understudy.releases.output.frames import KINDS, to_frame
from understudy.releases.output.write import write_rows
from understudy.releases.release import VERSION, Kind, Release

__all__ = [
    "KINDS",
    "VERSION",
    "Answer",
    "Card",
    "Entry",
    "Guarantee",
    "Kind",
    "Promise",
    "Release",
    "Statement",
    "Step",
    "Verdict",
    "from_bytes",
    "load",
    "save",
    "to_bytes",
    "to_frame",
    "write_rows",
]
