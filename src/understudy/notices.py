"""Notices: what a run has to say besides how far it is.

A notice has a kind, so that a program can tell which it is without reading its words.
Whoever waits for a run collects its notices around the call, as fits are watched
(models/progress.py); a synthesizer that has one posts it. A notice is computed from
what is public or paid for: the schema, the header, and noisy answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum


class NoticeKind(StrEnum):
    """What a notice is about."""

    TOO_LARGE = "too large"
    """Columns that are not modelled together, because their marginal is too large."""
    LEFT_OUT = "left out"
    """Columns that take no part in the release."""
    MISCOUNTED = "miscounted"
    """A declared number of rows that what was measured contradicts."""
    RESUMED = "resumed"
    """What resuming a run does and does not check."""
    NEW_ACCOUNT = "new account"
    """A ledger that was made for a table that had none."""
    STATED = "stated"
    """Read from a release file, which keeps a notice's words and not its kind."""


_KINDS_FOR_READERS = frozenset(
    {NoticeKind.TOO_LARGE, NoticeKind.MISCOUNTED, NoticeKind.STATED}
)
"""Kinds that a release file keeps. The others are about the custodian's own files and
columns: they are for whoever makes the release, not for whoever receives it.
"""


@dataclass(frozen=True)
class Notice:
    """One sentence about a run, its kind, and the columns it is about.

    >>> notice = Notice(NoticeKind.LEFT_OUT, "Left out: name (by the schema).", ("name",))
    >>> str(notice), notice.is_for_readers
    ('Left out: name (by the schema).', False)
    """

    kind: NoticeKind
    text: str
    columns: tuple[str, ...] = ()

    @property
    def is_for_readers(self) -> bool:
        """Whether a release file keeps it, for whoever receives the release."""
        return self.kind in _KINDS_FOR_READERS

    def __str__(self) -> str:
        return self.text


NoticeSink = Callable[[Notice], None]
"""Called with every notice of a run, as soon as there is one."""


def ignore_notice(notice: Notice) -> None:
    """A sink that keeps nothing."""


_NOTICE_SINK: ContextVar[NoticeSink] = ContextVar("notices", default=ignore_notice)


@contextmanager
def collect_notices(sink: NoticeSink) -> Iterator[None]:
    """While this lasts, every notice that is posted goes to `sink`.

    >>> posted = []
    >>> with collect_notices(posted.append):
    ...     post_notice(Notice(NoticeKind.RESUMED, "Taken up again."))
    >>> [notice.kind.value for notice in posted]
    ['resumed']
    """
    token = _NOTICE_SINK.set(sink)
    try:
        yield
    finally:
        _NOTICE_SINK.reset(token)


def post_notice(notice: Notice) -> None:
    """Hand a notice to whoever collects them; without a collector it is dropped."""
    _NOTICE_SINK.get()(notice)
