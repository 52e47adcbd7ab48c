"""The file a custodian hands out: schema, noisy measurements, model, promise and account. No pickle, no code, no rows."""

from understudy.releases.answers import Answer
from understudy.releases.card import Card, Entry, Verdict
from understudy.releases.file import from_bytes, load, save, to_bytes
from understudy.releases.frames import KINDS, to_frame
from understudy.releases.guarantee import Guarantee, Promise
from understudy.releases.release import VERSION, Kind, Release
from understudy.releases.statement import Statement, Step
from understudy.releases.writing import write_rows

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
