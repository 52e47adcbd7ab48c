"""Questions over HTTP: analysts with tokens and limits ask, and one process answers."""
