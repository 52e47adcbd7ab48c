"""Questions over HTTP: analysts with tokens and limits ask, and one process answers."""

from understudy.server.tokens import TokenFile

__all__ = ["TokenFile"]
